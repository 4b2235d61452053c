"""`tf.config`: what devices there are. Settings that JAX has no use for are accepted and do
nothing.
"""

from typing import Any, NamedTuple

import jax


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


def _found(device_type: str | None) -> list[tuple[str, int]]:
    # JAX shows one platform at a time; the machine has a CPU beside whatever that is.
    kinds = {"gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU", "cpu": "CPU"}
    found = [
        (kinds.get(device.platform, device.platform.upper()), device.id)
        for device in jax.local_devices()
    ]
    if all(kind != "CPU" for kind, _ in found):
        found = [("CPU", 0), *found]
    return [(kind, number) for kind, number in found if device_type in (None, kind)]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices of this machine, of one type ("CPU", "GPU", "TPU") or all.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.list_physical_devices("CPU")[0]
        PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')
    """
    return [
        PhysicalDevice(f"/physical_device:{kind}:{number}", kind)
        for kind, number in _found(device_type)
    ]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """List the devices that computations can run on, of one type or all.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> len(tf.config.list_logical_devices("CPU")) >= 1
        True
    """
    return [LogicalDevice(f"/device:{kind}:{number}", kind) for kind, number in _found(device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices that may be used: all of them.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.get_visible_devices("CPU") == tf.config.list_physical_devices("CPU")
        True
    """
    return list_physical_devices(device_type)


def set_memory_growth(device: Any, enable: bool) -> None:
    """Do nothing: JAX is told how to use memory by `XLA_PYTHON_CLIENT_PREALLOCATE`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.experimental.set_memory_growth(tf.config.list_physical_devices()[0], True)
    """


def set_soft_device_placement(enabled: bool) -> None:
    """Do nothing: JAX places every computation.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.config.set_soft_device_placement(True)
    """


def set_jit(enabled: Any) -> None:
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
