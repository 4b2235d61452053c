"""Execution: runs a step on what an iterator yields, eagerly, compiled, or k steps in one XLA call.

It owns the programs of a step (one per shape of the batch) and knows neither data sources nor
callbacks. An execution is a transaction of compiled steps: see `podium/core/compile/_program.py`.
"""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import Selection, Stream, Variable, check_numeric, map_structure
from podium.core.internal import (
    Program,
    Tensor,
    array_for_device,
    check_int_range,
    context,
    eager_mode,
    preserve_key_order,
    warn_if_cache_unavailable,
    wrap,
)
from podium.execution._recompilations import Compilations, Recompilations
from podium.execution._rows import StepValues
from podium.execution._tracebacks import remove_internal_frames
from podium.execution._working_memory import keep_working_memory

_IN_FLIGHT = 8  # single steps that may be under way at a time
_ROWS_IN_FLIGHT = 2  # rows of fused ones
_ARRAYS: set[type] = {
    np.ndarray
}  # types that need no second look; JAX's own joins when it is met, as making one takes time
_counts: dict[int, jax.Array] = {}  # numbers of turns, which are few
_READY = frozenset(
    np.dtype(name)
    for name in (
        "float32",
        "float16",
        "int32",
        "int16",
        "int8",
        "uint8",
        "uint16",
        "uint32",
        "bool",
    )
)


class Execution:
    """A step that takes its own batches: `execution(iterator)` runs it once, or k times when k are
    fused.

    Args:
        step: A function of one batch that may read and write Variables; it returns a structure of
            values.
        steps_per_execution: How many batches one call takes: anything that `int()` reads, asked
            anew at every call.
        run_eagerly: Run the step as plain Python.
        finish: Turns the `StepValues` of a call into what the call returns.

    Example:
        >>> total = podium.Variable(0.0)
        >>> def step(batch):
        ...     return {"total": total.assign_add(podium.ops.sum(batch))}
        >>> execution = podium.execution.Execution(step, steps_per_execution=2)
        >>> batches = iter(podium.data.Dataset.range(10).batch(2))
        >>> values = execution(batches)
        >>> float(values.last["total"]), [float(one["total"]) for one in values.each()]
        (6.0, [1.0, 6.0])
    """

    def __init__(
        self,
        step: Callable[[Any], Any],
        steps_per_execution: Any = 1,
        run_eagerly: bool = False,
        finish: Callable[[StepValues], Any] | None = None,
    ):
        self._step = step
        self._steps_per_execution = steps_per_execution
        self._run_eagerly = run_eagerly
        self._finish = finish
        self._programs: dict[Any, Program] = {}
        self._lengths: dict[
            Any, int
        ] = {}  # shapes of batches met in fused steps, and the length of their rows
        self._compilations = Compilations()
        self._in_flight: deque = deque()  # one value of each execution that may still be running
        self._foresee: Callable[[Any], None] | None = None
        # the key of the latest batch: how it is made of arrays, and their shapes and types
        self.latest: tuple = ()
        self._run_number = 0  # of the run, and how many steps of it have been taken
        self._steps = 0
        self.paces: dict[
            tuple, Any
        ] = {}  # what whoever sets the number of steps has measured for batches of such a key

    @property
    def runs_eagerly(self) -> bool:
        """Whether the step runs as plain Python, always or for now."""
        return self._run_eagerly or eager_mode.enabled

    @property
    def batch_bytes(self) -> int:
        """The size of the latest batch."""
        return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in self.latest[1:])

    @property
    def result_bytes(self) -> int:
        """The size of what the step returns for a batch like the latest."""
        program = self._programs.get(self.latest)
        types = [] if program is None else jax.tree.leaves(program.result_types)
        return sum(math.prod(kind.shape) * kind.dtype.itemsize for kind in types)

    @property
    def seconds_to_compile(self) -> float:
        """How long it took to trace and compile the step for the shapes of the latest batch."""
        return self._compilations.seconds(self.latest)

    @property
    def recompilations(self) -> Recompilations:
        """For which other shapes and types the step was compiled after the first time, when, and
        what that cost.
        """
        return self._compilations.again

    @property
    def variables(self) -> list[Variable]:
        """The Variables that the step reads or writes, as far as it has been compiled."""
        found = [one for program in self._programs.values() for one in program.variables]
        return list({id(variable): variable for variable in found}.values())

    @property
    def trace_count(self) -> int:
        """The number of compiled programs: one per shape of a batch, and one more per shape for
        fused steps.
        """
        return len(self._programs)

    def for_run(
        self, steps_per_execution: Any, foresee: Callable[[Any], None] | None = None
    ) -> Execution:
        """Return an execution of the same step with the same programs, for one run that others may
        go beside.

        Args:
            steps_per_execution: Its own number of batches for a call.
            foresee: Called once, before the first step is computed, with the shapes and types of
                what a step will return. Steps that run eagerly cannot know them: then it is not
                called.
        """
        own = copy.copy(self)
        own._steps_per_execution, own._foresee = steps_per_execution, foresee
        own._in_flight = deque()  # results are not kept for longer than the run
        return own

    def __call__(self, iterator: Iterator) -> Any:
        """Take the next batch (or the next k) and run the step on it.

        Raises:
            StopIteration: The iterator has no more batches. Fewer than k are run as they are.
        """
        values = self.run(iterator)
        return values if self._finish is None else self._finish(values)

    def run(self, iterator: Iterator) -> StepValues:
        """Do what a call does, and return the values of the steps as they are."""
        before = self.latest
        count = getattr(self._steps_per_execution, "value", self._steps_per_execution)
        eagerly = self._run_eagerly or eager_mode.enabled
        stream = iterator if isinstance(iterator, Stream) else _Plain(iterator)
        if count == 1:
            batches = [stream.next_batch()]
        else:  # eager steps want their batches one by one, whatever the stream could name at once
            batches = Stream.next_batches(stream, count) if eagerly else stream.next_batches(count)
        try:
            if eagerly:
                results = []
                for batch in batches:
                    results.append(self._step(_as_tensors(batch)))
                return StepValues.of_results(results)
            if count == 1:
                call = _Call.of(batches[0]).gathered()
                self.latest = call.key
                program = self._programs.get(call.key)
                if program is not None:
                    if self._foresee is not None:
                        self._tell_types(program)
                    self._steps += 1
                    return StepValues(program, self._bounded(program.run(call.arrays), _IN_FLIGHT))
                calls: Any = [call]
            else:
                length = getattr(self._steps_per_execution, "full", count)
                calls = self._in_rows(batches, length)
            found = []
            for call in calls:
                program = self._programs.get(call.key)
                if program is None:
                    warn_if_cache_unavailable()
                    keep_working_memory()
                    start = time.perf_counter()
                    program = call.program(self._step)
                    program.discover(call.arrays)
                    self._tell_types(program)
                    found.append(StepValues(program, program.run(call.arrays), call.turns))
                    self._programs[call.key] = program
                    self._compilations.note(
                        call.kind,
                        before,
                        self._run_number,
                        self._steps + 1,
                        time.perf_counter() - start,
                    )
                else:
                    self._tell_types(program)
                    found.append(
                        StepValues(
                            program,
                            self._bounded(program.run(call.arrays), _ROWS_IN_FLIGHT),
                            call.turns,
                        )
                    )
                before = call.kind
                self._steps += call.turns or 1
            return found[0] if len(found) == 1 else StepValues.joined(found)
        except StopIteration as error:  # would be taken for the end of the data
            raise RuntimeError(
                "The step raised StopIteration. Reading past the end of an iterator in it?"
            ) from error
        except (
            Exception
        ) as error:  # in an error of the step, the user's own frames are what matters
            raise remove_internal_frames(error) from error.__cause__

    def _in_rows(self, batches: list, count: int) -> Iterator[_Call]:
        """Make calls of batches: one XLA loop wherever neighbouring ones have one shape."""
        single = [_Call.of(batch) for batch in batches]
        self.latest = single[0].key
        for key, run in itertools.groupby(single, _Call.row_key):
            like = list(run)
            # A short row at the end of an epoch uses the program of a full one.
            length = self._lengths[key[0]] = max(count, self._lengths.get(key[0], 0))
            if len(like) == 1 and like[0].count == 1 and (*key[0], length) not in self._programs:
                yield like[0].gathered()  # a shape of its own, such as the last, smaller batch
            else:
                yield _Call.row(like, length)

    def _tell_types(self, program: Program) -> None:
        """Tell whoever wants to know what the first step will return."""
        if self._foresee is not None:
            foresee, self._foresee = self._foresee, None
            foresee(program.result_types)

    def _bounded(self, outputs: list, most: int) -> list:
        """Wait for an older execution if more than `most` are under way: memory stays bounded, and
        Ctrl-C finds an end soon.
        """
        if outputs:
            while (
                self._in_flight and self._in_flight[0].is_ready()
            ):  # only what is under way is held
                self._in_flight.popleft()
            self._in_flight.append(outputs[0])
            while len(self._in_flight) > most:
                self._in_flight.popleft().block_until_ready()
        return outputs

    def begin_run(self) -> None:
        """Count steps anew: what follows is another `fit`, `evaluate` or `predict`."""
        self._run_number += 1
        self._steps = 0

    def warm_up(self, batch: Any) -> None:
        """Compile the step for batches like this one. It does not run: no Variable changes.

        Args:
            batch: A structure of arrays; only their shapes and types matter.

        Example:
            >>> total = podium.Variable(0.0)
            >>> execution = podium.execution.Execution(lambda x: {"total": total.assign_add(podium.ops.sum(x))})
            >>> execution.warm_up(np.ones(3, "float32"))
            >>> execution.trace_count, float(total)
            (1, 0.0)
        """
        if self.runs_eagerly:
            return
        call = _Call.of(batch)
        length = getattr(self._steps_per_execution, "full", self._steps_per_execution)
        if length > 1:
            length = self._lengths[call.key] = max(length, self._lengths.get(call.key, 0))
        call = call.gathered() if length == 1 else _Call.row([call], length)
        if call.key in self._programs:
            return
        start = time.perf_counter()
        program = call.program(self._step)
        program.discover(call.arrays)
        program.compile(call.arrays)
        self._programs[call.key] = program
        self._compilations.add(call.kind, time.perf_counter() - start)


class _Call:
    """One call of a program: which one (`key`), with which arrays, for how many turns of its loop
    (None: no loop).
    """

    __slots__ = ("arrays", "key", "selection", "turns")

    def __init__(
        self, key: tuple, arrays: list, selection: Selection | None = None, turns: int | None = None
    ):
        self.key = (
            key  # how leaves make a batch, then shape and type of each; then the length of a row
        )
        self.arrays = arrays
        self.selection = selection
        self.turns = turns

    @classmethod
    def of(cls, batch: Any) -> _Call:
        """Make the call for one batch. NumPy arrays go to the device with the call; a selection is
        gathered later.
        """
        if type(batch) is Selection:
            return cls(batch.table.key(batch.index.shape[-1]), [], batch)
        if dict in map(type, batch if isinstance(batch, tuple) else (batch,)):
            batch = preserve_key_order(batch)  # JAX would sort its keys
        leaves, treedef = jax.tree.flatten(((batch,), {}))
        key: list = [treedef]
        for slot, leaf in enumerate(leaves):
            if type(leaf) not in _ARRAYS or leaf.dtype not in _READY:
                leaves[slot] = leaf = _number_array(leaf)
            key.append((leaf.shape, leaf.dtype))
        return cls(tuple(key), leaves)

    @property
    def kind(self) -> tuple:
        """The key of one batch, whether in a row or not."""
        return self.key if self.turns is None else self.key[:-1]

    @property
    def count(self) -> int:
        """How many batches it was made for."""
        return 1 if self.selection is None else self.selection.count

    def gathered(self) -> _Call:
        """Gather the rows of a selection, and place the batch where the open strategy wants it."""
        if self.selection is not None:
            self.arrays = self.selection.table.gather(self.selection.index)
        if context.layout is not None:
            self.arrays = context.layout.place_batch(self.arrays)
        return self

    def row_key(self) -> tuple:
        """Return what calls must share to go into one row: the shape of the batch, and the table if
        they name rows of one.
        """
        return self.key, None if self.selection is None else id(self.selection.table)

    @classmethod
    def row(cls, calls: list[_Call], length: int) -> _Call:
        """Make one call of several that can go into one row, of that length."""
        count, selection = sum(call.count for call in calls), calls[0].selection
        if selection is not None:
            parts = [
                np.atleast_2d(call.selection.index) for call in calls if call.selection is not None
            ]
            arrays = selection.table.gather(
                parts[0] if len(parts) == 1 else np.concatenate(parts), length
            )
        else:
            arrays = [
                _row(parts, length) for parts in zip(*[call.arrays for call in calls], strict=True)
            ]
        if context.layout is not None:
            arrays = context.layout.place_batch(arrays, axis=1)
        return cls((*calls[0].key, length), [*arrays, _on_device(count)], turns=count)

    def program(self, step: Callable[[Any], Any]) -> Program:
        """Make the program for such calls; it has not been traced yet."""
        treedef, in_loop = self.key[0], self.turns is not None
        return Program(step, self.arrays[:-1] if in_loop else self.arrays, treedef, in_loop)


class _Plain(Stream):
    """An ordinary iterator; it may give Tensors, and NumPy arrays that it changes later."""

    def __init__(self, iterator: Iterator):
        super().__init__()
        self._iterator = iterator

    def read_next(self) -> Any:
        """Return the next batch as arrays that are ours."""

        def own(leaf: Any) -> Any:
            return (
                leaf._value
                if isinstance(leaf, Tensor)
                else np.array(leaf)
                if isinstance(leaf, np.ndarray)
                else leaf
            )

        return map_structure(own, next(self._iterator))


def direct(
    function: Callable, steps: Any = None, foresee: Callable[[Any], None] | None = None
) -> Callable:
    """Begin a run, and return the quickest way to call what takes an iterator: an Execution's
    `run`, or the function itself.
    """
    if not isinstance(function, Execution):
        return function
    function.begin_run()
    return function.run if steps is None else function.for_run(steps, foresee).run


def steps_in(values: Any) -> int | None:
    """Return how many steps an execution took; None for what a function of the user's own
    returned.
    """
    return values.count if isinstance(values, StepValues) else None


def _row(parts: tuple, length: int) -> Any:
    """Put one leaf of several batches into one array; what a short row is filled up with is read by
    no turn.
    """
    if all(isinstance(part, np.ndarray) for part in parts):
        row = array_for_device((length, *parts[0].shape), parts[0].dtype)
        np.stack(parts, out=row[: len(parts)])
        return row
    return jnp.stack(parts + (parts[-1],) * (length - len(parts)))


def _on_device(count: int) -> Any:
    """Return a number of turns as an array that need not be brought to the device each time."""
    if context.layout is not None:
        return np.int32(count)  # each program of several devices places it by itself
    if count not in _counts:
        _counts[count] = jnp.int32(count)
    return _counts[count]


def _number_array(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array):
        _ARRAYS.add(type(leaf))
        return leaf
    leaf = np.asarray(leaf)
    check_numeric(leaf, "a batch")
    return check_int_range(leaf)


def _as_tensors(batch: Any) -> Any:
    if type(batch) is Selection:
        batch = batch.batch()

    def as_tensor(leaf: Any) -> Any:
        leaf = _number_array(leaf)
        if context.layout is not None:
            return wrap(context.layout.place_batch([leaf])[0])
        return wrap(leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf))

    return map_structure(as_tensor, batch)
