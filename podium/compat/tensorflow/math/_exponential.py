"""Exponentials, logarithms, powers and special functions of `tf.math`."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.core import Tensor


@fold_constants
def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the error function.

    The same as `podium.ops.erf`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.erf([0.0, 1.0]).numpy()
        array([0.        , 0.84270084], dtype=float32)
    """
    return ops.erf(x)


@fold_constants
def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute one minus the error function, accurate in the tail.

    The same as `podium.ops.erfc`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.erfc([0.0, 1.0]).numpy()
        array([1.        , 0.15729924], dtype=float32)
    """
    return ops.erfc(x)


@fold_constants
def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse of the error function.

    The same as `podium.ops.erfinv`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.erfinv([0.0, 0.5]).numpy()
        array([0.        , 0.47693628], dtype=float32)
    """
    return ops.erfinv(x)


@fold_constants
def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the exponential.

    The same as `podium.ops.exp`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.exp([0.0, 1.0]).numpy()
        array([1.       , 2.7182817], dtype=float32)
    """
    return ops.exp(x)


@fold_constants
def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `exp(x) - 1`, accurate near zero.

    The same as `podium.ops.expm1`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> ops.round(tf.math.expm1([0.0, 1.0]), 3).numpy()
        array([0.   , 1.718], dtype=float32)
    """
    return ops.expm1(x)


@fold_constants
def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the natural logarithm.

    The same as `podium.ops.log`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.log([1.0, 10.0]).numpy()
        array([0.       , 2.3025851], dtype=float32)
    """
    return ops.log(x)


@fold_constants
def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `log(1 + x)`, accurate near zero.

    The same as `podium.ops.log1p`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.log1p([0.0, 1.0]).numpy()
        array([0.       , 0.6931472], dtype=float32)
    """
    return ops.log1p(x)


@fold_constants
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the logarithm of the sigmoid, without overflow.

    The same as `podium.ops.log_sigmoid`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.log_sigmoid([-2.0, 0.0, 2.0]).numpy()
        array([-2.126928 , -0.6931472, -0.126928 ], dtype=float32)
    """
    return ops.log_sigmoid(x)


@fold_constants
def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the reciprocal of the square root.

    The same as `podium.ops.rsqrt`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.rsqrt([1.0, 4.0]).numpy()
        array([1. , 0.5], dtype=float32)
    """
    return ops.rsqrt(x)


@fold_constants
def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `1 / (1 + exp(-x))`.

    The same as `podium.ops.sigmoid`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.sigmoid([-2.0, 0.0, 2.0]).numpy()
        array([0.11920292, 0.5       , 0.880797  ], dtype=float32)
    """
    return ops.sigmoid(x)


@fold_constants
def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `log(1 + exp(x))`, a smooth relu.

    The same as `podium.ops.softplus`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.softplus([-2.0, 0.0, 2.0]).numpy()
        array([0.126928 , 0.6931472, 2.126928 ], dtype=float32)
    """
    return ops.softplus(features)


@fold_constants
def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x / (1 + abs(x))`.

    The same as `podium.ops.softsign`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.softsign([-2.0, 0.0, 2.0]).numpy()
        array([-0.6666667,  0.       ,  0.6666667], dtype=float32)
    """
    return ops.softsign(features)


@fold_constants
def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the square root.

    The same as `podium.ops.sqrt`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.sqrt([4, 9]).numpy()
        array([2., 3.], dtype=float32)
    """
    return ops.sqrt(x)


@fold_constants
def square(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the square.

    The same as `podium.ops.square`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.square([2, -3]).numpy()
        array([4, 9], dtype=int32)
    """
    return ops.square(x)


@fold_constants
def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Raise `x` to the power `y`.

    The same as `podium.ops.power`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.pow([2, 3], 2).numpy()
        array([4, 9], dtype=int32)
    """
    return ops.power(x, y)


@lift_with_promotion
def _digamma(x: TensorLike) -> jax.Array:
    return jax.scipy.special.digamma(jnp.asarray(x, float))


@fold_constants
def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the derivative of `lgamma`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.digamma(1.0).numpy().round(4)
        np.float32(-0.5772)
    """
    return _digamma(x)


@lift_with_promotion
def _lgamma(x: TensorLike) -> jax.Array:
    return jax.scipy.special.gammaln(jnp.asarray(x, float))


@fold_constants
def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the logarithm of the absolute value of the gamma function.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.lgamma([1.0, 4.0]).numpy().round(4)
        array([0.    , 1.7918], dtype=float32)
    """
    return _lgamma(x)


@lift_with_promotion
def _xlogy(x: TensorLike, y: TensorLike) -> jax.Array:
    return jax.scipy.special.xlogy(jnp.asarray(x, float), jnp.asarray(y, float))


@fold_constants
def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x * log(y)`; 0 where `x` is 0.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.xlogy([0.0, 1.0], [0.0, 1.0]).numpy()
        array([0., 0.], dtype=float32)
    """
    return _xlogy(x, y)
