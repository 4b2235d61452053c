"""DataAdapter: what the handler asks of a source of batches. One file for each kind of source implements it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class DataAdapter(Protocol):
    """Turns one kind of source (arrays, a generator, a Dataset) into batches of NumPy or JAX arrays.

    Example:
        >>> class Countdown:
        ...     def iterate(self, epoch):
        ...         return iter([np.ones((2, 1)), np.zeros((2, 1))])
        ...     def get_size(self):
        ...         return 2
        ...     def batch_size(self):
        ...         return 2
        ...     def has_partial_batch(self):
        ...         return False
        ...     def partial_batch_size(self):
        ...         return None
        ...     def should_recreate_iterator(self):
        ...         return True
        ...     def on_epoch_end(self):
        ...         pass
        >>> isinstance(Countdown(), podium.data.DataAdapter)
        True
    """

    def iterate(self, epoch: int) -> Iterator[Any]:
        """Start a walk through the batches for an epoch. Nobody else may change the arrays that it gives."""
        ...

    def get_size(self) -> int | None:
        """Return the number of batches in one walk, or None if nobody knows."""
        ...

    def batch_size(self) -> int | None:
        """Return the number of samples in a full batch, or None if nobody knows."""
        ...

    def has_partial_batch(self) -> bool:
        """Tell whether the last batch is known to be smaller."""
        ...

    def partial_batch_size(self) -> int | None:
        """Return the size of a smaller last batch, or None."""
        ...

    def should_recreate_iterator(self) -> bool:
        """Tell whether each epoch starts a new walk; otherwise one walk goes on through all epochs."""
        ...

    def on_epoch_end(self) -> None:
        """Hear that an epoch has ended."""
        ...
