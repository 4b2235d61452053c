"""VariableTransfer: pulls the values that a step of a worker needs, and stages what it changed.

Of Variables in a row set it moves the rows that a step looks up: the program takes them in an array
with a fixed number of rows, of which the first ones are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from podium.distribute.parameter_server._messages import (
    Changes,
    Keys,
    RowChange,
    Shard,
    ShardRows,
    Task,
    Values,
    VariableLayout,
)


class Servers(Protocol):
    """The parameter servers, as workers call them."""

    def pull(self, keys: Sequence[Keys], min_version: int) -> list[list[NDArray[Any]]]:
        """Return values, or rows of them, for each server."""
        ...

    def stage(self, step: int, attempt: int, changes: Sequence[Changes]) -> None:
        """Stage the changes of a step on each server, and wait until that is done."""
        ...


class RowIds(NamedTuple):
    """The rows of a row set that a step takes.

    Attributes:
        used: Their ids, sorted, each once.
        padded: The same, followed by the number of rows of the table.
    """

    used: NDArray[Any]
    padded: NDArray[Any]

    @classmethod
    def of(cls, ids: NDArray[Any], num_rows: int, capacity: int) -> RowIds:
        """Return the rows of ids, of which some may be equal, or outside of the table."""
        used = np.unique(ids[(ids >= 0) & (ids < num_rows)]).astype(np.int32)
        padding = np.full(capacity - len(used), num_rows, np.int32)
        return cls(used, np.concatenate([used, padding]))

    def part_in(self, shard: Shard) -> tuple[slice, NDArray[Any]]:
        """Return which of the rows a shard has, and their indices there."""
        if shard.stop is None:
            return slice(0, len(self.used)), self.used
        first, last = np.searchsorted(self.used, [shard.start, shard.stop])
        return slice(first, last), self.used[first:last] - np.int32(shard.start)


class PulledValues(NamedTuple):
    """What a step has pulled.

    Attributes:
        values: The values of Variables; rows of those in a row set.
        bytes_pulled: The bytes that the servers have sent.
        bytes_sent: The bytes of the ids that were sent to the servers.
        rows: The number of rows that were received of Variables in row sets.
    """

    values: list[NDArray[Any]]
    bytes_pulled: int
    bytes_sent: int
    rows: int


class VariableTransfer:
    """Moves values between a worker and the servers.

    Args:
        index: The index of the worker.
        servers: The servers.
    """

    def __init__(self, index: int, servers: Servers):
        self._index = index
        self._servers = servers
        self._seeds: Values = {}  # the states of the worker's own seed generators

    def pull(
        self, layouts: Sequence[VariableLayout], ids: Sequence[RowIds], min_version: int
    ) -> PulledValues:
        """Return the values of Variables.

        Args:
            layouts: Where they are.
            ids: The rows of each row set.
            min_version: How many calls must have been applied before.
        """
        keys: dict[int, Keys] = {}
        for layout in layouts:
            if layout.shards[0].key not in self._seeds:
                for server, key in _keys(layout, ids):
                    keys.setdefault(server, []).append(key)
        by_server = [keys.get(server, []) for server in range(max(keys, default=-1) + 1)]
        pulled = self._servers.pull(by_server, min_version)
        received: Values = {}
        rows = sent = 0
        for names, values in zip(by_server, pulled, strict=True):
            for name, value in zip(names, values, strict=True):
                if isinstance(name, ShardRows):
                    rows, sent = rows + len(value), sent + name.indices.nbytes
                received[name.key if isinstance(name, ShardRows) else name] = value
        num_bytes = sum(value.nbytes for value in received.values())
        joined = [self._join(layout, ids, received) for layout in layouts]
        return PulledValues(joined, num_bytes, sent, rows)

    def _join(
        self, layout: VariableLayout, ids: Sequence[RowIds], received: Values
    ) -> NDArray[Any]:
        """Return the value of a Variable from those of its shards."""
        key = layout.shards[0].key
        if layout.is_seed:
            if key not in self._seeds:  # worker 0 draws what a single process draws
                offset = np.array([self._index * 0x9E3779B9 % 2**32, 0], np.uint32)
                self._seeds[key] = received[key] + offset
            return self._seeds[key]
        if layout.row_set is not None:
            known = ids[layout.row_set]
            value = np.zeros((len(known.padded), *layout.shape[1:]), layout.dtype)
            for shard in layout.shards:
                if shard.key in received:
                    value[known.part_in(shard)[0]] = received[shard.key]
            return value
        if len(layout.shards) == 1:
            return received[key]
        return np.concatenate([received[shard.key] for shard in layout.shards])

    def stage(
        self,
        task: Task,
        layouts: Sequence[VariableLayout],
        ids: Sequence[RowIds],
        old_values: Sequence[NDArray[Any]],
        state: Sequence[jax.Array],
    ) -> int:
        """Stage how a call has changed the Variables; return the number of bytes sent."""
        changes: dict[int, Changes] = {}
        seeds: Values = {}
        for layout, old, new_array in zip(layouts, old_values, state, strict=False):
            new = np.asarray(new_array)
            if layout.is_seed:
                seeds[layout.shards[0].key] = new
            change = new if new.dtype == np.bool_ else new - old
            for shard in layout.shards:
                part = _change_of(layout, shard, ids, change)
                if part is not None:
                    changes.setdefault(shard.server, {})[shard.key] = part
        by_server = [changes.get(server, {}) for server in range(max(changes, default=-1) + 1)]
        self._servers.stage(task.step, task.attempt, by_server)
        self._seeds |= seeds
        return sum(part.nbytes for parts in by_server for part in parts.values())


def _keys(layout: VariableLayout, ids: Sequence[RowIds]) -> Iterator[tuple[int, str | ShardRows]]:
    """Yield what to pull of a Variable, and from which server."""
    for shard in layout.shards:
        if layout.row_set is None:
            yield shard.server, shard.key
            continue
        _, indices = ids[layout.row_set].part_in(shard)
        if len(indices):
            yield shard.server, ShardRows(shard.key, indices)


def _change_of(
    layout: VariableLayout, shard: Shard, ids: Sequence[RowIds], change: NDArray[Any]
) -> NDArray[Any] | RowChange | None:
    """Return the change of a shard; None if none of its rows were pulled."""
    if layout.row_set is None:
        return change if shard.stop is None else change[shard.start : shard.stop]
    rows, indices = ids[layout.row_set].part_in(shard)
    return RowChange(indices, change[rows]) if len(indices) else None
