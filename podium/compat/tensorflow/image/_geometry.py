"""Geometry of images in `tf.image`: sizes, crops, padding, flips, patches."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import ShapeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.compat.tensorflow._shapes import static_shape
from podium.compat.tensorflow.random._random import seed_generator
from podium.core import Tensor, check_choice, draw_seed, is_float_dtype


class ResizeMethod:
    """The interpolation methods of `tf.image.resize`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.ResizeMethod.BILINEAR
        'bilinear'
    """

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    AREA = "area"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def resize(
    images: TensorLike,
    size: ShapeLike,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize images. The result is float32 unless the method is "nearest".

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.resize(tf.zeros((2, 8, 8, 3)), (4, 6)).shape
        (2, 4, 6, 3)
    """
    height, width = static_shape(size)
    if preserve_aspect_ratio:
        image_height, image_width = _image_size(images)
        scale = min(height / image_height, width / image_width)
        height, width = round(image_height * scale), round(image_width * scale)
    if method != "nearest" and not is_float_dtype(ops.dtype(images)):
        images = ops.cast(images, "float32")
    return ops.image.resize(
        images,
        (height, width),
        interpolation=method,
        antialias=antialias,
        data_format="channels_last",
    )


def _image_size(image: TensorLike) -> tuple[int, int]:
    height, width = static_shape(ops.shape(image)[-3:-1])
    return height, width


def crop_to_bounding_box(
    image: TensorLike,
    offset_height: int,
    offset_width: int,
    target_height: int,
    target_width: int,
    name: str | None = None,
) -> Tensor:
    """Crop images to a box.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.crop_to_bounding_box(tf.zeros((8, 8, 3)), 1, 2, 4, 5).shape
        (4, 5, 3)
    """
    height, width = static_shape((target_height, target_width))

    @lift_with_promotion
    def crop(image: TensorLike, top: TensorLike, left: TensorLike) -> jax.Array:
        image = jax.lax.dynamic_slice_in_dim(jnp.asarray(image), jnp.asarray(top), height, axis=-3)
        return jax.lax.dynamic_slice_in_dim(image, jnp.asarray(left), width, axis=-2)

    return crop(image, offset_height, offset_width)


def pad_to_bounding_box(
    image: TensorLike,
    offset_height: int,
    offset_width: int,
    target_height: int,
    target_width: int,
    name: str | None = None,
) -> Tensor:
    """Pad images with zeros to a larger size.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.pad_to_bounding_box(tf.ones((2, 2, 3)), 1, 1, 4, 5).shape
        (4, 5, 3)
    """
    top, left = static_shape((offset_height, offset_width))
    height, width = static_shape((target_height, target_width))
    image_height, image_width = _image_size(image)
    margins = [(top, height - top - image_height), (left, width - left - image_width)]
    if min(*margins[0], *margins[1]) < 0:
        raise ValueError(
            f"An image of {image_height}x{image_width} at ({top}, {left}) does not fit into "
            f"{height}x{width}; make the box larger or resize first."
        )
    batch_margins = [(0, 0)] * (len(ops.shape(image)) - 3)

    @lift_with_promotion
    def pad(image: TensorLike) -> jax.Array:
        return jnp.pad(jnp.asarray(image), [*batch_margins, *margins, (0, 0)])

    return pad(image)


def central_crop(image: TensorLike, central_fraction: float) -> Tensor:
    """Crop images to their central fraction.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.central_crop(tf.zeros((8, 8, 3)), 0.5).shape
        (4, 4, 3)
    """
    image_height, image_width = _image_size(image)
    top, left = (
        int((image_height - image_height * central_fraction) / 2),
        int((image_width - image_width * central_fraction) / 2),
    )
    return crop_to_bounding_box(image, top, left, image_height - 2 * top, image_width - 2 * left)


def resize_with_crop_or_pad(image: TensorLike, target_height: int, target_width: int) -> Tensor:
    """Crop or pad images at all sides; the center stays in the center.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.resize_with_crop_or_pad(tf.zeros((8, 2, 3)), 4, 4).shape
        (4, 4, 3)
    """
    height, width = static_shape((target_height, target_width))
    image_height, image_width = _image_size(image)
    cropped = crop_to_bounding_box(
        image,
        max(image_height - height, 0) // 2,
        max(image_width - width, 0) // 2,
        min(image_height, height),
        min(image_width, width),
    )
    return pad_to_bounding_box(
        cropped, max(height - image_height, 0) // 2, max(width - image_width, 0) // 2, height, width
    )


def resize_with_pad(
    image: TensorLike,
    target_height: int,
    target_width: int,
    method: str = "bilinear",
    antialias: bool = False,
) -> Tensor:
    """Resize images, keeping the aspect ratio, and pad them with zeros.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.resize_with_pad(tf.zeros((8, 4, 3)), 4, 4).shape
        (4, 4, 3)
    """
    height, width = static_shape((target_height, target_width))
    image_height, image_width = _image_size(image)
    ratio = max(image_height / height, image_width / width)
    resized_shape = (int(image_height / ratio), int(image_width / ratio))
    resized = resize(image, resized_shape, method, antialias=antialias)
    return pad_to_bounding_box(
        resized, (height - resized_shape[0]) // 2, (width - resized_shape[1]) // 2, height, width
    )


def random_crop(
    value: TensorLike, size: ShapeLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Crop a block of a given size at a random position.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_crop(tf.zeros((8, 8, 3)), (4, 4, 3)).shape
        (4, 4, 3)
    """
    sizes, value_shape = static_shape(size), static_shape(ops.shape(value))
    if len(sizes) != len(value_shape) or any(
        crop > total for crop, total in zip(sizes, value_shape, strict=True)
    ):
        raise ValueError(
            f"size={sizes} was given for a value of shape {tuple(value_shape)}; no axis may be "
            "longer than the value's."
        )
    key = draw_seed(seed_generator("random_crop", seed))

    @lift_with_promotion
    def crop(value: TensorLike) -> jax.Array:
        num_starts = jnp.asarray(
            [total - crop + 1 for crop, total in zip(sizes, value_shape, strict=True)]
        )
        start = jax.random.randint(key, (len(sizes),), 0, num_starts)
        return jax.lax.dynamic_slice(jnp.asarray(value), list(start), sizes)

    return crop(value)


@lift_with_promotion
def _flip_left_right(x: TensorLike) -> jax.Array:
    return jnp.flip(jnp.asarray(x), -2)


@fold_constants
def flip_left_right(image: TensorLike, name: str | None = None) -> Tensor:
    """Flip images horizontally.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.flip_left_right([[[1], [2]]]).numpy().ravel()
        array([2, 1], dtype=int32)
    """
    return _flip_left_right(image)


@lift_with_promotion
def _flip_up_down(x: TensorLike) -> jax.Array:
    return jnp.flip(jnp.asarray(x), -3)


@fold_constants
def flip_up_down(image: TensorLike, name: str | None = None) -> Tensor:
    """Flip images vertically.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.flip_up_down([[[1]], [[2]]]).numpy().ravel()
        array([2, 1], dtype=int32)
    """
    return _flip_up_down(image)


def _random_flip(image: TensorLike, axis: int, name: str, seed: int | None) -> Tensor:
    key = draw_seed(seed_generator(name, seed))

    @lift_with_promotion
    def flip(image: TensorLike) -> jax.Array:
        image = jnp.asarray(image)
        flipped = jax.random.bernoulli(key, 0.5, image.shape[:-3] + (1, 1, 1))
        return jnp.where(flipped, jnp.flip(image, axis), image)

    return flip(image)


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Flip each image horizontally with probability one half.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_flip_left_right(tf.zeros((2, 8, 8, 3))).shape
        (2, 8, 8, 3)
    """
    return _random_flip(image, -2, "flip_left_right", seed)


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Flip each image vertically with probability one half.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_flip_up_down(tf.zeros((2, 8, 8, 3))).shape
        (2, 8, 8, 3)
    """
    return _random_flip(image, -3, "flip_up_down", seed)


@lift_with_promotion
def _rot90(x: TensorLike, k: int) -> jax.Array:
    return jnp.rot90(jnp.asarray(x), k, axes=(-3, -2))


@fold_constants
def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Tensor:
    """Rotate images counterclockwise by multiples of 90 degrees.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.rot90(tf.zeros((4, 8, 3))).shape
        (8, 4, 3)
    """
    return _rot90(image, k)


@lift_with_promotion
def _transpose(x: TensorLike) -> jax.Array:
    return jnp.swapaxes(jnp.asarray(x), -3, -2)


@fold_constants
def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Swap the height and width of images.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.transpose(tf.zeros((4, 8, 3))).shape
        (8, 4, 3)
    """
    return _transpose(image)


def extract_patches(
    images: TensorLike,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Extract patches of images into the channel axis.

    Sizes, strides and rates are given for four axes: `[1, height, width, 1]`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> images, size = tf.zeros((1, 6, 6, 3)), [1, 2, 2, 1]
        >>> tf.image.extract_patches(images, size, size, [1, 1, 1, 1], "VALID").shape
        (1, 3, 3, 12)
    """
    check_choice("padding", padding.lower(), ("same", "valid"))
    size, stride, rate = (
        tuple(int(n) for n in argument[1:3]) for argument in (sizes, strides, rates)
    )
    return ops.image.extract_patches(
        images, size, stride, rate if rate != (1, 1) else 1, padding.lower(), "channels_last"
    )


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: ShapeLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Crop boxes from a batch of images and resize them to one size.

    Args:
        image: Images `(batch, height, width, channels)`.
        boxes: Corners `(y1, x1, y2, x2)` of each box, as fractions of the height and width.
        box_indices: The index of the image that each box is cropped from.
        crop_size: Height and width of the results.
        method: "bilinear" or "nearest".
        extrapolation_value: The value of pixels outside of the image.
        name: Unused.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> image = np.arange(16.0, dtype="float32").reshape(1, 4, 4, 1)
        >>> tf.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], [0], (2, 2)).numpy().ravel()
        array([ 0.,  3., 12., 15.], dtype=float32)
    """
    height, width = static_shape(crop_size)
    order = {"bilinear": 1, "nearest": 0}[check_choice("method", method, ("bilinear", "nearest"))]

    def coordinates(low: jax.Array, high: jax.Array, count: int, length: int) -> jax.Array:
        if count == 1:
            return (low + high)[None] / 2 * (length - 1)
        steps = jnp.arange(count, dtype="float32")
        return low * (length - 1) + steps * (high - low) * (length - 1) / (count - 1)

    @lift_with_promotion
    def crop(image: TensorLike, boxes: TensorLike, indices: TensorLike) -> jax.Array:
        images, boxes = jnp.asarray(image).astype("float32"), jnp.asarray(boxes).astype("float32")

        def crop_box(box: jax.Array, index: jax.Array) -> jax.Array:
            grid = jnp.meshgrid(
                coordinates(box[0], box[2], height, images.shape[1]),
                coordinates(box[1], box[3], width, images.shape[2]),
                indexing="ij",
            )

            def interpolate(channel: jax.Array) -> jax.Array:
                values: jax.Array = jax.scipy.ndimage.map_coordinates(
                    channel, grid, order, mode="constant", cval=extrapolation_value
                )
                return values

            return jax.vmap(interpolate, in_axes=-1, out_axes=-1)(images[index])

        return jax.vmap(crop_box)(boxes, jnp.asarray(indices))

    return crop(image, boxes, box_indices)
