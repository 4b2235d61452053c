"""ReduceLROnPlateau: reduces the learning rate when a monitored value no longer improves."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.callbacks._console import write_stdout
from podium.callbacks._learning_rate import log_learning_rates, optimizers_with_settable_rate
from podium.callbacks._monitor import MonitorCallback, check_epochs


class ReduceLROnPlateau(MonitorCallback):
    """Multiplies the learning rate by a factor when a monitored value has not improved for some
    epochs.

    The rate is added to the logs as `learning_rate`.

    Args:
        monitor: The name of the value.
        factor: The factor for the rate: a number below 1.
        patience: The number of epochs without improvement to wait for.
        verbose: 1 to print messages.
        mode: "min" if the value should decrease, "max" if it should increase, "auto" to decide by
            the metric or its name.
        min_delta: The smallest change that counts as an improvement. (`epsilon` is Keras 2's older
            name.)
        cooldown: The number of epochs to wait after a reduction before counting again.
        min_lr: The smallest rate.

    Raises:
        ValueError: The factor is 1 or more, or the optimizer has a schedule of its own.

    Example:
        >>> podium.callbacks.ReduceLROnPlateau(factor=1.5)
        Traceback (most recent call last):
        ValueError: ReduceLROnPlateau was given factor=1.5; a number below 1 was expected: the rate
            is multiplied by it.
    """

    every_worker = True

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
        *,
        epsilon: float | None = None,
    ):
        super().__init__(monitor, mode, min_delta if epsilon is None else epsilon)
        if not factor < 1.0:
            raise ValueError(
                f"ReduceLROnPlateau was given factor={factor}; a number below 1 was expected: "
                "the rate is multiplied by it."
            )
        self.factor = factor
        self.patience = check_epochs("ReduceLROnPlateau", "patience", patience)
        self.cooldown = check_epochs("ReduceLROnPlateau", "cooldown", cooldown)
        self.min_lr = min_lr
        self.verbose = verbose
        self.cooldown_counter: float = 0
        self.wait = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Reset the state of an earlier `fit`; raise if the learning rate cannot be set."""
        optimizers_with_settable_rate(self)
        self.reset_best()
        self.cooldown_counter = self.wait = 0

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Compare the monitored value, and reduce the rate when patience is exhausted."""
        value = self.get_monitor_value(logs)
        log_learning_rates(self, logs)
        if value is None:
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.is_better(value, self.best):
            self.best = value
            self.wait = 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience and self._reduce(epoch):
                self.cooldown_counter = self.cooldown
                self.wait = 0

    def in_cooldown(self) -> bool:
        """Return whether it is waiting after a reduction."""
        return self.cooldown_counter > 0

    def _reduce(self, epoch: int) -> bool:
        reduced = False
        for name, optimizer in optimizers_with_settable_rate(self).items():
            rate = float(optimizer.learning_rate)
            if rate > np.float32(self.min_lr):  # the rate is stored as float32
                rate = max(rate * self.factor, self.min_lr)
                optimizer.learning_rate = rate
                reduced = True
                if self.verbose > 0:
                    label = f" {name}" if name else ""
                    write_stdout(
                        f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing{label} learning rate "
                        f"to {rate}.\n"
                    )
        return reduced
