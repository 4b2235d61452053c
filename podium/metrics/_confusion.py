"""Counting true and false positives and negatives at many thresholds, in memory that does not grow
with the data.

Predictions are sorted into the buckets between thresholds in one pass; sums over the buckets from
the top yield the counts at every threshold. No array of thresholds times samples is ever made.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import DTypeLike, TensorLike
from podium.core import Variable, dispatch, epsilon
from podium.core.internal import charge_file_budget
from podium.metrics._alignment import broadcast_weights, match_shapes
from podium.metrics._metric import Metric, stop_gradient_of

KINDS = ("true_positives", "false_positives", "true_negatives", "false_negatives")
_BYTES_PER_THRESHOLD = 128  # numbers of Python in lists, and counts
BELOW_ALL_THRESHOLDS = -1e10  # below every threshold: a prediction that is not among the top k


def check_thresholds(thresholds: Any, default: float = 0.5) -> list[float]:
    """Return thresholds as a list; each must be between 0 and 1."""
    if thresholds is None:
        return [default]
    listed = list(thresholds) if isinstance(thresholds, (list, tuple, np.ndarray)) else [thresholds]
    wrong = [t for t in listed if t is None or not 0 <= t <= 1]
    if wrong:
        raise ValueError(
            f"thresholds={thresholds!r} were given; numbers from 0 to 1 were expected, which "
            f"{wrong} are not."
        )
    return listed


def charge_thresholds(metric: str, num_thresholds: int) -> None:
    """Charge the budget of the file that is being read for a list of thresholds."""
    charge_file_budget(
        "bytes",
        _BYTES_PER_THRESHOLD * num_thresholds,
        f"{metric} has num_thresholds={num_thresholds!r}, far larger than the size of the file.",
    )


def are_evenly_spaced(thresholds: Sequence[float]) -> bool:
    """Return whether thresholds are evenly spaced from 0 to 1: buckets need no search."""
    if len(thresholds) < 3:
        return False
    return np.allclose(thresholds, np.linspace(0.0, 1.0, len(thresholds)), atol=epsilon())


@dataclasses.dataclass(frozen=True)
class ConfusionCounter:
    """A pure function `(y_true, y_pred, weight)` that returns the counts of one batch.

    It is compiled, also where the metric is used eagerly; equal counters share the program.

    Attributes:
        thresholds: In any order; a prediction above one is positive there.
        evenly: Whether they are `evenly_spread`.
        dtype: The dtype of the counts.
        top_k: How many predictions of a sample may be positive.
        class_id: The one class that counts.
        by_label: Whether to count for each entry of the last axis by itself.
        label_weights: A weight for each entry of the last axis.
        from_logits: Whether predictions are logits.
    """

    thresholds: tuple[float, ...]
    evenly: bool
    dtype: str
    top_k: int | None = None
    class_id: int | None = None
    by_label: bool = False
    label_weights: tuple[float, ...] | None = None
    from_logits: bool = False

    @functools.partial(jax.jit, static_argnums=0)
    def __call__(
        self, y_true: jax.Array, y_pred: jax.Array, weight: jax.Array | None
    ) -> dict[str, jax.Array]:
        """Return the counts by kind, each of shape `(thresholds,)` or `(thresholds, labels)`."""
        y_pred = y_pred.astype(self.dtype)
        if self.from_logits:
            y_pred = jax.nn.sigmoid(y_pred)
        y_true, y_pred = match_shapes(y_true, y_pred)
        weight = (
            jnp.ones_like(y_pred)
            if weight is None
            else broadcast_weights(weight.astype(self.dtype), y_pred.shape)
        )
        if self.top_k is not None:
            y_pred = _keep_top_k(y_pred, self.top_k)
        if self.class_id is not None:
            y_true, y_pred, weight = (self._select_class(x) for x in (y_true, y_pred, weight))
        if self.label_weights is not None:
            weight = weight * self._broadcast_label_weights(y_pred)
        # One row per sample, one column per label; without `by_label` there is one label.
        rows = (-1, y_pred.shape[-1]) if self.by_label else (-1, 1)
        positive, y_pred, weight = (x.reshape(rows) for x in (y_true.astype(bool), y_pred, weight))
        nothing = jnp.zeros_like(weight)
        parts = jnp.stack(
            [jnp.where(positive, weight, nothing), jnp.where(positive, nothing, weight)]
        )  # of the targets
        above = (
            self._sum_above_threshold(y_pred, parts)
            if len(self.thresholds) == 1
            else self._sum_above_thresholds(y_pred, parts)
        )
        below = jnp.sum(parts, axis=1)[:, None] - above
        counts = dict(zip(KINDS, (above[0], above[1], below[1], below[0]), strict=True))
        return {kind: count if self.by_label else count[:, 0] for kind, count in counts.items()}

    def _sum_above_threshold(self, y_pred: jax.Array, parts: jax.Array) -> jax.Array:
        """Return the sums of `parts` (2, samples, labels) above the only threshold: (2, 1,
        labels).
        """
        above = y_pred > self.thresholds[0]
        return jnp.sum(jnp.where(above, parts, jnp.zeros_like(parts)), axis=1, keepdims=True)

    def _sum_above_thresholds(self, y_pred: jax.Array, parts: jax.Array) -> jax.Array:
        """Return the sums of `parts` (2, samples, labels) above each threshold: (2, thresholds,
        labels).
        """
        number, labels = len(self.thresholds), y_pred.shape[1]
        bucket = self._bucket(y_pred)
        index = jnp.where(
            bucket < 0, bucket, bucket * labels + jnp.arange(labels, dtype=bucket.dtype)
        )  # below 0: dropped
        sums = jax.ops.segment_sum(parts.reshape(2, -1).T, index.reshape(-1), number * labels)
        above = jnp.cumsum(sums.reshape(number, labels, 2)[::-1], axis=0)[::-1]
        above = jnp.moveaxis(above, -1, 0)
        order = np.argsort(self.thresholds, kind="stable")
        return above if np.array_equal(order, np.arange(number)) else above[:, np.argsort(order)]

    def _bucket(self, y_pred: jax.Array) -> jax.Array:
        """Return how many thresholds are below each prediction, minus one."""
        if self.evenly:
            bucket = jnp.ceil(jnp.clip(y_pred, 0.0, 1.0) * (len(self.thresholds) - 1)) - 1
            if self.thresholds[0] < 0:  # just below 0, so that a prediction of 0 is above it
                bucket = jnp.maximum(bucket, 0.0)
            bucket = jnp.where(jnp.isnan(bucket), jnp.full_like(bucket, -1), bucket)
            return bucket.astype("int32")
        bucket = (
            jnp.searchsorted(
                jnp.asarray(np.sort(self.thresholds), y_pred.dtype), y_pred, side="left"
            )
            - 1
        )
        return jnp.where(jnp.isnan(y_pred), jnp.full_like(bucket, -1), bucket)

    def _select_class(self, values: jax.Array) -> jax.Array:
        if values.ndim < 2 or not -values.shape[-1] <= (self.class_id or 0) < values.shape[-1]:
            raise ValueError(
                f"class_id={self.class_id} was given for predictions of shape {values.shape}; they "
                "must have a last axis with a place for that class."
            )
        return values[..., self.class_id, None]

    def _broadcast_label_weights(self, y_pred: jax.Array) -> jax.Array:
        weights = jnp.asarray(self.label_weights, self.dtype)
        if y_pred.ndim < 2 or y_pred.shape[-1] != len(weights):
            raise ValueError(
                f"label_weights has {len(weights)} numbers for predictions of shape "
                f"{y_pred.shape}; one for each entry of "
                "their last axis was expected."
            )
        return jnp.broadcast_to(weights, y_pred.shape)


class ConfusionMetric(Metric):
    """The base of metrics that are made of counts at thresholds: it keeps the counts and adds to
    them.
    """

    def __init__(self, name: str | None, dtype: DTypeLike | None):
        super().__init__(dtype, name)
        self._counter: ConfusionCounter | None = None
        self._counts: dict[str, Variable] = {}

    def _make_counts(
        self,
        counter: ConfusionCounter,
        kinds: Sequence[str],
        shape: tuple[int, ...],
        name: str = "",
    ) -> None:
        """Make a Variable of `shape` for each kind, named like it (or `name`); it is an attribute
        of that name too.
        """
        self._counter = counter
        for kind in kinds:
            self._counts[kind] = self.add_variable(shape, name=name or kind)
            setattr(self, name or kind, self._counts[kind])

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch.

        Args:
            y_true: The targets; what is not 0 is positive.
            y_pred: The predictions, of the same shape.
            sample_weight: A weight for each sample, or for each entry.
        """
        if self._counter is None:
            raise RuntimeError(f"{type(self).__name__} {self.name!r} has no counter yet.")
        parts = dispatch(
            self._counter,
            stop_gradient_of(y_true),
            stop_gradient_of(y_pred),
            stop_gradient_of(sample_weight),
        )
        for kind, variable in self._counts.items():
            variable.assign_add(parts[kind])


def _keep_top_k(y_pred: jax.Array, k: int) -> jax.Array:
    """Keep the `k` largest predictions of the last axis, and push the rest below every
    threshold.
    """
    if k > y_pred.shape[-1]:
        raise ValueError(
            f"top_k={k} was given for predictions of shape {y_pred.shape}, whose last axis "
            "is shorter."
        )
    indices = jax.lax.top_k(y_pred, k)[1]
    kept = jnp.put_along_axis(jnp.zeros(y_pred.shape, bool), indices, True, axis=-1, inplace=False)
    return jnp.where(kept, y_pred, jnp.full_like(y_pred, BELOW_ALL_THRESHOLDS))
