"""StepsAutotuner: chooses how many steps an execution fuses, from measured times.

Starting a quick step costs more than computing it, so several are fused into one XLA call. Slow
steps gain nothing: they stay single, and nothing more is compiled for them. A number above 1 passed
to `compile` is the number of steps between two calls of the callbacks: where no callback needs
them, several such groups share an execution. The measurements are stored with the execution, so the
next run starts with them.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Protocol

import jax

from podium.execution._custom_execution import CustomExecution
from podium.execution._execution import Execution
from podium.execution._step_values import StepValues
from podium.telemetry.internal import DeviceWait, clock

_QUICK_STEP = 1e-2  # seconds; fusing slower steps saves too little
# Seconds for an execution: the progress bar moves ten times a second, and Ctrl-C takes effect soon.
_MAX_EXECUTION = 0.08
_MAX_STEPS = 512  # in an execution
_MAX_BYTES = 2**23  # of batches and results in an execution
_NUM_SAMPLES = 3  # measurements, of which the shortest counts
# Fused steps may appear slower by this factor, twice, before single steps are preferred: the
# shortest of those measurements was a lucky one.
_TIE_FACTOR = 1.1
_MAX_COMPILATION = 0.5  # seconds for the fused program of a quick step; the first one takes longer
# A fused program must save as much time as it takes to compile. It is expected to save this
# fraction of the time of a quick step, but not more than a number of seconds.
_SAVED_FRACTION = 0.5
_MAX_SAVED = 5e-4
_MANY_RUNS = 20  # short runs


class RunLength(Protocol):
    """The length of a run, as far as it is known."""

    @property
    def inferred_steps(self) -> int | None:
        """The number of steps in an epoch."""

    @property
    def num_epochs(self) -> int:
        """The number of epochs."""


@dataclasses.dataclass
class StepTimings:
    """What is known about the steps of one execution for batches of one shape.

    Attributes:
        samples: Seconds per step of the executions measured last.
        single: Seconds per step without further fusing, of single steps or of groups of the number
            passed to `compile`; None if not measured yet.
        deferred_steps: Such steps in runs that were too short to compile a fused program.
        deferred_runs: The number of those runs.
        fused: How many steps are being fused to measure whether that is quicker; 0 for none.
        best_fused: Seconds per fused step.
        tried: How many were fused when that was slower, while single steps are measured again.
        settled: How many to fuse, finally.
    """

    samples: list[float] = dataclasses.field(default_factory=list)
    single: float | None = None
    deferred_steps: int = 0
    deferred_runs: int = 0
    fused: int = 0
    best_fused: float = math.inf
    tried: int = 0
    settled: int | None = None


class StepsAutotuner:
    """Measures the first executions of a run, and chooses how many steps the others fuse.

    Args:
        execution: Runs the steps. Only a compiled `Execution` can fuse them.
        steps_per_execution: The number passed to `compile`; 1 with "auto".
        auto: Whether that number was "auto".
        every_batch: Whether callbacks must be called for each batch, or for each group of
            `steps_per_execution`.
        length: The length of the run.
        max_steps: The largest number of steps that may be fused, if there is a limit.

    Attributes:
        steps: The number of steps for the next execution.
        settled: Whether the number will not change any more, so that `record` need not be called.
    """

    def __init__(
        self,
        execution: Execution | CustomExecution,
        steps_per_execution: int,
        auto: bool,
        every_batch: bool,
        length: RunLength,
        max_steps: int | None = None,
    ):
        self.steps = self._min_steps = steps_per_execution
        self._max_steps = min(
            _MAX_STEPS, max_steps or _MAX_STEPS, length.inferred_steps or _MAX_STEPS
        )
        self._length = length
        self._execution: Any = execution  # compiled, unless settled
        can_fuse = isinstance(execution, Execution) and not execution.runs_eagerly
        single_requested = self._min_steps == 1 and not auto
        self.settled = (
            every_batch or not can_fuse or single_requested or self._max_steps < 2 * self._min_steps
        )
        # Of steps that are not fused because the run is too short to compile a program for it.
        self._deferred: StepTimings | None = None
        self._num_recorded = 0
        self._trace_count = -1
        self._last_time = 0.0

    def __enter__(self) -> StepsAutotuner:
        return self

    def __exit__(self, *_: object) -> None:
        if self._deferred is not None:
            self._deferred.deferred_steps += self._steps_left()
            self._deferred.deferred_runs += 1

    def record(self, values: StepValues) -> int:
        """Record that an execution has run, and return the number of steps for the next one.

        Until the number is settled, the host waits here for the values.

        Args:
            values: What the execution returned.
        """
        timings = self._execution.step_timings.setdefault(self._execution.latest_key, StepTimings())
        self._num_recorded += values.count
        if timings.settled is None:
            self._measure(timings, values)
            self._decide(timings)
        if timings.settled is not None or self._deferred is not None:
            self.settled = True
        self.steps = self._round_to_groups(timings.settled or timings.fused)
        return self.steps

    def _measure(self, timings: StepTimings, values: StepValues) -> None:
        """Add the time of the execution to the samples, if nothing was compiled in it."""
        with DeviceWait():
            jax.block_until_ready(values.arrays)
        now = clock.seconds()
        is_fused = values.count > self._min_steps
        if self._execution.trace_count == self._trace_count and is_fused == (timings.fused > 0):
            timings.samples.append((now - self._last_time) / values.count)
        self._trace_count, self._last_time = self._execution.trace_count, now

    def _decide(self, timings: StepTimings) -> None:
        """Change from single to fused steps if that pays, or back for good."""
        if len(timings.samples) >= _NUM_SAMPLES:
            best = min(timings.samples)
            timings.samples.clear()
            if timings.fused:
                timings.best_fused = min(best, timings.best_fused)
                self._compare(timings)
                return
            timings.single = min(best, timings.single or best)
            timings.fused = timings.tried  # they were slower once: compare again
        if timings.single is None or timings.fused or timings.tried:
            return
        bytes_per_step = self._execution.batch_bytes + self._execution.result_bytes
        fused = self._round_to_groups(
            min(_MAX_BYTES // max(1, bytes_per_step), int(_MAX_EXECUTION / timings.single))
        )
        if timings.single > 3 * _QUICK_STEP:
            timings.settled = self._min_steps
        elif timings.single > _QUICK_STEP:  # the machine may be busy: the next run measures again
            timings.single, self._deferred = None, timings
        elif fused > self._min_steps and self._pays_off(timings):
            timings.fused = fused
        else:
            self._deferred = timings

    def _compare(self, timings: StepTimings) -> None:
        """Settle on fused steps if they are quicker. If not, that may be chance: both are measured
        once more.
        """
        assert timings.single is not None
        if timings.best_fused < timings.single:
            timings.settled = timings.fused
        elif not timings.tried:
            timings.tried, timings.fused = timings.fused, 0
        elif timings.best_fused < timings.single * _TIE_FACTOR:
            timings.settled = timings.fused
        else:
            timings.settled = self._min_steps

    def _round_to_groups(self, steps: int) -> int:
        """Return the largest multiple of `steps_per_execution` up to `steps`, at least one."""
        groups = min(steps, self._max_steps) // self._min_steps
        return max(1, groups) * self._min_steps

    def _pays_off(self, timings: StepTimings) -> bool:
        """Return whether a fused program, which takes as long to compile as the first one, pays
        off.

        It does if the remaining steps would save that time, or the steps of earlier short runs
        would have; after many short runs, more are expected.
        """
        saved = min((timings.single or 0.0) * _SAVED_FRACTION, _MAX_SAVED)
        saved_in_all = (self._steps_left() + timings.deferred_steps) * saved
        cost = min(self._execution.seconds_to_compile, _MAX_COMPILATION)
        return saved_in_all > cost or timings.deferred_runs >= _MANY_RUNS

    def _steps_left(self) -> int:
        steps = self._length.inferred_steps
        if steps is None:
            return _MAX_STEPS
        return steps * self._length.num_epochs - self._num_recorded
