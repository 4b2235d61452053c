"""Losses between distributions: the Kullback-Leibler divergence and Poisson's likelihood of
counts.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.core import epsilon
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import Values, align_targets, loss_function, mean_over_axis


@loss_function
def kl_divergence(y_true: Values, y_pred: Values) -> jax.Array:
    """`sum(y_true * log(y_true / y_pred))` over the last axis: how far predicted probabilities are
    from the true ones.

    Args:
        y_true: The true probabilities.
        y_pred: The predicted ones, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.kl_divergence([[0.5, 0.5]], [[0.25, 0.75]]).numpy().round(4)
        array([0.1438], dtype=float32)
    """
    y_true, y_pred = (
        jnp.clip(y, epsilon(), 1.0) for y in align_targets("kl_divergence", y_true, y_pred)
    )
    return jnp.sum(y_true * jnp.log(y_true / y_pred), axis=-1)


@loss_function
def poisson(y_true: Values, y_pred: Values) -> jax.Array:
    """`y_pred - y_true * log(y_pred)`, the mean over the last axis: for counts and predicted rates.

    Args:
        y_true: The counts.
        y_pred: The predicted rates, of the same shape, above zero.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.poisson([[0.0, 2.0]], [[1.0, 1.0]]).numpy()
        array([0.9999999], dtype=float32)
    """
    y_true, y_pred = align_targets("poisson", y_true, y_pred)
    return mean_over_axis(y_pred - y_true * jnp.log(y_pred + epsilon()))


class KLDivergence(BuiltInLoss):
    """The Kullback-Leibler divergence: how far predicted probabilities are from the true ones.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.KLDivergence()([[0.5, 0.5]], [[0.25, 0.75]])), 4)
        0.1438
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "kl_divergence",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(kl_divergence, reduction, name, dtype)


class Poisson(BuiltInLoss):
    """The mean of `y_pred - y_true * log(y_pred)`: for counts and predicted rates.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.Poisson()([[0.0, 2.0]], [[1.0, 1.0]])), 4)
        1.0
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "poisson",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(poisson, reduction, name, dtype)
