"""History: the logs of every epoch, which `fit` returns."""

from __future__ import annotations

from typing import Any

from podium.callbacks._callback import Callback
from podium.callbacks._logs import Logs, to_python
from podium.telemetry import Telemetry

_MAX_UNREAD = 64  # epochs whose logs may still be on the device


class History(Callback):
    """Records the logs of every epoch. `fit` adds one automatically and returns it.

    Values are fetched when they are read, so the next epoch can begin while they are computed.

    Attributes:
        epoch: The numbers of the epochs of the last `fit`.
        stop_reason: Why it ended: "epochs" (all of them were run), "max_steps", "max_time",
            "stop_training" (a callback asked for it), or "data" (there were no more); None while it
            runs and after an error.
        telemetry: The measurements of the last `fit`, even if an error ended it; None while it runs
            (`model.telemetry` has them so far).

    Example:
        >>> history = podium.callbacks.History()
        >>> history.on_train_begin()
        >>> history.on_epoch_end(0, {"loss": jnp.float32(0.5)})
        >>> history.epoch, history.history
        ([0], {'loss': [0.5]})
    """

    every_worker = True
    is_logger = True

    def __init__(self) -> None:
        super().__init__()
        self._history: dict[str, list[Any]] = {}
        self._unread: list[Logs] = []
        self.epoch: list[int] = []
        self.stop_reason: str | None = None
        self.telemetry: Telemetry | None = None

    @property
    def history(self) -> dict[str, list[Any]]:
        """Name to the list of values, one for each epoch that logged the name.

        An object that is passed to several `fit` calls appends to the same lists.
        """
        unread, self._unread = self._unread, []
        for logs in unread:
            self._record(logs)
        return self._history

    @history.setter
    def history(self, values: dict[str, list[Any]]) -> None:
        self._history, self._unread = values, []

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Start counting epochs."""
        self.epoch, self.stop_reason, self.telemetry = [], None, None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Record the logs of the epoch."""
        self.epoch.append(epoch)
        if not isinstance(logs, Logs):
            logs = Logs(logs)
        self._unread.append(logs)
        if len(self._unread) > _MAX_UNREAD:
            self._record(self._unread.pop(0))

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Fetch values that have not been read."""
        _ = self.history

    def get_state(self) -> dict[str, Any]:
        """Return the history and its epochs."""
        return {
            "history": {name: list(values) for name, values in self.history.items()},
            "epoch": list(self.epoch),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from the history that `get_state` returned."""
        self.history, self.epoch = state["history"], state["epoch"]

    def _record(self, logs: Logs) -> None:
        for name, value in logs.items():
            self._history.setdefault(name, []).append(to_python(value))
