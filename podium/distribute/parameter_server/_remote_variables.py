"""RemoteVariables: the Variables whose values are stored on parameter servers.

Invariant: a value is in one place. While a Variable is remote, its `store` is a `RemoteValue`,
through which this process reads and assigns it on the servers. A compiled step that runs in this
process takes the value back, as it does from any store; the next scheduled step uploads it again.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from podium.core import Variable
from podium.core.internal import VariableStore
from podium.distribute.parameter_server._messages import Shard, Values, VariableLayout
from podium.distribute.parameter_server._partitioners import Partitioner

# Calls a method of each server with its arguments, and returns the results.
CallServers = Callable[[str, Sequence[tuple[Any, ...]]], list[Any]]


class RemoteVariables:
    """Stores Variables on servers.

    Args:
        num_servers: The number of servers.
        call_servers: Calls them.
        wait: Waits until no step runs; called before a value is taken back.
        partitioner: Splits Variables into shards.
    """

    def __init__(
        self,
        num_servers: int,
        call_servers: CallServers,
        wait: Callable[[], object],
        partitioner: Partitioner | None = None,
    ):
        self._num_servers = num_servers
        self._call_servers = call_servers
        self._wait = wait
        self._partitioner = partitioner
        self._layouts: dict[int, VariableLayout] = {}  # by id of the Variable
        self._stores: weakref.WeakSet[RemoteValue] = weakref.WeakSet()
        self._loads = [0] * num_servers  # bytes
        self._num_placed = 0

    def upload(self, variables: Iterable[Variable]) -> None:
        """Move the values of Variables to the servers, unless they are there already."""
        values: list[Values] = [{} for _ in range(self._num_servers)]
        moved = []
        for variable in variables:
            if isinstance(variable.store, RemoteValue):
                continue
            array = variable.numpy()
            for shard in self.layout(variable).shards:
                values[shard.server][shard.key] = _rows(array, shard)
            moved.append(variable)
        if moved:
            self._call_servers("assign", [(part,) for part in values])
            for variable in moved:
                self._stores.add(RemoteValue(variable, self))

    def layout(self, variable: Variable) -> VariableLayout:
        """Return where a Variable is, or will be, stored."""
        layout = self._layouts.get(id(variable))
        if layout is None:
            layout = self._layouts[id(variable)] = self._place(variable)
            weakref.finalize(variable, self._layouts.pop, id(variable), None).atexit = False
        return layout

    def pull(self, variable: Variable) -> jax.Array:
        """Return the present value of a Variable."""
        layout = self.layout(variable)
        keys: list[list[str]] = [[] for _ in range(self._num_servers)]
        for shard in layout.shards:
            keys[shard.server].append(shard.key)
        pulled = self._call_servers("pull", [(names,) for names in keys])
        received = {
            key: value
            for names, values in zip(keys, pulled, strict=True)
            for key, value in zip(names, values, strict=True)
        }
        parts = [received[shard.key] for shard in layout.shards]
        with jax.ensure_compile_time_eval():  # it may be read while a step is traced
            return jnp.array(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def assign(self, variable: Variable, value: Any) -> None:
        """Set the value of a Variable on the servers."""
        array = np.asarray(value)
        values: list[Values] = [{} for _ in range(self._num_servers)]
        for shard in self.layout(variable).shards:
            values[shard.server][shard.key] = _rows(array, shard)
        self._call_servers("assign", [(part,) for part in values])

    def take_back_all(self) -> None:
        """Return the values of all Variables to this process."""
        for store in list(self._stores):
            store.dissolve()

    def take_back(self, variable: Variable) -> jax.Array:
        """Return the value of a Variable when no step runs any more."""
        self._wait()
        return self.pull(variable)

    def _place(self, variable: Variable) -> VariableLayout:
        shape, dtype = variable.shape, np.dtype(variable._dtype)
        self._num_placed += 1
        name = f"{self._num_placed}:{variable.path}"
        count = 1
        if self._partitioner is not None and shape:
            count = self._partitioner(shape, dtype)[0]
        if count == 1:
            size = int(np.prod(shape)) * dtype.itemsize
            shards: tuple[Shard, ...] = (Shard(name, self._next_server(size)),)
        else:
            bounds = [shape[0] * index // count for index in range(count + 1)]
            row = int(np.prod(shape[1:])) * dtype.itemsize
            shards = tuple(
                Shard(f"{name}/{start}", self._next_server(row * (stop - start)), start, stop)
                for start, stop in itertools.pairwise(bounds)
            )
        return VariableLayout(shape, dtype, shards, variable.is_seed)

    def _next_server(self, size: int) -> int:
        """Return the server that stores the fewest bytes, and count some more for it."""
        server = min(range(self._num_servers), key=self._loads.__getitem__)
        self._loads[server] += max(size, 1)
        return server


class RemoteValue(VariableStore):
    """The store of one Variable whose value is on the servers.

    Args:
        variable: The Variable.
        remote: Where it is stored.
    """

    def __init__(self, variable: Variable, remote: RemoteVariables):
        if variable.store is not None:
            variable.store.dissolve()
        self._variables = []  # unlike the Variables of any step: it cannot become a step's store
        self._reference = weakref.ref(variable)
        self._remote = remote
        self.values = _RemoteList(self._reference, remote)
        self.exposed = set()
        self.valid = True
        variable.leave_store(jnp.zeros(()), exposed=False)  # the old value can be freed
        variable.store, variable.slot = self, 0

    def dissolve(self) -> None:
        """Return the value to the Variable, when no step runs any more."""
        variable = self._reference()
        if self.valid and variable is not None:
            value = self._remote.take_back(variable)
            self.valid = False
            variable.leave_store(value, exposed=False)


class _RemoteList(list[Any]):
    """The list of the values of a store: pulls its only value, and assigns it."""

    def __init__(self, reference: weakref.ref[Variable], remote: RemoteVariables):
        super().__init__()
        self._reference = reference
        self._remote = remote

    def __getitem__(self, slot: Any) -> Any:
        return self._remote.pull(cast(Variable, self._reference()))

    def __setitem__(self, slot: Any, value: Any) -> None:
        self._remote.assign(cast(Variable, self._reference()), value)


def _rows(array: NDArray[Any], shard: Shard) -> NDArray[Any]:
    """Return the part of a value that a shard has."""
    return array if shard.stop is None else array[shard.start : shard.stop]
