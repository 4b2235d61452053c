"""Hinge losses: for scores whose sign, or whose largest one, is the answer."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import Values, align_targets, loss_function, mean_over_axis


@loss_function
def hinge(y_true: Values, y_pred: Values) -> jax.Array:
    """`max(1 - y_true * y_pred, 0)`, the mean over the last axis.

    Args:
        y_true: Targets of -1 and 1; targets that are all 0 or 1 are taken for -1 and 1.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.hinge([[1.0, -1.0]], [[0.5, 0.5]]).numpy()
        array([1.], dtype=float32)
    """
    return mean_over_axis(_margins(*align_targets("hinge", y_true, y_pred)))


@loss_function
def squared_hinge(y_true: Values, y_pred: Values) -> jax.Array:
    """`max(1 - y_true * y_pred, 0) ** 2`, the mean over the last axis.

    Args:
        y_true: Targets of -1 and 1; targets that are all 0 or 1 are taken for -1 and 1.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.squared_hinge([[1.0, -1.0]], [[0.5, 0.5]]).numpy()
        array([1.25], dtype=float32)
    """
    return mean_over_axis(jnp.square(_margins(*align_targets("squared_hinge", y_true, y_pred))))


@loss_function
def categorical_hinge(y_true: Values, y_pred: Values) -> jax.Array:
    """How far the right class's score is from leading all others by 1.

    Args:
        y_true: Targets of 0 and 1, one 1 in each row.
        y_pred: The scores, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.categorical_hinge([[0.0, 1.0]], [[0.75, 1.0]]).numpy()
        array([0.75], dtype=float32)
    """
    y_true, y_pred = align_targets("categorical_hinge", y_true, y_pred)
    right = jnp.sum(y_true * y_pred, axis=-1)
    wrong = jnp.max((1.0 - y_true) * y_pred, axis=-1)
    return jnp.maximum(wrong - right + 1.0, 0.0)


def _margins(y_true: Values, y_pred: Values) -> Any:
    """Return what is missing to a margin of 1, with targets of 0 and 1 turned into -1 and 1."""
    is_binary = jnp.all((y_true == 0) | (y_true == 1))
    y_true = jnp.where(is_binary, 2.0 * y_true - 1.0, y_true)
    return jnp.maximum(1.0 - y_true * y_pred, 0.0)


class Hinge(BuiltInLoss):
    """The mean of `max(1 - y_true * y_pred, 0)`, for targets of -1 and 1 (or 0 and 1).

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.Hinge()([[1.0, -1.0]], [[0.5, 0.5]]))
        1.0
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "hinge",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(hinge, reduction, name, dtype)


class SquaredHinge(BuiltInLoss):
    """The mean of `max(1 - y_true * y_pred, 0) ** 2`, for targets of -1 and 1 (or 0 and 1).

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.SquaredHinge()([[1.0, -1.0]], [[0.5, 0.5]]))
        1.25
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "squared_hinge",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(squared_hinge, reduction, name, dtype)


class CategoricalHinge(BuiltInLoss):
    """The mean of what the right class's score misses to lead all others by 1.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.CategoricalHinge()([[0.0, 1.0]], [[0.75, 1.0]]))
        0.75
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_hinge",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(categorical_hinge, reduction, name, dtype)
