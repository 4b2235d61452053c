"""Progbar: one line that shows how far a loop is, how long a step takes and the figures so far.

It owns the text and the time between two drawings. Values are read (which waits for the device)
only when the line is drawn; where a line cannot be drawn over, in a pipe or a file, only the last
one is written.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from podium.callbacks._console import can_redraw, terminal_width, write_stdout
from podium.callbacks._logs import to_python

_MAX_PENDING = 1000  # unread batches kept at most
_LEAST_WIDTH = 5  # of a bar that is made shorter to fit; below, it is left out


class Progbar:
    """Shows the progress of a loop.

    Args:
        target: The number of steps, or None if it is not known.
        width: The width of the bar in characters.
        verbose: 0 for silence, 1 for a bar, 2 for one line at the end.
        interval: The least time between two drawings, in seconds.
        stateful_metrics: Names whose values are shown as they are; the others are averaged over the
            steps.
        unit_name: The word for one step.

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
    ):
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.stateful_metrics = set(stateful_metrics or ())
        self.unit_name = unit_name
        self.all_stateful = False  # every value is a running one: only the latest is kept
        self._values: dict[str, tuple[Any, int]] = {}  # name -> (weighted sum, weight)
        self._pending: list[tuple[Any, int]] = []
        self._seen = 0
        self._start = _now()
        self._first: tuple[int, float] | None = (
            None  # the first step (which compiles) and when it had ended
        )
        self._looked_at: float | None = None  # when it was last time to draw
        self._drawn_width = 0  # of the unfinished line on the screen
        self._live_width = width  # of the bar while it moves: shorter where the line would not fit

    def update(self, current: int, values: Any = None, finalize: bool | None = None) -> None:
        """Set how far the loop is.

        Args:
            current: The number of steps done.
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
            self._looked_at = _now()  # after the drawing, which waits for the device
        elif len(self._pending) > _MAX_PENDING:
            self._read_pending()
        if self._first is None and current:
            self._first = (current, _now())

    def is_too_soon(self) -> bool:
        """Tell whether an update would draw nothing because the last drawing is not long ago."""
        return self._looked_at is not None and _now() - self._looked_at < self.interval

    def add(self, n: int, values: Any = None) -> None:
        """Go on by `n` steps."""
        self.update(self._seen + n, values)

    def close(self) -> None:
        """End an unfinished line, as when the loop is broken off."""
        if self._drawn_width:
            write_stdout("\n")
            self._drawn_width = 0

    def announce(self, word: str) -> None:
        """Draw the empty bar with a word, as long as there is nothing else to show."""
        self._write_over(f" - {word}", 0)

    def _draw(self, current: int) -> None:
        figures, now = self._figures(), _now()  # in this order: reading them waits for the steps
        timing = ""
        if self.target is None:
            timing = f" - {now - self._start:.0f}s {_duration(self._step_time(current, now))}/{self.unit_name}"
        elif self._first is not None and current > self._first[0]:
            timing = (
                f" - ETA: {_remaining(self._step_time(current, now) * (self.target - current))}"
            )
        self._write_over(timing + figures, current)

    def _write_over(self, text: str, current: int) -> None:
        """Draw the bar and a text over the line on the screen; the bar gives way where both would
        not fit.
        """
        room = terminal_width()
        line = self._bar(current, self._live_width) + text
        if room is not None and len(line) > room:
            narrower = self._live_width - (len(line) - room)
            self._live_width = narrower if narrower >= _LEAST_WIDTH else 0
            line = (self._bar(current, self._live_width) + text)[:room]
        write_stdout("\r" + line.ljust(self._drawn_width))
        self._drawn_width = len(line)

    def _finish(self, current: int) -> None:
        figures, now = self._figures(), _now()
        elapsed, step_time = now - self._start, self._step_time(current, now)
        if self.verbose == 1:
            line = f"{self._bar(current, self.width)} - {elapsed:.0f}s {_duration(step_time)}/{self.unit_name}{figures}"
        else:
            line = f"{self._count(current)} - {elapsed:.0f}s{figures}"
            line += f" - {_duration(elapsed)}/epoch - {_duration(elapsed / max(current, 1))}/{self.unit_name}"
        start = "\r" if self._drawn_width else ""
        write_stdout(start + line.ljust(self._drawn_width) + "\n")
        self._drawn_width = 0

    def _count(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        return f"{current:{len(str(self.target))}d}/{self.target}"

    def _bar(self, current: int, width: int) -> str:
        if self.target is None or not width:
            return self._count(current)
        full = min(int(width * current / self.target), width) if self.target else width
        tip = "" if not full else "=" if current >= self.target else ">"
        return f"{self._count(current)} [{('=' * (full - 1) + tip).ljust(width, '.')}]"

    def _figures(self) -> str:
        self._read_pending()
        return "".join(
            f" - {name}: {_figure(total, weight)}" for name, (total, weight) in self._values.items()
        )

    def _read_pending(self) -> None:
        for values, weight in self._pending:
            for name, value in values.items() if isinstance(values, Mapping) else values:
                value = to_python(value)
                if (
                    self.all_stateful
                    or name in self.stateful_metrics
                    or not isinstance(value, (float, np.ndarray))
                ):
                    self._values[name] = (value, 1)
                else:
                    total, count = self._values.get(name, (0.0, 0))
                    self._values[name] = (total + value * weight, count + weight)
        self._pending.clear()

    def _step_time(self, current: int, now: float) -> float:
        """Return the seconds a step takes; the first call, which compiles, is left out once there
        are more.
        """
        if self._first is not None and current > self._first[0]:
            return (now - self._first[1]) / (current - self._first[0])
        return (now - self._start) / current if current else 0.0


def _now() -> float:
    return time.monotonic()


def _figure(total: Any, weight: int) -> str:
    if not isinstance(total, (float, np.ndarray)):
        return str(total)
    mean = float(np.mean(total / weight))
    return f"{mean:.4f}" if abs(mean) > 1e-3 else f"{mean:.4e}"


def _duration(seconds: float) -> str:
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


def _remaining(seconds: float) -> str:
    whole = int(seconds)
    if seconds > 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}" if seconds > 60 else f"{whole}s"
