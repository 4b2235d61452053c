"""Pace: how many steps one execution takes when nobody said, `steps_per_execution="auto"`.

Quick steps cost more to start than to compute, so many are fused into one XLA call. Slow ones would gain nothing: they stay
single, and nothing more is compiled for them. What was found is kept with the execution, so the next run starts at its pace.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax

from podium.data import DataHandler, StepsPerExecution
from podium.execution import Execution

_QUICK = 2e-3  # seconds for a step; from there on fusing saves nothing worth having
_LONGEST = 0.08  # seconds for an execution: the bar moves ten times a second, and Ctrl-C is heard
_MOST = 512  # steps in an execution
_BYTES = 2**23  # of batches and results in an execution
_SAMPLES = 3  # measurements, of which the best counts
_DEAREST = 1.0  # seconds that the program for fused steps of a quick step takes at most; the first one may have taken longer
_SAVED = 0.5  # of the time of a quick step, by fusing: what a program for fused steps must earn


class Pace:
    """Measures the first executions of a run, and sets how many steps the others take.

    Args:
        steps: The number to set; nothing is done unless it is "auto".
        run: What runs the steps. Only an `Execution` can fuse them.
        every_batch: Whether somebody wants to hear of each single batch.
        data: Says how many steps there are.
        most: The largest number of steps that may go by at once, if there is a limit.
    """

    def __init__(self, steps: StepsPerExecution, run: Callable, every_batch: bool, data: DataHandler, most: int | None = None):
        self._steps = steps
        self._data = data
        self._most = min(_MOST, most or _MOST, data.inferred_steps or _MOST)
        self._execution: Any = getattr(run, "__self__", None)
        fuses = isinstance(self._execution, Execution) and not self._execution.runs_eagerly
        self.settled = not steps.auto or every_batch or not fuses or self._most == 1
        self._waits: Measured | None = None  # what was found, if the run is too short to make a program for fused steps
        self._taken = 0
        self._traces = -1
        self._last = 0.0

    def __enter__(self) -> Pace:
        self._before = self._steps.value, self._steps.full  # of a run around this one, such as the training around a validation
        if self._steps.auto:
            self._steps.assign(1)
        return self

    def __exit__(self, *_: Any) -> None:
        self._steps.value, self._steps.full = self._before
        if self._waits is not None:
            self._waits.waited += self._left()

    def after(self, values: Any) -> None:
        """Hear what an execution returned; not needed any more once `settled`."""
        found = self._execution.paces.setdefault(self._execution.latest, Measured())
        self._taken += values.count
        if found.settled is None:
            self._measure(found, values)
            self._decide(found)
        if found.settled is not None or self._waits is not None:
            self.settled = True
        self._steps.assign(max(1, min(found.settled or found.fused, self._most)))

    def _measure(self, found: Measured, values: Any) -> None:
        """Note how long the execution took, if nothing was compiled in it."""
        jax.block_until_ready(values.arrays)
        now = time.perf_counter()
        if self._execution.trace_count == self._traces and (values.count > 1) == (found.fused > 0):
            found.times.append((now - self._last) / values.count)
        self._traces, self._last = self._execution.trace_count, now

    def _decide(self, found: Measured) -> None:
        """Go over from single steps to fused ones if that pays, or back for good."""
        if len(found.times) >= _SAMPLES:
            best = min(found.times)
            found.times.clear()
            if found.single is None:
                found.single = best
            elif found.fused:
                found.settled = found.fused if best < found.single else 1
                return
        if found.single is None or found.fused:
            return
        bytes_a_step = self._execution.batch_bytes + self._execution.result_bytes
        wanted = min(self._most, _BYTES // max(1, bytes_a_step), int(_LONGEST / found.single))
        if found.single > _QUICK:
            found.settled = 1
        elif wanted > 1 and self._earns(found.single, found.waited):
            found.fused = wanted
        else:
            self._waits = found

    def _earns(self, seconds: float, waited: int) -> bool:
        """Tell whether a program for fused steps, which takes as long to make as the first one, is worth it.

        It is if what is left to do now would pay for it, or what has been done in short runs before would have.
        """
        return (self._left() + waited) * seconds * _SAVED > min(self._execution.seconds_to_compile, _DEAREST)

    def _left(self) -> int:
        steps = self._data.inferred_steps
        return _MOST if steps is None else steps * self._data.epochs_in_all - self._taken


@dataclasses.dataclass
class Measured:
    """What is known of the steps of one execution for batches of one shape."""

    times: list[float] = dataclasses.field(default_factory=list)  # seconds a step, of the executions measured last
    single: float | None = None  # seconds for a single step
    waited: int = 0  # single steps of runs that were too short to fuse
    fused: int = 0  # how many are being fused, to see whether that is quicker
    settled: int | None = None  # how many to fuse, for good
