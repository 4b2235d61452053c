"""RemoteValue: the result of a scheduled call. PerWorkerValues: each worker has its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from podium._typing import Tree
from podium.core import convert_to_numpy, is_tensor, map_structure


class RemoteValue:
    """The result of a scheduled call, which a worker may not have computed yet.

    Args:
        wait: Waits until the call has ended.

    Example:
        >>> strategy = podium.distribute.ParameterServerStrategy(num_workers=1)
        >>> coordinator = podium.distribute.coordinator.ClusterCoordinator(strategy)
        >>> value = coordinator.schedule(lambda: podium.ops.ones(3))
        >>> value.fetch().tolist()
        [1.0, 1.0, 1.0]
        >>> value
        <podium.distribute.coordinator.RemoteValue, ended>
        >>> strategy.close()
    """

    def __init__(self, wait: Callable[[RemoteValue], object]):
        self._wait = wait
        self._result: Tree = None
        self._error: BaseException | None = None
        self._has_ended = threading.Event()

    def fetch(self) -> Tree:
        """Wait for the call, and return its result with NumPy arrays.

        Raises:
            Exception: What the call has raised.
        """
        return map_structure(
            lambda leaf: convert_to_numpy(leaf) if is_tensor(leaf) else leaf, self.get()
        )

    def get(self) -> Tree:
        """Wait for the call, and return its result with Tensors.

        Raises:
            Exception: What the call has raised.
        """
        self._wait(self)
        if self._error is not None:
            raise self._error
        return self._result

    @property
    def has_ended(self) -> bool:
        """Whether the call has ended."""
        return self._has_ended.is_set()

    def _end(self, result: Tree = None, error: BaseException | None = None) -> None:
        self._result, self._error = result, error
        self._has_ended.set()

    def __repr__(self) -> str:
        state = "failed" if self._error is not None else "ended" if self.has_ended else "scheduled"
        return f"<podium.distribute.coordinator.RemoteValue, {state}>"


class PerWorkerValues:
    """What each worker has its own of, such as a dataset.

    Iterating over a per-worker dataset returns an iterator of which each worker has its own: pass
    it to `schedule`.

    Args:
        name: Identifies it for the workers.
        make_iterator: Returns a new iterator over the dataset of that name.

    Example:
        >>> from podium.distribute.coordinator import PerWorkerIterator, PerWorkerValues
        >>> values = PerWorkerValues("data", lambda name: PerWorkerIterator("iterator", name))
        >>> iter(values).dataset
        'data'
    """

    def __init__(self, name: str, make_iterator: Callable[[str], PerWorkerIterator]):
        self.name = name
        self._make_iterator = make_iterator

    def __iter__(self) -> PerWorkerIterator:
        return self._make_iterator(self.name)

    def __repr__(self) -> str:
        return f"<podium.distribute.coordinator.PerWorkerValues {self.name!r}>"


class PerWorkerIterator(Iterator[Any]):
    """An iterator of which each worker has its own.

    Args:
        name: Identifies it for the workers.
        dataset: The name of the dataset.

    Example:
        >>> from podium.distribute.coordinator import PerWorkerIterator
        >>> iterator = PerWorkerIterator("iterator", "data")
        >>> iter(iterator) is iterator
        True
    """

    def __init__(self, name: str, dataset: str):
        self.name, self.dataset = name, dataset

    def __repr__(self) -> str:
        return f"<podium.distribute.coordinator.PerWorkerIterator over {self.dataset!r}>"

    def __next__(self) -> Any:
        raise RuntimeError(
            "next() was called on an iterator of the workers, whose elements are on the workers. "
            "Pass it to a function: `coordinator.schedule(fn, args=(iterator,))`."
        )
