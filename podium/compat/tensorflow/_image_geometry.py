"""`tf.image`, the part about where pixels are: sizes, crops, margins, flips, patches."""

from typing import Any

import jax
import jax.numpy as jnp

from podium import ops
from podium.compat.tensorflow import _random
from podium.compat.tensorflow._sizes import sizes
from podium.compat.tensorflow._table import alias
from podium.core import check_choice, dispatch, draw_seed, is_float_dtype, lift


class ResizeMethod:
    """Names for ways to resize.

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
    images: Any,
    size: Any,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """Change the size of images. The result is float32 unless the method is "nearest".

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.resize(tf.zeros((2, 8, 8, 3)), (4, 6)).shape
        (2, 4, 6, 3)
    """
    height, width = sizes(size)
    if preserve_aspect_ratio:
        tall, wide = ops.shape(images)[-3:-1]
        scale = min(height / tall, width / wide)
        height, width = round(tall * scale), round(wide * scale)
    if method != "nearest" and not is_float_dtype(ops.dtype(images)):
        images = ops.cast(images, "float32")
    return ops.image.resize(images, (height, width), interpolation=method, antialias=antialias)


def crop_to_bounding_box(
    image: Any,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
    name: str | None = None,
) -> Any:
    """Cut out a box.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.crop_to_bounding_box(tf.zeros((8, 8, 3)), 1, 2, 4, 5).shape
        (4, 5, 3)
    """
    height, width = sizes((target_height, target_width))

    def cut(image: Any, top: Any, left: Any) -> Any:
        image = jax.lax.dynamic_slice_in_dim(jnp.asarray(image), top, height, axis=-3)
        return jax.lax.dynamic_slice_in_dim(image, left, width, axis=-2)

    return dispatch(cut, image, offset_height, offset_width)


def pad_to_bounding_box(
    image: Any,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
    name: str | None = None,
) -> Any:
    """Put images into a larger box of zeros.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.pad_to_bounding_box(tf.ones((2, 2, 3)), 1, 1, 4, 5).shape
        (4, 5, 3)
    """
    top, left, height, width = sizes((offset_height, offset_width, target_height, target_width))
    tall, wide = ops.shape(image)[-3:-1]
    margins = [(top, height - top - tall), (left, width - left - wide)]
    if min(*margins[0], *margins[1]) < 0:
        raise ValueError(
            f"An image of {tall}x{wide} at ({top}, {left}) does not fit into {height}x{width}; "
            "make the box larger or resize first."
        )
    around = [(0, 0)] * (len(ops.shape(image)) - 3)
    return dispatch(lambda x: jnp.pad(jnp.asarray(x), [*around, *margins, (0, 0)]), image)


def central_crop(image: Any, central_fraction: float) -> Any:
    """Cut out the middle.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.central_crop(tf.zeros((8, 8, 3)), 0.5).shape
        (4, 4, 3)
    """
    tall, wide = ops.shape(image)[-3:-1]
    top, left = int((tall - tall * central_fraction) / 2), int((wide - wide * central_fraction) / 2)
    return crop_to_bounding_box(image, top, left, tall - 2 * top, wide - 2 * left)


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """Cut off or add zeros at all sides, so that the middle stays in the middle.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.resize_with_crop_or_pad(tf.zeros((8, 2, 3)), 4, 4).shape
        (4, 4, 3)
    """
    height, width = sizes((target_height, target_width))
    tall, wide = ops.shape(image)[-3:-1]
    cut = crop_to_bounding_box(
        image,
        max(tall - height, 0) // 2,
        max(wide - width, 0) // 2,
        min(tall, height),
        min(wide, width),
    )
    return pad_to_bounding_box(
        cut, max(height - tall, 0) // 2, max(width - wide, 0) // 2, height, width
    )


def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: str = "bilinear",
    antialias: bool = False,
) -> Any:
    """Resize without distortion and fill the rest with zeros.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.resize_with_pad(tf.zeros((8, 4, 3)), 4, 4).shape
        (4, 4, 3)
    """
    height, width = sizes((target_height, target_width))
    tall, wide = ops.shape(image)[-3:-1]
    ratio = max(tall / height, wide / width)
    inner = (int(tall / ratio), int(wide / ratio))
    small = resize(image, inner, method, antialias=antialias)
    return pad_to_bounding_box(
        small, (height - inner[0]) // 2, (width - inner[1]) // 2, height, width
    )


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Cut out a block of a given size from a random place.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_crop(tf.zeros((8, 8, 3)), (4, 4, 3)).shape
        (4, 4, 3)
    """
    lengths, whole = sizes(size), ops.shape(value)
    if len(lengths) != len(whole) or any(
        want > have for want, have in zip(lengths, whole, strict=True)
    ):
        raise ValueError(
            f"size={lengths} was given for a value of shape {tuple(whole)}; no axis may be "
            "longer than the value's."
        )
    key = draw_seed(_random._sequence("random_crop", seed))

    def cut(value: Any) -> Any:
        highest = jnp.asarray([have - want + 1 for want, have in zip(lengths, whole, strict=True)])
        start = jax.random.randint(key, (len(lengths),), 0, highest)
        return jax.lax.dynamic_slice(jnp.asarray(value), list(start), lengths)

    return dispatch(cut, value)


flip_left_right = alias(
    "flip_left_right(image, name=None)",
    lift(lambda x: jnp.flip(jnp.asarray(x), -2)),
    "tf.image.flip_left_right([[[1], [2]]]).numpy().ravel()",
    "array([2, 1], dtype=int32)",
    "Mirror images, left and right swapped.",
)
flip_up_down = alias(
    "flip_up_down(image, name=None)",
    lift(lambda x: jnp.flip(jnp.asarray(x), -3)),
    "tf.image.flip_up_down([[[1]], [[2]]]).numpy().ravel()",
    "array([2, 1], dtype=int32)",
    "Mirror images, top and bottom swapped.",
)


def _perhaps_flip(image: Any, axis: int, kind: str, seed: int | None) -> Any:
    key = draw_seed(_random._sequence(kind, seed))

    def run(x: Any) -> Any:
        x = jnp.asarray(x)
        chosen = jax.random.bernoulli(key, 0.5, x.shape[:-3] + (1, 1, 1))
        return jnp.where(chosen, jnp.flip(x, axis), x)

    return dispatch(run, image)


def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """Mirror each image with a chance of one half, left and right swapped.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_flip_left_right(tf.zeros((2, 8, 8, 3))).shape
        (2, 8, 8, 3)
    """
    return _perhaps_flip(image, -2, "flip_left_right", seed)


def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """Mirror each image with a chance of one half, top and bottom swapped.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_flip_up_down(tf.zeros((2, 8, 8, 3))).shape
        (2, 8, 8, 3)
    """
    return _perhaps_flip(image, -3, "flip_up_down", seed)


rot90 = alias(
    "rot90(image, k=1, name=None)",
    lift(lambda x, k: jnp.rot90(jnp.asarray(x), k, axes=(-3, -2))),
    "tf.image.rot90(tf.zeros((4, 8, 3))).shape",
    "(8, 4, 3)",
    "Turn images by quarters, against the clock.",
)
transpose = alias(
    "transpose(image, name=None)",
    lift(lambda x: jnp.swapaxes(jnp.asarray(x), -3, -2)),
    "tf.image.transpose(tf.zeros((4, 8, 3))).shape",
    "(8, 4, 3)",
    "Swap height and width.",
)


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Any:
    """Cut images into patches, laid out in the channels. Sizes are written for four axes: `[1,
    height, width, 1]`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.extract_patches(tf.zeros((1, 6, 6, 3)), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID").shape
        (1, 3, 3, 12)
    """
    check_choice("padding", padding.lower(), ("same", "valid"))
    size, stride, rate = (tuple(int(n) for n in given[1:3]) for given in (sizes, strides, rates))
    return ops.image.extract_patches(
        images, size, stride, rate if rate != (1, 1) else 1, padding.lower()
    )


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Any:
    """Cut boxes out of a batch of images and bring them to one size.

    Args:
        image: Images `(batch, height, width, channels)`.
        boxes: Corners `(y1, x1, y2, x2)` of each box, as fractions of the height and width.
        box_indices: The image that each box is cut from.
        crop_size: Height and width of the results.
        method: "bilinear" or "nearest".
        extrapolation_value: What stands outside of the image.
        name: Unused.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> image = np.arange(16.0, dtype="float32").reshape(1, 4, 4, 1)
        >>> tf.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], [0], (2, 2)).numpy().ravel()
        array([ 0.,  3., 12., 15.], dtype=float32)
    """
    height, width = sizes(crop_size)
    order = {"bilinear": 1, "nearest": 0}[check_choice("method", method, ("bilinear", "nearest"))]

    def places(low: Any, high: Any, count: int, length: int) -> Any:
        if count == 1:
            return (low + high)[None] / 2 * (length - 1)
        return low * (length - 1) + jnp.arange(count, dtype="float32") * (high - low) * (
            length - 1
        ) / (count - 1)

    def run(image: Any, boxes: Any, indices: Any) -> Any:
        image, boxes = jnp.asarray(image).astype("float32"), jnp.asarray(boxes).astype("float32")

        def one(box: Any, index: Any) -> Any:
            grid = jnp.meshgrid(
                places(box[0], box[2], height, image.shape[1]),
                places(box[1], box[3], width, image.shape[2]),
                indexing="ij",
            )

            def channel(plane: Any) -> Any:
                return jax.scipy.ndimage.map_coordinates(
                    plane, grid, order, mode="constant", cval=extrapolation_value
                )

            return jax.vmap(channel, in_axes=-1, out_axes=-1)(image[index])

        return jax.vmap(one)(boxes, jnp.asarray(indices))

    return dispatch(run, image, boxes, box_indices)
