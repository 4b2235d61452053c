"""Filters of images: blur, edges, structural similarity."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import DTypeLike, TensorLike
from podium.core import Tensor
from podium.ops._arguments import (
    check_images,
    from_channels_last,
    resolve_data_format,
    to_channels_last,
)
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import result_type


def filter_channels(x: Array, kernel: Array, padding: str = "SAME") -> Array:
    """Apply a filter `(rows, columns)` to each channel of a channels-last batch."""
    channels = x.shape[-1]
    filters = jnp.tile(kernel[:, :, None, None], (1, 1, 1, channels)).astype(x.dtype)
    return jax.lax.conv_general_dilated(
        x,
        filters,
        (1, 1),
        padding,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=channels,
    )


def gaussian_window(size: int, sigma: float | Array, dtype: DTypeLike) -> Array:
    """Return a Gaussian window of `size` points that sums to 1."""
    points = jnp.arange(size, dtype=dtype) - (size - 1) / 2
    values = jnp.exp(-0.5 * jnp.square(points / jnp.asarray(sigma, dtype)))
    return values / jnp.sum(values)


def blur_images(x: Array, kernel_size: Sequence[int], sigma: Sequence[float]) -> Array:
    """Blur a channels-last batch; the first number of each pair is for columns, as in Keras."""
    kernel = jnp.outer(
        gaussian_window(kernel_size[1], sigma[1], x.dtype),
        gaussian_window(kernel_size[0], sigma[0], x.dtype),
    )
    return filter_channels(x, kernel)


@array_function("images")
def _gaussian_blur(
    images: Array,
    kernel_size: Sequence[int] = (3, 3),
    sigma: Sequence[float] = (1.0, 1.0),
    data_format: str | None = None,
) -> Array:
    data_format = resolve_data_format(data_format)
    check_images(images)
    x = to_channels_last(images, data_format, axis=-3)
    out = blur_images(x if images.ndim == 4 else x[None], kernel_size, sigma)
    return from_channels_last(out if images.ndim == 4 else out[0], data_format, axis=-3)


@operation(_gaussian_blur)
def gaussian_blur(
    images: TensorLike,
    kernel_size: Sequence[int] = (3, 3),
    sigma: TensorLike = (1.0, 1.0),
    data_format: str | None = None,
) -> Tensor:
    """Blur images with a Gaussian filter.

    Args:
        images: One image or a batch of floats.
        kernel_size: Width and height of the filter.
        sigma: Standard deviation along the width and the height.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> image = np.zeros((3, 3, 1), "float32")
        >>> image[1, 1] = 1.0
        >>> ops.image.gaussian_blur(image).numpy()[..., 0].round(3)
        array([[0.075, 0.124, 0.075],
               [0.124, 0.204, 0.124],
               [0.075, 0.124, 0.075]], dtype=float32)
    """
    return dispatch(_gaussian_blur, images, kernel_size, sigma, data_format)


@array_function("images")
def _sobel_edges(images: Array, data_format: str | None = None) -> Array:
    data_format = resolve_data_format(data_format)
    if images.ndim != 4:
        raise ValueError(f"expected a batch of images (4D) and got shape {images.shape}.")
    x = to_channels_last(images, data_format)
    horizontal = jnp.asarray([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], x.dtype)
    kernels = horizontal.T, horizontal
    edges = [from_channels_last(filter_channels(x, kernel), data_format) for kernel in kernels]
    return jnp.stack(edges, axis=-1)


@operation(_sobel_edges)
def sobel_edges(images: TensorLike, data_format: str | None = None) -> Tensor:
    """Sobel edge detection: vertical and horizontal gradients of each channel.

    Args:
        images: Batch of float images.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Returns:
        Tensor with a new last axis of size 2: vertical and horizontal gradients.

    Example:
        >>> image = np.tile(np.arange(3, dtype="float32")[None, None, :, None], (1, 3, 1, 1))
        >>> ops.image.sobel_edges(image).numpy()[0, 1, 1, 0]
        array([0., 8.], dtype=float32)
    """
    return dispatch(_sobel_edges, images, data_format)


@array_function("image1 image2")
def _ssim(
    image1: Array,
    image2: Array,
    max_val: float = 1.0,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    data_format: str | None = None,
) -> Array:
    data_format = resolve_data_format(data_format)
    check_images(image1, "image1")
    if image1.shape != image2.shape:
        raise ValueError(
            f"both images must have the same shape, and got {image1.shape} and {image2.shape}."
        )
    dtype = result_type(image1.dtype, float)
    a, b = (
        to_channels_last(image.astype(dtype), data_format, axis=-3) for image in (image1, image2)
    )
    a, b = (a, b) if image1.ndim == 4 else (a[None], b[None])
    window = gaussian_window(filter_size, filter_sigma, a.dtype)

    def average(x: Array) -> Array:
        return filter_channels(x, jnp.outer(window, window), "VALID")

    mean_a, mean_b = average(a), average(b)
    variance = average(a * a) - mean_a**2 + average(b * b) - mean_b**2
    covariance = average(a * b) - mean_a * mean_b
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    similarity = (
        (2 * mean_a * mean_b + c1)
        * (2 * covariance + c2)
        / ((mean_a**2 + mean_b**2 + c1) * (variance + c2))
    )
    result = jnp.mean(similarity, axis=(1, 2, 3)).astype(image1.dtype)
    return result if image1.ndim == 4 else result[0]


@operation(_ssim)
def ssim(
    image1: TensorLike,
    image2: TensorLike,
    max_val: float = 1.0,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    data_format: str | None = None,
) -> Tensor:
    """Structural similarity of two images: 1 for identical ones.

    Args:
        image1: One image or a batch.
        image2: Image or batch of the same shape.
        max_val: Largest possible value, such as 1.0 or 255.
        filter_size: Size of the Gaussian window.
        filter_sigma: Standard deviation of the window.
        k1: Small constant of the luminance term.
        k2: Small constant of the contrast term.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Returns:
        A scalar, or one value per image of a batch.

    Example:
        >>> image = np.random.default_rng(0).uniform(size=(16, 16, 1)).astype("float32")
        >>> ops.image.ssim(image, image).numpy().round(4)
        np.float32(1.0)
    """
    return dispatch(_ssim, image1, image2, max_val, filter_size, filter_sigma, k1, k2, data_format)
