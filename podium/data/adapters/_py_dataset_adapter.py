"""PyDatasets (Keras 2's Sequences): batches by number, in an order that is drawn anew for each
epoch, made by workers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from podium.core.internal import check_int
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data._py_dataset import PyDataset
from podium.data.adapters._adapter import DataAdapter
from podium.data.adapters._batch_workers import Workers
from podium.data.columns._foreign_types import is_instance_of

_HOOKS = ("on_epoch_begin", "on_epoch_end")


class SequenceAdapter(DataAdapter):
    """Batches that a PyDataset gives by number; one of Keras's own is taken too.

    The order of epoch e depends on the seed and on e alone: a run that is continued goes through
    the data as the uninterrupted one would. With fewer steps than batches, an epoch goes on where
    the one before has stopped.

    Args:
        source: The PyDataset.
        steps: Batches per epoch that the user asked for, or None.
        shuffle: Whether the batches come in random order.
        seed: Decides that order.
        workers: How many workers make batches; by default what the PyDataset says, and so for the
            next two.
        use_multiprocessing: Whether the workers are processes.
        max_queue_size: How many batches they may make ahead of time.
        names: The names of the caller's arguments, for messages.
    """

    kind = "PyDataset"
    batching = "let `__getitem__` return {} samples"
    shuffles: ClassVar[bool] = True
    has_workers: ClassVar[bool] = True

    def __init__(
        self,
        source: Any,
        *,
        steps: int | None = None,
        shuffle: bool | str = False,
        seed: int = 0,
        workers: int | None = None,
        use_multiprocessing: bool | None = None,
        max_queue_size: int | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(source, steps=steps, names=names)
        self._shuffle = shuffle
        self._seed = seed
        self._first = 0  # where the walk was started
        self._origin: int | None = None  # the first epoch of the run
        count = check_int(
            "workers", source.workers if workers is None else workers, 0, integral_floats=True
        )
        ahead = check_int(
            "max_queue_size",
            source.max_queue_size if max_queue_size is None else max_queue_size,
            0,
            integral_floats=True,
        )
        multiprocessing = (
            source.use_multiprocessing if use_multiprocessing is None else use_multiprocessing
        )
        self.fresh = (
            bool(multiprocessing) and count > 0
        )  # what was pickled on its way is nobody else's
        # What a hook of the user's own changes between epochs nobody can know, but the next epoch
        # must have it.
        self.seekable = not any(_overrides(source, hook) for hook in _HOOKS)
        self._workers = Workers(
            source, count, processes=self.fresh, ahead=max(1, ahead), keep=self.seekable
        )
        if steps is None and self.get_size() is None:
            self.steps = names.steps_for_infinite(
                f"`{names.x}` is an endless PyDataset ({type(source).__name__}: its "
                f"`num_batches` is None); {names.steps} was "
                f"not given. Say how many batches make an epoch: `{names.steps}=100`."
            )

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source is a PyDataset."""
        return isinstance(x, PyDataset) or any(
            is_instance_of(x, package, "PyDataset", "Sequence") for package in ("keras", "tf_keras")
        )

    def iterate(self, epoch: int, start: Any = 0) -> Iterator[Any]:
        """Walk the batches of an epoch."""
        if hasattr(self.source, "on_epoch_begin"):
            self.source.on_epoch_begin()
        if isinstance(start, dict):
            start, self._seed, self._origin = start["batch"], start["seed"], start["origin"]
        if self._origin is None or epoch < self._origin:
            self._origin = epoch
        self._first = start
        numbers = itertools.islice(self._numbers(self._origin, epoch), start, None)
        return self._workers.walk(numbers)

    def position(self, taken: int) -> dict[str, Any]:
        """Return the number of batches taken in the epoch, and what decides their order."""
        return {"batch": self._first + taken, "seed": self._seed, "origin": self._origin}

    def get_size(self) -> int | None:
        """Return the number of batches, or None if there is no end."""
        size = _num_batches(self.source)
        return (
            None
            if size is None
            else check_int(f"len({type(self.source).__name__})", size, 0, integral_floats=True)
        )

    def should_recreate_iterator(self) -> bool:
        """Each epoch starts a new walk: it knows where to begin, and what a hook has changed counts
        from then on.
        """
        return True

    def on_epoch_end(self) -> None:
        """Tell the PyDataset."""
        self.source.on_epoch_end()

    def close(self) -> None:
        """End the workers."""
        self._workers.close()

    def _numbers(self, origin: int, epoch: int) -> Iterable[int]:
        """Return the numbers of the batches of an epoch, which may be a part of a pass, or lie in
        two.
        """
        size, steps = self.get_size(), self.steps
        if steps is None or (size is not None and steps >= size):
            return self._order(epoch, size or 0)
        first = (epoch - origin) * steps
        if size is None:
            return range(first, first + steps)
        passes, first = divmod(first, size)
        orders = itertools.chain.from_iterable(
            self._order(origin + passes + more, size) for more in (0, 1)
        )
        return itertools.islice(orders, first, first + steps)

    def _order(self, number: int, size: int) -> Iterable[int]:
        """Return the order of the batches in one pass through the data."""
        if not self._shuffle:
            return range(size)
        return np.random.default_rng([self._seed, number]).permutation(size).tolist()


def _num_batches(source: Any) -> int | None:
    """Return how many batches there are: Keras 3 asks `num_batches`, but an attribute of that name
    may be the user's own.
    """
    if "num_batches" in getattr(source, "__dict__", {}):
        try:
            return len(source)
        except (NotImplementedError, TypeError):
            pass  # without a `__len__`, it can only be meant so
    return source.num_batches if hasattr(type(source), "num_batches") else len(source)


def _overrides(source: Any, hook: str) -> bool:
    """Tell whether a subclass has its own version of a hook."""
    written_in = getattr(getattr(type(source), hook, None), "__qualname__", f"PyDataset.{hook}")
    return written_in not in (f"PyDataset.{hook}", f"Sequence.{hook}")
