"""EarlyStopping: stops training when a monitored value no longer improves."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.callbacks._console import write_stdout
from podium.callbacks._monitor import MonitorCallback, check_epochs


class EarlyStopping(MonitorCallback):
    """Stops `fit` when a monitored value has not improved for some epochs.

    Args:
        monitor: The name of the value.
        min_delta: The smallest change that counts as an improvement.
        patience: The number of epochs without improvement to wait for.
        verbose: 1 to print messages.
        mode: "min" if the value should decrease, "max" if it should increase, "auto" to decide by
            the metric or its name.
        baseline: A value that must be exceeded as well.
        restore_best_weights: Whether the model ends with the weights of its best epoch. They are
            kept in memory. After an error or an interruption the current weights are kept.
        start_from_epoch: The number of epochs before monitoring starts.

    Attributes:
        best: The best value so far.
        best_epoch: The epoch it belongs to.
        stopped_epoch: The epoch that training stopped after, or 0.
        wait: The number of epochs since the last improvement.

    Example:
        >>> stopping = podium.callbacks.EarlyStopping(monitor="loss", patience=1)
        >>> model = podium.Sequential([])
        >>> callbacks = podium.callbacks.CallbackList(stopping, model=model)
        >>> callbacks.on_train_begin()
        >>> for epoch, loss in enumerate([2.0, 1.0, 1.5]):
        ...     callbacks.on_epoch_end(epoch, {"loss": loss})
        >>> model.stop_training, stopping.best_epoch
        (True, 1)
    """

    every_worker = True

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ):
        super().__init__(monitor, mode, min_delta)
        self.patience = check_epochs("EarlyStopping", "patience", patience)
        self.start_from_epoch = check_epochs("EarlyStopping", "start_from_epoch", start_from_epoch)
        self.verbose = verbose
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.wait = 0
        self.stopped_epoch = 0
        self.best_epoch = 0
        self.best_weights: list[np.ndarray[Any, Any]] | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Reset the state of an earlier `fit`."""
        self.reset_best()
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best_weights = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Compare the monitored value, and stop training when patience is exhausted."""
        if epoch < self.start_from_epoch:
            return
        value = self.get_monitor_value(logs)
        if value is None:
            return
        if self.restore_best_weights and self.best_weights is None:
            self._keep_weights(epoch)  # the best so far, if no later epoch is better
        self.wait += 1
        if self.is_better(value, self.best):
            self.best = value
            self._keep_weights(epoch)
            if self.baseline is None or self.is_better(value, self.baseline):
                self.wait = 0
        elif self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Restore the best weights if `restore_best_weights`."""
        if self._ended_by is not None:
            return
        if self.stopped_epoch > 0 and self.verbose > 0:
            write_stdout(f"Epoch {self.stopped_epoch + 1}: early stopping\n")
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose > 0:
                write_stdout(
                    "Restoring model weights from the end of the best epoch: "
                    f"{self.best_epoch + 1}.\n"
                )
            self.model.set_weights(self.best_weights)

    def _keep_weights(self, epoch: int) -> None:
        self.best_epoch = epoch
        if self.restore_best_weights:
            self.best_weights = self.model.get_weights()
