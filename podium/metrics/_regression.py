"""Running errors of numbers: squared, absolute, relative, logarithmic, and the cosine
similarity.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import dispatch, epsilon
from podium.losses import (
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
)
from podium.metrics._alignment import ratio, same_shape, total_and_count
from podium.metrics._function import metric_function, to_float
from podium.metrics._metric import detached
from podium.metrics._reduction import Mean, MeanMetricWrapper


class MeanSquaredError(MeanMetricWrapper):
    """The mean of the squared errors.

    Args:
        name: A name.
        dtype: The type of the sums.

    Example:
        >>> metric = podium.metrics.MeanSquaredError()
        >>> float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]]))
        0.25
    """

    _direction = "down"

    def __init__(self, name: str | None = "mean_squared_error", dtype: Any = None):
        super().__init__(mean_squared_error, name, dtype)


class MeanAbsoluteError(MeanMetricWrapper):
    """The mean of the absolute errors.

    Args:
        name: A name.
        dtype: The type of the sums.

    Example:
        >>> metric = podium.metrics.MeanAbsoluteError()
        >>> float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]], sample_weight=[1, 0]))
        0.5
    """

    _direction = "down"

    def __init__(self, name: str | None = "mean_absolute_error", dtype: Any = None):
        super().__init__(mean_absolute_error, name, dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """The mean of the absolute errors, as a percentage of the targets.

    Args:
        name: A name.
        dtype: The type of the sums.

    Example:
        >>> metric = podium.metrics.MeanAbsolutePercentageError()
        >>> float(metric([[2.0], [4.0]], [[1.0], [4.0]]))
        25.0
    """

    _direction = "down"

    def __init__(self, name: str | None = "mean_absolute_percentage_error", dtype: Any = None):
        super().__init__(mean_absolute_percentage_error, name, dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """The mean of the squared differences of `log(1 + y)`.

    Args:
        name: A name.
        dtype: The type of the sums.

    Example:
        >>> metric = podium.metrics.MeanSquaredLogarithmicError()
        >>> round(float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]])), 4)
        0.1201
    """

    _direction = "down"

    def __init__(self, name: str | None = "mean_squared_logarithmic_error", dtype: Any = None):
        super().__init__(mean_squared_logarithmic_error, name, dtype)


class LogCoshError(MeanMetricWrapper):
    """The mean of `log(cosh(error))`: squared for small errors, absolute for large ones.

    Args:
        name: A name.
        dtype: The type of the sums.

    Example:
        >>> metric = podium.metrics.LogCoshError()
        >>> round(float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]])), 4)
        0.1084
    """

    _direction = "down"

    def __init__(self, name: str | None = "logcosh", dtype: Any = None):
        super().__init__(log_cosh, name, dtype)


class RootMeanSquaredError(Mean):
    """The root of the mean of the squared errors of all batches together.

    Args:
        name: A name.
        dtype: The type of the sums.

    Example:
        >>> metric = podium.metrics.RootMeanSquaredError()
        >>> float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]]))
        0.5
    """

    _direction = "down"

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None):
        super().__init__(name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Take a batch into the mean."""
        self._grow(
            *dispatch(
                _squares, detached(y_true), detached(y_pred), detached(sample_weight), self.dtype
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
        name: A name.
        dtype: The type of the sums.

    Example:
        >>> metric = podium.metrics.MeanRelativeError(normalizer=[1, 3, 2, 3])
        >>> float(metric([1, 3, 2, 3], [2, 4, 6, 8]))
        1.25
    """

    _direction = "down"

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None):
        super().__init__(name, dtype)
        self.normalizer = np.asarray(normalizer, self.dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Take a batch into the mean."""
        self._grow(
            *dispatch(self._relative, detached(y_true), detached(y_pred), detached(sample_weight))
        )

    def _relative(self, y_true: Any, y_pred: Any, weight: Any) -> tuple[Any, Any]:
        y_true, y_pred = same_shape(y_true.astype(self.dtype), y_pred.astype(self.dtype))
        unit, y_pred = same_shape(
            jnp.asarray(self.normalizer), y_pred, "`normalizer` must have the predictions' shape."
        )
        return total_and_count(
            ratio(jnp.abs(y_true.reshape(y_pred.shape) - y_pred), unit),
            weight,
            None,
            None,
            self.dtype,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this metric again."""
        return super().get_config() | {"normalizer": self.normalizer.tolist()}


@metric_function
def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
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
    true, pred = (_unit(y, axis) for y in same_shape(to_float(y_true), to_float(y_pred)))
    return jnp.sum(true * pred, axis=axis)


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine of the angle between targets and predictions: 1 for the same direction.

    Args:
        name: A name.
        dtype: The type of the sums.
        axis: The axis along which targets and predictions are vectors.

    Example:
        >>> metric = podium.metrics.CosineSimilarity(axis=1)
        >>> round(float(metric([[0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])), 4)
        0.5
    """

    _direction = "up"

    def __init__(self, name: str | None = "cosine_similarity", dtype: Any = None, axis: int = -1):
        super().__init__(cosine_similarity, name, dtype, axis=axis)
        self.axis = axis


def _squares(y_true: Any, y_pred: Any, weight: Any, dtype: str) -> tuple[Any, Any]:
    y_true, y_pred = same_shape(y_true.astype(dtype), y_pred.astype(dtype))
    return total_and_count((y_pred - y_true) ** 2, weight, None, None, dtype)


def _root_of_ratio(total: Any, count: Any) -> Any:
    return jnp.sqrt(ratio(total, count))


def _unit(values: Any, axis: int) -> Any:
    length = jnp.sum(values**2, axis=axis, keepdims=True)
    return values * jnp.minimum(jax.lax.rsqrt(length), 1 / epsilon())
