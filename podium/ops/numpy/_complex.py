"""Complex numbers: their parts, angles and conjugates, and views as other dtypes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from podium._typing import DTypeLike, TensorLike
from podium.core import Tensor, standardize_dtype
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float


@array_function()
def _real(x: Array) -> Array:
    return jnp.real(x)


@operation(_real)
def real(x: TensorLike) -> Tensor:
    """Real part of complex numbers.

    Args:
        x: Input tensor.

    Example:
        >>> ops.real([1.0 + 2.0j]).numpy()
        array([1.], dtype=float32)
    """
    return dispatch(_real, x)


@array_function()
def _imag(x: Array) -> Array:
    return jnp.imag(x)


@operation(_imag)
def imag(x: TensorLike) -> Tensor:
    """Imaginary part of complex numbers.

    Args:
        x: Input tensor.

    Example:
        >>> ops.imag([1.0 + 2.0j]).numpy()
        array([2.], dtype=float32)
    """
    return dispatch(_imag, x)


@array_function()
def _conj(x: Array) -> Array:
    return jnp.conjugate(x)


@operation(_conj)
def conj(x: TensorLike) -> Tensor:
    """Complex conjugate; an alias of `conjugate`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.conj([1.0 + 2.0j]).numpy()
        array([1.-2.j], dtype=complex64)
    """
    return dispatch(_conj, x)


@array_function()
def _conjugate(x: Array) -> Array:
    return jnp.conjugate(x)


@operation(_conjugate)
def conjugate(x: TensorLike) -> Tensor:
    """Complex conjugate.

    Args:
        x: Input tensor.

    Example:
        >>> ops.conjugate([1.0 + 2.0j]).numpy()
        array([1.-2.j], dtype=complex64)
    """
    return dispatch(_conjugate, x)


@array_function()
def _angle(x: Array) -> Array:
    return jnp.angle(to_float(x))


@operation(_angle)
def angle(x: TensorLike) -> Tensor:
    """Angle of complex numbers, in radians.

    Args:
        x: Input tensor.

    Example:
        >>> ops.angle([1.0 + 1.0j, -1.0]).numpy()
        array([0.7853982, 3.1415927], dtype=float32)
    """
    return dispatch(_angle, x)


@array_function()
def _isreal(x: Array) -> Array:
    return jnp.isreal(x)


@operation(_isreal)
def isreal(x: TensorLike) -> Tensor:
    """Return whether the imaginary part of each element is zero.

    Args:
        x: Input tensor.

    Example:
        >>> ops.isreal([1.0 + 0.0j, 1.0j]).numpy()
        array([ True, False])
    """
    return dispatch(_isreal, x)


@array_function()
def _polar(abs_: Array, angle: Array) -> Array:
    abs_, angle = to_float(abs_), to_float(angle)
    return jax.lax.complex(abs_ * jnp.cos(angle), abs_ * jnp.sin(angle))


@operation(_polar)
def polar(abs_: TensorLike, angle: TensorLike) -> Tensor:
    """Build complex numbers from magnitudes and angles.

    Args:
        abs_: Tensor of magnitudes.
        angle: Tensor of angles in radians.

    Example:
        >>> ops.polar([2.0], [0.0]).numpy()
        array([2.+0.j], dtype=complex64)
    """
    return dispatch(_polar, abs_, angle)


@array_function("x")
def _view(x: Array, dtype: DTypeLike | None = None) -> Array:
    return x if dtype is None else x.view(standardize_dtype(dtype))


@operation(_view)
def view(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Reinterpret the bytes of a tensor as another dtype.

    Args:
        x: Input tensor.
        dtype: The new dtype. If its size differs, the last axis grows or shrinks.

    Example:
        >>> ops.view(ops.convert_to_tensor([1.0], dtype="float32"), "int32").numpy()
        array([1065353216], dtype=int32)
    """
    return dispatch(_view, x, dtype)


@array_function("x")
def _view_as_complex(x: Array) -> Array:
    if x.ndim < 1 or x.shape[-1] != 2:
        raise ValueError(
            f"expected a last axis of size 2 (real, imaginary) and got shape {x.shape}."
        )
    x = x.astype("float32")
    return lax.complex(x[..., 0], x[..., 1])


@operation(_view_as_complex)
def view_as_complex(x: TensorLike) -> Tensor:
    """Combine real and imaginary parts (the last axis) into complex numbers.

    Args:
        x: Real tensor whose last axis has size 2.

    Example:
        >>> ops.view_as_complex([[1.0, 2.0]]).numpy()
        array([1.+2.j], dtype=complex64)
    """
    return dispatch(_view_as_complex, x)


@array_function("x")
def _view_as_real(x: Array) -> Array:
    return jnp.stack((jnp.real(x), jnp.imag(x)), axis=-1)


@operation(_view_as_real)
def view_as_real(x: TensorLike) -> Tensor:
    """Split complex numbers into real and imaginary parts along a new last axis.

    Args:
        x: Complex tensor.

    Example:
        >>> ops.view_as_real([1.0 + 2.0j]).numpy()
        array([[1., 2.]], dtype=float32)
    """
    return dispatch(_view_as_real, x)
