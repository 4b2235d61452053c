"""Sizes: `tf.shape`, `tf.TensorShape`, and the way from what scripts pass as a shape to a tuple of
whole numbers.

Shapes are always known here, also inside compiled functions, so `tf.shape(x)[0]` is a plain number
that can be a size.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from podium import ops
from podium.core import Tensor, Variable, convert_to_tensor


class Shape(tuple):
    """What `tf.shape` returns: known sizes that compute like a vector of whole numbers.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> sizes = tf.shape(tf.zeros((6, 4)))
        >>> sizes[0] // 2, sizes // 2, sizes[1:] * 3
        (3, (3, 2), (12,))
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[int]:
        """The shape of the vector of sizes."""
        return (len(self),)

    @property
    def dtype(self) -> np.dtype:
        """The type of the sizes, int32."""
        return np.dtype("int32")

    def numpy(self) -> np.ndarray:
        """Return the sizes as a NumPy array."""
        return np.asarray(tuple(self), "int32")

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, operator.index(key) if not isinstance(key, slice) else key)
        return Shape(found) if isinstance(found, tuple) else found

    def _each(self, sign: Callable, other: Any, swapped: bool = False) -> Any:
        if not isinstance(other, (int, list, tuple, np.ndarray, np.integer)):
            mine = convert_to_tensor(list(self))
            return sign(other, mine) if swapped else sign(mine, other)
        mine, theirs = self.numpy(), np.asarray(other)
        result = sign(theirs, mine) if swapped else sign(mine, theirs)
        return (
            Shape(result.tolist())
            if result.dtype.kind == "i" and result.ndim == 1
            else convert_to_tensor(result)
        )

    def __add__(self, other: Any) -> Any:
        return self._each(operator.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._each(operator.add, other, swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._each(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._each(operator.sub, other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._each(operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._each(operator.mul, other, swapped=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._each(operator.floordiv, other)

    def __truediv__(self, other: Any) -> Any:
        return self._each(operator.truediv, other)

    def __mod__(self, other: Any) -> Any:
        return self._each(operator.mod, other)


class TensorShape(tuple):
    """A shape whose lengths may be unknown: a tuple with TensorFlow's methods.

    Args:
        dims: The lengths, None where one is not known.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> shape = tf.TensorShape([None, 3])
        >>> shape.rank, shape.as_list(), shape.concatenate([5])
        (2, [None, 3], TensorShape([None, 3, 5]))
    """

    __slots__ = ()

    def __new__(cls, dims: Iterable[Any]) -> TensorShape:
        """Make the tuple; one number is a shape of one dimension."""
        return super().__new__(cls, (dims,) if isinstance(dims, int) else dims)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self)

    @property
    def ndims(self) -> int:
        """The number of dimensions."""
        return len(self)

    @property
    def dims(self) -> list[Any]:
        """The lengths, as a list."""
        return list(self)

    def as_list(self) -> list[Any]:
        """Return the lengths as a list."""
        return list(self)

    def is_fully_defined(self) -> bool:
        """Tell whether every length is known."""
        return None not in self

    def num_elements(self) -> int | None:
        """Return the product of the lengths, None if one is not known."""
        return math.prod(self) if self.is_fully_defined() else None

    def concatenate(self, other: Iterable[Any]) -> TensorShape:
        """Return a shape with the dimensions of `other` behind these."""
        return TensorShape((*self, *other))

    def with_rank(self, rank: int) -> TensorShape:
        """Return the shape if it has this many dimensions, or raise ValueError."""
        if rank != len(self):
            raise ValueError(f"The shape {self} has {len(self)} dimensions; {rank} were expected.")
        return self

    def is_compatible_with(self, other: Iterable[Any]) -> bool:
        """Tell whether both could be the shape of one value."""
        other = tuple(other)
        return len(other) == len(self) and all(
            None in pair or pair[0] == pair[1] for pair in zip(self, other, strict=True)
        )

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return TensorShape(found) if isinstance(key, slice) else found

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"


def shape(input: Any, out_type: Any = None, name: str | None = None) -> Shape:
    """Return the sizes of a value: known numbers, also inside compiled functions.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> batch = tf.shape(tf.zeros((2, 5)))[0]
        >>> tf.ones((batch, 1)).shape
        (2, 1)
    """
    return Shape(ops.shape(input))


def size(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    """Return the number of elements.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.size(tf.zeros((2, 5)))
        10
    """
    return math.prod(ops.shape(input))


def rank(input: Any, name: str | None = None) -> int:
    """Return the number of dimensions.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.rank(tf.zeros((2, 5)))
        2
    """
    return len(ops.shape(input))


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the shape that two shapes broadcast to.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.broadcast_static_shape((2, 1), (1, 3))
        TensorShape([2, 3])
    """
    return TensorShape(np.broadcast_shapes(sizes(shape_x), sizes(shape_y)))


def sizes(shape: Any) -> tuple[int, ...]:
    """Turn what a script passes as a shape into a tuple of whole numbers.

    Args:
        shape: A number, a tuple or list of numbers and Tensors, a Tensor of known numbers, or a
            `Shape`.
    """
    if isinstance(shape, (Tensor, Variable)):
        shape = np.asarray(shape)
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    if not isinstance(shape, (list, tuple)):
        shape = (shape,)
    if any(length is None for length in shape):
        raise ValueError(
            f"The shape {tuple(shape)} has a length that is not known. Sizes of symbolic values "
            "are known when the model runs: move this line into the `call` of a layer."
        )
    return tuple(operator.index(length) for length in shape)
