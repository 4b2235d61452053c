"""The messages and errors between the coordinator, the workers and the parameter servers."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Shape, Tree
from podium.core import map_structure
from podium.core.internal import Tensor, check_int_range, preserve_key_order

Values: TypeAlias = "dict[str, NDArray[Any]]"  # of shards, by their keys


class ShardRows(NamedTuple):
    """Some rows of a shard.

    Attributes:
        key: Its name on the server.
        indices: The rows, counted from the first one of the shard; sorted, each once.
    """

    key: str
    indices: NDArray[Any]


class RowChange(NamedTuple):
    """How a step has changed some rows of a shard.

    Attributes:
        indices: The rows, each once.
        values: What to add to them; of bools the new values.
    """

    indices: NDArray[Any]
    values: NDArray[Any]

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self.indices.nbytes + self.values.nbytes)


Changes: TypeAlias = "dict[str, NDArray[Any] | RowChange]"  # of shards, by their keys
Keys: TypeAlias = "list[str | ShardRows]"  # what a worker pulls from a server


class Shard(NamedTuple):
    """A part of a Variable on a server: some of its rows, or all of it.

    Attributes:
        key: Its name on the server.
        server: The index of the server.
        start: The first row.
        stop: The row after the last; None if the Variable is not split.
    """

    key: str
    server: int
    start: int = 0
    stop: int | None = None


class VariableLayout(NamedTuple):
    """What a worker knows of a Variable.

    Attributes:
        shape: Its shape.
        dtype: Its dtype.
        shards: Where it is stored, in the order of the rows.
        is_seed: Whether it is the state of a seed generator, of which each worker has its own.
        row_set: Which ids of rows a program takes; None if it takes all rows.
    """

    shape: Shape
    dtype: np.dtype[Any]
    shards: tuple[Shard, ...]
    is_seed: bool
    row_set: int | None = None


class WorkerProgram(NamedTuple):
    """A compiled step, as it is sent to workers.

    Attributes:
        exported: The serialized program.
        written: The Variables that it writes.
        read: The Variables that it only reads.
        elements: The elements that it reads from each iterator, as `element_spec` returns them.
        row_sets: Of each set of Variables that are moved by rows: how many rows they have, and how
            many the program takes.
        find_ids: The serialized program that computes the ids of these rows from the arrays of a
            call; None if all Variables are moved as a whole.
    """

    exported: bytes
    written: tuple[VariableLayout, ...]
    read: tuple[VariableLayout, ...]
    elements: tuple[tuple[Tree, ...], ...]
    row_sets: tuple[tuple[int, int], ...] = ()
    find_ids: bytes | None = None


class Task(NamedTuple):
    """A scheduled call, as it is sent to a worker.

    Attributes:
        step: The number of the call; it identifies it on the servers.
        attempt: How often it has been tried before.
        function: Identifies the function and its static arguments.
        iterators: The iterators among the arguments.
        arrays: The arrays among the arguments.
        min_version: How many calls must have been applied before it reads the Variables.
        elements: Of each iterator the elements, if the coordinator has read them.
    """

    step: int
    attempt: int
    function: str
    iterators: tuple[str, ...]
    arrays: tuple[NDArray[Any], ...]
    min_version: int
    elements: tuple[tuple[Tree, ...], ...] = ()


class Completed(NamedTuple):
    """A call that has run, and whose changes of Variables are staged on the servers.

    Attributes:
        outputs: The arrays of the result.
        num_elements: How many elements it has read from each iterator.
        bytes_pulled: The bytes that were received from servers.
        bytes_pushed: The bytes that were sent to servers.
        rows_pulled: The number of rows that were received of Variables that are moved by rows.
    """

    outputs: list[NDArray[Any]]
    num_elements: tuple[int, ...]
    bytes_pulled: int
    bytes_pushed: int
    rows_pulled: int


class MissingProgram(NamedTuple):
    """The worker has no program for elements like those that it has read; nothing has run.

    Attributes:
        elements: The elements that were read from each iterator, as `element_spec` returns them.
    """

    elements: tuple[tuple[Tree, ...], ...]


class DataEnded(NamedTuple):
    """The worker's dataset has fewer elements left than the call reads; nothing has run.

    Attributes:
        needed: How many elements the call reads from the iterator.
        left: How many the iterator has.
    """

    needed: int
    left: int


Outcome: TypeAlias = "Completed | MissingProgram | DataEnded"


def element_arrays(element: Tree) -> Tree:
    """Return an element with a NumPy array for each leaf."""
    arrays: Tree = preserve_key_order(map_structure(_to_array, element))
    return arrays


def _to_array(leaf: object) -> NDArray[Any]:
    return check_int_range(np.asarray(leaf._value if isinstance(leaf, Tensor) else leaf))


def element_spec(element: Tree) -> Tree:
    """Return the structure of an element with a ShapeDtypeStruct for each array."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), element)


def spec_key(elements: tuple[tuple[Tree, ...], ...]) -> object:
    """Return a key for what `element_spec` has returned for some elements."""
    leaves, structure = jax.tree.flatten(elements)
    return structure, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)


class WorkerLostError(RuntimeError):
    """A worker has ended in the middle of a call. The coordinator runs the call elsewhere."""


class ServerLostError(RuntimeError):
    """A parameter server has ended, and the values that it stored are lost.

    Example:
        >>> issubclass(podium.distribute.coordinator.ServerLostError, RuntimeError)
        True
    """


SERVER_LOST = (
    "Parameter server {server} of {count} has ended{reason}: the values that it stored are lost, "
    "and training has stopped. Start the program again; `BackupAndRestore` resumes from the last "
    "checkpoint."
)
