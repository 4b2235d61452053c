"""DataAdapter: the interface between the handler and a kind of source. One file for each kind of
source implements it; `_choose_adapter.py` decides which one is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeAlias

from podium._typing import Tree
from podium.core import warn_user
from podium.core.internal import PublicRepr
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data._retrying import RetryPolicy

# Where an iteration starts: a number of batches, or a JSON-compatible description.
Position: TypeAlias = int | dict[str, Any]


class DataAdapter(PublicRepr):
    """Turns one kind of source into batches. A subclass decides which sources it accepts, and
    iterates over them.

    Batches are `x`, `(x, y)` or `(x, y, sample_weight)`, in any nesting of arrays. The handler
    validates them, copies what other code could change, and counts.

    Args:
        source: What the user passed as x.
        steps: The number of batches per epoch that the user passed, or None.
        names: The names of the caller's arguments, for messages.

    Attributes:
        kind: What such a source is called in messages.
        seekable: Whether `iterate` can start at any batch without reading those before it.
        quick: Whether batches are made so quickly that reading them ahead is not worth a thread.
        one_shot: Whether the source can be read only once and belongs to the user: it is never read
            ahead.
        fresh: Whether the arrays of a batch were made for it alone, so that they need not be
            copied.
        owned: Whether batches hold NumPy or JAX arrays of the right dtypes that no other code can
            change.
        concurrent: Whether several threads, or other processes, make the batches, so that random
            numbers are drawn in an order that is not always the same.
        start: The start that was last passed to `iterate`.
        checked: Whether, moreover, all batches are known to have one structure and equal lengths.
        batching: How users make batches of "{}" samples of such a source, for messages.
        shuffles: Whether the adapter decides the order: then it is made with `shuffle=` and `seed=`
            too.
        has_workers: Whether it is made with `workers=`, `use_multiprocessing=` and
            `max_queue_size=` too.
        gives_rows: Whether the source returns single rows: then the adapter is made with `y=`,
            `sample_weight=` and `batch_size=` too.

    Example:
        >>> class Log:  # a source of your own, with a list of batches
        ...     def __init__(self, blocks):
        ...         self.blocks = blocks
        >>> @podium.data.register_adapter
        ... class LogAdapter(podium.data.DataAdapter):
        ...     kind = "log"
        ...     seekable = True
        ...     @staticmethod
        ...     def can_handle(x):
        ...         return hasattr(x, "blocks")
        ...     def iterate(self, epoch, start=0):
        ...         return iter(self.source.blocks[start:])
        ...     def get_size(self):
        ...         return len(self.source.blocks)
        >>> log = Log([(np.ones((2, 1)), np.ones(2)), (np.zeros((2, 1)), np.zeros(2))])
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> _ = model.fit(log, epochs=3, verbose=0)
        >>> int(model.optimizer.iterations.numpy())
        6
    """

    kind: str = "dataset"
    seekable: bool = False
    one_shot: ClassVar[bool] = False
    fresh: bool = False
    quick: bool = False
    owned: bool = False
    concurrent: bool = False
    start: Any = 0
    checked: bool = False
    batching: ClassVar[str] = "`dataset.batch({})`"
    shuffles: ClassVar[bool] = False
    has_workers: ClassVar[bool] = False
    gives_rows: ClassVar[bool] = False

    def __init__(
        self, source: Any, *, steps: int | None = None, names: ArgumentNames = DEFAULT_NAMES
    ):
        self.source = source
        self.steps = steps
        self.names = names

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is of this kind. Must not read from it."""
        raise NotImplementedError

    def iterate(self, epoch: int, start: Position = 0) -> Iterable[Tree]:
        """Start an iteration over the batches of an epoch.

        Args:
            epoch: The index of the epoch.
            start: The number of batches to skip, or what `position` returned; other than 0 only if
                `seekable`.
        """
        raise NotImplementedError

    def position(self, taken: int) -> Position | None:
        """Return the position `taken` batches after the start of the iteration: a small
        JSON-compatible value to pass to `iterate(start=)`.
        """
        position: Position = self.start + taken
        return position

    def current_order(self) -> list[Any]:
        """Return what determined the order of the last iteration, for `set_order`; an empty list if
        the order never changes.
        """
        return []

    def next_order(self) -> list[Any]:
        """Return what will determine the order of the next iteration, for `set_order`."""
        return []

    def set_order(self, order: list[Any]) -> None:
        """Restore the order of the next iteration."""

    @property
    def retries(self) -> int:
        """How many times a read was tried again, in all runs, by `data.Retrying`."""
        return 0

    def retry_reads(self, policy: RetryPolicy) -> bool:
        """Try again reads that fail, for `data.Retrying`, where single reads can be repeated.

        Args:
            policy: When and how often; its `read` calls a function until it succeeds.

        Returns:
            Whether `iterate` does so: it then yields what `policy.read` returned. Otherwise
            `iterate` is called again after a failure.
        """
        return False

    def keep_on_device(self, budget: int, passes: int) -> bool:
        """Keep the source on the device if it needs at most `budget` bytes and `passes` iterations
        make that worthwhile.

        Returns:
            Whether it will be kept there.
        """
        return False

    def kept_rows(self) -> Tree:
        """Return the rows that `keep_on_device` keeps and that are not validated yet, in
        the structure of a batch; None if there are none.
        """
        return None

    def get_size(self) -> int | None:
        """Return the number of batches in one iteration, or None if it is unknown or infinite."""
        return None

    def limit_steps(self, requested: int | None, limit: int | None) -> int | None:
        """Return the number of steps of an epoch, at most `limit`; None for all there are."""
        size = self.get_size() if requested is None else requested
        if limit is None or (size is not None and size <= limit):
            return requested
        warn_user(
            f"`{self.names.steps}` is limited to {limit} by `set_max_steps_per_epoch`, or by the "
            "environment variable KERAS_MAX_STEPS_PER_EPOCH."
        )
        self.steps = limit
        return limit

    def batch_size(self) -> int | None:
        """Return the number of samples in a full batch, or None if it is unknown."""
        return None

    def has_partial_batch(self) -> bool:
        """Return whether the last batch is known to be smaller."""
        return False

    def partial_batch_size(self) -> int | None:
        """Return the size of a smaller last batch, or None."""
        return None

    def should_recreate_iterator(self) -> bool:
        """Return whether each epoch starts a new iteration; otherwise one iteration continues
        through all epochs.

        By default each epoch does if no number of steps was passed, or just the number of batches.
        """
        return not self.one_shot and (self.steps is None or self.steps == self.get_size())

    def process_draws(self) -> set[str]:
        """Return the names of the global random generators ("random", "np.random") that other
        processes have drawn from to make batches, as far as it is known.
        """
        return set()

    def on_epoch_end(self) -> None:
        """Called after each epoch."""

    def close(self) -> None:
        """Called when reading has ended: release what is kept between iterations, such as worker
        processes.
        """
