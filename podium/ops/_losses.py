"""Cross-entropies, encodings of class numbers, and image quality: what losses and metrics are made
of.
"""

import jax
import jax.numpy as jnp

from podium.core import epsilon, floatx, standardize_dtype
from podium.ops._promotion import to_float
from podium.ops._table import op


def _log_probabilities(output, from_logits, axis):
    output = to_float(output)
    if from_logits:
        return jax.nn.log_softmax(output, axis=axis)
    output = output / jnp.sum(output, axis=axis, keepdims=True)
    return jnp.log(jnp.clip(output, epsilon(), 1.0 - epsilon()))


@op()
def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """Cross-entropy of predicted probabilities against target probabilities (one-hot, say).

    Args:
        target: Tensor of probabilities along `axis`.
        output: Predictions, shaped like `target`.
        from_logits: Whether `output` holds logits rather than probabilities.
        axis: Axis of the classes.

    Returns:
        One number for each sample: the shape of `target` without `axis`.

    Example:
        >>> ops.categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
        array([0.6931472], dtype=float32)
    """
    if target.shape != output.shape or target.ndim < 1:
        raise ValueError(
            "`target` and `output` must have the same shape, of at least one axis, and got "
            f"{target.shape} and {output.shape}. For class numbers use "
            "`ops.sparse_categorical_crossentropy`."
        )
    return -jnp.sum(target * _log_probabilities(output, from_logits, axis), axis=axis)


@op()
def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """Cross-entropy of predicted probabilities against class numbers.

    Args:
        target: Integer tensor of class numbers: the shape of `output` without the last axis (or
            with size 1 there).
        output: Predictions.
        from_logits: Whether `output` holds logits rather than probabilities.
        axis: Axis of the classes.

    Returns:
        One number for each sample.

    Example:
        >>> ops.sparse_categorical_crossentropy([1], [[0.5, 0.5]]).numpy()
        array([0.6931472], dtype=float32)
    """
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


@op()
def binary_crossentropy(target, output, from_logits=False):
    """Cross-entropy of predicted probabilities of yes against yes (1) or no (0).

    Args:
        target: Tensor of 0, 1, or probabilities.
        output: Predictions, shaped like `target`.
        from_logits: Whether `output` holds logits rather than probabilities.

    Returns:
        One number for each element.

    Example:
        >>> ops.binary_crossentropy([0.0, 1.0], [0.5, 0.5]).numpy()
        array([0.6931472, 0.6931472], dtype=float32)
    """
    if target.shape != output.shape:
        raise ValueError(
            f"`target` and `output` must have the same shape, and got {target.shape} and "
            f"{output.shape}. Reshape one of them, often with `ops.expand_dims(target, -1)`."
        )
    output = to_float(output)
    if from_logits:
        return -1.0 * target * jax.nn.log_sigmoid(output) - (1.0 - target) * jax.nn.log_sigmoid(
            -output
        )
    output = jnp.clip(output, epsilon(), 1.0 - epsilon())
    return -(target * jnp.log(output) + (1.0 - target) * jnp.log(1.0 - output))


def _no_sparse(sparse):
    if sparse:
        raise ValueError("sparse results are not supported. Leave `sparse` out.")


@op("x")
def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    """Class numbers as vectors with a single 1. Numbers outside the classes give zeros.

    Args:
        x: Integer tensor.
        num_classes: Number of classes.
        axis: Where the new axis will be.
        dtype: Dtype of the result. `None` means the default float.
        sparse: Sparse results are not supported: must be `False`.

    Example:
        >>> ops.one_hot([1, 0], 3).numpy()
        array([[0., 1., 0.],
               [1., 0., 0.]], dtype=float32)
    """
    _no_sparse(sparse)
    if not jnp.issubdtype(x.dtype, jnp.integer):
        x = x.astype("int32")
    return jax.nn.one_hot(x, num_classes, axis=axis, dtype=standardize_dtype(dtype or floatx()))


@op("inputs")
def multi_hot(inputs, num_classes=None, axis=-1, dtype=None, sparse=False, **kwargs):
    """Sets of class numbers as vectors with a 1 for each member.

    Args:
        inputs: Integer tensor; the axis before the last of the result (the members) is merged.
        num_classes: Number of classes.
        axis: Where the classes are, before merging.
        dtype: Dtype of the result. `None` means the default float.
        sparse: Sparse results are not supported: must be `False`.
        **kwargs: `num_tokens`, the old name of `num_classes`.

    Example:
        >>> ops.multi_hot([[0, 2], [1, 1]], 3).numpy()
        array([[1., 0., 1.],
               [0., 1., 0.]], dtype=float32)
    """
    _no_sparse(sparse)
    num_classes = kwargs.pop("num_tokens", None) if num_classes is None else num_classes
    if num_classes is None or kwargs:
        raise ValueError("`num_classes` must be given, and no unknown arguments.")
    hot = jax.nn.one_hot(
        inputs.astype("int32"), num_classes, axis=axis, dtype=standardize_dtype(dtype or floatx())
    )
    return jnp.max(hot, axis=1 if inputs.ndim > 1 else 0)


@op("x1 x2 max_val")
def psnr(x1, x2, max_val):
    """Peak signal-to-noise ratio of two images, in decibels: higher is more alike.

    Args:
        x1: First image or batch.
        x2: Second one, of the same shape.
        max_val: Largest possible value, such as 1.0 or 255.

    Example:
        >>> ops.psnr(np.zeros((2, 2)), np.full((2, 2), 0.1), max_val=1.0).numpy()
        array(20., dtype=float32)
    """
    if x1.shape != x2.shape:
        raise ValueError(
            f"both images must have the same shape, and got {x1.shape} and {x2.shape}."
        )
    error = jnp.mean(jnp.square(x1 - x2))
    return 20 * jnp.log10(max_val.astype(x2.dtype)) - 10 * jnp.log10(error)
