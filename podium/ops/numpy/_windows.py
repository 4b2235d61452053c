"""Window functions of signal processing, in the default float dtype."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium.core import Tensor, floatx
from podium.ops._operation import array_function, dispatch, operation


@array_function("")
def _bartlett(x: int) -> Array:
    return jnp.bartlett(int(x)).astype(floatx())


@operation(_bartlett)
def bartlett(x: int) -> Tensor:
    """Bartlett (triangular) window.

    Args:
        x: Number of points.

    Example:
        >>> ops.bartlett(3).numpy()
        array([0., 1., 0.], dtype=float32)
    """
    return dispatch(_bartlett, x)


@array_function("")
def _blackman(x: int) -> Array:
    return jnp.blackman(int(x)).astype(floatx())


@operation(_blackman)
def blackman(x: int) -> Tensor:
    """Blackman window.

    Args:
        x: Number of points.

    Example:
        >>> tuple(ops.blackman(3).shape)
        (3,)
    """
    return dispatch(_blackman, x)


@array_function("")
def _hamming(x: int) -> Array:
    return jnp.hamming(int(x)).astype(floatx())


@operation(_hamming)
def hamming(x: int) -> Tensor:
    """Hamming window.

    Args:
        x: Number of points.

    Example:
        >>> ops.hamming(3).numpy()
        array([0.08000001, 1.        , 0.08000001], dtype=float32)
    """
    return dispatch(_hamming, x)


@array_function("")
def _hanning(x: int) -> Array:
    return jnp.hanning(int(x)).astype(floatx())


@operation(_hanning)
def hanning(x: int) -> Tensor:
    """Hann window.

    Args:
        x: Number of points.

    Example:
        >>> ops.hanning(3).numpy()
        array([0., 1., 0.], dtype=float32)
    """
    return dispatch(_hanning, x)


@array_function("")
def _kaiser(x: int, beta: float) -> Array:
    return jnp.kaiser(int(x), beta).astype(floatx())


@operation(_kaiser)
def kaiser(x: int, beta: float) -> Tensor:
    """Kaiser window.

    Args:
        x: Number of points.
        beta: Shape parameter; larger values make the window narrower.

    Example:
        >>> ops.kaiser(3, 0.0).numpy()
        array([1., 1., 1.], dtype=float32)
    """
    return dispatch(_kaiser, x, beta)
