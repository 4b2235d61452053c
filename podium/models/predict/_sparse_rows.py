"""SparseRows: the rows of a sparse output of `predict`, in one sparse array of JAX (BCOO).

Dense outputs are copied to their rows by `_output_rows.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from podium._typing import Shape

if TYPE_CHECKING:  # importing it takes longer than all of Podium
    from jax.experimental.sparse import BCOO


def is_sparse(leaf: object) -> TypeGuard[BCOO]:
    """Return whether an output is a sparse array of JAX."""
    kind = type(leaf)
    return kind.__name__ == "BCOO" and kind.__module__.startswith("jax.experimental.sparse")


class SparseRows:
    """The rows of one sparse output. Entries that only pad a batch are left out."""

    def __init__(self, row_shape: Shape):
        self._row_shape = row_shape
        self._data: list[NDArray[Any]] = []
        self._indices: list[NDArray[Any]] = []
        self._total = 0
        self._sparse_type: Any = None

    @property
    def num_bytes(self) -> int:
        """The size of the entries that were added, and of their indices."""
        return sum(array.nbytes for array in (*self._data, *self._indices))

    def add(self, batch: BCOO) -> None:
        """Add the rows of a batch.

        Raises:
            ValueError: They have another shape than those before.
        """
        if tuple(batch.shape[1:]) != self._row_shape:
            raise ValueError(
                f"`predict_step` returned a sparse output of shape {tuple(batch.shape)}; rows of "
                f"shape {self._row_shape} were expected, as those of the batches before."
            )
        if batch.n_batch:
            batch = batch.update_layout(n_batch=0)
        data, indices = np.asarray(batch.data), np.asarray(batch.indices)
        is_entry = (indices < np.array(batch.shape[: batch.n_sparse])).all(axis=1)
        self._data.append(data[is_entry])
        self._indices.append(indices[is_entry])
        self._indices[-1][:, 0] += self._total
        self._total += batch.shape[0]
        self._sparse_type = type(batch)

    def result(self) -> BCOO:
        """Return all rows in one sparse array."""
        arrays = (np.concatenate(self._data), np.concatenate(self._indices))
        return cast("BCOO", self._sparse_type(arrays, shape=(self._total, *self._row_shape)))


def sparse_batches(leaf: BCOO, num_steps: int | None) -> list[BCOO]:
    """Return the batches that a sparse leaf holds: one, or those of fused steps, whose data and
    indices are stacked.
    """
    data, indices = np.asarray(leaf.data), np.asarray(leaf.indices)
    pairs = [(data, indices)]
    if num_steps is not None:
        pairs = [(data[step], indices[step]) for step in range(num_steps)]
    sparse_type: Any = type(leaf)
    return [sparse_type(pair, shape=leaf.shape) for pair in pairs]
