"""ReduceLROnPlateau: a smaller learning rate when a figure stops improving."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.callbacks._console import write_stdout
from podium.callbacks._learning_rate import log_learning_rates, optimizers_with_settable_rate
from podium.callbacks._monitor import MonitorCallback, check_count


class ReduceLROnPlateau(MonitorCallback):
    """Multiplies the learning rate by a factor when a figure has not improved for some epochs.

    The rate is added to the logs as `learning_rate`.

    Args:
        monitor: The name of the figure.
        factor: What the rate is multiplied by: a number below 1.
        patience: How many epochs without improvement to wait for.
        verbose: 1 to say what is set.
        mode: "min" if the figure should fall, "max" if it should rise, "auto" to tell by the metric
            or its name.
        min_delta: By how much it must change to count as better. (`epsilon` is Keras 2's older
            name.)
        cooldown: How many epochs to wait after a reduction before counting again.
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
        self.patience = check_count("ReduceLROnPlateau", "patience", patience)
        self.cooldown = check_count("ReduceLROnPlateau", "cooldown", cooldown)
        self.min_lr = min_lr
        self.verbose = verbose
        self.cooldown_counter = 0
        self.wait = 0

    def on_train_begin(self, logs: Any = None) -> None:
        """Forget an earlier `fit`, and refuse an optimizer whose rate cannot be set."""
        optimizers_with_settable_rate(self)
        self.reset_best()
        self.cooldown_counter = self.wait = 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Look at the figure, and lower the rate if patience is at an end."""
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
        """Tell whether it is waiting after a reduction."""
        return self.cooldown_counter > 0

    def _reduce(self, epoch: int) -> bool:
        reduced = False
        for name, optimizer in optimizers_with_settable_rate(self).items():
            rate = float(optimizer.learning_rate)
            if rate > np.float32(self.min_lr):  # the rate is kept in 32 bits
                rate = max(rate * self.factor, self.min_lr)
                optimizer.learning_rate = rate
                reduced = True
                if self.verbose > 0:
                    whose = f" {name}" if name else ""
                    write_stdout(
                        f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing{whose} learning rate "
                        f"to {rate}.\n"
                    )
        return reduced
