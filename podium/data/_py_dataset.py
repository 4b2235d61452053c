"""PyDataset: a base class for data that a user's class returns batch by batch, by index. Keras 2
calls it Sequence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from podium._typing import Tree
from podium.core.internal import PublicRepr


class _NumBatches:
    """`num_batches` of Keras 3, which a subclass may replace by a property or an attribute."""

    def __get__(self, instance: PyDataset | None, owner: type | None = None) -> Any:
        return self if instance is None else len(instance)


class PyDataset(PublicRepr):
    """Batches by index: override `__len__` (or the property `num_batches`) and `__getitem__`.

    `fit` shuffles the order of the batches in each epoch unless `shuffle=False`. It calls
    `on_epoch_begin` before and `on_epoch_end` after each epoch, where a subclass may shuffle its
    data. A subclass need not call `super().__init__()`.

    Args:
        workers: The number of threads or processes that make batches ahead of time; with 0 or 1,
            the caller's thread makes them.
        use_multiprocessing: Whether the workers are processes. Each gets a copy of the object by
            pickling at the start of every epoch, so its class must be importable, and a script
            needs `if __name__ == "__main__":`.
        max_queue_size: The largest number of batches that are made ahead of time.

    Attributes:
        num_batches: The number of batches in an epoch, `len` by default; None if the data are
            infinite, then `fit` needs `steps_per_epoch`.

    Example:
        >>> class Squares(podium.utils.PyDataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, index):
        ...         x = np.full((2, 1), index, "float32")
        ...         return x, x**2
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> _ = model.fit(Squares(workers=2), epochs=2, verbose=0)
        >>> int(model.optimizer.iterations.numpy())
        6
    """

    workers: int = 1  # class attributes, for subclasses that do not call `super().__init__()`
    use_multiprocessing: bool = False
    max_queue_size: int = 10
    num_batches: Any = _NumBatches()

    def __init__(
        self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10
    ):
        self.workers = workers
        self.use_multiprocessing = use_multiprocessing
        self.max_queue_size = max_queue_size

    def __len__(self) -> int:
        """Return the number of batches."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `__len__`: define it to return the number of batches."
        )

    def __getitem__(self, index: int) -> Tree:
        """Return a batch: `(x, y)`, or `(x, y, sample_weight)`."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `__getitem__`: define it to return batch `index`."
        )

    def on_epoch_begin(self) -> None:
        """Called before each epoch of `fit`."""

    def on_epoch_end(self) -> None:
        """Called after each epoch of `fit`."""

    def __iter__(self) -> Iterator[Tree]:
        """Iterate over the batches once."""
        size = self.num_batches
        for index in itertools.count() if size is None else range(size):
            yield self[index]


Sequence = PyDataset
