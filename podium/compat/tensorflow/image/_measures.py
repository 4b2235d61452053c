"""Edges, differences and similarity of images: `tf.image.sobel_edges`, `psnr`, `ssim`, ..."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops
from podium._typing import TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.core import Tensor


@lift_with_promotion
def _sobel(x: TensorLike) -> jax.Array:
    x = jnp.pad(jnp.asarray(x), [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect")
    smooth_x = x[:, :, :-2] + 2 * x[:, :, 1:-1] + x[:, :, 2:]
    smooth_y = x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]
    return jnp.stack(
        [smooth_x[:, 2:] - smooth_x[:, :-2], smooth_y[:, :, 2:] - smooth_y[:, :, :-2]], axis=-1
    )


@fold_constants
def sobel_edges(image: TensorLike, name: str | None = None) -> Tensor:
    """Compute vertical and horizontal Sobel derivatives, on a new last axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.sobel_edges(tf.zeros((1, 4, 5, 3))).shape
        (1, 4, 5, 3, 2)
    """
    return _sobel(image)


@lift_with_promotion
def _standardize(x: TensorLike) -> jax.Array:
    x = jnp.asarray(x).astype("float32")
    axes = (-3, -2, -1)
    smallest = 1.0 / np.sqrt(np.prod(x.shape[-3:]))
    deviation = jnp.maximum(jnp.std(x, axis=axes, keepdims=True), np.float32(smallest))
    return (x - jnp.mean(x, axis=axes, keepdims=True)) / deviation


@fold_constants
def per_image_standardization(image: TensorLike, name: str | None = None) -> Tensor:
    """Scale each image to mean 0 and variance 1.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.per_image_standardization([[[1.0], [3.0]]]).numpy().ravel()
        array([-1.,  1.], dtype=float32)
    """
    return _standardize(image)


@lift_with_promotion
def _psnr(a: TensorLike, b: TensorLike, max_val: float) -> jax.Array:
    error = jnp.mean(
        jnp.square(jnp.asarray(a, "float32") - jnp.asarray(b, "float32")), axis=(-3, -2, -1)
    )
    peak = 20 * jnp.log(max_val * 1.0) / np.log(10.0)
    decibels: jax.Array = peak - 10 / np.log(10.0) * jnp.log(error)
    return decibels


@fold_constants
def psnr(a: TensorLike, b: TensorLike, max_val: float, name: str | None = None) -> Tensor:
    """Compute the peak signal-to-noise ratio of pairs of images, in decibels.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.psnr(tf.zeros((4, 4, 3)), tf.fill((4, 4, 3), 0.1), 1.0).numpy().round(3)
        np.float32(20.0)
    """
    return _psnr(a, b, max_val)


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: float,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Compute the structural similarity of pairs of images; 1 for equal images.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.ssim(tf.ones((1, 16, 16, 1)), tf.ones((1, 16, 16, 1)), 1.0).numpy()
        array([1.], dtype=float32)
    """
    return ops.image.ssim(img1, img2, max_val, filter_size, filter_sigma, k1, k2, "channels_last")


@fold_constants
def image_gradients(image: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Compute the differences to the pixel below and to the pixel on the right.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [part.shape for part in tf.image.image_gradients(tf.zeros((1, 4, 4, 3)))]
        [(1, 4, 4, 3), (1, 4, 4, 3)]
    """
    return _row_differences(image), _column_differences(image)


@lift_with_promotion
def _row_differences(x: TensorLike) -> jax.Array:
    x = jnp.asarray(x)
    return jnp.pad(x[:, 1:] - x[:, :-1], [(0, 0), (0, 1), (0, 0), (0, 0)])


@lift_with_promotion
def _column_differences(x: TensorLike) -> jax.Array:
    x = jnp.asarray(x)
    return jnp.pad(x[:, :, 1:] - x[:, :, :-1], [(0, 0), (0, 0), (0, 1), (0, 0)])


@lift_with_promotion
def _total_variation(x: TensorLike) -> jax.Array:
    x = jnp.asarray(x)
    axes = (-3, -2, -1)
    down, right = (
        jnp.abs(x[..., 1:, :, :] - x[..., :-1, :, :]),
        jnp.abs(x[..., 1:, :] - x[..., :-1, :]),
    )
    return jnp.sum(down, axis=axes) + jnp.sum(right, axis=axes)


@fold_constants
def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Sum the absolute differences between neighboring pixels of each image.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.total_variation([[[1.0], [3.0]]]).numpy()
        array(2., dtype=float32)
    """
    return _total_variation(images)
