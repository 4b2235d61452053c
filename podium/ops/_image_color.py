"""Colours and filters of images: colour spaces, blur, edges, similarity."""

import jax
import jax.numpy as jnp

from podium.ops._image_resize import check_images
from podium.ops._layout import channels_last, data_format_of, restore
from podium.ops._promotion import is_integer, result_type
from podium.ops._table import op


def _planes(images, data_format):
    """The three colour planes, and the function that puts planes together again."""
    data_format = data_format_of(data_format)
    check_images(images)
    axis = -1 if data_format == "channels_last" else -3
    if is_integer(images):
        raise ValueError(
            f"expected floats between 0 and 1 and got {images.dtype}. Divide by 255 first."
        )
    if images.shape[axis] != 3:
        raise ValueError(f"expected 3 channels ({data_format}) and got shape {images.shape}.")
    return jnp.moveaxis(images, axis, 0), lambda planes: jnp.stack(planes, axis=axis)


@op("images")
def rgb_to_grayscale(images, data_format=None):
    """Colour images to brightness, with one channel.

    Args:
        images: One image or a batch, with 3 channels (or 1, returned as it is).
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.image.rgb_to_grayscale(np.ones((1, 1, 3), "float32")).numpy().round(3)
        array([[[1.]]], dtype=float32)
    """
    data_format = data_format_of(data_format)
    check_images(images)
    axis = -1 if data_format == "channels_last" else -3
    if images.shape[axis] not in (1, 3):
        raise ValueError(
            f"expected 3 channels, or 1 ({data_format}), and got shape {images.shape}."
        )
    if images.shape[axis] == 1:
        return images
    wide = images.astype(result_type(images.dtype, float))
    gray = jnp.tensordot(wide, jnp.asarray([0.2989, 0.5870, 0.1140], wide.dtype), axes=(axis, 0))
    return jnp.expand_dims(gray, axis).astype(images.dtype)


@op("images")
def rgb_to_hsv(images, data_format=None):
    """Red, green and blue to hue, saturation and value, all between 0 and 1.

    Args:
        images: One image or a batch of floats.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.image.rgb_to_hsv(np.array([[[0.0, 1.0, 0.0]]])).numpy().ravel().round(3)
        array([0.333, 1.   , 1.   ], dtype=float32)
    """
    planes, joined = _planes(images, data_format)
    red, green, blue = jnp.where(jnp.abs(planes) < jnp.finfo(planes.dtype).eps, 0, planes)
    value = jnp.maximum(jnp.maximum(red, green), blue)
    spread = value - jnp.minimum(jnp.minimum(red, green), blue)
    safe_spread = 6.0 * jnp.where(spread > 0, spread, 1)
    saturation = jnp.where(value > 0, spread / jnp.where(value > 0, value, 1), 0)
    hue = jnp.where(
        value == green, (blue - red) / safe_spread + 2 / 6, (red - green) / safe_spread + 4 / 6
    )
    hue = jnp.where(value == red, (green - blue) / safe_spread, hue)
    hue = jnp.where(spread > 0, hue, 0) + (hue < 0)
    return joined([hue.astype(value.dtype), saturation, value])


@op("images")
def hsv_to_rgb(images, data_format=None):
    """Hue, saturation and value to red, green and blue, all between 0 and 1.

    Args:
        images: One image or a batch of floats.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.image.hsv_to_rgb(np.array([[[1 / 3, 1.0, 1.0]]])).numpy().ravel().round(3)
        array([0., 1., 0.], dtype=float32)
    """
    (hue, saturation, value), joined = _planes(images, data_format)
    sector = jnp.mod(hue, 1.0) * 6.0
    strengths = [
        jnp.abs(sector - 3.0) - 1.0,
        2.0 - jnp.abs(sector - 2.0),
        2.0 - jnp.abs(sector - 4.0),
    ]
    return joined(
        [value * (1.0 - saturation + saturation * jnp.clip(s, 0.0, 1.0)) for s in strengths]
    )


def _filtered(x, kernel, padding="SAME"):
    """One small filter `(rows, columns)` over each channel of a channels-last batch."""
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


def _bell(size, sigma, dtype):
    points = jnp.arange(size, dtype=dtype) - (size - 1) / 2
    values = jnp.exp(-0.5 * jnp.square(points / sigma))
    return values / jnp.sum(values)


def blur(x, kernel_size, sigma):
    """Gaussian blur of a channels-last batch; the first number of each pair is for columns, as in
    Keras.
    """
    kernel = jnp.outer(
        _bell(kernel_size[1], sigma[1], x.dtype), _bell(kernel_size[0], sigma[0], x.dtype)
    )
    return _filtered(x, kernel)


@op("images")
def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    """Blur images with a bell-shaped filter.

    Args:
        images: One image or a batch of floats.
        kernel_size: Width and height of the filter.
        sigma: Spread along the width and the height.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> image = np.zeros((3, 3, 1), "float32")
        >>> image[1, 1] = 1.0
        >>> ops.image.gaussian_blur(image).numpy()[..., 0].round(3)
        array([[0.075, 0.124, 0.075],
               [0.124, 0.204, 0.124],
               [0.075, 0.124, 0.075]], dtype=float32)
    """
    data_format = data_format_of(data_format)
    check_images(images)
    x = channels_last(images, data_format, axis=-3)
    out = blur(x if images.ndim == 4 else x[None], kernel_size, sigma)
    return restore(out if images.ndim == 4 else out[0], data_format, axis=-3)


@op("images")
def sobel_edges(images, data_format=None):
    """Vertical and horizontal change of brightness around each pixel.

    Args:
        images: Batch of float images.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Returns:
        Tensor with a new last axis of size 2: change along rows, and along columns.

    Example:
        >>> image = np.tile(np.arange(3, dtype="float32")[None, None, :, None], (1, 3, 1, 1))
        >>> ops.image.sobel_edges(image).numpy()[0, 1, 1, 0]
        array([0., 8.], dtype=float32)
    """
    data_format = data_format_of(data_format)
    if images.ndim != 4:
        raise ValueError(f"expected a batch of images (4D) and got shape {images.shape}.")
    x = channels_last(images, data_format)
    across = jnp.asarray([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], x.dtype)
    edges = [restore(_filtered(x, kernel), data_format) for kernel in (across.T, across)]
    return jnp.stack(edges, axis=-1)


@op("image1 image2")
def ssim(
    image1,
    image2,
    max_val=1.0,
    filter_size=11,
    filter_sigma=1.5,
    k1=0.01,
    k2=0.03,
    data_format=None,
):
    """Structural similarity of two images: 1 for equal ones.

    Args:
        image1: One image or a batch.
        image2: The other, of the same shape.
        max_val: Largest possible value, such as 1.0 or 255.
        filter_size: Size of the window that compares.
        filter_sigma: Spread of the window.
        k1: Small constant for brightness.
        k2: Small constant for contrast.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Returns:
        One number, or one for each image of a batch.

    Example:
        >>> image = np.random.default_rng(0).uniform(size=(16, 16, 1)).astype("float32")
        >>> ops.image.ssim(image, image).numpy().round(4)
        np.float32(1.0)
    """
    data_format = data_format_of(data_format)
    check_images(image1, "image1")
    if image1.shape != image2.shape:
        raise ValueError(
            f"both images must have the same shape, and got {image1.shape} and {image2.shape}."
        )
    dtype = result_type(image1.dtype, float)
    a, b = (channels_last(image.astype(dtype), data_format, axis=-3) for image in (image1, image2))
    a, b = (a, b) if image1.ndim == 4 else (a[None], b[None])
    bell = _bell(filter_size, filter_sigma, a.dtype)
    average = lambda x: _filtered(x, jnp.outer(bell, bell), "VALID")  # noqa: E731
    mean_a, mean_b = average(a), average(b)
    spread = average(a * a) - mean_a**2 + average(b * b) - mean_b**2
    together = average(a * b) - mean_a * mean_b
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    similar = (
        (2 * mean_a * mean_b + c1)
        * (2 * together + c2)
        / ((mean_a**2 + mean_b**2 + c1) * (spread + c2))
    )
    result = jnp.mean(similar, axis=(1, 2, 3)).astype(image1.dtype)
    return result if image1.ndim == 4 else result[0]
