"""Shapes: `tf.shape`, `tf.TensorShape`, and `static_shape`, which makes a tuple of ints from what
scripts pass as a shape.

Shapes are always known, also inside compiled functions, so `tf.shape(x)[0]` is an int that can be
used as a size.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from podium import ops
from podium._typing import DTypeLike, ShapeLike, TensorLike
from podium.core import Tensor, Variable, convert_to_tensor


class ShapeVector(tuple[int, ...]):
    """The result of `tf.shape`: known sizes with the arithmetic of an int vector.

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
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the sizes, int32."""
        return np.dtype("int32")

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the sizes as a NumPy array."""
        return np.asarray(tuple(self), "int32")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return ShapeVector(tuple.__getitem__(self, key))
        return tuple.__getitem__(self, operator.index(key))

    def _apply(
        self, op: Callable[[Any, Any], Any], other: TensorLike, swapped: bool = False
    ) -> ShapeVector | Tensor:
        """Apply a binary operator; known ints produce a `ShapeVector`, other values a Tensor."""
        result: Tensor
        if not isinstance(other, (int, list, tuple, np.ndarray, np.integer)):
            tensor = convert_to_tensor(list(self))
            result = op(other, tensor) if swapped else op(tensor, other)
            return result
        sizes, operand = self.numpy(), np.asarray(other)
        array = op(operand, sizes) if swapped else op(sizes, operand)
        if array.dtype.kind == "i" and array.ndim == 1:
            return ShapeVector(array.tolist())
        result = convert_to_tensor(array)
        return result

    def __add__(self, other: TensorLike) -> ShapeVector | Tensor:  # type: ignore[override]
        return self._apply(operator.add, other)

    def __radd__(self, other: TensorLike) -> ShapeVector | Tensor:
        return self._apply(operator.add, other, swapped=True)

    def __sub__(self, other: TensorLike) -> ShapeVector | Tensor:
        return self._apply(operator.sub, other)

    def __rsub__(self, other: TensorLike) -> ShapeVector | Tensor:
        return self._apply(operator.sub, other, swapped=True)

    def __mul__(self, other: TensorLike) -> ShapeVector | Tensor:  # type: ignore[override]
        return self._apply(operator.mul, other)

    def __rmul__(self, other: TensorLike) -> ShapeVector | Tensor:  # type: ignore[override]
        return self._apply(operator.mul, other, swapped=True)

    def __floordiv__(self, other: TensorLike) -> ShapeVector | Tensor:
        return self._apply(operator.floordiv, other)

    def __truediv__(self, other: TensorLike) -> ShapeVector | Tensor:
        return self._apply(operator.truediv, other)

    def __mod__(self, other: TensorLike) -> ShapeVector | Tensor:
        return self._apply(operator.mod, other)


class TensorShape(tuple[int | None, ...]):
    """A shape whose sizes may be unknown: a tuple with TensorFlow's methods.

    Args:
        dims: The sizes; None for an unknown size.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> shape = tf.TensorShape([None, 3])
        >>> shape.rank, shape.as_list(), shape.concatenate([5])
        (2, [None, 3], TensorShape([None, 3, 5]))
    """

    __slots__ = ()

    def __new__(cls, dims: int | Iterable[int | None]) -> TensorShape:
        """Create the tuple; an int is a shape of one dimension."""
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
    def dims(self) -> list[int | None]:
        """The sizes, as a list."""
        return list(self)

    def as_list(self) -> list[int | None]:
        """Return the sizes as a list."""
        return list(self)

    def is_fully_defined(self) -> bool:
        """Return whether every size is known."""
        return None not in self

    def num_elements(self) -> int | None:
        """Return the product of the sizes, None if one is unknown."""
        sizes = [size for size in self if size is not None]
        return math.prod(sizes) if len(sizes) == len(self) else None

    def concatenate(self, other: Iterable[int | None]) -> TensorShape:
        """Return a shape with the dimensions of `other` appended."""
        return TensorShape((*self, *other))

    def with_rank(self, rank: int) -> TensorShape:
        """Return the shape if it has `rank` dimensions; raise ValueError otherwise."""
        if rank != len(self):
            raise ValueError(f"The shape {self} has {len(self)} dimensions; {rank} were expected.")
        return self

    def is_compatible_with(self, other: Iterable[int | None]) -> bool:
        """Return whether both could be the shape of one value."""
        other = tuple(other)
        return len(other) == len(self) and all(
            None in pair or pair[0] == pair[1] for pair in zip(self, other, strict=True)
        )

    def __getitem__(self, key: Any) -> Any:
        sizes = tuple.__getitem__(self, key)
        return TensorShape(sizes) if isinstance(key, slice) else sizes

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"


def shape(
    input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None
) -> ShapeVector:
    """Return the shape of a value, as ints that are known also inside compiled functions.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> batch = tf.shape(tf.zeros((2, 5)))[0]
        >>> tf.ones((batch, 1)).shape
        (2, 1)
    """
    return ShapeVector(ops.shape(input))


def size(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> int:
    """Return the number of elements.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.size(tf.zeros((2, 5)))
        10
    """
    return int(np.prod(ops.shape(input), dtype=int))


def rank(input: TensorLike, name: str | None = None) -> int:
    """Return the number of dimensions.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.rank(tf.zeros((2, 5)))
        2
    """
    return len(ops.shape(input))


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """Return the shape that two shapes broadcast to.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.broadcast_static_shape((2, 1), (1, 3))
        TensorShape([2, 3])
    """
    return TensorShape(np.broadcast_shapes(static_shape(shape_x), static_shape(shape_y)))


def static_shape(shape: ShapeLike | TensorLike) -> tuple[int, ...]:
    """Convert what a script passes as a shape to a tuple of ints.

    Args:
        shape: An int, a tuple or list of ints and Tensors, a Tensor of known ints, or a
            `ShapeVector`.
    """
    if isinstance(shape, (Tensor, Variable)):
        shape = np.asarray(shape)
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    if not isinstance(shape, (list, tuple)):
        shape = (shape,)
    if any(size is None for size in shape):
        raise ValueError(
            f"The shape {tuple(shape)} has an unknown size. The sizes of symbolic values are known "
            "when the model runs: move this line into the `call` method of a layer."
        )
    return tuple(operator.index(size) for size in shape)
