"""R2Score: the share of the targets' variance that predictions explain, from running sums."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from podium._typing import Config, DTypeLike, TensorLike
from podium.core import Variable, dispatch, unknown_choice
from podium.metrics._alignment import broadcast_weights, match_shapes
from podium.metrics._metric import Metric, stop_gradient_of

AGGREGATIONS = ("uniform_average", "variance_weighted_average")


class R2Score(Metric):
    """The coefficient of determination: 1 for perfect predictions, 0 for no better than the mean of
    the targets.

    Args:
        class_aggregation: How the scores of several outputs are put together: `"uniform_average"`,
            `"variance_weighted_average"`, or None for a score for each.
        num_regressors: For the adjusted score: the number of independent regressors. If it
            is not below the number of samples, the unadjusted score is returned.
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.R2Score()
        >>> round(float(metric([[1.0], [4.0], [3.0]], [[2.0], [4.0], [4.0]])), 4)
        0.5714
    """

    num_samples: Variable
    sum: Variable
    squared_sum: Variable
    total_mse: Variable
    count: Variable
    _direction = "up"

    def __init__(
        self,
        class_aggregation: str | None = "uniform_average",
        num_regressors: int = 0,
        name: str | None = "r2_score",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(dtype, name)
        if class_aggregation is not None and class_aggregation not in AGGREGATIONS:
            raise unknown_choice("class_aggregation", class_aggregation, (None, *AGGREGATIONS))
        if num_regressors < 0:
            raise ValueError(
                f"R2Score was given num_regressors={num_regressors}; zero or more was expected."
            )
        self.class_aggregation = class_aggregation
        self.num_regressors = num_regressors
        self.num_samples = self.add_variable(name="num_samples")
        self._built = False

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Take a batch into account.

        Args:
            y_true: The targets, of shape `(samples, outputs)`.
            y_pred: The predictions, of the same shape.
            sample_weight: A weight for each sample, or for each entry.
        """
        sums = dispatch(
            _sums,
            stop_gradient_of(y_true),
            stop_gradient_of(y_pred),
            stop_gradient_of(sample_weight),
            self.dtype,
        )
        if not self._built:
            shape = tuple(sums[0].shape)
            self.squared_sum = self.add_variable(shape, name="squared_sum")
            self.sum = self.add_variable(shape, name="sum")
            self.total_mse = self.add_variable(shape, name="residual")
            self.count = self.add_variable(shape, name="count")
            self._built = True
        for variable, part in zip(
            (self.squared_sum, self.sum, self.total_mse, self.count), sums, strict=False
        ):
            variable.assign_add(part)
        self.num_samples.assign_add(sums[-1])

    def result(self) -> Any:
        """Return the R2 score so far."""
        if not self._built:
            raise RuntimeError(
                f"R2Score {self.name!r} has no state yet. Call `update_state` first."
            )
        sums = self.squared_sum, self.sum, self.total_mse, self.count, self.num_samples
        return dispatch(_score, *sums, self.class_aggregation, self.num_regressors)

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        config = {
            "class_aggregation": self.class_aggregation,
            "num_regressors": self.num_regressors,
        }
        return super().get_config() | config


def _sums(y_true: Any, y_pred: Any, weight: Any, dtype: str) -> tuple[Any, ...]:
    shapes = y_true.shape, y_pred.shape
    y_true, y_pred = match_shapes(y_true.astype(dtype), y_pred.astype(dtype))
    if y_true.ndim != 2:
        raise ValueError(
            f"R2Score was given y_true of shape {shapes[0]} and y_pred of shape {shapes[1]}; "
            "(samples, outputs) was expected."
        )
    weight = (
        jnp.ones_like(y_true)
        if weight is None
        else broadcast_weights(weight.astype(dtype), y_true.shape)
    )
    parts = y_true * (y_true * weight), y_true * weight, (y_true - y_pred) ** 2 * weight, weight
    # Keras counts every entry here, not every row; the adjusted score of several outputs depends on
    # it.
    return *(jnp.sum(part, axis=0) for part in parts), jnp.asarray(y_true.size, dtype)


def _score(
    squares: Any,
    total: Any,
    residual: Any,
    count: Any,
    samples: Any,
    aggregation: str | None,
    regressors: int,
) -> Any:
    variation = squares - total * (total / count)
    score = 1 - residual / variation
    score = jnp.where(jnp.isinf(score), jnp.zeros_like(score), score)
    if aggregation == "uniform_average":
        score = jnp.mean(score)
    elif aggregation is not None:
        score = jnp.sum(variation * score) / jnp.sum(variation)
    if regressors == 0:
        return score
    spare = samples - regressors - 1
    adjusted = 1 - (1 - score) * (samples - 1) / jnp.where(spare > 0, spare, jnp.ones_like(spare))
    return jnp.where(spare > 0, adjusted, score)
