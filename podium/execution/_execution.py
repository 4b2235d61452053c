"""Execution: runs a step on batches of an iterator, eagerly, compiled, or k steps in one XLA call.

It owns the programs of a step, one for each shape of a batch. It depends on neither data sources
nor callbacks. Each execution is a transaction of compiled steps (see
`podium/core/compile/_program.py`), and each eager step is one (see `_undo_on_error.py` there). How
batches become arrays is in `_batch_call.py`.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, SupportsInt

import jax
import numpy as np

from podium._typing import Tree
from podium.core import OutOfRange, Stream, Variable, map_structure
from podium.core.internal import (
    Program,
    PublicRepr,
    Tensor,
    eager_mode,
    num_rows,
    undo_on_error,
    warn_if_cache_unavailable,
)
from podium.execution._batch_call import BatchCall, Key, to_tensors
from podium.execution._out_of_memory import is_out_of_memory, out_of_memory_error
from podium.execution._recompilations import Compilations, Recompilations
from podium.execution._step_values import StepValues
from podium.execution._tracebacks import remove_internal_frames
from podium.execution._working_memory import keep_working_memory, return_freed_memory
from podium.telemetry.internal import Recorder, clock, measure_compilation

_MAX_STEPS_IN_FLIGHT = 8  # single steps that may be computed at a time
_MAX_STACKS_IN_FLIGHT = 2  # executions of fused steps


class Execution(PublicRepr):
    """A step that reads its own batches: `execution(iterator)` runs it once, or k times when k
    steps are fused.

    Args:
        step: A function of one batch that may read and write Variables; it returns a structure of
            values.
        steps_per_execution: The default number of steps of a call: an int, or an
            object that `int()` reads at each such call.
        run_eagerly: Run the step as plain Python.
        finish: Converts the `StepValues` of a call to what the call returns.

    Example:
        >>> total = podium.Variable(0.0)
        >>> def step(batch):
        ...     return {"total": total.assign_add(podium.ops.sum(batch))}
        >>> execution = podium.execution.Execution(step, steps_per_execution=2)
        >>> batches = iter(podium.data.Dataset.range(10).batch(2))
        >>> values = execution(batches)
        >>> float(values.last["total"]), [float(value["total"]) for value in values.each()]
        (6.0, [1.0, 6.0])
    """

    def __init__(
        self,
        step: Callable[[Tree], Tree],
        steps_per_execution: SupportsInt = 1,
        run_eagerly: bool = False,
        finish: Callable[[StepValues], Any] | None = None,
    ):
        self._step = step
        self._steps_per_execution = steps_per_execution
        self._run_eagerly = run_eagerly
        self._finish = finish
        self._programs: dict[Key, Program] = {}
        self._stack_lengths: dict[Key, int] = {}  # of the batches of fused steps
        self._compilations = Compilations()
        self._in_flight: deque[Any] = deque()  # a result of each execution that may still run
        self._on_result_spec: Callable[[Tree], None] | None = None
        self.latest_key: Key = ()  # of the latest batch
        self._run_number = 0
        self._steps = 0  # of the run
        self.step_timings: dict[Key, Any] = {}  # what the autotuner measured, by key of the batch

    @property
    def runs_eagerly(self) -> bool:
        """Whether the step runs as plain Python, always or for now."""
        return self._run_eagerly or eager_mode.enabled

    @property
    def batch_bytes(self) -> int:
        """The size of the latest batch."""
        return sum(
            math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in self.latest_key[1:]
        )

    @property
    def result_bytes(self) -> int:
        """The size of what the step returns for a batch like the latest."""
        program = self._programs.get(self.latest_key)
        specs = [] if program is None else jax.tree.leaves(program.result_specs)
        return sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in specs)

    @property
    def seconds_to_compile(self) -> float:
        """How long it took to trace and compile the step for the shapes of the latest batch."""
        return self._compilations.seconds(self.latest_key)

    @property
    def recompilations(self) -> Recompilations:
        """For which other shapes and dtypes the step was compiled after the first time, when, and
        at which cost.
        """
        return self._compilations.again

    @property
    def variables(self) -> list[Variable]:
        """The Variables that the step reads or writes, as far as it has been compiled."""
        used = [variable for program in self._programs.values() for variable in program.variables]
        return list({id(variable): variable for variable in used}.values())

    @property
    def trace_count(self) -> int:
        """The number of compiled programs: one per shape of a batch, and one more per shape for
        fused steps.
        """
        return len(self._programs)

    def begin_run(self) -> None:
        """Count steps from 0: a `fit`, `evaluate` or `predict` begins."""
        self._run_number += 1
        self._steps = 0

    def for_run(self, on_result_spec: Callable[[Tree], None] | None = None) -> Execution:
        """Return an execution of the same step with the same programs, for one of several runs.

        Args:
            on_result_spec: Called once, before the first step is computed, with the shapes and
                dtypes of what a step will return. It is not called for steps that run eagerly,
                because their results are not known in advance.
        """
        execution = copy.copy(self)
        execution._on_result_spec = on_result_spec
        execution._in_flight = deque()  # results are not kept for longer than the run
        return execution

    def __call__(self, iterator: Iterator[Tree]) -> Any:
        """Read the next batch (or the next k) and run the step on it.

        Raises:
            OutOfRange: The iterator has no more batches; it is a StopIteration. Fewer than k are
                run as they are.
        """
        try:
            values = self.run(iterator)
        except OutOfRange:
            raise
        except StopIteration as error:
            raise OutOfRange("The iterator has no more batches.") from error
        return values if self._finish is None else self._finish(values)

    def run(
        self,
        iterator: Iterator[Tree],
        steps: int | None = None,
        max_steps: int = 1,
        recorder: Recorder | None = None,
    ) -> StepValues:
        """Run the step on the next batches, and return the values of all steps.

        Args:
            iterator: Yields batches.
            steps: The number of batches to read; by default `steps_per_execution`.
            max_steps: The number that later executions may read: one program serves them all.
            recorder: Measures the run that the execution belongs to.

        Raises:
            StopIteration: The iterator has no more batches. Fewer than `steps` are run as they are.
        """
        previous_key = self.latest_key
        if steps is None:
            steps = int(self._steps_per_execution)
        eagerly = self._run_eagerly or eager_mode.enabled
        stream = iterator if isinstance(iterator, Stream) else IteratorStream(iterator)
        if steps == 1:
            batches = [stream.next_batch()]
        elif eagerly:  # one by one, although the stream may return several as one selection
            batches = Stream.next_batches(stream, steps)
        else:
            batches = stream.next_batches(steps)
        if recorder is not None:
            start, measured = clock.ns(), recorder.measured
            head = recorder.timeline.head
            ended_before = head is not None and head.is_ready()
        try:
            if eagerly:
                results = []
                for batch in batches:
                    with undo_on_error():
                        results.append(self._step(to_tensors(batch)))
                if recorder is not None:
                    rows = sum(map(num_rows, batches))
                    recorder.add_eager_execution(start, measured, len(batches), rows)
                return StepValues.from_results(results)
            calls: Iterable[BatchCall]
            if steps == 1:
                call = BatchCall.from_batch(batches[0]).place()
                self.latest_key = call.key
                program = self._programs.get(call.key)
                if program is not None:
                    if self._on_result_spec is not None:
                        self._report_result_spec(program)
                    self._steps += 1
                    outputs = self._limit(program.run(call.arrays), _MAX_STEPS_IN_FLIGHT)
                    if recorder is not None:  # without a call for the time of the host
                        recorder.timeline.add(outputs, start, 1, call.num_rows, ended_before)
                        elapsed = clock.ns() - start - (recorder.measured - measured)
                        recorder.ns["steps"] += elapsed
                        recorder.measured += elapsed
                    return StepValues(program, outputs)
                calls = [call]
            else:
                calls = self._stack(batches, max(steps, max_steps))
            values = []
            for call in calls:
                program = self._programs.get(call.key)
                is_first = program is None
                if program is not None:
                    self._report_result_spec(program)
                    outputs = self._limit(program.run(call.arrays), _MAX_STACKS_IN_FLIGHT)
                else:
                    with self._record_compilation(call, previous_key):
                        program = call.make_program(self._step)
                        program.discover(call.arrays)
                        self._report_result_spec(program)
                        self._programs[call.key] = program
                        outputs = program.run(call.arrays)
                if recorder is not None:
                    recorder.add_execution(
                        outputs,
                        start,
                        measured,
                        call.num_steps,
                        call.num_rows,
                        ended_before,
                        is_first,
                    )
                    start, measured, ended_before = clock.ns(), recorder.measured, False
                values.append(StepValues(program, outputs, call.num_steps))
                previous_key = call.batch_key
                self._steps += call.num_steps or 1
            return values[0] if len(values) == 1 else StepValues.concatenate(values)
        except StopIteration as error:  # would be mistaken for the end of the data
            raise RuntimeError(
                "The step raised StopIteration. Does it read past the end of an iterator?"
            ) from error
        except Exception as error:
            raise remove_internal_frames(error) from error.__cause__

    @contextlib.contextmanager
    def _record_compilation(self, call: BatchCall, previous_key: Key) -> Iterator[None]:
        """Record the time of a block that compiles a program for a call, and runs it for the first
        time.
        """
        warn_if_cache_unavailable()
        keep_working_memory()
        name = getattr(self._step, "__name__", "step")
        if call.num_steps is not None:
            name += f" x {call.key[-1]}"
        cause = self._compilations.describe_cause(call.batch_key, previous_key)
        start = clock.seconds()
        with measure_compilation(name, cause):
            yield
        self._compilations.record(
            call.batch_key, previous_key, self._run_number, self._steps + 1, clock.seconds() - start
        )
        return_freed_memory()

    def describe_error(self, error: BaseException) -> BaseException:
        """Return a clearer error if memory was exhausted: XLA reports that when results are read.
        Other errors are returned as they are.
        """
        if not is_out_of_memory(error):
            return error
        key = self.latest_key or next(reversed(self._programs), ())
        programs = [program for k, program in self._programs.items() if k[: len(key)] == key]
        shapes = [spec[0] for spec in key[1:] if type(spec) is tuple]  # without the number of steps
        batch_size = shapes[0][0] if shapes and shapes[0] else None
        return out_of_memory_error(error, batch_size, programs[-1] if programs else None)

    def _stack(self, batches: list[Tree], min_length: int) -> Iterator[BatchCall]:
        """Yield calls for batches: one XLA loop for neighbors of the same shape."""
        single = [BatchCall.from_batch(batch) for batch in batches]
        self.latest_key = single[0].key
        for (key, _), group in itertools.groupby(single, BatchCall.stack_key):
            calls = list(group)
            # Fewer steps at the end of an epoch use the program of a full execution.
            length = max(min_length, self._stack_lengths.get(key, 0))
            self._stack_lengths[key] = length
            is_single = len(calls) == 1 and calls[0].num_batches == 1
            if is_single and (*key, length) not in self._programs:
                yield calls[0].place()  # another shape, such as the smaller last batch
            else:
                yield BatchCall.stack(calls, length)

    def _report_result_spec(self, program: Program) -> None:
        """Call `on_result_spec`, once."""
        if self._on_result_spec is not None:
            on_result_spec, self._on_result_spec = self._on_result_spec, None
            on_result_spec(program.result_specs)

    def _limit(self, outputs: list[jax.Array], max_in_flight: int) -> list[jax.Array]:
        """Wait for an older execution if more than `max_in_flight` are being computed: memory stays
        bounded, and Ctrl-C takes effect soon.
        """
        if outputs:
            while self._in_flight and self._in_flight[0].is_ready():
                self._in_flight.popleft()  # finished results are not kept alive
            self._in_flight.append(outputs[0])
            while len(self._in_flight) > max_in_flight:
                self._in_flight.popleft().block_until_ready()  # the host waits here
        return outputs

    def warm_up(self, batch: Tree, steps: int | None = None) -> None:
        """Compile the step for batches like this one. It does not run: no Variable changes.

        Args:
            batch: A structure of arrays; only their shapes and dtypes matter.
            steps: The number of steps of an execution; by default `steps_per_execution`.

        Example:
            >>> total = podium.Variable(0.0)
            >>> def step(batch):
            ...     return {"total": total.assign_add(podium.ops.sum(batch))}
            >>> execution = podium.execution.Execution(step)
            >>> execution.warm_up(np.ones(3, "float32"))
            >>> execution.trace_count, float(total)
            (1, 0.0)
        """
        if self.runs_eagerly:
            return
        call = BatchCall.from_batch(batch)
        length = int(self._steps_per_execution) if steps is None else steps
        if length > 1:
            length = max(length, self._stack_lengths.get(call.key, 0))
            self._stack_lengths[call.key] = length
        call = call.place() if length == 1 else BatchCall.stack([call], length)
        if call.key in self._programs:
            return
        start = clock.seconds()
        program = call.make_program(self._step)
        program.discover(call.arrays)
        program.compile(call.arrays)
        self._programs[call.key] = program
        self._compilations.add(call.batch_key, clock.seconds() - start)


class IteratorStream(Stream):
    """A plain iterator; it may yield Tensors, and NumPy arrays that it changes later."""

    def __init__(self, iterator: Iterator[Tree]):
        super().__init__()
        self._iterator = iterator

    def read_next(self) -> Tree:
        """Return the next batch as arrays that do not change."""

        def to_array(leaf: object) -> object:
            if isinstance(leaf, Tensor):
                return leaf._value
            return np.array(leaf) if isinstance(leaf, np.ndarray) else leaf

        return map_structure(to_array, next(self._iterator))


def count_steps(values: object) -> int | None:
    """Return how many steps an execution ran; None for the result of a user's own function."""
    return values.count if isinstance(values, StepValues) else None
