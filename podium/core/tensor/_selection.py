"""Selection: a batch that is named, not yet cut out: rows of a Table of arrays.

Compiled steps gather the rows from the table's arrays on the device. Everybody else asks for
`batch()`, and gets arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core._tree import preserve_key_order
from podium.core.tensor._aligned_memory import WORTH_ALIGNING, array_for_device


class Table:
    """Arrays of samples that may lie on the device: they go there when rows are first gathered.

    Where the host is the device, on CPU, they stay where they are, and rows are taken by NumPy: a
    compiled gather costs ten times as much to start.

    Args:
        arrays: NumPy arrays of one length, each with the type in which it shall lie on the device.
        treedef: How they make a batch, as a JAX tree definition.
        cut: Returns the batch of given rows, in host memory.

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
        self, arrays: list[tuple[np.ndarray, Any]], treedef: Any, cut: Callable[[np.ndarray], Any]
    ):
        self._given = arrays
        self._placed: list[Any] | None = None
        self.cut = cut
        batch = preserve_key_order(jax.tree.unflatten(treedef, [0] * len(arrays)))
        self.treedef = jax.tree.structure(((batch,), {}))  # as arguments of a step
        self.types = [(array.shape[1:], np.dtype(dtype)) for array, dtype in arrays]
        self._row_sizes = [
            math.prod(shape) * dtype.itemsize for shape, dtype in self.types
        ]  # in bytes
        self._keys: dict[int, tuple] = {}

    def key(self, count: int) -> tuple:
        """Return what a batch of so many samples is like: how arrays make it, then the shape and
        type of each.
        """
        key = self._keys.get(count)
        if key is None:
            key = self._keys[count] = (
                self.treedef,
                *[((count, *shape), dtype) for shape, dtype in self.types],
            )
        return key

    def gather(self, index: np.ndarray, length: int | None = None) -> list[Any]:
        """Return the rows with these numbers of every array, on the device, or on the way to it.

        Args:
            index: The numbers of the rows, of a batch or of several, with a line for each.
            length: How many batches there shall be in all. Those behind the ones that `index` names
                may hold anything.
        """
        if self._placed is None:
            self._placed = [_converted(array, dtype) for array, dtype in self._given]
            if jax.default_backend() != "cpu":
                self._placed = [jnp.asarray(array) for array in self._placed]
        if isinstance(self._placed[0], np.ndarray):
            most = WORTH_ALIGNING // (index.size or 1)
            return [
                array.take(index, 0)
                if length is None and size < most
                else _taken(array, index, length)
                for array, size in zip(self._placed, self._row_sizes, strict=True)
            ]
        if length is not None and length > len(index):
            index = np.concatenate([index, np.repeat(index[-1:], length - len(index), 0)])
        return _gathered(self._placed, index)


class Selection:
    """The batch of given rows of a Table; several batches, if the numbers of the rows are a matrix
    with a line for each.

    Example:
        >>> import jax
        >>> x = np.arange(5.0)
        >>> table = podium.core.Table([(x, "float32")], jax.tree.structure(0), lambda rows: x[rows])
        >>> podium.core.Selection(table, np.array([3, 1])).batch()
        array([3., 1.])
    """

    __slots__ = ("index", "table")

    def __init__(self, table: Table, index: np.ndarray):
        self.table = table
        self.index = index

    @property
    def count(self) -> int:
        """How many batches it names."""
        return 1 if self.index.ndim == 1 else len(self.index)

    def batch(self) -> Any:
        """Cut the rows out, as arrays in host memory."""
        return self.table.cut(self.index)


@jax.jit
def _gathered(arrays: list[Any], index: Any) -> list[Any]:
    return [array.at[index].get(mode="promise_in_bounds") for array in arrays]


def _taken(array: np.ndarray, index: np.ndarray, length: int | None) -> np.ndarray:
    """Return the rows of the index, in an array of that length."""
    shape = (len(index) if length is None else length, *index.shape[1:], *array.shape[1:])
    rows = array_for_device(shape, array.dtype)
    array.take(
        index, 0, out=rows[: len(index)], mode="clip"
    )  # all are in bounds; to make sure of it, NumPy would copy
    return rows


def _converted(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Return an array in another type, in C order: rows of any other are taken slowly."""
    with np.errstate(
        over="ignore"
    ):  # a float64 beyond float32 becomes inf, which the loss will show
        return np.asarray(array, dtype, order="C")
