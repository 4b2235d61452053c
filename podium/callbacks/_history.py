"""History: what `fit` returns, the figures of every epoch."""

from __future__ import annotations

from typing import Any

from podium.callbacks._callback import Callback
from podium.callbacks._logs import Logs, to_python

_MOST_UNREAD = 64  # epochs whose figures may still lie on the device


class History(Callback):
    """Keeps the figures of every epoch. `fit` adds one by itself and returns it.

    Nobody waits for figures that nobody has asked for: the next epoch may begin while they are
    computed.

    Attributes:
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
        self._history: dict[str, list[Any]] = {}
        self._unread: list[Logs] = []
        self.epoch: list[int] = []

    @property
    def history(self) -> dict[str, list[Any]]:
        """Name to the list of values, one for each epoch in which the figure was there.

        An object that is handed to several `fit` calls goes on with the same lists.
        """
        unread, self._unread = self._unread, []
        for logs in unread:
            self._keep(logs)
        return self._history

    @history.setter
    def history(self, values: dict[str, list[Any]]) -> None:
        self._history, self._unread = values, []

    def on_train_begin(self, logs: Any = None) -> None:
        """Start counting epochs."""
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Keep the epoch's figures."""
        self.epoch.append(epoch)
        if not isinstance(logs, Logs):
            logs = Logs(logs)
        self._unread.append(logs)
        if len(self._unread) > _MOST_UNREAD:
            self._keep(self._unread.pop(0))

    def on_train_end(self, logs: Any = None) -> None:
        """Read what has not been read yet."""
        _ = self.history

    def get_state(self) -> dict[str, Any]:
        """Return the figures, and the epochs they are of."""
        return {
            "history": {name: list(values) for name, values in self.history.items()},
            "epoch": list(self.epoch),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from figures that `get_state` returned."""
        self.history, self.epoch = state["history"], state["epoch"]

    def _keep(self, logs: Logs) -> None:
        for name, value in logs.items():
            self._history.setdefault(name, []).append(to_python(value))
