"""Worker: runs steps on values that it pulls from parameter servers, and stages their changes.

It has its own datasets, iterators and compiled programs. It knows nothing of models: a program is
a serialized XLA program, and Variables are their shapes, dtypes and shards.
"""

from __future__ import annotations

import inspect
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from podium._typing import Tree
from podium.core import Stream
from podium.distribute._replica_context import InputContext
from podium.distribute.parameter_server._messages import (
    Completed,
    DataEnded,
    MissingProgram,
    Outcome,
    Task,
    WorkerProgram,
    element_arrays,
    element_spec,
    spec_key,
)
from podium.distribute.parameter_server._variable_transfer import (
    RowIds,
    Servers,
    VariableTransfer,
)


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
        self._transfer = VariableTransfer(index, servers)
        self._datasets: dict[str, Any] = {}
        self._iterators: dict[str, _ElementReader] = {}
        self._programs: dict[tuple[str, Any], _LoadedProgram] = {}
        # How many elements the latest program of a function has read from each iterator.
        self._num_elements: dict[str, tuple[int, ...]] = {}

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
        self._programs[function, spec_key(program.elements)] = _LoadedProgram(program)
        self._num_elements[function] = tuple(map(len, program.elements))

    def run(self, task: Task) -> Outcome:
        """Run a call and stage its changes; elements that are too few for it stay unread."""
        counts = self._num_elements.get(task.function, ()) or (1,) * len(task.iterators)
        counts = counts[: len(task.iterators)]  # others were read by the coordinator
        readers = [self._iterators[name] for name in task.iterators]
        for reader, count in zip(readers, counts, strict=True):
            if (left := reader.num_available(count)) < count:
                return DataEnded(count, left)
        elements = task.elements or tuple(
            tuple(reader.peek(count)) for reader, count in zip(readers, counts, strict=True)
        )
        specs = tuple(tuple(map(element_spec, group)) for group in elements)
        if (task.function, spec_key(specs)) not in self._programs:
            return MissingProgram(specs)
        loaded = self._programs[task.function, spec_key(specs)]
        program = loaded.program
        arrays = [*jax.tree.leaves(list(map(list, elements))), *task.arrays]
        ids = self._find_ids(loaded, arrays)
        pulled = self._transfer.pull((*program.written, *program.read), ids, task.min_version)
        num_written = len(program.written)
        written, read = pulled.values[:num_written], pulled.values[num_written:]
        padded = [each.padded for each in ids]
        state, outputs = loaded.run(written, read, [*arrays, *padded])
        bytes_pushed = self._transfer.stage(task, program.written, ids, written, state)
        for reader, count in zip(readers, counts, strict=True):
            reader.skip(count)
        results = [np.asarray(output) for output in outputs]
        bytes_sent = pulled.bytes_sent + bytes_pushed
        return Completed(results, counts, pulled.bytes_pulled, bytes_sent, pulled.rows)

    def _find_ids(self, loaded: _LoadedProgram, arrays: Sequence[Any]) -> list[RowIds]:
        """Return the rows that a call looks up, of each row set of its program."""
        if loaded.find_ids is None:
            return []
        found = map(np.asarray, loaded.find_ids(arrays))
        sets = zip(found, loaded.program.row_sets, strict=True)
        return [RowIds.of(ids, num_rows, capacity) for ids, (num_rows, capacity) in sets]


class _LoadedProgram:
    """A program that was received, as functions."""

    def __init__(self, program: WorkerProgram):
        self.program = program
        self.run = _deserialize(program.exported)
        self.find_ids = None if program.find_ids is None else _deserialize(program.find_ids)


def _deserialize(exported: bytes) -> Callable[..., Any]:
    return jax.jit(jax.export.deserialize(bytearray(exported)).call)


class _ElementReader:
    """Reads elements of a dataset, and keeps those that no completed call has used."""

    def __init__(self, iterator: Iterator[Tree], num_read: int):
        self._iterator = iterator
        self._unused: deque[Tree] = deque()
        for _ in range(num_read):
            next(iterator)

    def num_available(self, count: int) -> int:
        """Read until there are `count` elements, or the dataset ends; return how many there are."""
        while len(self._unused) < count:
            try:
                element = (
                    self._iterator.next_arrays()
                    if isinstance(self._iterator, Stream)
                    else next(self._iterator)
                )
            except StopIteration:
                break
            self._unused.append(element_arrays(element))
        return len(self._unused)

    def peek(self, count: int) -> list[Tree]:
        """Return the next elements, which have been read, as structures of arrays."""
        return [self._unused[index] for index in range(count)]

    def skip(self, count: int) -> None:
        """Remove the next elements: a call has used them."""
        for _ in range(count):
            self._unused.popleft()
