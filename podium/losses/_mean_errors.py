"""Mean errors for regression: squared, absolute, in percent, and squared between logarithms."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.core import epsilon
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import Values, align_targets, loss_function, mean_over_axis


@loss_function
def mean_squared_error(y_true: Values, y_pred: Values) -> jax.Array:
    """The mean of the squared errors, over the last axis.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> y_true, y_pred = [[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 1.0]]
        >>> podium.losses.mean_squared_error(y_true, y_pred).numpy()
        array([0.5, 5. ], dtype=float32)
    """
    y_true, y_pred = align_targets("mean_squared_error", y_true, y_pred)
    return mean_over_axis(jnp.square(y_true - y_pred))


@loss_function
def mean_absolute_error(y_true: Values, y_pred: Values) -> jax.Array:
    """The mean size of the errors, over the last axis.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> y_true, y_pred = [[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 1.0]]
        >>> podium.losses.mean_absolute_error(y_true, y_pred).numpy()
        array([0.5, 2. ], dtype=float32)
    """
    y_true, y_pred = align_targets("mean_absolute_error", y_true, y_pred)
    return mean_over_axis(jnp.abs(y_true - y_pred))


@loss_function
def mean_absolute_percentage_error(y_true: Values, y_pred: Values) -> jax.Array:
    """The mean size of the errors in percent of the targets, over the last axis.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.mean_absolute_percentage_error([[2.0, 4.0]], [[1.0, 5.0]]).numpy()
        array([37.5], dtype=float32)
    """
    y_true, y_pred = align_targets("mean_absolute_percentage_error", y_true, y_pred)
    share = (y_true - y_pred) / jnp.maximum(jnp.abs(y_true), epsilon())
    return 100.0 * mean_over_axis(jnp.abs(share))


@loss_function
def mean_squared_logarithmic_error(y_true: Values, y_pred: Values) -> jax.Array:
    """The mean of the squared errors between `log(1 + y)`, over the last axis.

    Values below zero count as zero.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> loss = podium.losses.mean_squared_logarithmic_error([[0.0, 1.0]], [[0.0, 3.0]])
        >>> loss.numpy().round(4)
        array([0.2402], dtype=float32)
    """
    y_true, y_pred = align_targets("mean_squared_logarithmic_error", y_true, y_pred)
    logs = [jnp.log(jnp.maximum(y, epsilon()) + 1.0) for y in (y_pred, y_true)]
    return mean_over_axis(jnp.square(logs[0] - logs[1]))


class MeanSquaredError(BuiltInLoss):
    """The mean of the squared errors.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> loss = podium.losses.MeanSquaredError()
        >>> y_true, y_pred = [[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 1.0]]
        >>> float(loss(y_true, y_pred))
        2.75
        >>> float(loss(y_true, y_pred, sample_weight=[1.0, 0.0]))
        0.25
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_error",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(mean_squared_error, reduction, name, dtype)


class MeanAbsoluteError(BuiltInLoss):
    """The mean size of the errors.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> loss = podium.losses.MeanAbsoluteError()
        >>> float(loss([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 1.0]]))
        1.25
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_error",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(mean_absolute_error, reduction, name, dtype)


class MeanAbsolutePercentageError(BuiltInLoss):
    """The mean size of the errors, in percent of the targets.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.MeanAbsolutePercentageError()([[2.0, 4.0]], [[1.0, 5.0]]))
        37.5
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_percentage_error",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(mean_absolute_percentage_error, reduction, name, dtype)


class MeanSquaredLogarithmicError(BuiltInLoss):
    """The mean of the squared errors between `log(1 + y)`: for targets that span orders of
    magnitude.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.MeanSquaredLogarithmicError()([[0.0, 1.0]], [[0.0, 1.0]]))
        0.0
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_logarithmic_error",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(mean_squared_logarithmic_error, reduction, name, dtype)
