"""Trigonometric and hyperbolic functions, element-wise.

Integers are converted to the default float dtype, as in Keras.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_common_float, to_float


@array_function()
def _sin(x: Array) -> Array:
    return jnp.sin(to_float(x))


@operation(_sin)
def sin(x: TensorLike) -> Tensor:
    """Sine of angles in radians.

    Args:
        x: Input tensor.

    Example:
        >>> ops.sin([0.0, 1.0]).numpy()
        array([0.        , 0.84147096], dtype=float32)
    """
    return dispatch(_sin, x)


@array_function()
def _cos(x: Array) -> Array:
    return jnp.cos(to_float(x))


@operation(_cos)
def cos(x: TensorLike) -> Tensor:
    """Cosine of angles in radians.

    Args:
        x: Input tensor.

    Example:
        >>> ops.cos([0.0, 1.0]).numpy()
        array([1.       , 0.5403023], dtype=float32)
    """
    return dispatch(_cos, x)


@array_function()
def _tan(x: Array) -> Array:
    return jnp.tan(to_float(x))


@operation(_tan)
def tan(x: TensorLike) -> Tensor:
    """Tangent of angles in radians.

    Args:
        x: Input tensor.

    Example:
        >>> ops.tan([0.0, 1.0]).numpy()
        array([0.       , 1.5574077], dtype=float32)
    """
    return dispatch(_tan, x)


@array_function()
def _arcsin(x: Array) -> Array:
    return jnp.arcsin(to_float(x))


@operation(_arcsin)
def arcsin(x: TensorLike) -> Tensor:
    """Inverse sine, in radians.

    Args:
        x: Input tensor.

    Example:
        >>> ops.arcsin([0.0, 1.0]).numpy()
        array([0.       , 1.5707964], dtype=float32)
    """
    return dispatch(_arcsin, x)


@array_function()
def _arccos(x: Array) -> Array:
    return jnp.arccos(to_float(x))


@operation(_arccos)
def arccos(x: TensorLike) -> Tensor:
    """Inverse cosine, in radians.

    Args:
        x: Input tensor.

    Example:
        >>> ops.arccos([1.0, 0.0]).numpy()
        array([0.       , 1.5707964], dtype=float32)
    """
    return dispatch(_arccos, x)


@array_function()
def _arctan(x: Array) -> Array:
    return jnp.arctan(to_float(x))


@operation(_arctan)
def arctan(x: TensorLike) -> Tensor:
    """Inverse tangent, in radians.

    Args:
        x: Input tensor.

    Example:
        >>> ops.arctan([0.0, 1.0]).numpy()
        array([0.       , 0.7853981], dtype=float32)
    """
    return dispatch(_arctan, x)


@array_function()
def _arctan2(x1: Array, x2: Array) -> Array:
    x1, x2 = to_common_float(x1, x2)
    return jnp.arctan2(x1, x2)


@operation(_arctan2)
def arctan2(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Angle of the point `(x2, x1)`, in radians.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.arctan2([1.0, -1.0], 1.0).numpy()
        array([ 0.7853982, -0.7853982], dtype=float32)
    """
    return dispatch(_arctan2, x1, x2)


@array_function()
def _sinh(x: Array) -> Array:
    return jnp.sinh(to_float(x))


@operation(_sinh)
def sinh(x: TensorLike) -> Tensor:
    """Hyperbolic sine.

    Args:
        x: Input tensor.

    Example:
        >>> ops.sinh([0.0, 1.0]).numpy()
        array([0.       , 1.1752012], dtype=float32)
    """
    return dispatch(_sinh, x)


@array_function()
def _cosh(x: Array) -> Array:
    return jnp.cosh(to_float(x))


@operation(_cosh)
def cosh(x: TensorLike) -> Tensor:
    """Hyperbolic cosine.

    Args:
        x: Input tensor.

    Example:
        >>> ops.cosh([0.0, 1.0]).numpy()
        array([1.       , 1.5430806], dtype=float32)
    """
    return dispatch(_cosh, x)


@array_function()
def _tanh(x: Array) -> Array:
    return jnp.tanh(to_float(x))


@operation(_tanh)
def tanh(x: TensorLike) -> Tensor:
    """Hyperbolic tangent.

    Args:
        x: Input tensor.

    Example:
        >>> ops.tanh([0.0, 1.0]).numpy()
        array([0.       , 0.7615942], dtype=float32)
    """
    return dispatch(_tanh, x)


@array_function()
def _arcsinh(x: Array) -> Array:
    return jnp.arcsinh(to_float(x))


@operation(_arcsinh)
def arcsinh(x: TensorLike) -> Tensor:
    """Inverse hyperbolic sine.

    Args:
        x: Input tensor.

    Example:
        >>> ops.arcsinh([0.0, 1.0]).numpy()
        array([0.        , 0.88137364], dtype=float32)
    """
    return dispatch(_arcsinh, x)


@array_function()
def _arccosh(x: Array) -> Array:
    return jnp.arccosh(to_float(x))


@operation(_arccosh)
def arccosh(x: TensorLike) -> Tensor:
    """Inverse hyperbolic cosine.

    Args:
        x: Input tensor.

    Example:
        >>> ops.arccosh([1.0, 2.0]).numpy()
        array([0.      , 1.316958], dtype=float32)
    """
    return dispatch(_arccosh, x)


@array_function()
def _arctanh(x: Array) -> Array:
    return jnp.arctanh(to_float(x))


@operation(_arctanh)
def arctanh(x: TensorLike) -> Tensor:
    """Inverse hyperbolic tangent.

    Args:
        x: Input tensor.

    Example:
        >>> ops.arctanh([0.0, 0.5]).numpy()
        array([0.        , 0.54930615], dtype=float32)
    """
    return dispatch(_arctanh, x)


@array_function()
def _deg2rad(x: Array) -> Array:
    return jnp.deg2rad(to_float(x))


@operation(_deg2rad)
def deg2rad(x: TensorLike) -> Tensor:
    """Convert degrees to radians.

    Args:
        x: Input tensor.

    Example:
        >>> ops.deg2rad([0.0, 180.0]).numpy()
        array([0.       , 3.1415927], dtype=float32)
    """
    return dispatch(_deg2rad, x)


@array_function()
def _rad2deg(x: Array) -> Array:
    return jnp.rad2deg(to_float(x))


@operation(_rad2deg)
def rad2deg(x: TensorLike) -> Tensor:
    """Convert radians to degrees.

    Args:
        x: Input tensor.

    Example:
        >>> ops.rad2deg([0.0, np.pi]).numpy()
        array([  0., 180.], dtype=float32)
    """
    return dispatch(_rad2deg, x)


@array_function()
def _hypot(x1: Array, x2: Array) -> Array:
    return jnp.hypot(x1, x2)


@operation(_hypot)
def hypot(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Length of the hypotenuse of right triangles with legs `x1` and `x2`.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.hypot([3.0], [4.0]).numpy()
        array([5.], dtype=float32)
    """
    return dispatch(_hypot, x1, x2)


@array_function()
def _sinc(x: Array) -> Array:
    return jnp.sinc(to_float(x))


@operation(_sinc)
def sinc(x: TensorLike) -> Tensor:
    """`sin(pi x) / (pi x)`, and 1 at zero.

    Args:
        x: Input tensor.

    Example:
        >>> ops.round(ops.sinc([0.0, 0.5]), 3).numpy()
        array([1.   , 0.637], dtype=float32)
    """
    return dispatch(_sinc, x)
