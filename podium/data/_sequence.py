"""Sequence: batches by number, for data that a class of the user's own makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Sequence:
    """Batches that are asked for by number: override `__len__` and `__getitem__`.

    A subclass need not call `super().__init__()`. `fit` takes the batches in order, and calls `on_epoch_end` after each
    epoch, where a subclass may shuffle.

    Example:
        >>> class Squares(podium.utils.Sequence):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, index):
        ...         x = np.full((2, 1), index, "float32")
        ...         return x, x**2
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> _ = model.fit(Squares(), epochs=2, verbose=0)
        >>> int(model.optimizer.iterations.numpy())
        6
    """

    def __len__(self) -> int:
        """Return the number of batches."""
        raise NotImplementedError(f"{type(self).__name__} has no `__len__`: define it to return the number of batches.")

    def __getitem__(self, index: int) -> Any:
        """Return a batch: `(x, y)`, or `(x, y, sample_weight)`."""
        raise NotImplementedError(f"{type(self).__name__} has no `__getitem__`: define it to return batch `index`.")

    def on_epoch_end(self) -> None:
        """Called after each epoch of `fit`."""

    def __iter__(self) -> Iterator[Any]:
        """Walk the batches once."""
        for index in range(len(self)):
            yield self[index]
