"""Running errors of numbers: squared, absolute, relative, logarithmic, and the cosine
similarity.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Config, DTypeLike, TensorLike
from podium.core import dispatch, epsilon
from podium.losses import (
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
)
from podium.metrics._alignment import divide_or_zero, match_shapes, total_and_count
from podium.metrics._mean import Mean, MeanMetricWrapper
from podium.metrics._metric import stop_gradient_of
from podium.metrics._metric_function import Values, metric_function, to_wide_float


class MeanSquaredError(MeanMetricWrapper):
    """The mean of the squared errors.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.MeanSquaredError()
        >>> float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]]))
        0.25
    """

    _direction = "down"

    def __init__(self, name: str | None = "mean_squared_error", dtype: DTypeLike | None = None):
        super().__init__(mean_squared_error, name, dtype)


class MeanAbsoluteError(MeanMetricWrapper):
    """The mean of the absolute errors.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.MeanAbsoluteError()
        >>> float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]], sample_weight=[1, 0]))
        0.5
    """

    _direction = "down"

    def __init__(self, name: str | None = "mean_absolute_error", dtype: DTypeLike | None = None):
        super().__init__(mean_absolute_error, name, dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """The mean of the absolute errors, as a percentage of the targets.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.MeanAbsolutePercentageError()
        >>> float(metric([[2.0], [4.0]], [[1.0], [4.0]]))
        25.0
    """

    _direction = "down"

    def __init__(
        self, name: str | None = "mean_absolute_percentage_error", dtype: DTypeLike | None = None
    ):
        super().__init__(mean_absolute_percentage_error, name, dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """The mean of the squared differences of `log(1 + y)`.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.MeanSquaredLogarithmicError()
        >>> round(float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]])), 4)
        0.1201
    """

    _direction = "down"

    def __init__(
        self, name: str | None = "mean_squared_logarithmic_error", dtype: DTypeLike | None = None
    ):
        super().__init__(mean_squared_logarithmic_error, name, dtype)


class LogCoshError(MeanMetricWrapper):
    """The mean of `log(cosh(error))`: squared for small errors, absolute for large ones.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.LogCoshError()
        >>> round(float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]])), 4)
        0.1084
    """

    _direction = "down"

    def __init__(self, name: str | None = "logcosh", dtype: DTypeLike | None = None):
        super().__init__(log_cosh, name, dtype)


class RootMeanSquaredError(Mean):
    """The root of the mean of the squared errors of all batches together.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.RootMeanSquaredError()
        >>> float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]]))
        0.5
    """

    _direction = "down"

    def __init__(
        self, name: str | None = "root_mean_squared_error", dtype: DTypeLike | None = None
    ):
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Take a batch into the mean."""
        self._accumulate(
            *dispatch(
                _sum_squared_errors,
                stop_gradient_of(y_true),
                stop_gradient_of(y_pred),
                stop_gradient_of(sample_weight),
                self.dtype,
            )
        )

    def result(self) -> Any:
        """Return the root of the mean so far."""
        return dispatch(_root_of_ratio, self.total, self.count)


class MeanRelativeError(Mean):
    """The mean of the absolute errors divided by given numbers (a metric of Keras 2).

    Args:
        normalizer: The numbers to divide by, of the predictions' shape; where one is 0 the error
            counts as 0.
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.MeanRelativeError(normalizer=[1, 3, 2, 3])
        >>> float(metric([1, 3, 2, 3], [2, 4, 6, 8]))
        1.25
    """

    _direction = "down"

    def __init__(self, normalizer: Any, name: str | None = None, dtype: DTypeLike | None = None):
        super().__init__(name, dtype)
        self.normalizer = np.asarray(normalizer, self.dtype)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Take a batch into the mean."""
        self._accumulate(
            *dispatch(
                self._sum_relative_errors,
                stop_gradient_of(y_true),
                stop_gradient_of(y_pred),
                stop_gradient_of(sample_weight),
            )
        )

    def _sum_relative_errors(
        self, y_true: jax.Array, y_pred: jax.Array, weight: jax.Array | None
    ) -> tuple[jax.Array, jax.Array]:
        y_true, y_pred = match_shapes(y_true.astype(self.dtype), y_pred.astype(self.dtype))
        unit, y_pred = match_shapes(
            jnp.asarray(self.normalizer), y_pred, "`normalizer` must have the predictions' shape."
        )
        return total_and_count(
            divide_or_zero(jnp.abs(y_true.reshape(y_pred.shape) - y_pred), unit),
            weight,
            None,
            None,
            self.dtype,
        )

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        return super().get_config() | {"normalizer": self.normalizer.tolist()}


@metric_function
def cosine_similarity(y_true: Values, y_pred: Values, axis: int = -1) -> jax.Array:
    """Return the cosine of the angle between targets and predictions: 1 for the same direction, -1
    for the opposite.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.
        axis: The axis along which they are vectors.

    Returns:
        The cosines, without that axis. The loss of the same name has the opposite sign.

    Example:
        >>> podium.metrics.CosineSimilarity()([[0.0, 1.0]], [[0.0, -2.0]]).numpy()
        array(-1., dtype=float32)
    """
    true, pred = (
        _normalize_length(y, axis)
        for y in match_shapes(to_wide_float(y_true), to_wide_float(y_pred))
    )
    return jnp.sum(true * pred, axis=axis)


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine of the angle between targets and predictions: 1 for the same direction.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.
        axis: The axis along which targets and predictions are vectors.

    Example:
        >>> metric = podium.metrics.CosineSimilarity(axis=1)
        >>> round(float(metric([[0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])), 4)
        0.5
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "cosine_similarity", dtype: DTypeLike | None = None, axis: int = -1
    ):
        super().__init__(cosine_similarity, name, dtype, axis=axis)
        self.axis = axis


def _sum_squared_errors(
    y_true: jax.Array, y_pred: jax.Array, weight: jax.Array | None, dtype: str
) -> tuple[jax.Array, jax.Array]:
    y_true, y_pred = match_shapes(y_true.astype(dtype), y_pred.astype(dtype))
    return total_and_count((y_pred - y_true) ** 2, weight, None, None, dtype)


def _root_of_ratio(total: jax.Array, count: jax.Array) -> jax.Array:
    return jnp.sqrt(divide_or_zero(total, count))


def _normalize_length(values: jax.Array, axis: int) -> jax.Array:
    length = jnp.sum(values**2, axis=axis, keepdims=True)
    return values * jnp.minimum(jax.lax.rsqrt(length), 1 / epsilon())
