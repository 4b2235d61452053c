"""Progbar: one line with the progress of a loop, the time per step and the logs.

It owns the text and the time between two drawings. Values are read (which waits for the device)
only when the line is drawn; where a line cannot be redrawn, in a pipe or a file, only the last one
is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from podium.callbacks._console import can_redraw, terminal_width, write_stdout
from podium.callbacks._logs import to_python
from podium.core.internal import PublicRepr
from podium.telemetry.internal import clock

_MAX_PENDING = 1000  # unread batches kept at most
_MIN_WIDTH = 5  # of a bar that is shortened to fit the line; below, it is omitted


# Pairs of name and value, or a dictionary.
_Values = Iterable[tuple[str, Any]] | Mapping[str, Any]


class Progbar(PublicRepr):
    """Shows the progress of a loop.

    Args:
        target: The number of steps, or None if it is not known.
        width: The width of the bar in characters.
        verbose: 0 for silence, 1 for a bar, 2 for one line at the end.
        interval: The minimum time between two drawings, in seconds.
        stateful_metrics: Names whose values are shown as they are; the others are averaged over the
            steps.
        unit_name: The name of one step.
        stateless_metrics: Names whose values are averaged; the others are shown as they are. Not
            together with `stateful_metrics`.

    Example:
        >>> bar = podium.callbacks.Progbar(3, width=6, verbose=1)
        >>> for loss in (3.0, 2.0, 1.0):
        ...     bar.add(1, [("loss", loss)])
        3/3 [======] - 0s .../step - loss: 2.0000
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
        stateless_metrics: Iterable[str] | None = None,
    ):
        if stateful_metrics is not None and stateless_metrics is not None:
            raise ValueError(
                "Progbar was given stateful_metrics and stateless_metrics; one of them was "
                "expected, since each decides how all other values are shown."
            )
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.stateful_metrics = set(stateful_metrics or ())
        self.stateless_metrics = None if stateless_metrics is None else set(stateless_metrics)
        self.unit_name = unit_name
        self.all_stateful = False  # every value is a running mean: only the latest is kept
        self._values: dict[str, tuple[Any, int]] = {}  # name -> (weighted sum, weight)
        self._pending: list[tuple[_Values, int]] = []
        self._seen = 0
        self._start = clock.seconds()
        # The first step, which compiles, and the time at which it ended.
        self._first: tuple[int, float] | None = None
        self.next_drawing = 0.0  # when an update draws again
        self._drawn_width = 0  # of the unfinished line on the screen
        self._live_width = width  # of the bar before the end: shorter if the line would not fit

    def update(
        self, current: int, values: _Values | None = None, finalize: bool | None = None
    ) -> None:
        """Set the progress of the loop.

        Args:
            current: The number of completed steps.
            values: Pairs of name and value, or a dictionary.
            finalize: Whether this is the last update; by default, whether the target is reached.
        """
        if finalize is None:
            finalize = self.target is not None and current >= self.target
        if values:
            if self.all_stateful:
                self._pending.clear()
            self._pending.append((values, max(current - self._seen, 1)))
        self._seen = current
        if self.verbose == 0:
            self._pending.clear()
            return
        if finalize:
            self._finish(current)
        elif self.verbose == 1 and not self.is_too_soon():
            if can_redraw():
                self._draw(current)
            # From after the drawing, which waits for the device.
            self.next_drawing = clock.seconds() + self.interval
        elif len(self._pending) > _MAX_PENDING:
            self._read_pending()
        if self._first is None and current:
            self._first = (current, clock.seconds())

    def is_too_soon(self) -> bool:
        """Return whether an update would not draw, because the last drawing was too recent."""
        return clock.seconds() < self.next_drawing

    def add(self, n: int, values: _Values | None = None) -> None:
        """Advance by `n` steps."""
        self.update(self._seen + n, values)

    def close(self) -> None:
        """End an unfinished line, as when the loop is interrupted."""
        if self._drawn_width:
            write_stdout("\n")
            self._drawn_width = 0

    def announce(self, message: str) -> None:
        """Draw the empty bar with a message, before the first step has ended."""
        self._redraw(f" - {message}", 0)

    def _draw(self, current: int) -> None:
        # In this order: reading logs waits for the steps.
        logs, now = self._format_logs(), clock.seconds()
        timing = ""
        if self.target is None:
            step_time = _format_duration(self._step_time(current, now))
            timing = f" - {now - self._start:.0f}s {step_time}/{self.unit_name}"
        elif self._first is not None and current > self._first[0]:
            remaining = self._step_time(current, now) * (self.target - current)
            timing = f" - ETA: {_format_remaining(remaining)}"
        self._redraw(timing + logs, current)

    def _redraw(self, text: str, current: int) -> None:
        """Replace the line on the screen by the bar and a text; the bar is shortened if both do not
        fit.
        """
        max_width = terminal_width()
        line = self._format_bar(current, self._live_width) + text
        if max_width is not None and len(line) > max_width:
            width = self._live_width - (len(line) - max_width)
            self._live_width = width if width >= _MIN_WIDTH else 0
            line = (self._format_bar(current, self._live_width) + text)[:max_width]
        write_stdout("\r" + line.ljust(self._drawn_width))
        self._drawn_width = len(line)

    def _finish(self, current: int) -> None:
        logs, now = self._format_logs(), clock.seconds()
        elapsed = now - self._start
        if self.verbose == 1:
            step_time = _format_duration(self._step_time(current, now))
            line = f"{self._format_bar(current, self.width)} - {elapsed:.0f}s {step_time}"
            line += f"/{self.unit_name}{logs}"
        else:
            step_time = _format_duration(elapsed / max(current, 1))
            line = f"{self._format_count(current)} - {elapsed:.0f}s{logs}"
            line += f" - {_format_duration(elapsed)}/epoch - {step_time}/{self.unit_name}"
        start = "\r" if self._drawn_width else ""
        write_stdout(start + line.ljust(self._drawn_width) + "\n")
        self._drawn_width = 0

    def _format_count(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        return f"{current:{len(str(self.target))}d}/{self.target}"

    def _format_bar(self, current: int, width: int) -> str:
        if self.target is None or not width:
            return self._format_count(current)
        full = min(int(width * current / self.target), width) if self.target else width
        tip = "" if not full else "=" if current >= self.target else ">"
        return f"{self._format_count(current)} [{('=' * (full - 1) + tip).ljust(width, '.')}]"

    def _format_logs(self) -> str:
        self._read_pending()
        return "".join(
            f" - {name}: {_format_value(total, weight)}"
            for name, (total, weight) in self._values.items()
        )

    def _read_pending(self) -> None:
        for values, weight in self._pending:
            for name, value in values.items() if isinstance(values, Mapping) else values:
                value = to_python(value)
                if self._is_stateful(name) or not isinstance(value, (float, np.ndarray)):
                    self._values[name] = (value, 1)
                else:
                    total, count = self._values.get(name, (0.0, 0))
                    self._values[name] = (total + value * weight, count + weight)
        self._pending.clear()

    def _is_stateful(self, name: str) -> bool:
        """Return whether the values of a name are shown as they are, not averaged."""
        if self.stateless_metrics is not None:
            return name not in self.stateless_metrics
        return self.all_stateful or name in self.stateful_metrics

    def _step_time(self, current: int, now: float) -> float:
        """Return the time per step in seconds; the first step, which compiles, is excluded once
        there are more.
        """
        if self._first is not None and current > self._first[0]:
            return (now - self._first[1]) / (current - self._first[0])
        return (now - self._start) / current if current else 0.0


def _format_value(total: Any, weight: int) -> str:
    if not isinstance(total, (float, np.ndarray)):
        return str(total)
    mean = float(np.mean(total / weight))
    return f"{mean:.4f}" if abs(mean) > 1e-3 else f"{mean:.4e}"


def _format_duration(seconds: float) -> str:
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


def _format_remaining(seconds: float) -> str:
    total = int(seconds)
    if seconds > 3600:
        return f"{total // 3600}:{total % 3600 // 60:02d}:{total % 60:02d}"
    return f"{total // 60}:{total % 60:02d}" if seconds > 60 else f"{total}s"
