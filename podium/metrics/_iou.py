"""Intersection over union of classes, for segmentation: a confusion matrix that grows, and its
diagonal's share.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Config, DTypeLike, TensorLike
from podium.core import dispatch, epsilon
from podium.core.internal import charge_file_budget
from podium.metrics._alignment import broadcast_weights, match_shapes
from podium.metrics._argmax import fast_argmax
from podium.metrics._metric import Metric, stop_gradient_of


class IoU(Metric):
    """The mean intersection over union of the classes you name.

    The IoU of a class is `true_positives / (true_positives + false_positives + false_negatives)`,
    counted in a confusion matrix of `num_classes` by `num_classes`. Classes that never occur are
    left out of the mean, and class indices outside of `num_classes` are left out of the count.

    Args:
        num_classes: How many classes there are.
        target_class_ids: The classes whose IoU is averaged.
        name: The name of the metric.
        dtype: The dtype of the matrix, int32 by default. For weights that are not integers pass
            `"float32"`.
        ignore_class: A class index; targets with it are not counted.
        sparse_y_true: Whether targets are class indices; otherwise the largest entry along `axis`
            is taken.
        sparse_y_pred: Whether predictions are class indices; otherwise the largest entry along
            `axis` is taken.
        axis: The dimension of the classes where there is one.

    Example:
        >>> metric = podium.metrics.IoU(num_classes=2, target_class_ids=[0])
        >>> round(float(metric([0, 0, 1, 1], [0, 1, 0, 1])), 4)
        0.3333
    """

    _direction = "up"

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ):
        super().__init__(dtype or "int32", name)
        charge_file_budget(
            "bytes",
            8 * num_classes**2,
            f"{type(self).__name__} has num_classes={num_classes!r}, far larger than the size of "
            "the file.",
        )
        self.num_classes = num_classes
        self.target_class_ids = list(target_class_ids)
        if (
            not self.target_class_ids
            or min(self.target_class_ids) < 0
            or max(self.target_class_ids) >= num_classes
        ):
            raise ValueError(
                f"{type(self).__name__} was given target_class_ids={self.target_class_ids} for "
                f"num_classes={num_classes}; numbers from 0 to {num_classes - 1} were expected."
            )
        self.ignore_class = ignore_class
        self.sparse_y_true = sparse_y_true
        self.sparse_y_pred = sparse_y_pred
        self.axis = axis
        self._warned = False
        self.total_cm = self.add_variable((num_classes, num_classes), name="total_confusion_matrix")

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch.

        Args:
            y_true: The targets.
            y_pred: The predictions, of the same shape up to the dimension of the classes.
            sample_weight: A weight for each sample, or for each entry.
        """
        weight = stop_gradient_of(sample_weight)
        if (
            weight is not None
            and "int" in self.dtype
            and jnp.issubdtype(weight.dtype, jnp.floating)
            and not self._warned
        ):
            self._warned = True
            warnings.warn(
                f"{type(self).__name__} {self.name!r} counts in {self.dtype} and was given float "
                "weights, whose fractions are "
                'cut off. Make it with dtype="float32" to keep them.',
                stacklevel=2,
            )
        self.total_cm.assign_add(
            dispatch(self._count, stop_gradient_of(y_true), stop_gradient_of(y_pred), weight)
        )

    def _predicted_classes(self, y_pred: jax.Array) -> jax.Array:
        """Return the class indices that predictions mean."""
        return (y_pred if self.sparse_y_pred else fast_argmax(y_pred, self.axis)).astype("int32")

    def _count(self, y_true: jax.Array, y_pred: jax.Array, weight: jax.Array | None) -> jax.Array:
        true = (y_true if self.sparse_y_true else fast_argmax(y_true, self.axis)).astype("int32")
        true, guess = match_shapes(true, self._predicted_classes(y_pred))
        weight = jnp.ones((), self.dtype) if weight is None else weight.astype(self.dtype)
        weight = broadcast_weights(weight, true.shape)
        known = (true >= 0) & (true < self.num_classes) & (guess >= 0) & (guess < self.num_classes)
        if self.ignore_class is not None:
            known &= true != self.ignore_class
        place = jnp.where(
            known, true * self.num_classes + guess, jnp.full_like(true, -1)
        )  # below 0: dropped
        sums = jax.ops.segment_sum(weight.reshape(-1), place.reshape(-1), self.num_classes**2)
        return sums.reshape(self.num_classes, self.num_classes)

    def result(self) -> Any:
        """Return the mean over the target classes that occurred; 0 if none did."""
        return dispatch(_mean_iou, self.total_cm, tuple(self.target_class_ids))

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        return super().get_config() | {
            "num_classes": self.num_classes,
            "target_class_ids": self.target_class_ids,
            "ignore_class": self.ignore_class,
            "sparse_y_true": self.sparse_y_true,
            "sparse_y_pred": self.sparse_y_pred,
            "axis": self.axis,
        }

    def _config_without(self, *names: str) -> dict[str, Any]:
        return {name: value for name, value in IoU.get_config(self).items() if name not in names}


class BinaryIoU(IoU):
    """The mean intersection over union of class 0, class 1 or both, of predictions with a
    threshold.

    Args:
        target_class_ids: The classes whose IoU is averaged: `[0]`, `[1]` or `[0, 1]`.
        threshold: Predictions at or above it mean class 1.
        name: The name of the metric.
        dtype: The dtype of the matrix, int32 by default.

    Example:
        >>> metric = podium.metrics.BinaryIoU(threshold=0.3)
        >>> round(float(metric([0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7])), 4)
        0.3333
    """

    def __init__(
        self,
        target_class_ids: Sequence[int] = (0, 1),
        threshold: float = 0.5,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def _predicted_classes(self, y_pred: jax.Array) -> jax.Array:
        return (y_pred.astype("float32") >= self.threshold).astype("int32")

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        base = self._config_without(
            "num_classes", "ignore_class", "sparse_y_true", "sparse_y_pred", "axis"
        )
        return base | {"threshold": self.threshold}


class MeanIoU(IoU):
    """The mean intersection over union of all classes.

    Args:
        num_classes: How many classes there are.
        name: The name of the metric.
        dtype: The dtype of the matrix, int32 by default. For weights that are not integers pass
            `"float32"`.
        ignore_class: A class index; targets with it are not counted.
        sparse_y_true: Whether targets are class indices; otherwise the largest entry along `axis`
            is taken.
        sparse_y_pred: Whether predictions are class indices; otherwise the largest entry along
            `axis` is taken.
        axis: The dimension of the classes where there is one.

    Example:
        >>> metric = podium.metrics.MeanIoU(num_classes=2)
        >>> round(float(metric([0, 0, 1, 1], [0, 1, 0, 1])), 4)
        0.3333
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ):
        super().__init__(
            num_classes,
            range(num_classes),
            name,
            dtype,
            ignore_class,
            sparse_y_true,
            sparse_y_pred,
            axis,
        )

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        return self._config_without("target_class_ids")


class OneHotIoU(IoU):
    """The mean intersection over union of the classes you name, for one-hot targets.

    Args:
        num_classes: How many classes there are.
        target_class_ids: The classes whose IoU is averaged.
        name: The name of the metric.
        dtype: The dtype of the matrix, int32 by default. For weights that are not integers pass
            `"float32"`.
        ignore_class: A class index; targets with it are not counted.
        sparse_y_pred: Whether predictions are class indices; otherwise the largest entry along
            `axis` is taken.
        axis: The dimension of the classes.

    Example:
        >>> metric = podium.metrics.OneHotIoU(num_classes=3, target_class_ids=[0, 2])
        >>> y_true = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0]])
        >>> y_pred = np.array([[0.2, 0.3, 0.5], [0.1, 0.2, 0.7], [0.5, 0.3, 0.1], [0.1, 0.4, 0.5]])
        >>> round(float(metric(y_true, y_pred)), 4)
        0.1667
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ):
        super().__init__(
            num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis
        )

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        return self._config_without("sparse_y_true")


class OneHotMeanIoU(MeanIoU):
    """The mean intersection over union of all classes, for one-hot targets.

    Args:
        num_classes: How many classes there are.
        name: The name of the metric.
        dtype: The dtype of the matrix, int32 by default. For weights that are not integers pass
            `"float32"`.
        ignore_class: A class index; targets with it are not counted.
        sparse_y_pred: Whether predictions are class indices; otherwise the largest entry along
            `axis` is taken.
        axis: The dimension of the classes.

    Example:
        >>> metric = podium.metrics.OneHotMeanIoU(num_classes=2)
        >>> round(float(metric([[0, 1], [1, 0]], [[0.1, 0.9], [0.8, 0.2]])), 4)
        1.0
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ):
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        return self._config_without("target_class_ids", "sparse_y_true")


def _mean_iou(matrix: jax.Array, classes: tuple[int, ...]) -> jax.Array:
    right = jnp.diagonal(matrix)
    union = jnp.sum(matrix, axis=0) + jnp.sum(matrix, axis=1) - right
    class_indices = np.array(classes)
    right, union = right[class_indices].astype("float32"), union[class_indices].astype("float32")
    occurs = union > 1e-9
    iou = jnp.where(occurs, right / (union + epsilon()), jnp.zeros_like(union))
    return jnp.sum(iou) / (jnp.sum(occurs.astype("float32")) + epsilon())
