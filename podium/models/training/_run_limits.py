"""RunLimits: where a `fit` ends besides its epochs, and where its executions end between.

It owns the arguments `max_steps` and `max_time`, and the clock. Both count the whole run: a resumed
run continues the counts of the process before.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Collection
from typing import Any

from podium.distribute import Strategy


class RunLimits:
    """How many steps the next execution of a run may have.

    Args:
        max_steps: The number of steps after which the run ends.
        max_time: The seconds after which it ends.
        steps_between: Executions end at every multiple of each of these numbers of steps.
        strategy: The strategy of the model, whose workers end after the same step.

    Attributes:
        apply: Whether there is any limit.
        reached: The limit that has ended the run, "max_steps" or "max_time", or None.
    """

    def __init__(
        self,
        max_steps: int | None,
        max_time: float | None,
        steps_between: Collection[int],
        strategy: Strategy,
    ):
        self.steps_between = steps_between
        self.apply = max_steps is not None or max_time is not None or bool(steps_between)
        self.reached: str | None = None
        self._max_steps = max_steps
        self._max_time = max_time
        self._strategy = strategy
        self._start = 0.0
        self._earlier = 0.0  # seconds of earlier processes
        self._first_step = 0  # of this process

    def begin(self, num_steps: int = 0, seconds: float = 0.0) -> None:
        """Start the clock.

        Args:
            num_steps: The number of steps of the run before.
            seconds: How long they took.
        """
        self._start, self._first_step = time.monotonic() - seconds, num_steps
        self._earlier = seconds

    def get_state(self) -> dict[str, Any]:
        """Return the time of the run so far, if it is limited."""
        return {} if self._max_time is None else {"seconds": time.monotonic() - self._start}

    def next_steps(self, num_steps: int) -> int | None:
        """Return the largest number of steps of the next execution; None for no limit, and 0 if the
        run has ended.

        Args:
            num_steps: The number of steps so far.
        """
        allowed = [steps - num_steps % steps for steps in self.steps_between]
        if self._max_steps is not None:
            allowed.append(max(0, self._max_steps - num_steps))
            if not allowed[-1]:
                self.reached = "max_steps"
        if self._max_time is not None and self.reached is None:
            allowed.append(self._steps_in_time(num_steps))
            if not allowed[-1]:
                self.reached = "max_time"
        return min(allowed, default=None)

    def _steps_in_time(self, num_steps: int) -> int:
        """Return how many steps fit into the time that is left, at the speed so far. The device is
        not waited for: it is at most a few executions behind.
        """
        assert self._max_time is not None
        seconds = time.monotonic() - self._start
        if self._strategy.reduce_across_workers(seconds >= self._max_time):
            return 0
        steps = num_steps - self._first_step
        if not steps or self._strategy.spans_processes:  # whose speeds differ
            return sys.maxsize
        left = (self._max_time - seconds) * steps / (seconds - self._earlier)
        return max(1, math.ceil(left))
