"""Cross-entropies of one class among several, with one-hot targets: plain and focal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.core import epsilon, warn_user
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import Values, align_targets, inverts, loss_function
from podium.ops.internal import raw_categorical_crossentropy


@inverts("softmax")
@loss_function
def categorical_crossentropy(
    y_true: Values,
    y_pred: Values,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> jax.Array:
    """Cross-entropy of predicted probabilities against true ones (for example one-hot), summed over
    the classes.

    Args:
        y_true: Probabilities of the classes, for example one-hot.
        y_pred: The predictions, of the same shape.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: The amount, between 0 and 1, by which targets are moved towards equal
            probabilities.
        axis: The axis of the classes.

    Returns:
        One value for each sample: the shape of `y_pred` without `axis`.

    Example:
        >>> podium.losses.categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
        array([0.6931472], dtype=float32)
    """
    y_true, y_pred = _align_and_smooth(
        "categorical_crossentropy", y_true, y_pred, label_smoothing, axis
    )
    return raw_categorical_crossentropy(y_true, y_pred, from_logits=from_logits, axis=axis)


@loss_function
def categorical_focal_crossentropy(
    y_true: Values,
    y_pred: Values,
    alpha: float | Sequence[float] = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> jax.Array:
    """Categorical cross-entropy times `alpha * (1 - p) ** gamma`, with `p` the probability given to
    the class.

    Args:
        y_true: Probabilities of the classes, for example one-hot.
        y_pred: The predictions, of the same shape.
        alpha: A weight for all classes, or a list of one for each.
        gamma: The focusing parameter: larger values reduce the loss of easy examples more; 0 has no
            effect.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: The amount, between 0 and 1, by which targets are moved towards equal
            probabilities.
        axis: The axis of the classes.

    Returns:
        One value for each sample: the shape of `y_pred` without `axis`.

    Example:
        >>> loss = podium.losses.categorical_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]])
        >>> loss.numpy().round(4)
        array([0.0433], dtype=float32)
    """
    y_true, y_pred = _align_and_smooth(
        "categorical_focal_crossentropy", y_true, y_pred, label_smoothing, axis
    )
    y_pred = jax.nn.softmax(y_pred, axis=axis) if from_logits else y_pred
    y_pred = y_pred / jnp.sum(y_pred, axis=axis, keepdims=True)
    y_pred = jnp.clip(y_pred, epsilon(), 1.0 - epsilon())
    focus = jnp.power(1.0 - y_pred, gamma) * jnp.asarray(alpha, y_pred.dtype)
    return jnp.sum(focus * -y_true * jnp.log(y_pred), axis=axis)


def _align_and_smooth(
    loss: str, y_true: Values, y_pred: Values, label_smoothing: float, axis: Any
) -> tuple[Any, Any]:
    if isinstance(axis, bool):
        raise ValueError(f"axis={axis!r} was given to {loss}; an int was expected.")
    advice = (
        "For class indices use sparse_categorical_crossentropy, or convert them with "
        "`podium.ops.one_hot`."
    )
    y_true, y_pred = align_targets(
        loss, y_true, y_pred, advice, keras_broadcasts=loss != "categorical_crossentropy"
    )
    if y_pred.ndim and y_pred.shape[-1] == 1:
        warn_user(
            f"{loss} was given y_pred of shape {y_pred.shape}, so a single class, which is right "
            "always. Did you mean binary_crossentropy?",
            SyntaxWarning,
        )
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / y_true.shape[axis]
    return y_true, y_pred


class CategoricalCrossentropy(BuiltInLoss):
    """Cross-entropy of one class among several, with one-hot targets.

    Args:
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: The amount, between 0 and 1, by which targets are moved towards equal
            probabilities.
        axis: The axis of the classes.
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> loss = podium.losses.CategoricalCrossentropy(from_logits=True)
        >>> round(float(loss([[0.0, 1.0, 0.0]], [[0.0, 2.0, 0.0]])), 4)
        0.2395
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(
            categorical_crossentropy,
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class CategoricalFocalCrossentropy(BuiltInLoss):
    """Cross-entropy of one class among several that plays down what is right already, with one-hot
    targets.

    Args:
        alpha: A weight for all classes, or a list of one for each.
        gamma: The focusing parameter: larger values reduce the loss of easy examples more; 0 has no
            effect.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: The amount, between 0 and 1, by which targets are moved towards equal
            probabilities.
        axis: The axis of the classes.
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> loss = podium.losses.CategoricalFocalCrossentropy()
        >>> round(float(loss([[0.0, 1.0]], [[0.5, 0.5]])), 4)
        0.0433
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_focal_crossentropy",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(
            categorical_focal_crossentropy,
            reduction,
            name,
            dtype,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )
