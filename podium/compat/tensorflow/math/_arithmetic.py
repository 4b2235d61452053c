"""Arithmetic and rounding of `tf.math`.

The other elementwise functions are in `_exponential`, `_trigonometric` and `_comparison`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.core import Tensor


@fold_constants
def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the absolute value of each element.

    The same as `podium.ops.abs`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.abs([-3, 4]).numpy()
        array([3, 4], dtype=int32)
    """
    return ops.abs(x)


@fold_constants
def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Round up to the next integer, as a float.

    The same as `podium.ops.ceil`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.ceil([-1.5, 1.2]).numpy()
        array([-1.,  2.], dtype=float32)
    """
    return ops.ceil(x)


@fold_constants
def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the complex conjugate.

    The same as `podium.ops.conj`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.conj([1.0 + 2.0j]).numpy()
        array([1.-2.j], dtype=complex64)
    """
    return ops.conj(x)


@fold_constants
def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Round down to the next integer, as a float.

    The same as `podium.ops.floor`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.floor([-1.5, 1.2]).numpy()
        array([-2.,  1.], dtype=float32)
    """
    return ops.floor(x)


@fold_constants
def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the imaginary part.

    The same as `podium.ops.imag`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.imag([1.0 + 2.0j]).numpy()
        array([2.], dtype=float32)
    """
    return ops.imag(input)


@fold_constants
def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """Change the sign of each element.

    The same as `podium.ops.negative`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.negative([1, -2]).numpy()
        array([-1,  2], dtype=int32)
    """
    return ops.negative(x)


@fold_constants
def real(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the real part.

    The same as `podium.ops.real`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.real([1.0 + 2.0j]).numpy()
        array([1.], dtype=float32)
    """
    return ops.real(input)


@fold_constants
def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `1 / x`.

    The same as `podium.ops.reciprocal`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.reciprocal([2.0, 4.0]).numpy()
        array([0.5 , 0.25], dtype=float32)
    """
    return ops.reciprocal(x)


@fold_constants
def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Round to the nearest integer; halves are rounded to the even neighbor.

    The same as `podium.ops.round`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.round([1.25, 2.5, -0.7]).numpy()
        array([ 1.,  2., -1.], dtype=float32)
    """
    return ops.round(x)


@fold_constants
def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the sign of each element: -1, 0 or 1.

    The same as `podium.ops.sign`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.sign([-3, 0, 5]).numpy()
        array([-1,  0,  1], dtype=int32)
    """
    return ops.sign(x)


@fold_constants
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Add two tensors.

    The same as `podium.ops.add`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.add([1, 2], 3).numpy()
        array([4, 5], dtype=int32)
    """
    return ops.add(x, y)


@fold_constants
def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divide two tensors; the quotient of ints is a float.

    The same as `podium.ops.divide`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.divide([1, 2], 4).numpy()
        array([0.25, 0.5 ], dtype=float32)
    """
    return ops.divide(x, y)


@fold_constants
def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divide; the result and its gradient are 0 where the divisor is 0.

    The same as `podium.ops.divide_no_nan`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.divide_no_nan([1.0, 2.0], [0.0, 4.0]).numpy()
        array([0. , 0.5], dtype=float32)
    """
    return ops.divide_no_nan(x, y)


@fold_constants
def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divide and round down.

    The same as `podium.ops.floor_divide`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.floordiv([7, -7], 2).numpy()
        array([ 3, -4], dtype=int32)
    """
    return ops.floor_divide(x, y)


@fold_constants
def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute the remainder of a division, with the sign of the divisor.

    The same as `podium.ops.mod`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.floormod([7, -7], 3).numpy()
        array([1, 2], dtype=int32)
    """
    return ops.mod(x, y)


@fold_constants
def mod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute the remainder of a division, with the sign of the divisor.

    The same as `podium.ops.mod`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.mod([7, -7], 3).numpy()
        array([1, 2], dtype=int32)
    """
    return ops.mod(x, y)


@fold_constants
def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Multiply two tensors.

    The same as `podium.ops.multiply`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.multiply([1, 2], 3).numpy()
        array([3, 6], dtype=int32)
    """
    return ops.multiply(x, y)


@fold_constants
def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """Return the next float after `x1` in the direction of `x2`.

    The same as `podium.ops.nextafter`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.nextafter([1.0], [2.0]).numpy()
        array([1.0000001], dtype=float32)
    """
    return ops.nextafter(x1, x2)


@fold_constants
def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Subtract `y` from `x`.

    The same as `podium.ops.subtract`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.subtract([1, 2], 3).numpy()
        array([-2, -1], dtype=int32)
    """
    return ops.subtract(x, y)


@fold_constants
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divide two tensors; the quotient of ints is a float.

    The same as `podium.ops.true_divide`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.truediv([1, 2], 4).numpy()
        array([0.25, 0.5 ], dtype=float32)
    """
    return ops.true_divide(x, y)


@lift_with_promotion
def _multiply_no_nan(x: TensorLike, y: TensorLike) -> jax.Array:
    x, y = jnp.asarray(x), jnp.asarray(y)
    # The inner `where` keeps NaN out of the gradient too.
    return jnp.where(y == 0, 0, jnp.where(y == 0, 0, x) * y)


@lift_with_promotion
def _xdivy(x: TensorLike, y: TensorLike) -> jax.Array:
    x, y = jnp.asarray(x), jnp.asarray(y)
    return jnp.where(x == 0, 0.0, x / jnp.where(x == 0, 1, y))


@fold_constants
def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Multiply; the result is 0 where `y` is 0, also if `x` is infinite or NaN.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.multiply_no_nan([float('inf'), 2.0], [0.0, 3.0]).numpy()
        array([0., 6.], dtype=float32)
    """
    return _multiply_no_nan(x, y)


@fold_constants
def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Round to the nearest integer; halves are rounded to the even neighbor.

    The same as `podium.ops.round`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.rint([1.25, 2.5, -0.7]).numpy()
        array([ 1.,  2., -1.], dtype=float32)
    """
    return ops.round(x)


@lift_with_promotion
def _squared_difference(x: TensorLike, y: TensorLike) -> jax.Array:
    return jnp.square(jnp.subtract(jnp.asarray(x), jnp.asarray(y)))


@fold_constants
def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `(x - y)` squared.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.squared_difference([1.0, 5.0], 3.0).numpy()
        array([4., 4.], dtype=float32)
    """
    return _squared_difference(x, y)


@fold_constants
def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x / y`; 0 where `x` is 0.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.xdivy([0.0, 1.0], [0.0, 2.0]).numpy()
        array([0. , 0.5], dtype=float32)
    """
    return _xdivy(x, y)
