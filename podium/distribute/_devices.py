"""Names of devices, such as "/gpu:0", and the JAX devices they mean."""

import re
from typing import Any

import jax

_NAME = re.compile(r"^(?:.*/)?(?:device:)?(?P<kind>[a-z]+)(?::(?P<number>\d+))?$", re.IGNORECASE)


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
        raise ValueError(f"device={name!r} was given; a name such as '/cpu:0' or '/gpu:0' was expected.")
    kind, number = found["kind"].lower(), int(found["number"] or 0)
    try:
        devices = jax.local_devices(backend=kind)
    except RuntimeError:  # no such platform
        devices = []
    if number >= len(devices):
        here = ", ".join(f"'/{device.platform}:{device.id}'" for device in jax.local_devices())
        raise ValueError(f"device={name!r} was given, and this machine has no such device. JAX sees {here} here.")
    return devices[number]
