"""Mean errors for regression: squared, absolute, in percent, and squared between logarithms."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from podium.core import epsilon
from podium.losses._inputs import loss_function, matched, mean_over
from podium.losses._wrapper import OwnLoss


@loss_function
def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of the squared errors, over the last axis.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.mean_squared_error([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 1.0]]).numpy()
        array([0.5, 5. ], dtype=float32)
    """
    y_true, y_pred = matched("mean_squared_error", y_true, y_pred)
    return mean_over(jnp.square(y_true - y_pred))


@loss_function
def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    """The mean size of the errors, over the last axis.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.mean_absolute_error([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 1.0]]).numpy()
        array([0.5, 2. ], dtype=float32)
    """
    y_true, y_pred = matched("mean_absolute_error", y_true, y_pred)
    return mean_over(jnp.abs(y_true - y_pred))


@loss_function
def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
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
    y_true, y_pred = matched("mean_absolute_percentage_error", y_true, y_pred)
    share = (y_true - y_pred) / jnp.maximum(jnp.abs(y_true), epsilon())
    return 100.0 * mean_over(jnp.abs(share))


@loss_function
def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of the squared errors between `log(1 + y)`, over the last axis.

    Values below zero count as zero.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.

    Returns:
        One value for each sample: the shape of `y_pred` without its last axis.

    Example:
        >>> podium.losses.mean_squared_logarithmic_error([[0.0, 1.0]], [[0.0, 3.0]]).numpy().round(4)
        array([0.2402], dtype=float32)
    """
    y_true, y_pred = matched("mean_squared_logarithmic_error", y_true, y_pred)
    logs = [jnp.log(jnp.maximum(y, epsilon()) + 1.0) for y in (y_pred, y_true)]
    return mean_over(jnp.square(logs[0] - logs[1]))


class MeanSquaredError(OwnLoss):
    """The mean of the squared errors.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> loss = podium.losses.MeanSquaredError()
        >>> float(loss([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 1.0]]))
        2.75
        >>> float(loss([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 1.0]], sample_weight=[1.0, 0.0]))
        0.25
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_error",
        dtype: Any = None,
    ):
        super().__init__(mean_squared_error, reduction, name, dtype)


class MeanAbsoluteError(OwnLoss):
    """The mean size of the errors.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.MeanAbsoluteError()([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 1.0]]))
        1.25
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_error",
        dtype: Any = None,
    ):
        super().__init__(mean_absolute_error, reduction, name, dtype)


class MeanAbsolutePercentageError(OwnLoss):
    """The mean size of the errors, in percent of the targets.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.MeanAbsolutePercentageError()([[2.0, 4.0]], [[1.0, 5.0]]))
        37.5
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_percentage_error",
        dtype: Any = None,
    ):
        super().__init__(mean_absolute_percentage_error, reduction, name, dtype)


class MeanSquaredLogarithmicError(OwnLoss):
    """The mean of the squared errors between `log(1 + y)`: for targets that span orders of
    magnitude.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.MeanSquaredLogarithmicError()([[0.0, 1.0]], [[0.0, 1.0]]))
        0.0
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_logarithmic_error",
        dtype: Any = None,
    ):
        super().__init__(mean_squared_logarithmic_error, reduction, name, dtype)
