"""How much two regions overlap, for segmentation: Dice and Tversky."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.core import epsilon
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import Values, align_targets, loss_function


@loss_function
def dice(y_true: Values, y_pred: Values, axis: Any = None) -> jax.Array:
    """1 minus Dice's coefficient: twice the overlap, divided by both sizes.

    Args:
        y_true: Targets of 0 and 1, or probabilities.
        y_pred: Predicted probabilities, of the same shape.
        axis: The axis or axes to sum over; None means all, for a single number.

    Returns:
        The shape of `y_pred` without `axis`.

    Example:
        >>> round(float(podium.losses.dice([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])), 4)
        0.3333
    """
    y_true, y_pred = align_targets("dice", y_true, y_pred)
    overlap = jnp.sum(y_true * y_pred, axis=axis)
    return 1.0 - 2.0 * overlap / (
        jnp.sum(y_true, axis=axis) + jnp.sum(y_pred, axis=axis) + epsilon()
    )


@loss_function
def tversky(
    y_true: Values, y_pred: Values, alpha: float = 0.5, beta: float = 0.5, axis: Any = None
) -> jax.Array:
    """1 minus Tversky's index: Dice with a weight for each kind of mistake.

    Args:
        y_true: Targets of 0 and 1, or probabilities.
        y_pred: Predicted probabilities, of the same shape.
        alpha: The weight of what the prediction misses.
        beta: The weight of what the prediction has too much.
        axis: The axis or axes to sum over; None means all, for a single number.

    Returns:
        The shape of `y_pred` without `axis`.

    Example:
        >>> round(float(podium.losses.tversky([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]], alpha=1.0)), 4)
        0.5
    """
    y_true, y_pred = align_targets("tversky", y_true, y_pred)
    overlap = jnp.sum(y_true * y_pred, axis=axis)
    missed = jnp.sum((1.0 - y_pred) * y_true, axis=axis)
    too_much = jnp.sum(y_pred * (1.0 - y_true), axis=axis)
    return 1.0 - overlap / (overlap + missed * alpha + too_much * beta + epsilon())


class Dice(BuiltInLoss):
    """1 minus Dice's coefficient of targets and predictions, for segmentation.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        axis: The axis or axes to sum over; None means all, for a single number.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.Dice()([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])), 4)
        0.3333
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "dice",
        axis: Any = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(dice, reduction, name, dtype, axis=axis)


class Tversky(BuiltInLoss):
    """1 minus Tversky's index, for segmentation where one kind of mistake costs more.

    Args:
        alpha: The weight of what the prediction misses.
        beta: The weight of what the prediction has too much.
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        axis: The axis or axes to sum over; None means all, for a single number.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.Tversky(alpha=1.0)([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])), 4)
        0.5
    """

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "tversky",
        axis: Any = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(tversky, reduction, name, dtype, alpha=alpha, beta=beta, axis=axis)
