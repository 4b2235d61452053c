"""Cross-entropies of one class among several, with one-hot targets: plain and focal."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium.core import epsilon, warn_user
from podium.losses._inputs import loss_function, matched
from podium.losses._wrapper import OwnLoss
from podium.ops.internal import raw_categorical_crossentropy


@loss_function
def categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """Cross-entropy of predicted probabilities against true ones (one-hot, say), summed over the
    classes.

    Args:
        y_true: Probabilities of the classes, one-hot for instance.
        y_pred: The predictions, of the same shape.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: How far, between 0 and 1, to pull targets towards equal probabilities.
        axis: The axis of the classes.

    Returns:
        One value for each sample: the shape of `y_pred` without `axis`.

    Example:
        >>> podium.losses.categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
        array([0.6931472], dtype=float32)
    """
    y_true, y_pred = _matched("categorical_crossentropy", y_true, y_pred, label_smoothing, axis)
    return raw_categorical_crossentropy(y_true, y_pred, from_logits=from_logits, axis=axis)


@loss_function
def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: Any = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """Categorical cross-entropy times `alpha * (1 - p) ** gamma`, with `p` the probability given to
    the class.

    Args:
        y_true: Probabilities of the classes, one-hot for instance.
        y_pred: The predictions, of the same shape.
        alpha: A weight for all classes, or a list of one for each.
        gamma: How strongly easy examples are played down; 0 for not at all.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: How far, between 0 and 1, to pull targets towards equal probabilities.
        axis: The axis of the classes.

    Returns:
        One value for each sample: the shape of `y_pred` without `axis`.

    Example:
        >>> podium.losses.categorical_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy().round(4)
        array([0.0433], dtype=float32)
    """
    y_true, y_pred = _matched(
        "categorical_focal_crossentropy", y_true, y_pred, label_smoothing, axis
    )
    y_pred = jax.nn.softmax(y_pred, axis=axis) if from_logits else y_pred
    y_pred = y_pred / jnp.sum(y_pred, axis=axis, keepdims=True)
    y_pred = jnp.clip(y_pred, epsilon(), 1.0 - epsilon())
    focus = jnp.power(1.0 - y_pred, gamma) * jnp.asarray(alpha, y_pred.dtype)
    return jnp.sum(focus * -y_true * jnp.log(y_pred), axis=axis)


def _matched(
    loss: str, y_true: Any, y_pred: Any, label_smoothing: float, axis: Any
) -> tuple[Any, Any]:
    if isinstance(axis, bool):
        raise ValueError(f"axis={axis!r} was given to {loss}; a whole number was expected.")
    advice = "For class numbers use sparse_categorical_crossentropy, or make them one-hot with `podium.ops.one_hot`."
    y_true, y_pred = matched(loss, y_true, y_pred, advice)
    if y_pred.ndim and y_pred.shape[-1] == 1:
        warn_user(
            f"{loss} was given y_pred of shape {y_pred.shape}, so a single class, which is right "
            "always. Did you mean binary_crossentropy?",
            SyntaxWarning,
        )
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / y_true.shape[axis]
    return y_true, y_pred


class CategoricalCrossentropy(OwnLoss):
    """Cross-entropy of one class among several, with one-hot targets.

    Args:
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: How far, between 0 and 1, to pull targets towards equal probabilities.
        axis: The axis of the classes.
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        dtype: The type of the computation; `podium.core.floatx()` by default.

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
        dtype: Any = None,
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


class CategoricalFocalCrossentropy(OwnLoss):
    """Cross-entropy of one class among several that plays down what is right already, with one-hot
    targets.

    Args:
        alpha: A weight for all classes, or a list of one for each.
        gamma: How strongly easy examples are played down; 0 for not at all.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        label_smoothing: How far, between 0 and 1, to pull targets towards equal probabilities.
        axis: The axis of the classes.
        reduction: How to reduce the values; see `Loss`.
        name: A name.
        dtype: The type of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.CategoricalFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
        0.0433
    """

    def __init__(
        self,
        alpha: Any = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_focal_crossentropy",
        dtype: Any = None,
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
