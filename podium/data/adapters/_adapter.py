"""DataAdapter: what the handler asks of a source of batches. One file for each kind of source
implements it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames


class DataAdapter:
    """Turns one kind of source into batches. A subclass says which sources it takes, and walks
    them.

    Batches are `x`, `(x, y)` or `(x, y, sample_weight)`, in any nesting of arrays. The handler
    checks them, copies what others could change, and counts.

    Args:
        source: What the user gave as x.
        steps: Batches per epoch that the user asked for, or None.
        names: The names of the caller's arguments, for messages.

    Attributes:
        kind: The word for such a source, for messages.
        seekable: Whether `iterate` can start at any batch without reading those before it.
        quick: Whether a batch takes so little time to make that it is not worth a thread to read it
            ahead.
        one_shot: Whether the source can be read only once, and stays the user's: it is never read
            ahead.
        fresh: Whether the arrays of a batch were made for it, and nobody else holds them: they need
            not be copied.
        owned: Whether its batches hold NumPy or JAX arrays of the right types that nobody else can
            change.
        start: Where the last walk was started: what the handler gave to `iterate`.
        checked: Whether, moreover, its batches are sure to be of one structure and of equal
            lengths.
        batching: How users make batches of "{}" samples with such a source, for messages.
        shuffles: Whether the order is the adapter's to decide: then it is made with `shuffle=` and
            `seed=` too.
        has_workers: Whether it is made with `workers=`, `use_multiprocessing=` and
            `max_queue_size=` too.
        gives_rows: Whether the source gives single rows: then it is made with `y=`,
            `sample_weight=` and `batch_size=` too.

    Example:
        >>> class Log:  # a source of your own, which knows how to read its blocks
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
    def can_handle(x: Any) -> bool:
        """Tell whether a source is of this kind. Must not read from it."""
        raise NotImplementedError

    def iterate(self, epoch: int, start: Any = 0) -> Iterable[Any]:
        """Start a walk through the batches for an epoch.

        Args:
            epoch: The number of the epoch for which the walk starts.
            start: How many batches to leave out, or what `position` returned; other than 0 only if
                `seekable`.
        """
        raise NotImplementedError

    def position(self, taken: int) -> Any:
        """Return where the walk is, `taken` batches after its start: a small value that JSON can
        hold, for `iterate(start=)`.
        """
        return self.start + taken

    def order_of_walk(self) -> list:
        """Return what decided the order of the last walk, for `set_order`: nothing if each walk is
        like the others.
        """
        return []

    def order_of_next(self) -> list:
        """Return what will decide the order of the next walk, for `set_order`."""
        return []

    def set_order(self, order: list) -> None:
        """Let the next walk have an order that was asked for earlier."""

    def keep_on_device(self, budget: int, passes: int) -> bool:
        """Keep the source on the device if it takes at most `budget` bytes, and that pays for so
        many passes through it.

        Returns:
            Whether it will be kept there.
        """
        return False

    def get_size(self) -> int | None:
        """Return the number of batches in one walk, or None if nobody knows or there is no end."""
        return None

    def batch_size(self) -> int | None:
        """Return the number of samples in a full batch, or None if nobody knows."""
        return None

    def has_partial_batch(self) -> bool:
        """Tell whether the last batch is known to be smaller."""
        return False

    def partial_batch_size(self) -> int | None:
        """Return the size of a smaller last batch, or None."""
        return None

    def should_recreate_iterator(self) -> bool:
        """Tell whether each epoch starts a new walk; otherwise one walk goes on through all epochs.

        By default it does if no steps were asked for, or just as many as there are.
        """
        return not self.one_shot and (self.steps is None or self.steps == self.get_size())

    def on_epoch_end(self) -> None:
        """Hear that an epoch has ended."""

    def close(self) -> None:
        """Hear that nobody will read any more: end what was kept from walk to walk, such as worker
        processes.
        """
