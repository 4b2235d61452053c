"""Finds JAX devices by names such as "/gpu:0", and reserves the threads that CPU devices need."""

import contextlib
import os
import re
from collections.abc import Sequence

import jax

from podium.core import warn_user
from podium.core.internal import context, in_tensorflow_mode, jax_config, override

_NAME = re.compile(r"^(?:.*/)?(?:device:)?(?P<kind>[a-z]+)(?::(?P<number>\d+))?$", re.IGNORECASE)
_FLAG = re.compile(r"--xla_force_host_platform_device_count=(\d+)")


def find_device(name: str) -> jax.Device:
    """Return the JAX device of a name.

    Args:
        name: "/cpu:0", "gpu:1", "/device:GPU:0" or "/job:localhost/replica:0/task:0/device:CPU:0".

    Raises:
        ValueError: There is no such device.

    Example:
        >>> podium.distribute.find_device("/cpu:0").platform
        'cpu'
    """
    match = _NAME.match(name) if isinstance(name, str) else None
    if match is None:
        raise ValueError(
            f"device={name!r} was given; a name such as '/cpu:0' or '/gpu:0' was expected."
        )
    kind, number = match["kind"].lower(), int(match["number"] or 0)
    try:
        devices = jax.local_devices(backend=kind)
    except RuntimeError:  # no such platform
        devices = []
    if number >= len(devices):
        available = ", ".join(f"'/{device.platform}:{device.id}'" for device in jax.local_devices())
        raise ValueError(
            f"device={name!r} was given, and this machine has no such device. It has {available}."
        )
    return devices[number]


def find_device_softly(name: str) -> jax.Device:
    """Return the JAX device of a name; in a program written for TensorFlow, the default device in
    place of one that this machine does not have, with a warning.
    """
    try:
        return find_device(name)
    except ValueError:
        if not in_tensorflow_mode() or _NAME.match(str(name)) is None:
            raise
    device = jax.local_devices()[0]
    warn_user(
        f"device={name!r} was given, and this machine has no such device; "
        f"'/{device.platform}:{device.id}' is used instead."
    )
    return device


def device(device_name: str) -> contextlib.AbstractContextManager[object]:
    """Return a context in which new values are placed, and computed, on a device.

    Args:
        device_name: Its name, such as "cpu", "gpu:1" or "/gpu:0".

    Example:
        >>> with podium.distribute.device("cpu:0"):
        ...     podium.ops.ones(2).value.device.platform
        'cpu'
    """
    return default_device(find_device_softly(device_name))


def default_device(device: jax.Device) -> contextlib.AbstractContextManager[object]:
    """Return a context in which new values are placed on a device."""
    # If it is the default already, naming it would compile everything a second time.
    if device == jax.local_devices()[0]:
        return contextlib.nullcontext() if context.layout is None else override(layout=None)
    placement: contextlib.AbstractContextManager[object] = jax.default_device(device)
    return placement


def find_devices(devices: Sequence[str | jax.Device] | int | None) -> list[jax.Device]:
    """Return the JAX devices for the argument of a strategy: names, devices, or their number; by
    default all of this machine.

    Raises:
        ValueError: There are fewer, one is named twice, or there is none of that name.
    """
    reserve_cpu_threads()
    if devices is None:
        return list(jax.local_devices())
    if isinstance(devices, int) and not isinstance(devices, bool):
        return first_devices("devices", devices)
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        raise ValueError(
            f"devices={devices!r} was given; a list of names such as ['/cpu:0', '/cpu:1'] was "
            "expected."
        )
    found = [find_device(device) if isinstance(device, str) else device for device in devices]
    if len(set(found)) < len(found):
        raise ValueError(
            f"devices={list(devices)!r} names a device twice; each replica needs its own device."
        )
    return found


def first_devices(argument: str, count: int) -> list[jax.Device]:
    """Return the first `count` devices of this machine.

    Raises:
        ValueError: There are fewer.
    """
    available = jax.local_devices()
    if not 1 <= count <= len(available):
        raise ValueError(
            f"{argument}={count} devices were requested, and this machine has {len(available)} "
            f"({available[0].platform}). Request fewer; "
            "or, to try things out on CPU, start Python with "
            "XLA_FLAGS=--xla_force_host_platform_device_count="
            f"{max(count, 1)}."
        )
    return list(available[:count])


def reserve_cpu_threads() -> None:
    """Reserve two threads for each CPU device. With fewer, collectives may deadlock.

    It has an effect only before JAX starts its backend, so it is called when this package is
    imported, and when a strategy is made.
    """
    flag = _FLAG.search(os.environ.get("XLA_FLAGS", ""))
    count = max(int(flag[1]) if flag else 1, jax_config.jax_num_cpu_devices)
    if count > 1:
        os.environ.setdefault("PJRT_NPROC", str(max(2 * count, os.cpu_count() or 1)))


reserve_cpu_threads()
