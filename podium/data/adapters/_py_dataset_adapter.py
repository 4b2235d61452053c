"""PyDatasetAdapter: batches of a PyDataset (Keras 2's Sequence) by index, in a new order for each
epoch, made by workers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from podium._typing import Tree
from podium.core.internal import check_int
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data._py_dataset import PyDataset
from podium.data._retrying import RetryPolicy
from podium.data.adapters._adapter import DataAdapter, Position
from podium.data.adapters._batch_workers import BatchWorkers
from podium.data.columns._foreign_types import is_instance_of

_HOOKS = ("on_epoch_begin", "on_epoch_end")


class PyDatasetAdapter(DataAdapter):
    """Batches that a PyDataset returns by index; Keras's own class is accepted too.

    The order of epoch e depends on the seed and on e alone: a resumed run reads the data in the
    order of the uninterrupted run. With fewer steps than batches, an epoch continues where the
    previous one stopped.

    Args:
        source: The PyDataset.
        steps: The number of batches per epoch that the user passed, or None.
        shuffle: Whether the batches come in random order.
        seed: Determines that order.
        workers: The number of workers that make batches. The default of this and of the next two
            arguments is the attribute of the PyDataset.
        use_multiprocessing: Whether the workers are processes.
        max_queue_size: The largest number of batches that are made ahead of time.
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
        self._start = 0  # where the iteration was started
        self._first_epoch: int | None = None  # of the run
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
        self.fresh = bool(multiprocessing) and count > 0  # batches are unpickled, so not shared
        # What a user's hook changes between epochs cannot be restored, and the next epoch needs it.
        self.seekable = not any(_overrides(source, hook) for hook in _HOOKS)
        self._workers = BatchWorkers(
            source, count, processes=self.fresh, ahead=max(1, ahead), keep=self.seekable
        )
        self.concurrent = self._workers.concurrent
        if steps is None and self.get_size() is None:
            self.steps = names.steps_for_infinite(
                f"`{names.x}` is an infinite PyDataset ({type(source).__name__}: its "
                f"`num_batches` is None); {names.steps} was "
                f"not given. Say how many batches make an epoch: `{names.steps}=100`."
            )

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is a PyDataset."""
        return isinstance(x, PyDataset) or any(
            is_instance_of(x, package, "PyDataset", "Sequence") for package in ("keras", "tf_keras")
        )

    def iterate(self, epoch: int, start: Position = 0) -> Iterator[Tree]:
        """Iterate over the batches of an epoch."""
        if hasattr(self.source, "on_epoch_begin"):
            self.source.on_epoch_begin()
        self._start = start["batch"] if isinstance(start, dict) else start
        if isinstance(start, dict):
            self._seed, self._first_epoch = start["seed"], start["origin"]
        if self._first_epoch is None or epoch < self._first_epoch:
            self._first_epoch = epoch
        indices = itertools.islice(self._indices(self._first_epoch, epoch), self._start, None)
        return self._workers.iterate(indices)

    def position(self, taken: int) -> dict[str, Any]:
        """Return the index of the next batch in the epoch, and what determines the order."""
        return {"batch": self._start + taken, "seed": self._seed, "origin": self._first_epoch}

    def get_size(self) -> int | None:
        """Return the number of batches, or None if it is infinite."""
        size = _num_batches(self.source)
        return (
            None
            if size is None
            else check_int(f"len({type(self.source).__name__})", size, 0, integral_floats=True)
        )

    def process_draws(self) -> set[str]:
        """Return the global random generators that worker processes have drawn from."""
        return self._workers.process_draws

    def should_recreate_iterator(self) -> bool:
        """Return True: each epoch starts a new iteration, so that it sees what a hook has
        changed.
        """
        return True

    def on_epoch_end(self) -> None:
        """Call the hook of the PyDataset."""
        self.source.on_epoch_end()

    def retry_reads(self, policy: RetryPolicy) -> bool:
        """Let the workers try again what fails."""
        self._workers.policy = policy
        return True

    def close(self) -> None:
        """End the workers."""
        self._workers.close()

    def _indices(self, first_epoch: int, epoch: int) -> Iterable[int]:
        """Return the indices of the batches of an epoch, which may be part of a pass through the
        data, or of two.
        """
        size, steps = self.get_size(), self.steps
        if steps is None or (size is not None and steps >= size):
            return self._order(epoch, size or 0)
        first = (epoch - first_epoch) * steps
        if size is None:
            return range(first, first + steps)
        passes, first = divmod(first, size)
        orders = itertools.chain.from_iterable(
            self._order(first_epoch + index, size) for index in (passes, passes + 1)
        )
        return itertools.islice(orders, first, first + steps)

    def _order(self, pass_index: int, size: int) -> Iterable[int]:
        """Return the order of the batches in one pass through the data."""
        if not self._shuffle:
            return range(size)
        order: list[int] = (
            np.random.default_rng([self._seed, pass_index]).permutation(size).tolist()
        )
        return order


def _num_batches(source: Any) -> int | None:
    """Return the number of batches: Keras 3 defines `num_batches`, but a user's class may use that
    name for an attribute of its own.
    """
    if "num_batches" in getattr(source, "__dict__", {}):
        try:
            return len(source)
        except (NotImplementedError, TypeError):
            pass  # without a `__len__`, the attribute is Keras's
    size: int | None = source.num_batches if hasattr(type(source), "num_batches") else len(source)
    return size


def _overrides(source: object, hook: str) -> bool:
    """Return whether a subclass overrides a hook."""
    qualname = getattr(getattr(type(source), hook, None), "__qualname__", f"PyDataset.{hook}")
    return qualname not in (f"PyDataset.{hook}", f"Sequence.{hook}")
