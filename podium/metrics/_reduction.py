"""Running sums and means of values, and `MeanMetricWrapper`: the running mean of any function of a
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from podium.core import Tensor, Variable, dispatch, stop_gradient
from podium.metrics._alignment import ratio, stretched, total_and_count, weighted_total
from podium.metrics._family import function_named_by, functions_by_name
from podium.metrics._metric import Metric, detached


class Sum(Metric):
    """The weighted sum of all values seen.

    Args:
        name: A name.
        dtype: The type of the sum.

    Example:
        >>> total = podium.metrics.Sum()
        >>> float(total([1.0, 2.0])), float(total(3.0))
        (3.0, 6.0)
        >>> float(total([1.0, 2.0], sample_weight=[0.0, 2.0]))
        10.0
    """

    def __init__(self, name: str | None = "sum", dtype: Any = None):
        super().__init__(dtype, name)
        self.total = self.add_variable(name="total")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Add a batch of values."""
        mask = getattr(values, "_keras_mask", None)
        self.total.assign_add(
            dispatch(weighted_total, detached(values), detached(sample_weight), mask, self.dtype)
        )

    def result(self) -> Any:
        """Return the sum so far."""
        return self.total.read_value()


class Mean(Metric):
    """The weighted mean of all values seen; 0 before the first.

    Values of several dimensions are averaged within each sample (entry of the first dimension)
    first, so that every sample counts once, whatever its length.

    Args:
        name: A name.
        dtype: The type of the sums.

    Example:
        >>> mean = podium.metrics.Mean()
        >>> mean.update_state([1.0, 3.0])
        >>> float(mean.result()), float(mean(8.0))
        (2.0, 4.0)
    """

    def __init__(self, name: str | None = "mean", dtype: Any = None):
        super().__init__(dtype, name)
        self.total = self.add_variable(name="total")
        self.count = self.add_variable(name="count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Take a batch of values into the mean."""
        self._add(values, sample_weight, None)

    def _add(self, values: Any, sample_weight: Any, mask: Any) -> None:
        own_mask = getattr(values, "_keras_mask", None)
        self._grow(
            *dispatch(
                total_and_count,
                detached(values),
                detached(sample_weight),
                mask,
                own_mask,
                self.dtype,
            )
        )

    def _grow(self, total: Any, count: Any) -> None:
        self.total.assign_add(total)
        self.count.assign_add(count)

    def result(self) -> Any:
        """Return the mean so far."""
        return dispatch(ratio, self.total, self.count)


class MeanMetricWrapper(Mean):
    """The running mean of a function of targets and predictions.

    A mask that travels with the predictions hides entries as a weight of 0 does.

    Args:
        fn: A function `fn(y_true, y_pred, **kwargs)` that returns a value for each sample.
        name: A name.
        dtype: The type of the sums.
        **kwargs: Further arguments for `fn`.

    Example:
        >>> def off_by(y_true, y_pred, unit=1.0):
        ...     return podium.ops.abs(y_true - y_pred) / unit
        >>> metric = podium.metrics.MeanMetricWrapper(off_by, name="off_by", unit=2.0)
        >>> float(metric(np.float32([1, 2]), np.float32([2, 5])))
        1.0
    """

    def __init__(self, fn: Callable, name: str | None = None, dtype: Any = None, **kwargs: Any):
        super().__init__(name, dtype)
        self._fn = fn
        self._fn_kwargs = kwargs
        if self._direction is None and _is_loss(fn):
            self._direction = "down"

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Take a batch into the mean."""
        mask = getattr(y_pred, "_keras_mask", None)
        if hasattr(
            self._fn, "raw"
        ):  # Podium's own function of arrays: function and sums are one operation
            parts = detached(y_true), detached(y_pred), detached(sample_weight)
            return self._grow(*dispatch(self._fused, *parts, mask, **self._fn_kwargs))
        y_true, y_pred = stop_gradient(y_true), stop_gradient(y_pred)
        if isinstance(y_pred, Tensor):
            y_pred._keras_mask = mask  # `fn` may want to see it
        self._add(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight, mask)

    def _fused(
        self, y_true: Any, y_pred: Any, weight: Any, mask: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        if jnp.issubdtype(y_pred.dtype, jnp.floating):
            y_pred = y_pred.astype(self.dtype)  # not in the short type of a mixed-precision model
        values = self._fn.raw(y_true, y_pred, **kwargs)  # type: ignore[attr-defined]
        values, own_mask = values if isinstance(values, tuple) else (values, None)
        return total_and_count(values, weight, mask, own_mask, self.dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this metric again. A subclass has its own function, and
        leaves it out.
        """
        own = (
            {"fn": functions_by_name.serialize(self._fn)} if type(self) is MeanMetricWrapper else {}
        )
        return super().get_config() | own | self._fn_kwargs

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Metric:
        """Make a metric from `get_config`'s result."""
        config = dict(config)
        if "fn" in config:
            config["fn"] = functions_by_name.get(function_named_by(config["fn"]) or config["fn"])
        return cls(**config)


class MeanTensor(Metric):
    """The weighted mean of arrays, entry by entry (a metric of Keras 2).

    Args:
        name: A name.
        dtype: The type of the sums.
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
        dtype: Any = None,
        shape: Sequence[int] | None = None,
    ):
        super().__init__(dtype, name)
        self.total: Variable | None = None
        self.count: Variable | None = None
        self._given_shape = shape
        if shape is not None:
            self._build(tuple(shape))

    def _build(self, shape: tuple[int, ...]) -> tuple[Variable, Variable]:
        self.total = self.add_variable(shape, name="total")
        self.count = self.add_variable(shape, name="count")
        return self.total, self.count

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Take an array into the mean."""
        values = detached(values)
        if self.total is None or self.count is None:
            sums = self._build(tuple(values.shape))
        else:
            sums = self.total, self.count
        if tuple(values.shape) != sums[0].shape:
            raise ValueError(
                f"MeanTensor {self.name!r} was given values of shape {tuple(values.shape)} after "
                f"values of shape {sums[0].shape}; all must have one shape."
            )
        parts = dispatch(_weighted_entries, values, detached(sample_weight), self.dtype)
        for variable, part in zip(sums, parts, strict=True):
            variable.assign_add(part)

    def result(self) -> Any:
        """Return the mean so far."""
        if self.total is None:
            raise RuntimeError(
                f"MeanTensor {self.name!r} has seen nothing yet and knows no shape. Call "
                "`update_state` first."
            )
        return dispatch(ratio, self.total, self.count)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this metric again."""
        return super().get_config() | {"shape": self._given_shape}


def _weighted_entries(values: Any, weight: Any, dtype: str) -> tuple[Any, Any]:
    values = values.astype(dtype)
    weight = (
        jnp.ones_like(values) if weight is None else stretched(weight.astype(dtype), values.shape)
    )
    return values * weight, weight


def _is_loss(fn: Any) -> bool:
    """Tell whether a function, or a loss object, is one of ours to make small."""
    return str(getattr(fn, "__module__", "")).startswith("podium.losses")
