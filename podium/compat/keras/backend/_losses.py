"""Crossentropies of `keras.backend`: one value per element or sample, as in Keras 2."""

from __future__ import annotations

from collections.abc import Sequence

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor, epsilon
from podium.ops.internal import prefer_logits


def _clip_probabilities(output: TensorLike) -> Tensor:
    return ops.clip(output, epsilon(), 1.0 - epsilon())


def binary_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False
) -> Tensor:
    """Return the crossentropy of each element.

    Args:
        target: Values from 0 to 1.
        output: Predictions, of the same shape.
        from_logits: Whether the predictions are logits, not probabilities.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.binary_crossentropy([0.0, 1.0], [0.5, 0.5]).numpy().round(4)
        array([0.6931, 0.6931], dtype=float32)
    """
    output, from_logits = prefer_logits("binary_crossentropy", "sigmoid", output, from_logits)
    if from_logits:
        return ops.binary_crossentropy(target, output, from_logits=True)
    output, fuzz = _clip_probabilities(output), epsilon()
    is_one = ops.multiply(target, ops.log(ops.add(output, fuzz)))
    is_zero = ops.multiply(ops.subtract(1, target), ops.log(ops.add(ops.subtract(1, output), fuzz)))
    return ops.negative(ops.add(is_one, is_zero))


def categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Return the crossentropy of each sample, from vectors of class probabilities.

    Args:
        target: Probabilities of the classes.
        output: Predictions, of the same shape; their sums are scaled to 1.
        from_logits: Whether the predictions are logits, not probabilities.
        axis: The axis of the classes.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy().round(4)
        array([0.6931], dtype=float32)
    """
    return ops.categorical_crossentropy(target, output, from_logits, axis)


def sparse_categorical_crossentropy(
    target: TensorLike,
    output: TensorLike,
    from_logits: bool = False,
    axis: int = -1,
    ignore_class: int | None = None,
) -> Tensor:
    """Return the crossentropy of each sample, from class numbers.

    Args:
        target: Class numbers.
        output: Predictions, with one dimension more. Unlike those of `categorical_crossentropy`,
            their sums are not scaled to 1.
        from_logits: Whether the predictions are logits, not probabilities.
        axis: The axis of the classes.
        ignore_class: A class whose samples have the value 0.

    Example:
        >>> from podium.compat import keras
        >>> losses = keras.backend.sparse_categorical_crossentropy(
        ...     [1, -1], [[0.5, 0.5], [0.1, 0.9]], ignore_class=-1
        ... )
        >>> losses.numpy().round(4)
        array([0.6931, 0.    ], dtype=float32)
    """
    output, from_logits = prefer_logits(
        "sparse_categorical_crossentropy", "softmax", output, from_logits, axis
    )
    if not from_logits:
        output = ops.log(_clip_probabilities(output))
    output = ops.moveaxis(output, axis, -1)
    target, shape = ops.cast(target, "int32"), ops.shape(output)
    if len(ops.shape(target)) == len(shape):
        target = ops.squeeze(target, -1)
    kept = None if ignore_class is None else ops.not_equal(target, ignore_class)
    if kept is not None:
        target = ops.where(kept, target, 0)
    losses = ops.sparse_categorical_crossentropy(target, output, from_logits=True)
    return losses if kept is None else ops.where(kept, losses, 0.0)


def binary_focal_crossentropy(
    target: TensorLike,
    output: TensorLike,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
) -> Tensor:
    """Return the crossentropy of each element, lowered for those that are predicted well.

    Args:
        target: 0 or 1.
        output: Predictions, of the same shape.
        apply_class_balancing: Whether the classes have weights.
        alpha: The weight of class 1; that of class 0 is `1 - alpha`.
        gamma: The power of the factor for predictions that are good; 0 means no factor.
        from_logits: Whether the predictions are logits, not probabilities.

    Example:
        >>> from podium.compat import keras
        >>> losses = keras.backend.binary_focal_crossentropy([0.0, 1.0], [0.1, 0.5])
        >>> losses.numpy().round(4)
        array([0.0011, 0.1733], dtype=float32)
    """
    probabilities = ops.sigmoid(output) if from_logits else output
    not_target = ops.subtract(1, target)
    is_right = ops.add(
        ops.multiply(target, probabilities),
        ops.multiply(not_target, ops.subtract(1, probabilities)),
    )
    factor = ops.power(ops.subtract(1.0, is_right), gamma)
    losses = ops.multiply(factor, binary_crossentropy(target, output, from_logits))
    if not apply_class_balancing:
        return losses
    weights = ops.add(ops.multiply(target, alpha), ops.multiply(not_target, 1 - alpha))
    return ops.multiply(weights, losses)


def categorical_focal_crossentropy(
    target: TensorLike,
    output: TensorLike,
    alpha: float | Sequence[float] = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    axis: int = -1,
) -> Tensor:
    """Return the crossentropy of each sample, lowered for those that are predicted well.

    Args:
        target: Probabilities of the classes.
        output: Predictions, of the same shape; their sums are scaled to 1.
        alpha: The weight of all classes, or one for each.
        gamma: The power of the factor for predictions that are good; 0 means no factor.
        from_logits: Whether the predictions are logits, not probabilities.
        axis: The axis of the classes.

    Example:
        >>> from podium.compat import keras
        >>> losses = keras.backend.categorical_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]])
        >>> losses.numpy().round(4)
        array([0.0433], dtype=float32)
    """
    output, from_logits = prefer_logits(
        "categorical_focal_crossentropy", "softmax", output, from_logits, axis
    )
    if from_logits:
        output = ops.softmax(output, axis)
    total = ops.sum(output, axis=axis, keepdims=True)
    output = _clip_probabilities(ops.divide(output, total))
    losses = ops.negative(ops.multiply(target, ops.log(output)))
    factor = ops.multiply(ops.power(ops.subtract(1.0, output), gamma), alpha)
    return ops.sum(ops.multiply(factor, losses), axis=axis)
