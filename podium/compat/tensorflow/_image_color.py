"""`tf.image`, the part about what pixels hold: number types, colours, brightness, and comparing
images.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from podium import ops
from podium.compat.tensorflow import _random
from podium.compat.tensorflow._dtypes import number_type
from podium.compat.tensorflow._table import alias
from podium.core import dispatch, is_float_dtype, lift, promote_dtypes


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Any:
    """Change the type and the range: floats are from 0 to 1, integers use their whole range.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.convert_image_dtype(np.array([0, 255], "uint8"), tf.float32).numpy()
        array([0., 1.], dtype=float32)
    """
    old, new = ops.dtype(image), number_type(dtype)
    if old == new:
        return ops.convert_to_tensor(image)
    if is_float_dtype(new):
        scale = 1.0 if is_float_dtype(old) else 1.0 / jnp.iinfo(old).max
        return ops.multiply(ops.cast(image, new), scale) if scale != 1.0 else ops.cast(image, new)
    if is_float_dtype(old):
        scaled = ops.multiply(image, jnp.iinfo(new).max + 0.5)
        return ops.saturate_cast(scaled, new) if saturate else ops.cast(scaled, new)
    return convert_image_dtype(convert_image_dtype(image, "float32"), new, saturate)


def _on_floats(adjust: Any) -> Any:
    """Make an adjustment of float images work on integer images too."""

    def run(image: Any, *amounts: Any) -> Any:
        kind = ops.dtype(image)
        if is_float_dtype(kind):
            return adjust(image, *amounts)
        return convert_image_dtype(
            adjust(convert_image_dtype(image, "float32"), *amounts), kind, saturate=True
        )

    return run


def _contrast(image: Any, factor: Any) -> Any:
    @promote_dtypes
    def run(x: Any, factor: Any) -> Any:
        mean = jnp.mean(jnp.asarray(x), axis=(-3, -2), keepdims=True)
        return (x - mean) * factor + mean

    return dispatch(run, image, factor)


def _in_hsv(change: Any) -> Any:
    def run(image: Any, amount: Any) -> Any:
        parts = ops.unstack(ops.image.rgb_to_hsv(image), axis=-1)
        return ops.image.hsv_to_rgb(ops.stack(change(*parts, amount), axis=-1))

    return _on_floats(run)


_brightness = _on_floats(lambda image, delta: ops.add(image, delta))
_hue = _in_hsv(lambda h, s, v, delta: [ops.mod(ops.add(h, delta), 1.0), s, v])
_saturation = _in_hsv(lambda h, s, v, factor: [h, ops.clip(ops.multiply(s, factor), 0.0, 1.0), v])

_GREY = "tf.fill((1, 1, 3), 0.5)"
adjust_brightness = alias(
    "adjust_brightness(image, delta, name=None)",
    _brightness,
    f"tf.image.adjust_brightness({_GREY}, 0.25).numpy().ravel()",
    "array([0.75, 0.75, 0.75], dtype=float32)",
    "Add to every value.",
)
adjust_contrast = alias(
    "adjust_contrast(images, contrast_factor, name=None)",
    _on_floats(_contrast),
    f"tf.image.adjust_contrast({_GREY}, 2.0).numpy().ravel()",
    "array([0.5, 0.5, 0.5], dtype=float32)",
    "Scale the distance of every value from the channel's mean.",
)
adjust_hue = alias(
    "adjust_hue(image, delta, name=None)",
    _hue,
    f"tf.image.adjust_hue({_GREY}, 0.1).numpy().ravel()",
    "array([0.5, 0.5, 0.5], dtype=float32)",
    "Turn the colour wheel; `delta` is a part of a whole turn.",
)
adjust_saturation = alias(
    "adjust_saturation(image, saturation_factor, name=None)",
    _saturation,
    f"tf.image.adjust_saturation({_GREY}, 0.1).numpy().ravel()",
    "array([0.5, 0.5, 0.5], dtype=float32)",
    "Scale how strong colours are.",
)


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Add a random number between `-max_delta` and `max_delta`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_brightness(tf.zeros((4, 4, 3)), 0.1).shape
        (4, 4, 3)
    """
    return adjust_brightness(image, _random.uniform((), -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Change the contrast by a random factor.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_contrast(tf.zeros((4, 4, 3)), 0.5, 1.5).shape
        (4, 4, 3)
    """
    return adjust_contrast(image, _random.uniform((), lower, upper, seed=seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Turn the colour wheel by a random part of a turn, at most `max_delta` either way.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_hue(tf.zeros((4, 4, 3)), 0.1).shape
        (4, 4, 3)
    """
    return adjust_hue(image, _random.uniform((), -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Change how strong colours are by a random factor.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_saturation(tf.zeros((4, 4, 3)), 0.5, 1.5).shape
        (4, 4, 3)
    """
    return adjust_saturation(image, _random.uniform((), lower, upper, seed=seed))


rgb_to_grayscale = alias("rgb_to_grayscale(images, name=None)", ops.image.rgb_to_grayscale)
rgb_to_hsv = alias("rgb_to_hsv(images, name=None)", ops.image.rgb_to_hsv)
hsv_to_rgb = alias("hsv_to_rgb(images, name=None)", ops.image.hsv_to_rgb)


def _sobel(x: Any) -> Any:
    """Differences between rows and between columns, smoothed across; edges are mirrored."""
    x = jnp.pad(jnp.asarray(x), [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect")
    smooth_x = x[:, :, :-2] + 2 * x[:, :, 1:-1] + x[:, :, 2:]
    smooth_y = x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]
    return jnp.stack(
        [smooth_x[:, 2:] - smooth_x[:, :-2], smooth_y[:, :, 2:] - smooth_y[:, :, :-2]], axis=-1
    )


sobel_edges = alias(
    "sobel_edges(image, name=None)",
    lift(_sobel),
    "tf.image.sobel_edges(tf.zeros((1, 4, 5, 3))).shape",
    "(1, 4, 5, 3, 2)",
    "How fast values change down and to the right, on a new last axis.",
)
grayscale_to_rgb = alias(
    "grayscale_to_rgb(images, name=None)",
    lift(lambda x: jnp.repeat(jnp.asarray(x), 3, axis=-1)),
    "tf.image.grayscale_to_rgb(tf.zeros((4, 4, 1))).shape",
    "(4, 4, 3)",
    "Repeat the one channel three times.",
)

_YUV = np.array(
    [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
    "float32",
)


def _colours(x: Any, matrix: np.ndarray) -> Any:
    return jnp.tensordot(jnp.asarray(x), jnp.asarray(matrix, jnp.asarray(x).dtype), axes=1)


rgb_to_yuv = alias(
    "rgb_to_yuv(images, name=None)",
    lift(lambda x: _colours(x, _YUV)),
    "tf.image.rgb_to_yuv(tf.ones((1, 1, 3))).numpy().round(3).ravel() + 0.0",
    "array([1., 0., 0.], dtype=float32)",
    "From red, green, blue to luma and two chroma channels.",
)
yuv_to_rgb = alias(
    "yuv_to_rgb(images, name=None)",
    lift(lambda x: _colours(x, np.linalg.inv(_YUV))),
    "tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(tf.ones((1, 1, 3)))).numpy().round(3).ravel()",
    "array([1., 1., 1.], dtype=float32)",
    "From luma and chroma back to red, green, blue.",
)


def _standardize(x: Any) -> Any:
    x = jnp.asarray(x).astype("float32")
    axes = (-3, -2, -1)
    smallest = 1.0 / np.sqrt(np.prod(x.shape[-3:]))
    deviation = jnp.maximum(jnp.std(x, axis=axes, keepdims=True), np.float32(smallest))
    return (x - jnp.mean(x, axis=axes, keepdims=True)) / deviation


per_image_standardization = alias(
    "per_image_standardization(image, name=None)",
    lift(_standardize),
    "tf.image.per_image_standardization([[[1.0], [3.0]]]).numpy().ravel()",
    "array([-1.,  1.], dtype=float32)",
    "Bring each image to mean 0 and variance 1.",
)

# --- comparing and measuring


@promote_dtypes
def _psnr(a: Any, b: Any, max_val: float) -> Any:
    error = jnp.mean(
        jnp.square(jnp.asarray(a, "float32") - jnp.asarray(b, "float32")), axis=(-3, -2, -1)
    )
    return 20 * jnp.log(max_val * 1.0) / np.log(10.0) - 10 / np.log(10.0) * jnp.log(error)


psnr = alias(
    "psnr(a, b, max_val, name=None)",
    lift(_psnr),
    "tf.image.psnr(tf.zeros((4, 4, 3)), tf.fill((4, 4, 3), 0.1), 1.0).numpy().round(3)",
    "np.float32(20.0)",
    "Peak signal-to-noise ratio of each pair of images, in decibels.",
)
ssim = alias(
    "ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03)",
    lambda a, b, max_val, size, sigma, k1, k2: ops.image.ssim(a, b, max_val, size, sigma, k1, k2),
    "tf.image.ssim(tf.ones((1, 16, 16, 1)), tf.ones((1, 16, 16, 1)), 1.0).numpy()",
    "array([1.], dtype=float32)",
    "Structural similarity of each pair of images, 1 for equal ones.",
)


def _gradients(x: Any) -> Any:
    x = jnp.asarray(x)
    down = jnp.pad(x[:, 1:] - x[:, :-1], [(0, 0), (0, 1), (0, 0), (0, 0)])
    right = jnp.pad(x[:, :, 1:] - x[:, :, :-1], [(0, 0), (0, 0), (0, 1), (0, 0)])
    return down, right


image_gradients = alias(
    "image_gradients(image, name=None)",
    lift(_gradients),
    "[part.shape for part in tf.image.image_gradients(tf.zeros((1, 4, 4, 3)))]",
    "[(1, 4, 4, 3), (1, 4, 4, 3)]",
    "Differences to the pixel below and to the right.",
)


def _variation(x: Any) -> Any:
    x = jnp.asarray(x)
    axes = (-3, -2, -1)
    down, right = (
        jnp.abs(x[..., 1:, :, :] - x[..., :-1, :, :]),
        jnp.abs(x[..., 1:, :] - x[..., :-1, :]),
    )
    return jnp.sum(down, axis=axes) + jnp.sum(right, axis=axes)


total_variation = alias(
    "total_variation(images, name=None)",
    lift(_variation),
    "tf.image.total_variation([[[1.0], [3.0]]]).numpy()",
    "array(2., dtype=float32)",
    "The sum of differences between neighbours, for each image.",
)
