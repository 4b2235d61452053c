"""History: what `fit` returns, the figures of every epoch."""

from __future__ import annotations

from typing import Any

from podium.callbacks._callback import Callback
from podium.callbacks._logs import to_python


class History(Callback):
    """Keeps the figures of every epoch. `fit` adds one by itself and returns it.

    Attributes:
        history: Name to the list of values, one for each epoch in which the figure was there. An object that is
            handed to several `fit` calls goes on with the same lists.
        epoch: The numbers of the epochs of the last `fit`.

    Example:
        >>> history = podium.callbacks.History()
        >>> history.on_train_begin()
        >>> history.on_epoch_end(0, {"loss": jnp.float32(0.5)})
        >>> history.epoch, history.history
        ([0], {'loss': [0.5]})
    """

    every_worker = True

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs: Any = None) -> None:
        """Start counting epochs."""
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Keep the epoch's figures."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(to_python(value))
