"""OneDeviceStrategy: everything on one device, chosen by name."""

from __future__ import annotations

import contextlib

from podium.distribute._devices import default_device, find_device
from podium.distribute._strategy import Strategy


class OneDeviceStrategy(Strategy):
    """Runs steps and places Variables on one device.

    Args:
        device: Its name, such as "/cpu:0" or "/gpu:0".

    Raises:
        ValueError: There is no such device.

    Example:
        >>> strategy = podium.distribute.OneDeviceStrategy("/cpu:0")
        >>> strategy.num_replicas_in_sync, strategy.device
        (1, '/cpu:0')
    """

    def __init__(self, device: str):
        self.device = device
        self._jax_device = find_device(device)

    def _placement_scope(self) -> contextlib.AbstractContextManager[object]:
        return default_device(self._jax_device)

    def __repr__(self) -> str:
        return f"<podium.distribute.OneDeviceStrategy {self.device!r}>"
