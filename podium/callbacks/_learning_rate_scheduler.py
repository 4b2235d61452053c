"""LearningRateScheduler: sets the learning rate of every epoch by a function of the user."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from podium.callbacks._callback import Callback
from podium.callbacks._console import write_stdout
from podium.callbacks._learning_rate import log_learning_rates, optimizers_with_settable_rate
from podium.core import Tensor, is_float_dtype


class LearningRateScheduler(Callback):
    """Sets the learning rate at the beginning of every epoch. The rate is added to the logs as
    `learning_rate`.

    Args:
        schedule: A function of the epoch (counted from 0) and the current rate, or of the epoch
            alone, that returns the rate as a float.
        verbose: 1 to print messages.

    Raises:
        ValueError: The schedule does not return a float, or the optimizer has its own schedule.

    Example:
        >>> halve = podium.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
        >>> halve.schedule(1, 0.5)
        0.25
    """

    every_worker = True

    def __init__(self, schedule: Callable[..., float], verbose: int = 0):
        super().__init__()
        if not callable(schedule):
            raise TypeError(
                f"LearningRateScheduler was given schedule={schedule!r}; a function of (epoch, "
                "rate) was expected."
            )
        self.schedule = schedule
        self.verbose = verbose
        self._takes_rate = _takes(schedule, 2)

    def get_state(self) -> dict[str, Any]:
        """Return an empty state: the rate itself is saved with the optimizer."""
        return {}

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Raise if the learning rate cannot be set, before training begins."""
        optimizers_with_settable_rate(self)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Set the rate."""
        for name, optimizer in optimizers_with_settable_rate(self).items():
            rate = self._rate(epoch, optimizer)
            optimizer.learning_rate = rate
            if self.verbose > 0:
                label = f"{name} " if name else ""
                write_stdout(
                    f"\nEpoch {epoch + 1}: LearningRateScheduler setting {label}learning rate to "
                    f"{rate}.\n"
                )

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Add the rate to the logs."""
        log_learning_rates(self, logs)

    def _rate(self, epoch: int, optimizer: Any) -> float:
        rate = (
            self.schedule(epoch, float(optimizer.learning_rate))
            if self._takes_rate
            else self.schedule(epoch)
        )
        if not _is_float(rate):
            raise ValueError(
                f"The `schedule` of LearningRateScheduler returned {rate!r} for epoch {epoch}; a "
                "float, the learning rate, was expected. Return one in every case."
            )
        return float(rate)


def _takes(function: Callable[..., object], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # written in C: it has no signature
        pass
    return True


def _is_float(rate: object) -> bool:
    if isinstance(rate, (Tensor, jax.Array, np.ndarray, np.generic)):
        return rate.ndim == 0 and is_float_dtype(rate.dtype)
    return isinstance(rate, float)
