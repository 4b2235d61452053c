"""The device budget: how many bytes of arrays `fit` may keep on the device for all epochs."""

from __future__ import annotations

import os

from podium.core.internal import check_int

_DEFAULT = 2**30
_budget = [int(os.environ.get("PODIUM_DEVICE_BUDGET", _DEFAULT))]


def device_budget() -> int:
    """Return how many bytes of arrays `fit` may keep on the device: 1 GiB, or the value of the
    environment variable `PODIUM_DEVICE_BUDGET`.

    Arrays that fit are copied to the device once, and every step gathers its rows there. Larger
    ones stay in host memory, and are read one group of batches ahead.

    Example:
        >>> podium.data.device_budget()
        1073741824
    """
    return _budget[0]


def set_device_budget(size: int) -> None:
    """Set how many bytes of arrays `fit` may keep on the device; 0 keeps all arrays in host memory.

    Example:
        >>> podium.data.set_device_budget(0)
        >>> podium.data.device_budget()
        0
        >>> podium.data.set_device_budget(2**30)
    """
    _budget[0] = check_int("size", size, 0, integral_floats=True)
