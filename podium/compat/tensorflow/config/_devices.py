"""Devices and settings of `tf.config`, and the version of TensorFlow.

Settings that do not apply to JAX are accepted and ignored.
"""

from typing import NamedTuple

import jax

# The version of TensorFlow whose API `podium.compat.tensorflow` follows.
__version__ = "2.15.0"


class PhysicalDevice(NamedTuple):
    """A device of this machine.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.list_physical_devices("CPU")[0].device_type
        'CPU'
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that computations can run on.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.list_logical_devices("CPU")[0].name
        '/device:CPU:0'
    """

    name: str
    device_type: str


def _list_devices(device_type: str | None) -> list[tuple[str, int]]:
    names = {"gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU", "cpu": "CPU"}
    devices = [
        (names.get(device.platform, device.platform.upper()), device.id)
        for device in jax.local_devices()
    ]
    # JAX lists the devices of one platform; there is always a CPU too.
    if all(name != "CPU" for name, _ in devices):
        devices = [("CPU", 0), *devices]
    return [(name, index) for name, index in devices if device_type in (None, name)]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices of this machine, of one type ("CPU", "GPU", "TPU") or all.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.list_physical_devices("CPU")[0]
        PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')
    """
    return [
        PhysicalDevice(f"/physical_device:{name}:{index}", name)
        for name, index in _list_devices(device_type)
    ]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """List the devices that computations can run on, of one type or all.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> len(tf.config.list_logical_devices("CPU")) >= 1
        True
    """
    return [
        LogicalDevice(f"/device:{name}:{index}", name) for name, index in _list_devices(device_type)
    ]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices that can be used: all of them.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.get_visible_devices("CPU") == tf.config.list_physical_devices("CPU")
        True
    """
    return list_physical_devices(device_type)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Do nothing: `XLA_PYTHON_CLIENT_PREALLOCATE` sets how JAX allocates memory.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.experimental.set_memory_growth(tf.config.list_physical_devices()[0], True)
    """


def set_soft_device_placement(enabled: bool) -> None:
    """Do nothing: JAX chooses the devices.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.set_soft_device_placement(True)
    """


def set_jit(enabled: bool | str) -> None:
    """Do nothing: compiled functions are always compiled by XLA.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.optimizer.set_jit(True)
    """


def enable_op_determinism() -> None:
    """Do nothing: on one machine and one version of JAX, Podium repeats a run bit for bit.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.experimental.enable_op_determinism()
    """
