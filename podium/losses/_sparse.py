"""Cross-entropies of one class among several, with class indices as targets.

An index out of range yields NaN for its sample, where one-hot arithmetic would silently yield 0.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.core import warn_user
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import (
    MaskedValues,
    Values,
    cast_to_float,
    inverts,
    loss_function,
)
from podium.ops.internal import raw_sparse_categorical_crossentropy


@inverts("softmax")
@loss_function
def sparse_categorical_crossentropy(
    y_true: Values,
    y_pred: Values,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
) -> MaskedValues:
    """Cross-entropy of predicted probabilities against class indices.

    A class index outside `0 ... classes - 1` yields NaN, unless it is `ignore_class`.

    Args:
        y_true: Class indices: the shape of `y_pred` without `axis`, or with length 1 there.
        y_pred: The predictions.
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        ignore_class: The class index of samples to ignore, such as -1 for padding.
        axis: The axis of the classes.

    Returns:
        One value for each sample; with `ignore_class`, a mask of those that count goes with them.

    Example:
        >>> y_pred = [[0.5, 0.5, 0.0], [0.1, 0.1, 0.8]]
        >>> podium.losses.sparse_categorical_crossentropy([1, 2], y_pred).numpy().round(4)
        array([0.6931, 0.2231], dtype=float32)
    """
    labels, y_pred, known = _labels("sparse_categorical_crossentropy", y_true, y_pred, axis)
    if ignore_class is None:
        values = raw_sparse_categorical_crossentropy(labels, y_pred, from_logits=from_logits)
        return jnp.where(known, values, jnp.nan)
    counts = labels != ignore_class
    y_pred = jnp.where(
        counts[..., None], y_pred, 1.0
    )  # so that what is ignored has finite gradients
    values = raw_sparse_categorical_crossentropy(
        jnp.where(counts, labels, 0), y_pred, from_logits=from_logits
    )
    return jnp.where(counts, jnp.where(known, values, jnp.nan), 0.0), counts


@loss_function
def categorical_generalized_cross_entropy(y_true: Values, y_pred: Values, q: float) -> jax.Array:
    """`(1 - p ** q) / q`, with `p` the probability given to the right class: forgives wrong labels.

    Between cross-entropy (`q` near 0) and the mean absolute error (`q` near 1).

    Args:
        y_true: Class indices: the shape of `y_pred` without its last axis, or with length 1 there.
        y_pred: Probabilities of the classes.
        q: A number between 0 and 1.

    Returns:
        One value for each sample.

    Example:
        >>> podium.losses.categorical_generalized_cross_entropy([1], [[0.75, 0.25]], q=0.5).numpy()
        array([1.], dtype=float32)
    """
    labels, y_pred, known = _labels("categorical_generalized_cross_entropy", y_true, y_pred, -1)
    right = jnp.take_along_axis(y_pred, jnp.where(known, labels, 0)[..., None], axis=-1)[..., 0]
    return jnp.where(known, (1.0 - jnp.power(right, q)) / q, jnp.nan)


def _labels(loss: str, y_true: Values, y_pred: Values, axis: int) -> tuple[Any, Any, Any]:
    """Return class indices, predictions with the classes last, and which numbers are classes;
    raise for shapes that do not match.
    """
    if not y_pred.ndim or not -y_pred.ndim <= axis < y_pred.ndim:
        raise ValueError(
            f"{loss} was given y_pred of shape {y_pred.shape}, which has no axis {axis} for the "
            "classes."
        )
    pred = jnp.moveaxis(cast_to_float(y_pred), axis, -1)
    expected = pred.shape[:-1]
    labels = (
        jnp.squeeze(y_true, axis)
        if y_true.ndim == y_pred.ndim and y_true.shape[axis] == 1
        else y_true
    )
    if labels.shape != expected:
        one_hot = (
            " Targets shaped like the predictions look one-hot: use categorical_crossentropy for "
            "those."
        )
        raise ValueError(
            f"{loss} was given y_true of shape {y_true.shape} and y_pred of shape "
            f"{y_pred.shape}; class indices of shape "
            f"{expected} were expected.{one_hot if y_true.shape == y_pred.shape else ''}"
        )
    classes = pred.shape[-1]
    if classes == 1:
        warn_user(
            f"{loss} was given y_pred of shape {y_pred.shape}, so a single class, which is right "
            "always. Use one unit per class in the last layer, or use "
            "binary_crossentropy.",
            SyntaxWarning,
        )
    labels = labels if jnp.issubdtype(labels.dtype, jnp.floating) else labels.astype("int32")
    known = (labels >= 0) & (labels < classes)  # before the cast: NaN is not a class
    return labels.astype("int32"), pred, known


class SparseCategoricalCrossentropy(BuiltInLoss):
    """Cross-entropy of one class among several, with class indices as targets.

    A class index outside `0 ... classes - 1` yields NaN, unless it is `ignore_class` or its
    sample's weight is 0.

    Args:
        from_logits: Whether `y_pred` holds logits rather than probabilities.
        ignore_class: The class index of samples to ignore, such as -1 for padding.
        reduction: How to reduce the values; see `Loss`.
        axis: The axis of the classes.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> loss = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
        >>> round(float(loss([1], [[0.0, 2.0, 0.0]])), 4)
        0.2395
        >>> loss([[0, 1, 0]], [[0.0, 2.0, 0.0]])
        Traceback (most recent call last):
        ValueError: sparse_categorical_crossentropy was given y_true of shape (1, 3) and y_pred of
            shape (1, 3); \
class indices of shape (1,) were expected. Targets shaped like the predictions look one-hot: use \
categorical_crossentropy for those.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(
            sparse_categorical_crossentropy,
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )


class CategoricalGeneralizedCrossEntropy(BuiltInLoss):
    """`(1 - p ** q) / q`, with `p` the probability given to the right class: forgives wrong labels.

    Args:
        q: A number between 0 (cross-entropy) and 1 (mean absolute error), both excluded.
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> float(podium.losses.CategoricalGeneralizedCrossEntropy()([1], [[0.75, 0.25]]))
        1.0
    """

    def __init__(
        self,
        q: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_generalized_cross_entropy",
        dtype: DTypeLike | None = None,
    ):
        if not 0 < q < 1:
            raise ValueError(
                f"q={q!r} was given; a number between 0 and 1, both excluded, was expected."
            )
        super().__init__(categorical_generalized_cross_entropy, reduction, name, dtype, q=q)
