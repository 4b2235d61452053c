"""Cross-entropies of yes-or-no answers: plain and focal."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import (
    Values,
    align_targets,
    inverts,
    loss_function,
    mean_over_axis,
)
from podium.ops.internal import raw_binary_crossentropy


@inverts("sigmoid")
@loss_function
def binary_crossentropy(
    y_true: Values,
    y_pred: Values,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> jax.Array:
    """Cross-entropy of predicted probabilities of yes against yes (1) or no (0), the mean over
    `axis`.

    Args:
        y_true: Targets of 0 and 1, or probabilities.
        y_pred: The predictions, of the same shape.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: The amount, between 0 and 1, by which targets are moved towards 0.5.
        axis: The axis to average over.

    Returns:
        One value for each sample: the shape of `y_pred` without `axis`.

    Example:
        >>> podium.losses.binary_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
        array([0.6931472], dtype=float32)
    """
    y_true, y_pred = align_targets("binary_crossentropy", y_true, y_pred, _ADVICE)
    return mean_over_axis(
        raw_binary_crossentropy(
            _smooth_labels(y_true, label_smoothing), y_pred, from_logits=from_logits
        ),
        axis,
    )


@inverts("sigmoid")
@loss_function
def binary_focal_crossentropy(
    y_true: Values,
    y_pred: Values,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> jax.Array:
    """Binary cross-entropy times `(1 - p) ** gamma`, with `p` the probability given to the right
    answer.

    Args:
        y_true: Targets of 0 and 1, or probabilities.
        y_pred: The predictions, of the same shape.
        apply_class_balancing: Whether to weight ones by `alpha` and zeros by `1 - alpha`.
        alpha: The weight of ones, if balancing.
        gamma: The focusing parameter: larger values reduce the loss of easy examples more; 0 has no
            effect.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: The amount, between 0 and 1, by which targets are moved towards 0.5.
        axis: The axis to average over.

    Returns:
        One value for each sample: the shape of `y_pred` without `axis`.

    Example:
        >>> podium.losses.binary_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy().round(4)
        array([0.1733], dtype=float32)
    """
    y_true, y_pred = align_targets("binary_focal_crossentropy", y_true, y_pred, _ADVICE)
    y_true = _smooth_labels(y_true, label_smoothing)
    shares = jax.nn.sigmoid(y_pred) if from_logits else y_pred
    right = y_true * shares + (1.0 - y_true) * (1.0 - shares)
    values = jnp.power(1.0 - right, gamma) * raw_binary_crossentropy(
        y_true, y_pred, from_logits=from_logits
    )
    if apply_class_balancing:
        values = values * (y_true * alpha + (1.0 - y_true) * (1.0 - alpha))
    return mean_over_axis(values, axis)


_ADVICE = (
    "For one-hot targets of several classes use categorical_crossentropy, for class "
    "numbers sparse_categorical_crossentropy; "
    "for a single yes or no, the model's last layer has one unit."
)


def _smooth_labels(y_true: Any, label_smoothing: float) -> Any:
    return y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing if label_smoothing else y_true


class BinaryCrossentropy(BuiltInLoss):
    """Cross-entropy of yes-or-no answers.

    Args:
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: The amount, between 0 and 1, by which targets are moved towards 0.5.
        axis: The axis to average over.
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.BinaryCrossentropy()([[0.0], [1.0]], [[0.5], [0.5]])), 4)
        0.6931
        >>> loss = podium.losses.BinaryCrossentropy(from_logits=True)
        >>> round(float(loss([[0.0], [1.0]], [[0.0], [2.0]])), 4)
        0.41
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_crossentropy",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(
            binary_crossentropy,
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class BinaryFocalCrossentropy(BuiltInLoss):
    """Cross-entropy of yes-or-no answers that plays down what is right already.

    Args:
        apply_class_balancing: Whether to weight ones by `alpha` and zeros by `1 - alpha`.
        alpha: The weight of ones, if balancing.
        gamma: The focusing parameter: larger values reduce the loss of easy examples more; 0 has no
            effect.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: The amount, between 0 and 1, by which targets are moved towards 0.5.
        axis: The axis to average over.
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.BinaryFocalCrossentropy()([[0.0], [1.0]], [[0.5], [0.5]])), 4)
        0.1733
    """

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_focal_crossentropy",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(
            binary_focal_crossentropy,
            reduction,
            name,
            dtype,
            apply_class_balancing=apply_class_balancing,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )
