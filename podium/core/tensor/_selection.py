"""Selection: a batch given by row numbers of a Table of arrays.

Compiled steps gather the rows from the table's arrays on the device; other code calls `batch()` to
get arrays. Which rows belong to a batch is decided in `podium.data`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Array, DTypeLike, Tree, TreeDef
from podium.core._public_repr import PublicRepr
from podium.core._tree import preserve_key_order
from podium.core.tensor._aligned_memory import MIN_ALIGNED_SIZE, array_for_device


class Table(PublicRepr):
    """Arrays of samples, which are transferred to the device when rows are first gathered.

    On CPU they stay in host memory and NumPy gathers the rows, because a compiled gather takes ten
    times as long to start.

    Args:
        arrays: NumPy arrays of equal length, each with its dtype on the device.
        treedef: The structure in which they form a batch.
        select_rows: Returns the batch of the given rows, in host memory.

    Example:
        >>> import jax
        >>> x = np.arange(5.0)
        >>> table = podium.core.Table([(x, "float32")], jax.tree.structure(0), lambda rows: x[rows])
        >>> table.gather(np.array([[3, 1], [0, 0]]))
        [array([[3., 1.],
               [0., 0.]], dtype=float32)]
        >>> table.gather(np.array([[3, 1]]), length=4)[0].shape
        (4, 2)
    """

    def __init__(
        self,
        arrays: list[tuple[np.ndarray[Any, Any], DTypeLike]],
        treedef: TreeDef,
        select_rows: Callable[[np.ndarray[Any, Any]], Tree],
    ):
        self._host_arrays = arrays
        self._arrays: list[Any] | None = None  # as rows are gathered from them
        self.select_rows = select_rows
        batch = preserve_key_order(jax.tree.unflatten(treedef, [0] * len(arrays)))
        self.treedef = jax.tree.structure(((batch,), {}))  # as arguments of a step
        self.types = [(array.shape[1:], np.dtype(dtype)) for array, dtype in arrays]
        self._row_sizes = [
            math.prod(shape) * dtype.itemsize for shape, dtype in self.types
        ]  # bytes
        self._keys: dict[int, tuple[Any, ...]] = {}

    def key(self, batch_size: int) -> tuple[Any, ...]:
        """Return the structure of a batch of this size, then the shape and dtype of each array."""
        key = self._keys.get(batch_size)
        if key is None:
            key = self._keys[batch_size] = (
                self.treedef,
                *[((batch_size, *shape), dtype) for shape, dtype in self.types],
            )
        return key

    def gather(self, index: np.ndarray[Any, Any], length: int | None = None) -> list[Array]:
        """Return rows of every array, on the device or ready to be transferred.

        Args:
            index: The row numbers of one batch, or of several with one line for each.
            length: The number of batches in the result. Those beyond the lines of `index` are
                undefined.
        """
        if self._arrays is None:
            self._arrays = [_convert_rows(array, dtype) for array, dtype in self._host_arrays]
            if jax.default_backend() != "cpu":
                self._arrays = [jnp.asarray(array) for array in self._arrays]
        if isinstance(self._arrays[0], np.ndarray):
            max_row_size = MIN_ALIGNED_SIZE // (index.size or 1)
            return [
                array.take(index, 0)
                if length is None and size < max_row_size
                else _take_rows(array, index, length)
                for array, size in zip(self._arrays, self._row_sizes, strict=True)
            ]
        if length is not None and length > len(index):
            index = np.concatenate([index, np.repeat(index[-1:], length - len(index), 0)])
        rows: list[Array] = _gather_rows(self._arrays, index)
        return rows


class Selection(PublicRepr):
    """A batch of rows of a Table, or several batches if the index has one line for each.

    Example:
        >>> import jax
        >>> x = np.arange(5.0)
        >>> table = podium.core.Table([(x, "float32")], jax.tree.structure(0), lambda rows: x[rows])
        >>> podium.core.Selection(table, np.array([3, 1])).batch()
        array([3., 1.])
    """

    __slots__ = ("index", "table")

    def __init__(self, table: Table, index: np.ndarray[Any, Any]):
        self.table = table
        self.index = index

    @property
    def count(self) -> int:
        """The number of batches."""
        return 1 if self.index.ndim == 1 else len(self.index)

    def batch(self) -> Tree:
        """Return the rows as arrays in host memory."""
        return self.table.select_rows(self.index)


def num_rows(batch: Tree) -> int:
    """Return the number of samples of a batch, from the shape of its first array."""
    if isinstance(batch, Selection):
        return int(batch.index.size)
    shape = np.shape(next(iter(jax.tree.leaves(batch)), ()))
    return shape[0] if shape else 1


@jax.jit
def _gather_rows(arrays: list[jax.Array], index: jax.Array) -> list[jax.Array]:
    return [array.at[index].get(mode="promise_in_bounds") for array in arrays]


def _take_rows(
    array: np.ndarray[Any, Any], index: np.ndarray[Any, Any], length: int | None
) -> np.ndarray[Any, Any]:
    """Return the rows of the index, in an array of this length."""
    shape = (len(index) if length is None else length, *index.shape[1:], *array.shape[1:])
    rows = array_for_device(shape, array.dtype)
    # All are in bounds; with mode="raise" NumPy would copy.
    array.take(index, 0, out=rows[: len(index)], mode="clip")
    return rows


def _convert_rows(array: np.ndarray[Any, Any], dtype: DTypeLike) -> np.ndarray[Any, Any]:
    """Return an array in another dtype and in C order, in which rows are read fastest."""
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes inf, as the loss shows
        return np.asarray(array, dtype, order="C")
