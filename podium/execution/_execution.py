"""Execution: runs a step on what an iterator yields, eagerly, compiled, or k steps in one XLA call.

It owns the programs of a step (one per shape of the batch) and knows neither data sources nor callbacks. An
execution is a transaction of compiled steps: see `podium/core/_program.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import Stream, check_numeric, map_structure, warn_user
from podium.core._errors import narrowed
from podium.core._function import _run_eagerly as functions_eager
from podium.core._program import Program
from podium.core._structures import in_order
from podium.core._tensor import Tensor, wrap
from podium.execution._rows import StepValues
from podium.execution._tracebacks import without_machinery

_MANY_SHAPES = 5
_ARRAYS = frozenset({np.ndarray, type(jnp.zeros(()))})
_READY = frozenset(
    np.dtype(name) for name in ("float32", "float16", "int32", "int16", "int8", "uint8", "uint16", "uint32", "bool")
)


class Execution:
    """A step that takes its own batches: `execution(iterator)` runs it once, or k times when k are fused.

    Args:
        step: A function of one batch that may read and write Variables; it returns a structure of values.
        steps_per_execution: How many batches one call takes: anything that `int()` reads, asked anew at every call.
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
        self._lengths: dict[Any, int] = {}  # shapes of batches met in fused steps, and the length of their rows
        self._shapes: dict[Any, float] = {}  # shapes of batches met, and the seconds that compiling for them took

    @property
    def trace_count(self) -> int:
        """The number of compiled programs: one per shape of a batch, and one more per shape for fused steps."""
        return len(self._programs)

    def __call__(self, iterator: Iterator) -> Any:
        """Take the next batch (or the next k) and run the step on it.

        Raises:
            StopIteration: The iterator has no more batches. Fewer than k are run as they are.
        """
        values = self.run(iterator)
        return values if self._finish is None else self._finish(values)

    def run(self, iterator: Iterator) -> StepValues:
        """Do what a call does, and return the values of the steps as they are."""
        count = getattr(self._steps_per_execution, "value", self._steps_per_execution)
        take = iterator.take_raw if isinstance(iterator, Stream) else _plain_next(iterator)
        batch = take()
        try:
            if self._run_eagerly or functions_eager[0]:
                results = []
                for one in [batch, *_some(take, count - 1)]:
                    results.append(self._step(_as_tensors(one)))  # no comprehension: it would be one more frame
                return StepValues.of_results(results)
            if count == 1:
                arrays, key = _arrays_of(batch)
                program = self._programs.get(key)
                return self._first_run(key, arrays) if program is None else StepValues(program, program.run(arrays))
            return self._run_fused([batch, *_some(take, count - 1)], count)
        except StopIteration as error:  # would be taken for the end of the data
            raise RuntimeError("The step raised StopIteration. Reading past the end of an iterator in it?") from error
        except Exception as error:  # in an error of the step, the user's own frames are what matters
            raise without_machinery(error) from error.__cause__

    def _first_run(self, key: tuple, arrays: list, turns: int | None = None) -> StepValues:
        """Make the program for a new shape of batch and run it."""
        treedef, *_ = key
        start = time.perf_counter()
        program = Program(self._step, arrays if turns is None else arrays[:-1], treedef, in_loop=turns is not None)
        program.discover(arrays)
        outputs = program.run(arrays)
        self._programs[key] = program
        self._note_shape(key if turns is None else key[:-1], time.perf_counter() - start)
        return StepValues(program, outputs, turns)

    def _note_shape(self, key: tuple, seconds: float) -> None:
        """Say so when the same step is compiled for shape after shape."""
        self._shapes.setdefault(key, 0.0)
        self._shapes[key] += seconds
        if len(self._shapes) == _MANY_SHAPES:
            shapes = "; ".join(", ".join(f"{dtype}{list(shape)}" for shape, dtype in known[1:]) for known in self._shapes)
            warn_user(
                f"The step has been recompiled for {_MANY_SHAPES} shapes of batch, in "
                f"{sum(self._shapes.values()):.1f} s: {shapes}. Give all batches one shape (pad them, or use "
                "`drop_remainder=True`) to compile once."
            )

    def _run_fused(self, batches: list, count: int) -> StepValues:
        """Run steps as one XLA loop wherever neighbouring batches have one shape."""
        found: list[StepValues] = []
        flat = [_flat(batch) for batch in batches]
        start = 0
        while start < len(flat):
            end = start + 1
            while end < len(flat) and flat[end][1] == flat[start][1]:
                end += 1
            # A short row at the end of an epoch uses the program of a full one.
            length = self._lengths[flat[start][1]] = max(count, self._lengths.get(flat[start][1], 0))
            key = (*flat[start][1], length)
            turns: int | None = end - start
            if turns == 1 and key not in self._programs:  # a shape of its own, such as the last, smaller batch
                turns = None
                arrays, key = _arrays_of(batches[start])
            else:
                arrays = [_row(parts, length) for parts in zip(*[leaves for leaves, _ in flat[start:end]], strict=True)]
                arrays.append(jnp.asarray(turns, jnp.int32))
            program = self._programs.get(key)
            if program is None:
                found.append(self._first_run(key, arrays, turns))
            else:
                found.append(StepValues(program, program.run(arrays), turns))
            start = end
        return found[0] if len(found) == 1 else StepValues.joined(found)


def _plain_next(iterator: Iterator) -> Callable[[], Any]:
    """Read an ordinary iterator; it may give Tensors."""
    return lambda: map_structure(lambda leaf: leaf._value if isinstance(leaf, Tensor) else leaf, next(iterator))


def _some(take: Callable[[], Any], count: int) -> list:
    """Take up to `count` batches."""
    taken: list = []
    try:
        while len(taken) < count:
            taken.append(take())
    except StopIteration:
        pass
    return taken


def direct(function: Callable) -> Callable:
    """Return the quickest way to call a function that takes an iterator: an Execution's `run`, or the function itself."""
    return function.run if isinstance(function, Execution) else function


def steps_in(values: Any) -> int | None:
    """Return how many steps an execution took; None for what a function of the user's own returned."""
    return values.count if isinstance(values, StepValues) else None


def _flat(batch: Any) -> tuple[list, tuple]:
    """Return the host or device arrays of a batch, and what tells batches of different shape apart."""
    if dict in map(type, batch if isinstance(batch, tuple) else (batch,)):
        batch = in_order(batch)  # JAX would sort its keys
    leaves, treedef = jax.tree.flatten(((batch,), {}))
    leaves = [leaf if type(leaf) in _ARRAYS and leaf.dtype in _READY else _number_array(leaf) for leaf in leaves]
    return leaves, (treedef, *[(leaf.shape, leaf.dtype) for leaf in leaves])


def _arrays_of(batch: Any) -> tuple[list, tuple]:
    """Return the arrays of a batch on the device, and the key of its program."""
    leaves, key = _flat(batch)
    return [jnp.asarray(leaf) for leaf in leaves], key  # copies NumPy arrays, leaves those on the device where they are


def _row(parts: tuple, length: int) -> jax.Array:
    """Put one leaf of several batches into one array; a short row is filled up with its last value, which no turn reads."""
    parts += (parts[-1],) * (length - len(parts))
    if all(isinstance(part, np.ndarray) for part in parts):
        return jnp.asarray(np.stack(parts))
    return jnp.stack(parts)


def _number_array(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array):
        return leaf
    leaf = np.asarray(leaf)
    check_numeric(leaf, "a batch")
    return narrowed(leaf)


def _as_tensors(batch: Any) -> Any:
    def as_tensor(leaf: Any) -> Any:
        leaf = _number_array(leaf)
        return wrap(leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf))

    return map_structure(as_tensor, batch)
