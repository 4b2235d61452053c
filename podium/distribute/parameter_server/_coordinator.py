"""ClusterCoordinator: schedules calls of functions on the workers of a ParameterServerStrategy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from podium._typing import Array, Tree
from podium.core import Function, OutOfRange, Stream, Variable, map_structure
from podium.core.internal import Tensor, preserve_key_order, static_key
from podium.distribute._replica_context import InputContext
from podium.distribute.parameter_server._remote_value import (
    PerWorkerIterator,
    PerWorkerValues,
    RemoteValue,
)
from podium.distribute.parameter_server._scheduled_function import (
    ScheduledFunction,
    next_element_specs,
    read_elements,
)

if TYPE_CHECKING:
    from podium.distribute.parameter_server._strategy import ParameterServerStrategy


class ClusterCoordinator:
    """Schedules calls of functions on the workers of a `ParameterServerStrategy`.

    A scheduled function is compiled in this process; the workers receive the compiled program, pull
    the Variables that it uses and push what it has changed. Two coordinators of one strategy are
    the same object.

    Args:
        strategy: The strategy.

    Example:
        >>> strategy = podium.distribute.ParameterServerStrategy(num_workers=1)
        >>> coordinator = podium.distribute.coordinator.ClusterCoordinator(strategy)
        >>> data = podium.data.Dataset.range(10)
        >>> iterator = iter(coordinator.create_per_worker_dataset(data))
        >>> results = [
        ...     coordinator.schedule(lambda it: 10 * next(it), args=(iterator,)) for _ in range(3)
        ... ]
        >>> [int(value) for value in coordinator.fetch(results)]
        [0, 10, 20]
        >>> strategy.close()
    """

    def __new__(cls, strategy: ParameterServerStrategy) -> ClusterCoordinator:
        if not getattr(strategy, "_should_use_with_coordinator", False):
            raise ValueError(
                f"ClusterCoordinator was given {strategy!r}; a ParameterServerStrategy was "
                "expected."
            )
        if strategy._coordinator is None:
            strategy._coordinator = super().__new__(cls)
            strategy._coordinator._initialize(strategy)
        return strategy._coordinator

    def _initialize(self, strategy: ParameterServerStrategy) -> None:
        self._strategy = strategy
        self._datasets: dict[str, Any] = {}
        self._numbers = itertools.count()
        self._functions: dict[object, ScheduledFunction] = {}
        self._as_function: dict[Callable[..., Any], Function[..., Any]] = {}
        self._scheduler = strategy._make_scheduler(self._datasets)

    @property
    def strategy(self) -> ParameterServerStrategy:
        """The strategy."""
        return self._strategy

    def schedule(
        self, fn: Callable[..., Any], args: Tree = (), kwargs: dict[str, Any] | None = None
    ) -> RemoteValue:
        """Schedule a call on some worker, and return its result, which may not exist yet.

        Calls run in the order in which they were scheduled, several at a time. A call of a worker
        that is lost runs again on another one; it is applied once.

        Args:
            fn: The function. It is compiled once for each shape of the elements that it reads.
            args: Its arguments: iterators over per-worker datasets, arrays, results of earlier
                calls, and constants. From an iterator over a dataset of this process, it reads the
                elements here, and sends them.
            kwargs: Its named arguments.

        Raises:
            Exception: What an earlier call has raised, with the traceback of the worker; calls that
                had not begun are cancelled.
            ServerLostError: A server was lost.
            OutOfRange: An iterator over a dataset of this process has no more elements. Those that
                were too few for a call are used by running it in this process.
            ValueError: There are iterators of both kinds.
        """
        self._scheduler.raise_error()
        arguments = jax.tree.map(
            lambda leaf: leaf.get() if isinstance(leaf, RemoteValue) else leaf,
            preserve_key_order((tuple(args), kwargs or {})),
            is_leaf=_is_argument,
        )
        leaves, treedef = jax.tree.flatten(preserve_key_order(arguments), is_leaf=_is_argument)
        iterators = tuple(leaf for leaf in leaves if isinstance(leaf, PerWorkerIterator))
        arrays = tuple(np.asarray(_array(leaf)) for leaf in leaves if _holds_array(leaf))
        function, key = self._scheduled_function(fn, leaves, treedef)
        elements: tuple[tuple[Tree, ...], ...] = ()
        if streams := [leaf for leaf in leaves if isinstance(leaf, Stream)]:
            if iterators:
                raise ValueError(
                    "schedule was given iterators over a per-worker dataset and over one of this "
                    "process; iterators of one kind were expected."
                )
            if not function.programs:
                function.trace(next_element_specs(streams))
                self._functions[key()] = function
            try:
                elements = read_elements(streams, function.num_elements)
            except OutOfRange:  # the function handles the end itself
                self.join()
                function.function(*arguments[0], **arguments[1])
                raise
        result = self._scheduler.add(function, iterators, arrays, elements)
        if not function.programs:
            # Numbers that the function reads while it is traced are those of this moment.
            self._scheduler.wait_for_program(function, result)
            self._functions[key()] = function
        return result

    def trace(self, fn: Callable[..., Any], args: Tree = ()) -> None:
        """Compile a function for arguments that hold no iterator, without running it."""
        leaves, treedef = jax.tree.flatten(preserve_key_order((tuple(args), {})))
        function, key = self._scheduled_function(fn, leaves, treedef)
        if not function.programs:
            function.trace(())
            self._functions[key()] = function

    def variables_of(self, fn: Callable[..., Any]) -> list[Variable]:
        """Return the Variables that a function uses, as far as it has been traced."""
        function = fn if isinstance(fn, Function) else self._as_function.get(fn)
        traced = [each for each in self._functions.values() if each.function is function]
        return [variable for each in traced for variable in each.variables]

    def limit_waiting(self, max_calls: int) -> None:
        """Wait until at most this number of calls wait for a worker."""
        self._scheduler.wait_for_queue(max_calls)

    def join(self) -> None:
        """Wait until all scheduled calls have ended.

        Raises:
            Exception: What a call has raised, with the traceback of the worker.
            ServerLostError: A server was lost.
        """
        self._scheduler.wait()
        self._scheduler.raise_error()

    def done(self) -> bool:
        """Return whether all scheduled calls have ended.

        Raises:
            Exception: What a call has raised, with the traceback of the worker.
        """
        self._scheduler.raise_error()
        self._scheduler.serve()
        return self._scheduler.is_idle

    def fetch(self, val: Tree) -> Tree:
        """Wait for the results in a structure, and return it with NumPy arrays."""
        return map_structure(
            lambda leaf: leaf.fetch() if isinstance(leaf, RemoteValue) else leaf, val
        )

    def create_per_worker_dataset(self, dataset_fn: Any) -> PerWorkerValues:
        """Return a dataset of which each worker has its own.

        Args:
            dataset_fn: A function that returns the dataset, called on each worker; it may take an
                `InputContext`, which has the index of the worker. Or a dataset: worker i of n reads
                its elements i, i + n, i + 2n, ...
        """
        name = f"dataset {next(self._numbers)}"
        is_function = callable(dataset_fn) and not hasattr(dataset_fn, "__iter__")
        self._datasets[name] = dataset_fn if is_function else _Sharded(dataset_fn)
        return PerWorkerValues(name, self._make_iterator)

    def __repr__(self) -> str:
        return f"<podium.distribute.coordinator.ClusterCoordinator of {self._strategy!r}>"

    def _make_iterator(self, dataset: str) -> PerWorkerIterator:
        return PerWorkerIterator(f"iterator {next(self._numbers)}", dataset)

    def _scheduled_function(
        self, fn: Callable[..., Any], leaves: list[Any], treedef: Any
    ) -> tuple[ScheduledFunction, Callable[[], object]]:
        """Return a function with its static arguments, and a function that returns its key."""
        function = (
            fn if isinstance(fn, Function) else self._as_function.setdefault(fn, Function(fn))
        )
        constants = (treedef, *map(_key_of, leaves))

        def key() -> object:
            return id(function), tuple(int(s.current) for s in function.trace_settings), constants

        def make_arguments(streams: Sequence[Stream]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            remaining = iter(streams)
            arguments: tuple[tuple[Any, ...], dict[str, Any]] = jax.tree.unflatten(
                treedef,
                [
                    next(remaining) if isinstance(leaf, (PerWorkerIterator, Stream)) else leaf
                    for leaf in leaves
                ],
            )
            return arguments

        scheduled = self._functions.get(key())
        if scheduled is None:
            name = f"function {next(self._numbers)}"
            scheduled = ScheduledFunction(name, function, make_arguments, self._strategy)
        return scheduled, key


class _Sharded:
    """Makes the part of a dataset that a worker reads."""

    def __init__(self, dataset: Any):
        self._dataset = dataset

    def __call__(self, context: InputContext) -> Any:
        return _EveryNth(self._dataset, context.num_input_pipelines, context.input_pipeline_id)


class _EveryNth:
    def __init__(self, dataset: Any, num_shards: int, index: int):
        self._dataset, self._num_shards, self._index = dataset, num_shards, index

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(iter(self._dataset), self._index, None, self._num_shards)


def _is_argument(leaf: object) -> bool:
    return isinstance(leaf, (PerWorkerIterator, RemoteValue, Stream, Tensor))


def _holds_array(leaf: object) -> bool:
    return isinstance(leaf, (Tensor, jax.Array, np.ndarray, np.generic))


def _array(leaf: Any) -> Array:
    return leaf._value if isinstance(leaf, Tensor) else leaf


def _key_of(leaf: Any) -> object:
    if isinstance(leaf, (PerWorkerIterator, Stream)):
        return "iterator"
    if _holds_array(leaf):
        array = _array(leaf)
        return array.shape, str(array.dtype)
    return static_key(leaf)
