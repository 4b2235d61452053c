"""Pace: how many steps one execution takes, beginning with one (`steps_per_execution="auto"`) or
the number that was given.

Quick steps cost more to start than to compute, so many are fused into one XLA call. Slow ones would
gain nothing: they stay as they are, and nothing more is compiled for them. A number above 1 that
was given stands for what callbacks hear of at once: where nobody listens, several such groups share
a call. What was found is kept with the execution, so the next run starts at its pace.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import jax

from podium.data import DataHandler, StepsPerExecution
from podium.execution import Execution

_QUICK = 1e-2  # seconds for a step; from there on fusing saves nothing worth having
_LONGEST = 0.08  # seconds for an execution: the bar moves ten times a second, and Ctrl-C is heard
_MOST = 512  # steps in an execution
_BYTES = 2**23  # of batches and results in an execution
_SAMPLES = 3  # measurements, of which the best counts
# so much slower fused steps may seem, twice, before single ones are preferred: the best of those is
# a lucky one
_TIE = 1.1
# seconds that the program for fused steps of a quick step takes at most; the first one takes longer
_DEAREST = 0.5
_SAVED = 0.5  # of the time of a quick step, by fusing: what a program for fused steps must earn,
_MOST_SAVED = 5e-4  # and no more than so many seconds a step
_MANY_RUNS = 20  # short ones


class Pace:
    """Measures the first executions of a run, and sets how many steps the others take.

    Args:
        steps: The number to set.
        run: What runs the steps. Only an `Execution` can fuse them.
        every_batch: Whether somebody wants to hear of each batch, or of each group of the number
            that was given.
        data: Says how many steps there are.
        most: The largest number of steps that may go by at once, if there is a limit.
    """

    def __init__(
        self,
        steps: StepsPerExecution,
        run: Callable,
        every_batch: bool,
        data: DataHandler,
        most: int | None = None,
    ):
        self._steps = steps
        self._data = data
        self._least = steps.given
        self._most = min(_MOST, most or _MOST, data.inferred_steps or _MOST)
        self._execution: Any = getattr(run, "__self__", None)
        fuses = isinstance(self._execution, Execution) and not self._execution.runs_eagerly
        single = self._least == 1 and not steps.auto  # was asked for
        self.settled = every_batch or not fuses or single or self._most < 2 * self._least
        self._waits: Measured | None = (
            None  # what was found, if the run is too short to make a program for fused steps
        )
        self._taken = 0
        self._traces = -1
        self._last = 0.0

    def __enter__(self) -> Pace:
        self._before = (
            self._steps.value,
            self._steps.full,
        )  # of a run around this one, such as the training around a validation
        self._steps.run_at(self._least)
        return self

    def __exit__(self, *_: Any) -> None:
        self._steps.value, self._steps.full = self._before
        if self._waits is not None:
            self._waits.waited += self._left()
            self._waits.runs += 1

    def after(self, values: Any) -> None:
        """Hear what an execution returned; not needed any more once `settled`."""
        found = self._execution.paces.setdefault(self._execution.latest, Measured())
        self._taken += values.count
        if found.settled is None:
            self._measure(found, values)
            self._decide(found)
        if found.settled is not None or self._waits is not None:
            self.settled = True
        self._steps.run_at(self._whole_groups(found.settled or found.fused))

    def _measure(self, found: Measured, values: Any) -> None:
        """Note how long the execution took, if nothing was compiled in it."""
        jax.block_until_ready(values.arrays)
        now = time.perf_counter()
        if self._execution.trace_count == self._traces and (values.count > self._least) == (
            found.fused > 0
        ):
            found.times.append((now - self._last) / values.count)
        self._traces, self._last = self._execution.trace_count, now

    def _decide(self, found: Measured) -> None:
        """Go over from single steps to fused ones if that pays, or back for good."""
        if len(found.times) >= _SAMPLES:
            best = min(found.times)
            found.times.clear()
            if found.fused:
                found.best_fused = min(best, found.best_fused)
                self._compare(found)
                return
            found.single = min(best, found.single or best)
            found.fused = found.tried  # they have been slower once: compared again
        if found.single is None or found.fused or found.tried:
            return
        bytes_a_step = self._execution.batch_bytes + self._execution.result_bytes
        wanted = self._whole_groups(
            min(_BYTES // max(1, bytes_a_step), int(_LONGEST / found.single))
        )
        if found.single > 3 * _QUICK:
            found.settled = self._least
        elif found.single > _QUICK:  # on a busy machine, perhaps: the next run looks again
            found.single, self._waits = None, found
        elif wanted > self._least and self._earns(found):
            found.fused = wanted
        else:
            self._waits = found

    def _compare(self, found: Measured) -> None:
        """Settle on fused steps if they are quicker. If not, that may be chance: both are measured
        once more.
        """
        assert found.single is not None
        if found.best_fused < found.single:
            found.settled = found.fused
        elif not found.tried:
            found.tried, found.fused = found.fused, 0
        else:
            found.settled = found.fused if found.best_fused < found.single * _TIE else self._least

    def _whole_groups(self, steps: int) -> int:
        """Return as many steps as make whole groups of the number that was given, one group at
        least.
        """
        return max(self._least, min(steps, self._most) // self._least * self._least)

    def _earns(self, found: Measured) -> bool:
        """Tell whether a program for fused steps, which takes as long to make as the first one, is
        worth it.

        It is if what is left to do now would pay for it, or what has been done in short runs before
        would have; after many of them, more will follow.
        """
        saved = min((found.single or 0.0) * _SAVED, _MOST_SAVED)
        pays = (self._left() + found.waited) * saved > min(
            self._execution.seconds_to_compile, _DEAREST
        )
        return pays or found.runs >= _MANY_RUNS

    def _left(self) -> int:
        steps = self._data.inferred_steps
        return _MOST if steps is None else steps * self._data.epochs_in_all - self._taken


@dataclasses.dataclass
class Measured:
    """What is known of the steps of one execution for batches of one shape."""

    times: list[float] = dataclasses.field(
        default_factory=list
    )  # seconds a step, of the executions measured last
    single: float | None = (
        None  # seconds for a step as they begin: single, or in groups of the number that was given
    )
    waited: int = 0  # such steps of runs that were too short to fuse more
    runs: int = 0  # how many these were
    fused: int = 0  # how many are being fused, to see whether that is quicker
    best_fused: float = math.inf  # seconds for one of them
    tried: int = (
        0  # how many were fused when that was slower; single steps are being measured again
    )
    settled: int | None = None  # how many to fuse, for good
