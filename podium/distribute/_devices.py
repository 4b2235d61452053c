"""Names of devices, such as "/gpu:0", the JAX devices they mean, and the threads that CPU devices
need.
"""

import contextlib
import os
import re
from collections.abc import Sequence
from typing import Any

import jax

from podium.core.internal import context, override

_NAME = re.compile(r"^(?:.*/)?(?:device:)?(?P<kind>[a-z]+)(?::(?P<number>\d+))?$", re.IGNORECASE)
_FLAG = re.compile(r"--xla_force_host_platform_device_count=(\d+)")


def find_device(name: str) -> Any:
    """Return the JAX device that a name means.

    Args:
        name: "/cpu:0", "gpu:1", "/device:GPU:0" or "/job:localhost/replica:0/task:0/device:CPU:0".

    Raises:
        ValueError: There is no such device here.

    Example:
        >>> podium.distribute.find_device("/cpu:0").platform
        'cpu'
    """
    found = _NAME.match(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(
            f"device={name!r} was given; a name such as '/cpu:0' or '/gpu:0' was expected."
        )
    kind, number = found["kind"].lower(), int(found["number"] or 0)
    try:
        devices = jax.local_devices(backend=kind)
    except RuntimeError:  # no such platform
        devices = []
    if number >= len(devices):
        here = ", ".join(f"'/{device.platform}:{device.id}'" for device in jax.local_devices())
        raise ValueError(
            f"device={name!r} was given, and this machine has no such device. JAX sees {here} here."
        )
    return devices[number]


def default_device(device: Any) -> contextlib.AbstractContextManager:
    """Return a context in which new values lie on a device."""
    if (
        device == jax.local_devices()[0]
    ):  # the default already; naming it would compile everything a second time
        return contextlib.nullcontext() if context.layout is None else override(layout=None)
    return jax.default_device(device)


def find_devices(devices: Sequence[Any] | int | None) -> list[Any]:
    """Return the JAX devices that a strategy was given: names, devices, or a number of them; by
    default all of this machine.

    Raises:
        ValueError: There are not so many, one is named twice, or there is none of that name.
    """
    allow_for_collectives()
    if devices is None:
        return list(jax.local_devices())
    if isinstance(devices, int) and not isinstance(devices, bool):
        return first_devices("devices", devices)
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        raise ValueError(
            f"devices={devices!r} was given; a list of names such as ['/cpu:0', '/cpu:1'] was "
            "expected."
        )
    found = [find_device(one) if isinstance(one, str) else one for one in devices]
    if len(set(found)) < len(found):
        raise ValueError(
            f"devices={list(devices)!r} names a device twice; each replica needs one of its own."
        )
    return found


def first_devices(argument: str, count: int) -> list[Any]:
    """Return that many devices of this machine.

    Raises:
        ValueError: There are fewer.
    """
    here = jax.local_devices()
    if not 1 <= count <= len(here):
        raise ValueError(
            f"{argument}={count} devices were asked for, and this machine has {len(here)} "
            f"({here[0].platform}). Ask for fewer; "
            "or, to try things out on CPU, start Python with "
            "XLA_FLAGS=--xla_force_host_platform_device_count="
            f"{max(count, 1)}."
        )
    return list(here[:count])


def allow_for_collectives() -> None:
    """Give CPU devices two threads each. With fewer, steps that wait for each other may wait for
    ever.

    It must be said before JAX starts its backend, so it is done when the room is opened, and when a
    strategy is made.
    """
    found = _FLAG.search(os.environ.get("XLA_FLAGS", ""))
    count = max(int(found[1]) if found else 1, jax.config.jax_num_cpu_devices)  # type: ignore[attr-defined]
    if count > 1:
        os.environ.setdefault("PJRT_NPROC", str(max(2 * count, os.cpu_count() or 1)))


allow_for_collectives()
