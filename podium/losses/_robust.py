"""Errors that forgive outliers (Huber, log-cosh), and the angle between vectors (cosine
similarity).
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from podium.core import epsilon
from podium.losses._inputs import loss_function, matched, mean_over
from podium.losses._wrapper import OwnLoss


@loss_function
def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    """Half the squared error up to `delta`, and growing in a straight line beyond; the mean over
    the last axis.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.
        delta: The size of error where the line begins.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.huber([[0.0, 0.0]], [[1.0, 3.0]]).numpy()
        array([1.5], dtype=float32)
    """
    y_true, y_pred = matched("huber", y_true, y_pred)
    error = y_pred - y_true
    size = jnp.abs(error)
    return mean_over(
        jnp.where(size <= delta, 0.5 * jnp.square(error), delta * size - 0.5 * delta**2)
    )


@loss_function
def log_cosh(y_true: Any, y_pred: Any) -> Any:
    """The logarithm of the hyperbolic cosine of the errors; the mean over the last axis.

    About `error**2 / 2` for small errors and `abs(error) - log(2)` for large ones.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.log_cosh([[0.0, 0.0]], [[1.0, 0.0]]).numpy().round(4)
        array([0.2169], dtype=float32)
    """
    y_true, y_pred = matched("log_cosh", y_true, y_pred)
    error = y_pred - y_true
    return mean_over(error + jax.nn.softplus(-2.0 * error) - math.log(2.0))


@loss_function
def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Minus the cosine of the angle between targets and predictions: -1 for the same direction, 1
    for opposite ones.

    A vector of zeros gives 0.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.
        axis: The axis of the vectors.

    Returns:
        One value for each sample: the shape of `y_pred` without `axis`.

    Example:
        >>> podium.losses.cosine_similarity([[0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [2.0, 2.0]]).numpy().round(4)
        array([-0., -1.], dtype=float32)
    """
    y_true, y_pred = matched("cosine_similarity", y_true, y_pred)
    return -jnp.sum(_direction(y_true, axis) * _direction(y_pred, axis), axis=axis)


def _direction(x: Any, axis: int) -> Any:
    """Scale vectors to length 1; the bound stands inside the root, so that a vector of zeros has a
    finite gradient.
    """
    smallest = max(epsilon() ** 2, float(jnp.finfo(x.dtype).tiny))
    return x * jax.lax.rsqrt(
        jnp.maximum(jnp.sum(jnp.square(x), axis=axis, keepdims=True), smallest)
    )


class Huber(OwnLoss):
    """Half the squared error up to `delta`, and a straight line beyond: outliers count less.

    Args:
        delta: The size of error where the line begins.
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.Huber()([[0.0, 0.0]], [[1.0, 3.0]]))
        1.5
    """

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "huber_loss",
        dtype: Any = None,
    ):
        super().__init__(huber, reduction, name, dtype, delta=delta)


class LogCosh(OwnLoss):
    """The mean logarithm of the hyperbolic cosine of the errors: smooth, and outliers count less.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.LogCosh()([[0.0, 0.0]], [[1.0, 0.0]])), 4)
        0.2169
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "log_cosh",
        dtype: Any = None,
    ):
        super().__init__(log_cosh, reduction, name, dtype)


class CosineSimilarity(OwnLoss):
    """Minus the cosine of the angle between targets and predictions: -1 for the same direction.

    Args:
        axis: The axis of the vectors.
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.CosineSimilarity()([[1.0, 1.0]], [[2.0, 2.0]])), 4)
        -1.0
    """

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "cosine_similarity",
        dtype: Any = None,
    ):
        super().__init__(cosine_similarity, reduction, name, dtype, axis=axis)
