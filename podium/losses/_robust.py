"""Errors that forgive outliers (Huber, log-cosh), and the angle between vectors (cosine
similarity).
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.core import epsilon
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import Values, align_targets, loss_function, mean_over_axis


@loss_function
def huber(y_true: Values, y_pred: Values, delta: float = 1.0) -> jax.Array:
    """Half the squared error up to `delta`, and growing in a straight line beyond; the mean over
    the last axis.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.
        delta: The error size at which the loss becomes linear.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.huber([[0.0, 0.0]], [[1.0, 3.0]]).numpy()
        array([1.5], dtype=float32)
    """
    y_true, y_pred = align_targets("huber", y_true, y_pred)
    error = y_pred - y_true
    size = jnp.abs(error)
    return mean_over_axis(
        jnp.where(size <= delta, 0.5 * jnp.square(error), delta * size - 0.5 * delta**2)
    )


@loss_function
def log_cosh(y_true: Values, y_pred: Values) -> jax.Array:
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
    y_true, y_pred = align_targets("log_cosh", y_true, y_pred)
    error = y_pred - y_true
    return mean_over_axis(error + jax.nn.softplus(-2.0 * error) - math.log(2.0))


@loss_function
def cosine_similarity(y_true: Values, y_pred: Values, axis: int = -1) -> jax.Array:
    """Minus the cosine of the angle between targets and predictions: -1 for the same direction, 1
    for opposite ones.

    The result for a zero vector is 0.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.
        axis: The axis of the vectors.

    Returns:
        One value for each sample: the shape of `y_pred` without `axis`.

    Example:
        >>> y_true, y_pred = [[0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [2.0, 2.0]]
        >>> podium.losses.cosine_similarity(y_true, y_pred).numpy().round(4)
        array([-0., -1.], dtype=float32)
    """
    y_true, y_pred = align_targets("cosine_similarity", y_true, y_pred)
    return -jnp.sum(_unit_vectors(y_true, axis) * _unit_vectors(y_pred, axis), axis=axis)


def _unit_vectors(x: Any, axis: int) -> Any:
    """Scale vectors to length 1; the bound is inside the root, so that a zero vector has a finite
    gradient.
    """
    smallest = max(epsilon() ** 2, float(jnp.finfo(x.dtype).tiny))
    return x * jax.lax.rsqrt(
        jnp.maximum(jnp.sum(jnp.square(x), axis=axis, keepdims=True), smallest)
    )


class Huber(BuiltInLoss):
    """Half the squared error up to `delta`, and a straight line beyond: outliers count less.

    Args:
        delta: The error size at which the loss becomes linear.
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.Huber()([[0.0, 0.0]], [[1.0, 3.0]]))
        1.5
    """

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "huber_loss",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(huber, reduction, name, dtype, delta=delta)


class LogCosh(BuiltInLoss):
    """The mean logarithm of the hyperbolic cosine of the errors: smooth, and outliers count less.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.LogCosh()([[0.0, 0.0]], [[1.0, 0.0]])), 4)
        0.2169
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "log_cosh",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(log_cosh, reduction, name, dtype)


class CosineSimilarity(BuiltInLoss):
    """Minus the cosine of the angle between targets and predictions: -1 for the same direction.

    Args:
        axis: The axis of the vectors.
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.CosineSimilarity()([[1.0, 1.0]], [[2.0, 2.0]])), 4)
        -1.0
    """

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "cosine_similarity",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(cosine_similarity, reduction, name, dtype, axis=axis)
