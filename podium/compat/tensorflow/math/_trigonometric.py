"""Trigonometric and hyperbolic functions of `tf.math`."""

from __future__ import annotations

from podium import ops
from podium._typing import TensorLike
from podium.compat.tensorflow._decorators import fold_constants
from podium.core import Tensor


@fold_constants
def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse cosine, in radians.

    The same as `podium.ops.arccos`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.acos([1.0, 0.0]).numpy()
        array([0.       , 1.5707964], dtype=float32)
    """
    return ops.arccos(x)


@fold_constants
def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse hyperbolic cosine.

    The same as `podium.ops.arccosh`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.acosh([1.0, 2.0]).numpy()
        array([0.      , 1.316958], dtype=float32)
    """
    return ops.arccosh(x)


@fold_constants
def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the angle of complex numbers, in radians.

    The same as `podium.ops.angle`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.angle([1.0 + 1.0j, -1.0]).numpy()
        array([0.7853982, 3.1415927], dtype=float32)
    """
    return ops.angle(input)


@fold_constants
def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse sine, in radians.

    The same as `podium.ops.arcsin`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.asin([0.0, 1.0]).numpy()
        array([0.       , 1.5707964], dtype=float32)
    """
    return ops.arcsin(x)


@fold_constants
def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse hyperbolic sine.

    The same as `podium.ops.arcsinh`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.asinh([0.0, 1.0]).numpy()
        array([0.        , 0.88137364], dtype=float32)
    """
    return ops.arcsinh(x)


@fold_constants
def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse tangent, in radians.

    The same as `podium.ops.arctan`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.atan([0.0, 1.0]).numpy()
        array([0.       , 0.7853981], dtype=float32)
    """
    return ops.arctan(x)


@fold_constants
def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse hyperbolic tangent.

    The same as `podium.ops.arctanh`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.atanh([0.0, 0.5]).numpy()
        array([0.        , 0.54930615], dtype=float32)
    """
    return ops.arctanh(x)


@fold_constants
def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the cosine of angles in radians.

    The same as `podium.ops.cos`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.cos([0.0, 1.0]).numpy()
        array([1.       , 0.5403023], dtype=float32)
    """
    return ops.cos(x)


@fold_constants
def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the hyperbolic cosine.

    The same as `podium.ops.cosh`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.cosh([0.0, 1.0]).numpy()
        array([1.       , 1.5430806], dtype=float32)
    """
    return ops.cosh(x)


@fold_constants
def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the sine of angles in radians.

    The same as `podium.ops.sin`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.sin([0.0, 1.0]).numpy()
        array([0.        , 0.84147096], dtype=float32)
    """
    return ops.sin(x)


@fold_constants
def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the hyperbolic sine.

    The same as `podium.ops.sinh`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.sinh([0.0, 1.0]).numpy()
        array([0.       , 1.1752012], dtype=float32)
    """
    return ops.sinh(x)


@fold_constants
def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the tangent of angles in radians.

    The same as `podium.ops.tan`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.tan([0.0, 1.0]).numpy()
        array([0.       , 1.5574077], dtype=float32)
    """
    return ops.tan(x)


@fold_constants
def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the hyperbolic tangent.

    The same as `podium.ops.tanh`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.tanh([0.0, 1.0]).numpy()
        array([0.       , 0.7615942], dtype=float32)
    """
    return ops.tanh(x)


@fold_constants
def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the angle of the point `(x, y)`, in radians.

    The same as `podium.ops.arctan2`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.atan2([1.0, -1.0], 1.0).numpy()
        array([ 0.7853982, -0.7853982], dtype=float32)
    """
    return ops.arctan2(y, x)
