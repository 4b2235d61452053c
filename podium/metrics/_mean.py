"""Sum, Mean and MeanTensor, and `MeanMetricWrapper`: the running mean of any function of targets
and predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp

from podium._typing import Config, DTypeLike, TensorLike
from podium.core import Tensor, Variable, dispatch, stop_gradient
from podium.core.internal import find_logits
from podium.losses.internal import check_result, replace_by_logits
from podium.metrics._alignment import (
    broadcast_weights,
    divide_or_zero,
    total_and_count,
    weighted_total,
)
from podium.metrics._metric import Metric, stop_gradient_of
from podium.metrics._metric_function import function_name_of, functions_by_name


class Sum(Metric):
    """The weighted sum of all values seen.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sum.

    Example:
        >>> total = podium.metrics.Sum()
        >>> float(total([1.0, 2.0])), float(total(3.0))
        (3.0, 6.0)
        >>> float(total([1.0, 2.0], sample_weight=[0.0, 2.0]))
        10.0
    """

    def __init__(self, name: str | None = "sum", dtype: DTypeLike | None = None):
        super().__init__(dtype, name)
        self.total = self.add_variable(name="total")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Add a batch of values."""
        mask = getattr(values, "_keras_mask", None)
        self.total.assign_add(
            dispatch(
                weighted_total,
                stop_gradient_of(values),
                stop_gradient_of(sample_weight),
                mask,
                self.dtype,
            )
        )

    def result(self) -> Any:
        """Return the sum so far."""
        return self.total.read_value()


class Mean(Metric):
    """The weighted mean of all values seen; 0 before the first.

    Values of several axes are averaged within each sample (index of the first axis) first, so that
    every sample has the same weight.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> mean = podium.metrics.Mean()
        >>> mean.update_state([1.0, 3.0])
        >>> float(mean.result()), float(mean(8.0))
        (2.0, 4.0)
    """

    def __init__(self, name: str | None = "mean", dtype: DTypeLike | None = None):
        super().__init__(dtype, name)
        self.total = self.add_variable(name="total")
        self.count = self.add_variable(name="count")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Update the mean with a batch of values."""
        self._add(values, sample_weight, None)

    def _add(
        self, values: TensorLike, sample_weight: TensorLike | None, mask: TensorLike | None
    ) -> None:
        values_mask = getattr(values, "_keras_mask", None)
        self._accumulate(
            *dispatch(
                total_and_count,
                stop_gradient_of(values),
                stop_gradient_of(sample_weight),
                mask,
                values_mask,
                self.dtype,
            )
        )

    def _accumulate(self, total: jax.Array, count: jax.Array) -> None:
        self.total.assign_add(total)
        self.count.assign_add(count)

    def result(self) -> Any:
        """Return the mean so far."""
        return dispatch(divide_or_zero, self.total, self.count)


class MeanMetricWrapper(Mean):
    """The running mean of a function of targets and predictions.

    A mask attached to the predictions removes entries, as a weight of 0 does.

    Args:
        fn: A function `fn(y_true, y_pred, **kwargs)` that returns a value for each sample.
        name: The name of the metric.
        dtype: The dtype of the sums.
        **kwargs: Further arguments for `fn`.

    Example:
        >>> def off_by(y_true, y_pred, unit=1.0):
        ...     return podium.ops.abs(y_true - y_pred) / unit
        >>> metric = podium.metrics.MeanMetricWrapper(off_by, name="off_by", unit=2.0)
        >>> float(metric(np.float32([1, 2]), np.float32([2, 5])))
        1.0
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ):
        super().__init__(name, dtype)
        self._fn = fn
        self._fn_kwargs = kwargs
        if self._direction is None and _is_loss(fn):
            self._direction = "down"

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Update the mean with a batch."""
        mask = getattr(y_pred, "_keras_mask", None)
        if hasattr(self._fn, "raw"):  # a built-in function: values and sums are one operation
            y_pred, _, options = replace_by_logits(self._fn, y_pred, (), self._fn_kwargs)
            parts = (
                stop_gradient_of(y_true),
                stop_gradient_of(y_pred),
                stop_gradient_of(sample_weight),
            )
            return self._accumulate(*dispatch(self._sum_values, *parts, mask, **options))
        logits = find_logits(y_pred)
        y_true, y_pred = stop_gradient(y_true), stop_gradient(y_pred)
        if isinstance(y_pred, Tensor):
            y_pred._keras_mask = mask  # for `fn`
            y_pred._keras_logits = logits and logits._replace(tensor=stop_gradient(logits.tensor))
        values = self._fn(y_true, y_pred, **self._fn_kwargs)
        check_result("metric", self.name, values)
        self._add(values, sample_weight, mask)

    def _sum_values(
        self,
        y_true: jax.Array,
        y_pred: jax.Array,
        weight: jax.Array | None,
        mask: jax.Array | None,
        **kwargs: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        if jnp.issubdtype(y_pred.dtype, jnp.floating):
            y_pred = y_pred.astype(self.dtype)  # not in the compute dtype of mixed precision
        values = self._fn.raw(y_true, y_pred, **kwargs)  # type: ignore[attr-defined]
        values, values_mask = values if isinstance(values, tuple) else (values, None)
        return total_and_count(values, weight, mask, values_mask, self.dtype)

    def get_config(self) -> Config:
        """Return the arguments that make this metric again; subclasses omit the function."""
        config = super().get_config()
        if type(self) is MeanMetricWrapper:
            config["fn"] = functions_by_name.serialize(self._fn)
        return config | self._fn_kwargs

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Make a metric from `get_config`'s result."""
        config = dict(config)
        if "fn" in config:
            config["fn"] = functions_by_name.get(function_name_of(config["fn"]) or config["fn"])
        return cls(**config)


class MeanTensor(Metric):
    """The weighted mean of arrays, entry by entry (a metric of Keras 2).

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.
        shape: The shape of the arrays; by default that of the first.

    Example:
        >>> mean = podium.metrics.MeanTensor()
        >>> mean.update_state([1.0, 5.0])
        >>> mean.update_state([3.0, 7.0])
        >>> mean.result().numpy()
        array([2., 6.], dtype=float32)
    """

    def __init__(
        self,
        name: str | None = "mean_tensor",
        dtype: DTypeLike | None = None,
        shape: Sequence[int] | None = None,
    ):
        super().__init__(dtype, name)
        self.total: Variable | None = None
        self.count: Variable | None = None
        self._initial_shape = shape
        if shape is not None:
            self._build(tuple(shape))

    def _build(self, shape: tuple[int, ...]) -> tuple[Variable, Variable]:
        self.total = self.add_variable(shape, name="total")
        self.count = self.add_variable(shape, name="count")
        return self.total, self.count

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Update the mean with an array."""
        array = stop_gradient_of(values)
        if self.total is None or self.count is None:
            sums = self._build(tuple(array.shape))
        else:
            sums = self.total, self.count
        if tuple(array.shape) != sums[0].shape:
            raise ValueError(
                f"MeanTensor {self.name!r} was given values of shape {tuple(array.shape)} after "
                f"values of shape {sums[0].shape}; all must have one shape."
            )
        parts = dispatch(_weighted_entries, array, stop_gradient_of(sample_weight), self.dtype)
        for variable, part in zip(sums, parts, strict=True):
            variable.assign_add(part)

    def result(self) -> Any:
        """Return the mean so far."""
        if self.total is None:
            raise RuntimeError(
                f"MeanTensor {self.name!r} has no state yet. Call `update_state` first."
            )
        return dispatch(divide_or_zero, self.total, self.count)

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        return super().get_config() | {"shape": self._initial_shape}


def _weighted_entries(
    values: jax.Array, weight: jax.Array | None, dtype: str
) -> tuple[jax.Array, jax.Array]:
    values = values.astype(dtype)
    weight = (
        jnp.ones_like(values)
        if weight is None
        else broadcast_weights(weight.astype(dtype), values.shape)
    )
    return values * weight, weight


def _is_loss(fn: object) -> bool:
    """Return whether a function or object is a built-in loss, to be minimized."""
    return str(getattr(fn, "__module__", "")).startswith("podium.losses")
