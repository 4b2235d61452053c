"""What callbacks that watch one figure share: whether it should fall or rise, and what counts as
better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from podium.callbacks._callback import Callback
from podium.callbacks._logs import to_python
from podium.core import check_choice, warn_user

_RISING = r"acc|accuracy|auc|precision|recall|f1|fbeta|score|iou|io_u|dice|similarity|psnr|ssim|bleu|(?:^|_)map"
_FALLING = r"loss|error|mse|mae|mape|msle|rmse|crossentropy|divergence|poisson|hinge|logcosh|log_cosh|perplexity|nll|error_rate|wer"


class MonitorCallback(Callback):
    """Watches one figure of the logs. The base of EarlyStopping and its kin, not to be used by
    itself.

    Args:
        monitor: The name of the figure, such as "val_loss".
        mode: "min" if it should fall, "max" if it should rise, "auto" to tell by the metric or its
            name.
        min_delta: By how much it must change to count.

    Raises:
        ValueError: The mode is none of these.

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
        self.best = math.inf  # of a falling figure; `reset_best` sets it for either
        self._sign: float | None = None  # 1 if the figure should fall, -1 if it should rise
        self._warned = False

    def reset_best(self) -> None:
        """Start anew, as at the beginning of `fit`."""
        self._warned = False
        self._sign = None
        if self.mode != "auto":
            self._sign = 1.0 if self.mode == "min" else -1.0
        self.best = math.inf if self._sign is None else self._sign * math.inf

    def get_monitor_value(self, logs: Mapping[str, Any] | None) -> float | None:
        """Return the figure, or None with a warning (once) that lists what there is."""
        value = (logs or {}).get(self.monitor)
        if value is not None:
            if self._sign is None:
                self._sign = self._direction()
                self.best = self._sign * math.inf
            return to_python(value)
        if not self._warned:
            self._warned = True
            there = ", ".join(map(repr, logs or ())) or "none"
            hint = ""
            if self.monitor.startswith("val_") and not any(
                name.startswith("val_") for name in logs or ()
            ):
                hint = " Give `fit` some `validation_data`, or watch another one."
            warn_user(
                f"{type(self).__name__} watches {self.monitor!r}, which is not among the figures "
                f"of this epoch. Available: {there}.{hint}"
            )
        return None

    def is_better(self, value: float, than: float) -> bool:
        """Tell whether a value improves on another by more than `min_delta`."""
        assert self._sign is not None
        return self._sign * value + self.min_delta < self._sign * than

    def _direction(self) -> float:
        """Find out whether the figure should fall: from the metric of that name, or else from the
        name.
        """
        name = self.monitor.removeprefix("val_")
        for metric in getattr(self.model, "metrics", None) or ():
            direction = getattr(metric, "_direction", None)
            if getattr(metric, "name", None) == name and direction in ("up", "down"):
                return -1.0 if direction == "up" else 1.0
        bare = re.sub(r"_\d+$", "", name)
        if re.search(rf"({_FALLING})$", bare):
            return 1.0
        if re.search(rf"({_RISING})$", bare) or "acc" in bare:
            return -1.0
        warn_user(
            f"{type(self).__name__} watches {self.monitor!r} with mode='auto', and the name does "
            "not say whether it should fall or rise; it is taken to fall. Write mode='min' or "
            "mode='max'."
        )
        return 1.0


def check_count(owner: str, argument: str, value: Any) -> Any:
    """Refuse a number of epochs that is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            f"{owner} was given {argument}={value!r}; a number of epochs was expected, 0 or more."
        )
    if not value >= 0:
        raise ValueError(
            f"{owner} was given {argument}={value}; a number of epochs was expected, 0 or more."
        )
    return value
