"""Timeline: when the device was computing which execution, without ever waiting for it.

Invariant: measuring adds no wait. The loop starts executions ahead of the device, which computes
them in order, so an execution takes from the end of the one before it (or from its own start, if
the device was idle) to its own end. Ends are seen where the loop looks anyway:

- after each start, where the loop has just waited for an older execution if too many are running;
- where the loop, a callback or the progress bar reads a value, and so waits for it;
- on a thread that watches a sample of the executions while the loop does other things.

Executions that end together between two looks share the time evenly. One whose end is in a long
gap (a slow read of data) and was not watched is left out of the quantiles; for the time that the
device was busy it counts as the mean of the others, as far as the gap allows. Guarded by
tests/telemetry/test_timeline.py.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax

from podium.telemetry._durations import Histogram, clock
from podium.telemetry._watcher import Watcher

_MAX_PENDING = 32  # executions of a user's own function may be started without a limit
_MAX_UNSORTED = 256
_MAX_GAP = 20  # a gap of up to 1/20 of a duration is as good as a look at its end
# Nanoseconds from the beginning of a run to the first execution that is watched, and between two.
_FIRST_WATCH, _WATCH_INTERVAL = 250_000_000, 5_000_000


# Executions that were started and whose end has not been seen: an array of the last one, the start
# of the first one, their number, the number of their steps, whether one of them compiled. A tuple,
# because each execution makes one.
_Pending: TypeAlias = tuple[Any, int, int, int, bool]


class Timeline:
    """The executions of one run.

    Attributes:
        executions: How many were started.
        steps: The number of their steps.
        samples: The number of samples in their batches.
        busy: Nanoseconds for which the device computed them.
        head: The array of the oldest execution that may still run; None if there is none.
        next_call: The time from which on `call` is called after each execution.
        call: A function without arguments.
    """

    def __init__(self) -> None:
        self.executions = self.steps = self.samples = 0
        self.busy = 0
        self.head: Any = None
        self.next_call = sys.maxsize
        self.call: Callable[[], object] | None = None
        self._pending: deque[_Pending] = deque()
        self._num_ended = 0
        self._last_look = 0
        self._busy_until = 0
        # What has ended and is not sorted yet, as (nanoseconds, executions, steps): first those
        # whose end was not seen, then those whose end was. A histogram of executions and one of
        # steps for each.
        self._ended: tuple[list[tuple[int, int, int]], ...] = ([], [])
        self._histograms = ((Histogram(), Histogram()), (Histogram(), Histogram()))
        self._seen_total = self._seen_count = 0  # nanoseconds, and executions
        self._watcher = Watcher()
        self._first_watch = clock.ns() + _FIRST_WATCH
        self._last_watch = 0
        self._next_watch = sys.maxsize

    def add(
        self,
        results: Sequence[jax.Array],
        start: int,
        steps: int,
        samples: int,
        ended_before: bool,
        is_first: bool = False,
    ) -> None:
        """Add an execution that has just been started, and look which ones have ended.

        Args:
            results: Arrays that it computes; without any its end cannot be seen.
            start: When it was started.
            steps: The number of its steps.
            samples: The number of samples in its batches.
            ended_before: Whether `head` was computed when it was started.
            is_first: Whether it compiled its program: its duration is not a latency.
        """
        self.executions += 1
        self.steps += steps
        self.samples += samples
        pending = self._pending
        # What ended while a program was compiled has not made the device busy for all that time.
        ended_before = ended_before or is_first
        if ended_before:
            self._look_back(self._last_look, start)
        now = clock.ns()
        if results:
            pending.append((results[0], start, 1, steps, is_first))
        if not ended_before:
            self._look_back(now, now)
        if pending and now >= self._next_watch and self._watcher.is_idle:
            self._last_watch, self._next_watch = now, sys.maxsize
            number = self._num_ended + sum(count for _, _, count, _, _ in pending)
            self._watcher.watch(number, pending[-1][0])
        if now >= self.next_call and self.call is not None:
            self.call()
        if len(pending) > _MAX_PENDING:
            self._merge_oldest()
        self.head = pending[0][0] if pending else None
        self._last_look = now

    def add_ended(self, start: int, steps: int, samples: int) -> None:
        """Add an execution that ran eagerly and has ended."""
        self.executions += 1
        self.steps += steps
        self.samples += samples
        duration = clock.ns() - start
        self.busy += duration
        self._ended[True].append((duration, 1, steps))
        if len(self._ended[True]) >= _MAX_UNSORTED:
            self._sort()

    def look(self, has_waited: bool) -> None:
        """Look which executions have ended.

        Args:
            has_waited: Whether the host has just waited for one of them.
        """
        if self._pending:
            now = clock.ns()
            self._look_back(now if has_waited else self._last_look, now)
            self.head = self._pending[0][0] if self._pending else None
            self._last_look = now

    def stop(self) -> None:
        """End measuring."""
        self._watcher.stop()
        self._pending.clear()
        self.head = None

    @property
    def is_lower_bound(self) -> bool:
        """Whether no end was seen, so that the durations are at least those that are known."""
        self._sort()
        unseen, seen = self._histograms
        return seen[0].count == 0 and unseen[0].count > 0

    @property
    def distributions(self) -> tuple[Histogram, Histogram]:
        """The durations of executions, and of steps: those divided by the number of steps."""
        unseen, seen = self._histograms
        return unseen if self.is_lower_bound else seen

    def _look_back(self, earliest: int, latest: int) -> None:
        """Record the executions that have ended by now.

        Args:
            earliest: When the last of them has ended at the earliest.
            latest: And at the latest.
        """
        pending = self._pending
        count = steps = first_start = 0
        has_compiled = False
        while pending and pending[0][0].is_ready():
            _, start, num_executions, num_steps, is_first = pending.popleft()
            first_start = first_start or start
            count += num_executions
            steps += num_steps
            has_compiled |= is_first
        if not count:
            return
        self._num_ended += count
        begin = max(self._busy_until, first_start)
        end, is_seen = latest, (latest - earliest) * _MAX_GAP <= latest - begin
        if not is_seen:
            self._next_watch = max(self._first_watch, self._last_watch + _WATCH_INTERVAL)
            number, end = self._watcher.seen
            is_seen = number == self._num_ended
            if not is_seen:
                end = begin + count * self._seen_total // max(1, self._seen_count)
            end = min(max(end, earliest), latest)
        self._busy_until = end
        duration = end - begin if end > begin else 0
        self.busy += duration
        if not has_compiled:
            if is_seen:  # the mean of these is what others are expected to take
                self._seen_total += duration
                self._seen_count += count
            self._ended[is_seen].append((duration, count, steps))
            if len(self._ended[is_seen]) >= _MAX_UNSORTED:
                self._sort()

    def _sort(self) -> None:
        """Sort the executions that have ended into the histograms."""
        for ended, (executions, by_step) in zip(self._ended, self._histograms, strict=True):
            for duration, count, steps in ended:
                executions.add(duration // count, count)
                by_step.add(duration // steps, count)
            ended.clear()

    def _merge_oldest(self) -> None:
        """Treat the two oldest as one: when the second has ended, so has the first."""
        _, start, count, steps, is_first = self._pending.popleft()
        array, _, more, more_steps, other_is_first = self._pending[0]
        is_first |= other_is_first
        self._pending[0] = array, start, count + more, steps + more_steps, is_first
