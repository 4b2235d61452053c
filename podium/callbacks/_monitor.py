"""MonitorCallback: the base of callbacks that monitor one value of the logs.

It decides whether the value should decrease or increase, and what counts as an improvement.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium.callbacks._callback import Callback
from podium.callbacks._logs import to_python
from podium.core import check_choice, warn_user

_INCREASING = (
    r"acc|accuracy|auc|precision|recall|f1|fbeta|score|iou|io_u|dice|similarity|psnr|ssim|bleu|"
    r"(?:^|_)map"
)
_DECREASING = (
    r"loss|error|mse|mae|mape|msle|rmse|crossentropy|divergence|poisson|hinge|logcosh|log_cosh|"
    r"perplexity|nll|error_rate|wer"
)


class MonitorCallback(Callback):
    """Monitors one value of the logs. The base class of `EarlyStopping`, `ReduceLROnPlateau` and
    `ModelCheckpoint`.

    Args:
        monitor: The name of the value, such as "val_loss".
        mode: "min" if it should decrease, "max" if it should increase, "auto" to decide by the
            metric or its name.
        min_delta: The smallest change that counts as an improvement.

    Raises:
        ValueError: The mode is not one of these.

    Example:
        >>> podium.callbacks.MonitorCallback("loss", mode="sideways")
        Traceback (most recent call last):
        ValueError: Unknown mode 'sideways'. Choices: 'auto', 'max', 'min'.
    """

    def __init__(self, monitor: str = "val_loss", mode: str = "auto", min_delta: float = 0.0):
        super().__init__()
        self.monitor = monitor
        self.mode = check_choice("mode", mode, ["auto", "min", "max"])
        self.min_delta = abs(min_delta)
        self.best = math.inf  # for mode "min"; `reset_best` sets it for either mode
        self._sign: float | None = None  # 1 if the value should decrease, -1 if it should increase
        self._warned = False

    def reset_best(self) -> None:
        """Forget the best value, as at the beginning of `fit`."""
        self._warned = False
        self._sign = None
        if self.mode != "auto":
            self._sign = 1.0 if self.mode == "min" else -1.0
        self.best = math.inf if self._sign is None else self._sign * math.inf

    def get_monitor_value(self, logs: Mapping[str, Any] | None) -> float | None:
        """Return the monitored value; or None, with one warning that lists the available names."""
        value = (logs or {}).get(self.monitor)
        if value is not None:
            if self._sign is None:
                self._sign = self._direction()
                self.best = self._sign * math.inf
            number: float = to_python(value)
            return number
        if not self._warned:
            self._warned = True
            available = ", ".join(map(repr, logs or ())) or "none"
            hint = ""
            if self.monitor.startswith("val_") and not any(
                name.startswith("val_") for name in logs or ()
            ):
                hint = " Pass `validation_data` to `fit`, or monitor another value."
            warn_user(
                f"{type(self).__name__} monitors {self.monitor!r}, which is not in the logs of "
                f"this epoch. Available: {available}.{hint}"
            )
        return None

    def is_better(self, value: float, than: float) -> bool:
        """Return whether a value improves on another by more than `min_delta`."""
        assert self._sign is not None
        if isinstance(value, str) or np.size(value) != 1:
            raise TypeError(
                f"{type(self).__name__} monitors {self.monitor!r}, which is {value!r} "
                f"({type(value).__name__}); a number was expected. A callback may have put it into "
                "the logs: let it write a number, or monitor another value."
            )
        return self._sign * value + self.min_delta < self._sign * than

    def _direction(self) -> float:
        """Return 1 if the value should decrease and -1 if it should increase, by the metric of that
        name, or else by the name.
        """
        name = self.monitor.removeprefix("val_")
        for metric in getattr(self.model, "metrics", None) or ():
            direction = getattr(metric, "_direction", None)
            if getattr(metric, "name", None) == name and direction in ("up", "down"):
                return -1.0 if direction == "up" else 1.0
        bare = re.sub(r"_\d+$", "", name)
        if re.search(rf"({_DECREASING})$", bare):
            return 1.0
        if re.search(rf"({_INCREASING})$", bare) or "acc" in bare:
            return -1.0
        warn_user(
            f"{type(self).__name__} monitors {self.monitor!r} with mode='auto', and the name does "
            "not say whether it should decrease or increase; 'min' is assumed. Write mode='min' "
            "or mode='max'."
        )
        return 1.0


def check_epochs(owner: str, argument: str, value: float) -> float:
    """Return a number of epochs; it may be a float, such as infinity."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            f"{owner} was given {argument}={value!r}; a number of epochs was expected, 0 or more."
        )
    if not value >= 0:
        raise ValueError(
            f"{owner} was given {argument}={value}; a number of epochs was expected, 0 or more."
        )
    return value
