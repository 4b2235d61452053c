"""How far predictions rise and fall with their targets: Pearson's and the concordance
correlation.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium._typing import Axis, DTypeLike
from podium.core import epsilon
from podium.metrics._alignment import match_shapes
from podium.metrics._mean import MeanMetricWrapper
from podium.metrics._metric_function import Values, metric_function, to_wide_float


@metric_function
def pearson_correlation(y_true: Values, y_pred: Values, axis: Axis = -1) -> jax.Array:
    """Return Pearson's correlation coefficient of targets and predictions, from -1 to 1.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.
        axis: The axis or axes along which they are compared.

    Returns:
        The coefficients, without these axes.

    Example:
        >>> y_true, y_pred = [[0, 1, 0.5], [1, 1, 0.2]], [[0.1, 0.9, 0.5], [1, 0.9, 0.2]]
        >>> podium.metrics.pearson_correlation(y_true, y_pred).numpy().round(4)
        array([1.    , 0.9934], dtype=float32)
    """
    axis = tuple(axis) if isinstance(axis, list) else axis
    true, pred = (
        _center(y, axis) for y in match_shapes(to_wide_float(y_true), to_wide_float(y_pred))
    )
    true, pred = (y / jnp.std(y, axis=axis, keepdims=True) for y in (true, pred))
    return jnp.mean(true * pred, axis=axis)


@metric_function
def concordance_correlation(y_true: Values, y_pred: Values, axis: Axis = -1) -> jax.Array:
    """Return the concordance correlation coefficient, from -1 to 1: like Pearson's, but 1 only for
    equal values.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.
        axis: The axis or axes along which they are compared.

    Returns:
        The coefficients, without these axes.

    Example:
        >>> y_true, y_pred = [[0, 1, 0.5], [1, 1, 0.2]], [[0.1, 0.9, 0.5], [1, 0.9, 0.2]]
        >>> podium.metrics.concordance_correlation(y_true, y_pred).numpy().round(4)
        array([0.9756, 0.9877], dtype=float32)
    """
    axis = tuple(axis) if isinstance(axis, list) else axis
    y_true, y_pred = match_shapes(to_wide_float(y_true), to_wide_float(y_pred))
    means = [jnp.mean(y, axis=axis, keepdims=True) for y in (y_true, y_pred)]
    together = (y_true - means[1]) * (y_pred - means[1])
    apart = (
        jnp.var(y_true, axis=axis, keepdims=True)
        + jnp.var(y_pred, axis=axis, keepdims=True)
        + (means[0] - means[1]) ** 2
    )
    return jnp.mean(2 * together / (apart + epsilon()), axis=axis)


class PearsonCorrelation(MeanMetricWrapper):
    """The mean of Pearson's correlation coefficient over samples.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.
        axis: The axis or axes along which targets and predictions are compared.

    Example:
        >>> metric = podium.metrics.PearsonCorrelation()
        >>> round(float(metric([[0, 1, 0.5], [1, 1, 0.2]], [[0.1, 0.9, 0.5], [1, 0.9, 0.2]])), 4)
        0.9967
    """

    _direction = "up"

    def __init__(
        self,
        name: str | None = "pearson_correlation",
        dtype: DTypeLike | None = None,
        axis: Axis = -1,
    ):
        super().__init__(pearson_correlation, name, dtype, axis=axis)
        self.axis = axis


class ConcordanceCorrelation(MeanMetricWrapper):
    """The mean of the concordance correlation coefficient over samples.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.
        axis: The axis or axes along which targets and predictions are compared.

    Example:
        >>> metric = podium.metrics.ConcordanceCorrelation()
        >>> round(float(metric([[0, 1, 0.5], [1, 1, 0.2]], [[0.1, 0.9, 0.5], [1, 0.9, 0.2]])), 4)
        0.9816
    """

    _direction = "up"

    def __init__(
        self,
        name: str | None = "concordance_correlation",
        dtype: DTypeLike | None = None,
        axis: Axis = -1,
    ):
        super().__init__(concordance_correlation, name, dtype, axis=axis)
        self.axis = axis


def _center(values: jax.Array, axis: Axis) -> jax.Array:
    return values - jnp.mean(values, axis=axis, keepdims=True)
