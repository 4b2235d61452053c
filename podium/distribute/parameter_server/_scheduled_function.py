"""ScheduledFunction: a function as the coordinator sends it to workers.

It traces the function for elements of some shapes, and exports the pure program. Which worker runs
it is decided by `_coordinator.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from podium._typing import Tree
from podium.core import Function, OutOfRange, Stream, Variable, map_structure
from podium.core.internal import Program, TraceSetting
from podium.distribute.parameter_server._messages import (
    WorkerProgram,
    element_arrays,
    element_spec,
    spec_key,
)
from podium.distribute.parameter_server.rows._flat_program import FlatProgram
from podium.distribute.parameter_server.rows._row_analysis import RowSet
from podium.distribute.parameter_server.rows._row_program import RowProgram

if TYPE_CHECKING:
    from podium.distribute.parameter_server._strategy import ParameterServerStrategy


class ScheduledFunction:
    """A function with fixed static arguments.

    Args:
        name: Identifies it for the workers.
        function: The function.
        make_arguments: Returns its arguments, given a Stream for each iterator among them.
        strategy: The strategy, in whose scope the function is traced.
    """

    def __init__(
        self,
        name: str,
        function: Function[..., Any],
        make_arguments: Callable[[Sequence[Stream]], tuple[tuple[Any, ...], dict[str, Any]]],
        strategy: ParameterServerStrategy,
    ):
        self.name = name
        self.programs: list[WorkerProgram] = []
        self.function = function
        self._make_arguments = make_arguments
        self._strategy = strategy
        self._remote = strategy._remote
        # The numbers that it has read while it was first traced: they stay as they were then.
        self._settings: list[tuple[TraceSetting, int]] = []
        self._program: Program | None = None  # the latest

    def trace(self, elements: tuple[tuple[Tree, ...], ...]) -> None:
        """Make the program for elements of some shapes.

        Args:
            elements: Of each iterator the next elements, as `element_spec` returns them; if the
                function reads more, they are expected to be like the last one.
        """
        if any(
            spec_key(program.elements) == spec_key(tuple(elements)) for program in self.programs
        ):
            return  # another worker has asked for it
        streams = [_SpecStream(group) for group in elements]
        args, kwargs = self._make_arguments(streams)
        with self._strategy.scope(), _set_temporarily(self._settings):
            program, arrays = self.function.trace(*args, **kwargs)
        self._settings = self._settings or [(s, s.current) for s in self.function.trace_settings]
        self._remote.upload(program.variables)
        self.programs.append(self._export(program, arrays, streams))
        self._program = program

    def _export(
        self, program: Program, arrays: Sequence[Any], streams: Sequence[_SpecStream]
    ) -> WorkerProgram:
        """Return the program as it is sent to workers."""
        layouts = list(map(self._remote.layout, program.variables))
        count = len(program.written)
        values = [jax.ShapeDtypeStruct(layout.shape, layout.dtype) for layout in layouts]
        flat = FlatProgram.trace(program.pure_step, values[:count], values[count:], arrays)
        seeds = [index for index, layout in enumerate(layouts) if layout.is_seed]
        rows = RowProgram(flat, count, len(layouts), seeds, self._strategy.lazy_embedding_updates)
        for index, reason in rows.whole.items():
            self._strategy.warn_of_whole_table(program.variables[index], reason)
        layouts = [
            layout._replace(row_set=rows.row_set_of(index)) for index, layout in enumerate(layouts)
        ]
        values = [
            spec if layout.row_set is None else _with_rows(spec, rows.row_sets[layout.row_set])
            for spec, layout in zip(values, layouts, strict=True)
        ]
        specs = [jax.ShapeDtypeStruct(np.shape(a), jax.numpy.result_type(a)) for a in arrays]
        ids = [jax.ShapeDtypeStruct((each.capacity,), np.dtype(np.int32)) for each in rows.row_sets]

        def run(written: list[Any], read: list[Any], arguments: list[Any]) -> tuple[Any, Any]:
            arguments, row_ids = arguments[: len(specs)], arguments[len(specs) :]
            return rows.run(written, read, arguments, row_ids)

        return WorkerProgram(
            _export_function(run, values[:count], values[count:], [*specs, *ids]),
            tuple(layouts[:count]),
            tuple(layouts[count:]),
            tuple(tuple(stream.specs) for stream in streams),
            tuple((each.num_rows, each.capacity) for each in rows.row_sets),
            _export_function(rows.find_ids, specs) if rows.row_sets else None,
        )

    @property
    def num_elements(self) -> tuple[int, ...]:
        """How many elements it reads from each iterator, once it is traced."""
        return tuple(map(len, self.programs[-1].elements))

    @property
    def variables(self) -> list[Variable]:
        """The Variables that it uses."""
        return [] if self._program is None else self._program.variables

    def upload(self) -> None:
        """Move the Variables to the servers that a step of this process has taken back."""
        self._remote.upload(self.variables)

    def result(self, outputs: Sequence[Any]) -> Tree:
        """Return the result of a call, from the arrays that a worker has returned."""
        assert self._program is not None, "the function has not been traced"
        return self._program.wrap_outputs([jax.numpy.asarray(output) for output in outputs])


class _SpecStream(Stream):
    """Replaces an iterator of the workers while a function is traced: yields zeros."""

    def __init__(self, elements: Sequence[Tree]):
        super().__init__()
        self._elements = elements
        self.specs: list[Tree] = []  # of the elements that were read

    def read_next(self) -> Tree:
        spec = self._elements[min(len(self.specs), len(self._elements) - 1)]
        self.specs.append(spec)
        return map_structure(lambda leaf: jax.numpy.zeros(leaf.shape, leaf.dtype), spec)


def _with_rows(spec: jax.ShapeDtypeStruct, row_set: RowSet) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((row_set.capacity, *spec.shape[1:]), spec.dtype)


def _export_function(function: Callable[..., Any], *specs: Any) -> bytes:
    return bytes(jax.export.export(jax.jit(function))(*specs).serialize())


def read_elements(streams: Sequence[Stream], counts: Sequence[int]) -> tuple[tuple[Tree, ...], ...]:
    """Read elements from streams of this process, as structures of arrays.

    Raises:
        OutOfRange: A stream has too few; they stay unread.
    """
    elements: list[list[Tree]] = [[] for _ in streams]
    try:
        for stream, read, count in zip(streams, elements, counts, strict=True):
            while len(read) < count:
                read.append(stream.next_arrays())
    except StopIteration:
        for stream, read in zip(streams, elements, strict=True):
            stream.unread(read)
        raise OutOfRange("The iterator has no more elements.") from None
    return tuple(tuple(map(element_arrays, read)) for read in elements)


def next_element_specs(streams: Sequence[Stream]) -> tuple[tuple[Tree, ...], ...]:
    """Return what `element_spec` returns for the next element of each stream, which stays unread.

    Raises:
        OutOfRange: A stream has no more elements.
    """
    specs = []
    for stream in streams:
        ((element,),) = read_elements([stream], [1])
        stream.unread([element])
        specs.append((element_spec(element),))
    return tuple(specs)


@contextlib.contextmanager
def _set_temporarily(settings: Sequence[tuple[TraceSetting, int]]) -> Iterator[None]:
    previous = [setting.current for setting, _ in settings]
    for setting, value in settings:
        setting.current = value
    try:
        yield
    finally:
        for (setting, _), value in zip(settings, previous, strict=True):
            setting.current = value
