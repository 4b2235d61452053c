"""Worker: runs steps on values that it pulls from parameter servers, and stages their changes.

It has its own datasets, iterators and compiled programs. It knows nothing of models: a program is
a serialized XLA program, and Variables are their shapes, dtypes and shards.
"""

from __future__ import annotations

import inspect
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
from podium.core import OutOfRange, Stream, map_structure
from podium.core.internal import Tensor, check_int_range, preserve_key_order
from podium.distribute._replica_context import InputContext
from podium.distribute.parameter_server._messages import (
    Completed,
    MissingProgram,
    Task,
    Values,
    VariableLayout,
    WorkerProgram,
    element_spec,
    spec_key,
)


class Servers(Protocol):
    """The parameter servers, as workers call them."""

    def pull(self, keys: Sequence[Sequence[str]], min_version: int) -> list[list[NDArray[Any]]]:
        """Return values by keys, for each server."""
        ...

    def stage(self, step: int, attempt: int, changes: Sequence[Values]) -> None:
        """Stage the changes of a step on each server, and wait until that is done."""
        ...


class Worker:
    """Runs the calls that the coordinator sends, one at a time.

    Args:
        index: The index of the worker.
        num_workers: The number of workers.
        servers: The parameter servers.
    """

    def __init__(self, index: int, num_workers: int, servers: Servers):
        self._index = index
        self._num_workers = num_workers
        self._servers = servers
        self._datasets: dict[str, Any] = {}
        self._iterators: dict[str, _ElementReader] = {}
        self._programs: dict[tuple[str, Any], tuple[WorkerProgram, Callable[..., Any]]] = {}
        # How many elements the latest program of a function has read from each iterator.
        self._num_elements: dict[str, tuple[int, ...]] = {}
        self._seeds: dict[str, NDArray[Any]] = {}  # the states of its own seed generators

    def add_dataset(self, name: str, source: Any) -> None:
        """Make a dataset.

        Args:
            name: Identifies it.
            source: The dataset, or a function that returns it; the function may take an
                `InputContext`.
        """
        if callable(source) and not hasattr(source, "__iter__"):
            context = InputContext(self._num_workers, self._index, 1)
            source = source(context) if inspect.signature(source).parameters else source()
        self._datasets[name] = source

    def add_iterator(self, name: str, dataset: str, num_read: int = 0) -> None:
        """Start an iteration over a dataset, after the elements that have been read already."""
        if name not in self._iterators:
            self._iterators[name] = _ElementReader(iter(self._datasets[dataset]), num_read)

    def pid(self) -> int:
        """Return the id of the process."""
        return os.getpid()

    def remove(self, names: Sequence[str]) -> None:
        """Forget datasets and iterators."""
        for name in names:
            self._datasets.pop(name, None)
            self._iterators.pop(name, None)

    def add_program(self, function: str, program: WorkerProgram) -> None:
        """Add the program of a function for elements of some shapes."""
        run = jax.jit(jax.export.deserialize(bytearray(program.exported)).call)
        self._programs[function, spec_key(program.elements)] = (program, run)
        self._num_elements[function] = tuple(map(len, program.elements))

    def run(self, task: Task) -> Completed | MissingProgram:
        """Run a call and stage its changes.

        Raises:
            OutOfRange: An iterator has too few elements; they stay unread.
        """
        counts = self._num_elements.get(task.function, (1,) * len(task.iterators))
        readers = [self._iterators[name] for name in task.iterators]
        # A list: OutOfRange is a StopIteration, which would end a generator or `map` silently.
        elements = tuple([tuple(r.peek(n)) for r, n in zip(readers, counts, strict=True)])
        specs = tuple(tuple(map(element_spec, group)) for group in elements)
        if (task.function, spec_key(specs)) not in self._programs:
            return MissingProgram(specs)
        program, run = self._programs[task.function, spec_key(specs)]
        arrays = jax.tree.leaves(list(map(list, elements)))
        layouts = (*program.written, *program.read)
        values, bytes_pulled = self._pull(layouts, task.min_version)
        num_written = len(program.written)
        state, outputs = run(values[:num_written], values[num_written:], [*arrays, *task.arrays])
        bytes_pushed = self._stage(task, program.written, values, state)
        for reader, count in zip(readers, counts, strict=True):
            reader.skip(count)
        results = [np.asarray(output) for output in outputs]
        return Completed(results, counts, bytes_pulled, bytes_pushed)

    def _pull(
        self, layouts: Sequence[VariableLayout], min_version: int
    ) -> tuple[list[NDArray[Any]], int]:
        """Return the values of Variables, and the number of bytes that the servers have sent."""
        keys: dict[int, list[str]] = {}
        for layout in layouts:
            if layout.shards[0].key not in self._seeds:
                for shard in layout.shards:
                    keys.setdefault(shard.server, []).append(shard.key)
        by_server = [keys.get(server, []) for server in range(max(keys, default=-1) + 1)]
        pulled = self._servers.pull(by_server, min_version)
        received: Values = {}
        for names, values in zip(by_server, pulled, strict=True):
            received.update(zip(names, values, strict=True))
        return [self._join(layout, received) for layout in layouts], sum(
            value.nbytes for value in received.values()
        )

    def _join(self, layout: VariableLayout, received: Values) -> NDArray[Any]:
        """Return the value of a Variable from those of its shards."""
        key = layout.shards[0].key
        if layout.is_seed:
            if key not in self._seeds:  # worker 0 draws what a single process draws
                offset = np.array([self._index * 0x9E3779B9 % 2**32, 0], np.uint32)
                self._seeds[key] = received[key] + offset
            return self._seeds[key]
        if len(layout.shards) == 1:
            return received[key]
        return np.concatenate([received[shard.key] for shard in layout.shards])

    def _stage(
        self,
        task: Task,
        layouts: Sequence[VariableLayout],
        old_values: Sequence[NDArray[Any]],
        state: Sequence[jax.Array],
    ) -> int:
        """Stage how a call has changed the Variables; return the number of bytes sent."""
        changes: dict[int, Values] = {}
        seeds: Values = {}
        for layout, old, new_array in zip(layouts, old_values, state, strict=False):
            new = np.asarray(new_array)
            if layout.is_seed:
                seeds[layout.shards[0].key] = new
            change = new if new.dtype == np.bool_ else new - old
            for shard in layout.shards:
                part = change if shard.stop is None else change[shard.start : shard.stop]
                changes.setdefault(shard.server, {})[shard.key] = part
        by_server = [changes.get(server, {}) for server in range(max(changes, default=-1) + 1)]
        self._servers.stage(task.step, task.attempt, by_server)
        self._seeds |= seeds
        return sum(part.nbytes for parts in by_server for part in parts.values())


class _ElementReader:
    """Reads elements of a dataset, and keeps those that no completed call has used."""

    def __init__(self, iterator: Iterator[Tree], num_read: int):
        self._iterator = iterator
        self._unused: deque[Tree] = deque()
        for _ in range(num_read):
            next(iterator)

    def peek(self, count: int) -> list[Tree]:
        """Return the next elements as structures of arrays."""
        while len(self._unused) < count:
            try:
                element = (
                    self._iterator.next_arrays()
                    if isinstance(self._iterator, Stream)
                    else next(self._iterator)
                )
            except StopIteration:
                raise OutOfRange(
                    f"A step needs {count} elements; the worker's dataset has "
                    f"{len(self._unused)} left. Repeat it: `dataset.repeat()`."
                ) from None
            self._unused.append(preserve_key_order(map_structure(_to_array, element)))
        return [self._unused[index] for index in range(count)]

    def skip(self, count: int) -> None:
        """Remove the next elements: a call has used them."""
        for _ in range(count):
            self._unused.popleft()


def _to_array(leaf: object) -> NDArray[Any]:
    return check_int_range(np.asarray(leaf._value if isinstance(leaf, Tensor) else leaf))
