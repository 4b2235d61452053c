"""Cross-entropies, and the peak signal-to-noise ratio of images."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor, epsilon
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float
from podium.ops.nn._probability_logits import prefer_logits


def _log_probabilities(output: Array, from_logits: bool, axis: int) -> Array:
    output = to_float(output)
    if from_logits:
        return jax.nn.log_softmax(output, axis=axis)
    output = output / jnp.sum(output, axis=axis, keepdims=True)
    return jnp.log(jnp.clip(output, epsilon(), 1.0 - epsilon()))


@array_function()
def _binary_crossentropy(target: Array, output: Array, from_logits: bool = False) -> Array:
    if target.shape != output.shape:
        raise ValueError(
            f"`target` and `output` must have the same shape, and got {target.shape} and "
            f"{output.shape}. Reshape one of them, often with `ops.expand_dims(target, -1)`."
        )
    output = to_float(output)
    if from_logits:
        positive, negative = jax.nn.log_sigmoid(output), jax.nn.log_sigmoid(-output)
        return -1.0 * target * positive - (1.0 - target) * negative
    output = jnp.clip(output, epsilon(), 1.0 - epsilon())
    return -(target * jnp.log(output) + (1.0 - target) * jnp.log(1.0 - output))


@operation(_binary_crossentropy)
def binary_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False
) -> Tensor:
    """Binary cross-entropy between target and predicted probabilities.

    Args:
        target: Tensor of 0, 1, or probabilities.
        output: Predictions, shaped like `target`.
        from_logits: Whether `output` holds logits rather than probabilities.

    Returns:
        One value per element.

    Example:
        >>> ops.binary_crossentropy([0.0, 1.0], [0.5, 0.5]).numpy()
        array([0.6931472, 0.6931472], dtype=float32)
    """
    output, from_logits = prefer_logits("binary_crossentropy", "sigmoid", output, from_logits)
    return dispatch(_binary_crossentropy, target, output, from_logits)


@array_function()
def _categorical_crossentropy(
    target: Array, output: Array, from_logits: bool = False, axis: int = -1
) -> Array:
    if target.shape != output.shape or target.ndim < 1:
        raise ValueError(
            "`target` and `output` must have the same shape, of at least one axis, and got "
            f"{target.shape} and {output.shape}. For integer labels use "
            "`ops.sparse_categorical_crossentropy`."
        )
    return -jnp.sum(target * _log_probabilities(output, from_logits, axis), axis=axis)


@operation(_categorical_crossentropy)
def categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Cross-entropy between target and predicted class probabilities.

    Args:
        target: Tensor of probabilities along `axis`.
        output: Predictions, shaped like `target`.
        from_logits: Whether `output` holds logits rather than probabilities.
        axis: Axis of the classes.

    Returns:
        One value per sample: the shape of `target` without `axis`.

    Example:
        >>> ops.categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
        array([0.6931472], dtype=float32)
    """
    output, from_logits = prefer_logits(
        "categorical_crossentropy", "softmax", output, from_logits, axis
    )
    return dispatch(_categorical_crossentropy, target, output, from_logits, axis)


@array_function()
def _sparse_categorical_crossentropy(
    target: Array, output: Array, from_logits: bool = False, axis: int = -1
) -> Array:
    target = target.astype("int32")
    if target.ndim == output.ndim and target.ndim and target.shape[-1] == 1:
        target = jnp.squeeze(target, axis=-1)
    if output.ndim < 1 or target.shape != output.shape[:-1]:
        raise ValueError(
            "the shape of `target` must be that of `output` without its last axis (the "
            f"classes), and got {target.shape} and "
            f"{output.shape}. For one-hot targets use `ops.categorical_crossentropy`."
        )
    log_probabilities = _log_probabilities(output, from_logits, axis)
    classes = jax.nn.one_hot(target, output.shape[axis], axis=axis, dtype=log_probabilities.dtype)
    return -jnp.sum(classes * log_probabilities, axis=axis)


@operation(_sparse_categorical_crossentropy)
def sparse_categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Cross-entropy between integer class labels and predicted class probabilities.

    Args:
        target: Integer tensor of labels: the shape of `output` without its last axis, or with
            size 1 there.
        output: Predictions.
        from_logits: Whether `output` holds logits rather than probabilities.
        axis: Axis of the classes.

    Returns:
        One value per sample.

    Example:
        >>> ops.sparse_categorical_crossentropy([1], [[0.5, 0.5]]).numpy()
        array([0.6931472], dtype=float32)
    """
    output, from_logits = prefer_logits(
        "sparse_categorical_crossentropy", "softmax", output, from_logits, axis
    )
    return dispatch(_sparse_categorical_crossentropy, target, output, from_logits, axis)


@array_function("x1 x2 max_val")
def _psnr(x1: Array, x2: Array, max_val: Array) -> Array:
    if x1.shape != x2.shape:
        raise ValueError(
            f"both images must have the same shape, and got {x1.shape} and {x2.shape}."
        )
    error = jnp.mean(jnp.square(x1 - x2))
    return 20 * jnp.log10(max_val.astype(x2.dtype)) - 10 * jnp.log10(error)


@operation(_psnr)
def psnr(x1: TensorLike, x2: TensorLike, max_val: TensorLike) -> Tensor:
    """Peak signal-to-noise ratio of two images, in decibels; higher means more similar.

    Args:
        x1: First image or batch.
        x2: Second image or batch, of the same shape.
        max_val: Largest possible value, such as 1.0 or 255.

    Example:
        >>> ops.psnr(np.zeros((2, 2)), np.full((2, 2), 0.1), max_val=1.0).numpy()
        array(20., dtype=float32)
    """
    return dispatch(_psnr, x1, x2, max_val)
