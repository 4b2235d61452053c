"""Image sizes: resizing, scaling, padding, cropping and cutting into patches."""

import jax
import jax.numpy as jnp

from podium.core import check_choice
from podium.ops import _casting
from podium.ops._layout import channels_last, data_format_of, restore, sizes
from podium.ops._promotion import is_integer
from podium.ops._table import op

INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")
SCALE_METHODS = (
    "linear",
    "bilinear",
    "trilinear",
    "cubic",
    "bicubic",
    "tricubic",
    "lanczos3",
    "lanczos5",
)


def check_images(images, name="images"):
    """Images are a single one, or a batch."""
    if images.ndim not in (3, 4):
        raise ValueError(
            f"`{name}` must be one image (3D) or a batch of images (4D), and the shape is "
            f"{images.shape}."
        )


@op("images")
def resize(
    images,
    size,
    interpolation="bilinear",
    antialias=False,
    crop_to_aspect_ratio=False,
    pad_to_aspect_ratio=False,
    fill_mode="constant",
    fill_value=0.0,
    data_format=None,
):
    """Change the size of images.

    Args:
        images: One image `(height, width, channels)` or a batch of them. Integers are rounded back
            to their dtype.
        size: New height and width.
        interpolation: `bilinear`, `nearest`, `bicubic`, `lanczos3` or `lanczos5`.
        antialias: Whether to smooth when shrinking.
        crop_to_aspect_ratio: Whether to cut off the sides that do not fit the new aspect ratio,
            instead of distorting.
        pad_to_aspect_ratio: Whether to add margins to fit the new aspect ratio, instead of
            distorting.
        fill_mode: How margins are filled: `constant`.
        fill_value: Value of the margins.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> image = np.array([[[0.0], [4.0]]])
        >>> ops.image.resize(image, (1, 4)).numpy().ravel()
        array([0., 1., 3., 4.], dtype=float32)
    """
    check_choice("interpolation", interpolation, INTERPOLATIONS)
    check_choice("fill_mode", fill_mode, ("constant",))
    data_format = data_format_of(data_format)
    check_images(images)
    if len(size) != 2 or size[0] <= 0 or size[1] <= 0:
        raise ValueError("`size` must be a pair of positive numbers: (height, width).")
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(
            "only one of `crop_to_aspect_ratio` and `pad_to_aspect_ratio` can be true."
        )
    x = channels_last(images, data_format, axis=-3)
    if crop_to_aspect_ratio:
        x = _crop_to_ratio(x, size)
    elif pad_to_aspect_ratio:
        x = _pad_to_ratio(x, size, fill_value)
    if is_integer(x) and interpolation != "nearest":
        x = x.astype("float32")
    x = jax.image.resize(
        x, (*x.shape[:-3], *size, x.shape[-1]), method=interpolation, antialias=antialias
    )
    if x.dtype != images.dtype:
        x = _casting.saturate_cast.raw(jnp.round(x) if is_integer(images) else x, images.dtype.name)
    return restore(x, data_format, axis=-3)


def _crop_to_ratio(x, size):
    (height, width), (target_height, target_width) = x.shape[-3:-1], size
    new_height = max(min(height, width * target_height // target_width), 1)
    new_width = max(min(width, height * target_width // target_height), 1)
    top, left = (height - new_height) // 2, (width - new_width) // 2
    return x[..., top : top + new_height, left : left + new_width, :]


def _pad_to_ratio(x, size, fill_value):
    (height, width), (target_height, target_width) = x.shape[-3:-1], size
    rows = max(height, width * target_height // target_width) - height
    columns = max(width, height * target_width // target_height) - width
    pads = [(0, 0)] * (x.ndim - 3) + [(rows // 2, rows // 2), (columns // 2, columns // 2), (0, 0)]
    return jnp.pad(x, pads, constant_values=jnp.asarray(fill_value, x.dtype))


@op("images scale translation")
def scale_and_translate(
    images, output_shape, scale, translation, spatial_dims, method, antialias=True
):
    """Scale and move images by amounts that may be computed.

    Args:
        images: Input tensor.
        output_shape: Shape of the result.
        scale: Tensor: scale along each of `spatial_dims`.
        translation: Tensor: shift along each of `spatial_dims`, in pixels of the result.
        spatial_dims: The axes to work on.
        method: `linear`, `cubic`, `lanczos3` or `lanczos5` (also `bilinear`, `trilinear`,
            `bicubic`, `tricubic`).
        antialias: Whether to smooth when shrinking.

    Example:
        >>> image = np.arange(4, dtype="float32").reshape(2, 2, 1)
        >>> ops.image.scale_and_translate(image, (2, 2, 1), [1.0, 1.0], [0.0, 1.0], (0, 1), "linear").numpy()[..., 0]
        array([[0., 0.],
               [0., 2.]], dtype=float32)
    """
    check_choice("method", method, SCALE_METHODS)
    return jax.image.scale_and_translate(
        images, output_shape, spatial_dims, scale, translation, method, antialias
    )


def _one_missing(what, **given):
    """Of before, after and target exactly one is left out; none is negative."""
    if list(given.values()).count(None) != 1:
        raise ValueError(f"give exactly two of {', '.join(given)}, and got {given}.")
    if any(v is not None and v < 0 for v in given.values()):
        raise ValueError(f"{what} must not be negative, and got {given}.")


@op("images")
def pad_images(
    images,
    top_padding=None,
    left_padding=None,
    bottom_padding=None,
    right_padding=None,
    target_height=None,
    target_width=None,
    data_format=None,
):
    """Add zeros around images. Of each direction's three arguments give exactly two.

    Args:
        images: One image or a batch.
        top_padding: Rows to add above.
        left_padding: Columns to add on the left.
        bottom_padding: Rows to add below.
        right_padding: Columns to add on the right.
        target_height: Height of the result.
        target_width: Width of the result.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> tuple(ops.image.pad_images(np.ones((2, 2, 1)), 1, 0, target_height=4, target_width=3).shape)
        (4, 3, 1)
    """
    data_format = data_format_of(data_format)
    check_images(images)
    _one_missing(
        "padding",
        top_padding=top_padding,
        bottom_padding=bottom_padding,
        target_height=target_height,
    )
    _one_missing(
        "padding", left_padding=left_padding, right_padding=right_padding, target_width=target_width
    )
    x = channels_last(images, data_format, axis=-3)
    rows = _before_and_after(x.shape[-3], top_padding, bottom_padding, target_height, "height")
    columns = _before_and_after(x.shape[-2], left_padding, right_padding, target_width, "width")
    return restore(
        jnp.pad(x, [(0, 0)] * (x.ndim - 3) + [rows, columns, (0, 0)]), data_format, axis=-3
    )


def _before_and_after(size, before, after, target, what):
    before = target - after - size if before is None else before
    after = target - before - size if after is None else after
    if before < 0 or after < 0:
        raise ValueError(
            f"the target {what} {target} is too small for images of {what} {size} with that "
            "padding."
        )
    return before, after


@op("images")
def crop_images(
    images,
    top_cropping=None,
    left_cropping=None,
    bottom_cropping=None,
    right_cropping=None,
    target_height=None,
    target_width=None,
    data_format=None,
):
    """Cut margins off images. Of each direction's three arguments give exactly two.

    Args:
        images: One image or a batch.
        top_cropping: Rows to cut off above.
        left_cropping: Columns to cut off on the left.
        bottom_cropping: Rows to cut off below.
        right_cropping: Columns to cut off on the right.
        target_height: Height of the result.
        target_width: Width of the result.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> image = np.arange(9).reshape(3, 3, 1)
        >>> ops.image.crop_images(image, 1, 1, target_height=2, target_width=2).numpy()[..., 0]
        array([[4, 5],
               [7, 8]], dtype=int32)
    """
    data_format = data_format_of(data_format)
    check_images(images)
    _one_missing(
        "cropping",
        top_cropping=top_cropping,
        bottom_cropping=bottom_cropping,
        target_height=target_height,
    )
    _one_missing(
        "cropping",
        left_cropping=left_cropping,
        right_cropping=right_cropping,
        target_width=target_width,
    )
    x = channels_last(images, data_format, axis=-3)
    rows = _kept(x.shape[-3], top_cropping, bottom_cropping, target_height, "height")
    columns = _kept(x.shape[-2], left_cropping, right_cropping, target_width, "width")
    return restore(x[..., rows, columns, :], data_format, axis=-3)


def _kept(size, before, after, target, what):
    before = size - target - after if before is None else before
    target = size - before - after if target is None else target
    if before < 0 or target < 0 or before + target > size:
        raise ValueError(f"that cropping does not fit into images of {what} {size}.")
    return slice(before, before + target)


@op("images")
def extract_patches(images, size, strides=None, dilation_rate=1, padding="valid", data_format=None):
    """Cut images (or volumes) into patches, flattened into channels.

    Args:
        images: One image or a batch; with a `size` of three numbers, one volume or a batch.
        size: Size of a patch: an int or a pair, or three numbers for volumes.
        strides: Step between patches. `None` means `size`: no overlap.
        dilation_rate: Distance between pixels of a patch.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Returns:
        Tensor `(..., rows, columns, patch_height * patch_width * channels)`.

    Example:
        >>> image = np.arange(4, dtype="float32").reshape(2, 2, 1)
        >>> ops.image.extract_patches(image, 2).numpy().ravel()
        array([0., 1., 2., 3.], dtype=float32)
    """
    if not isinstance(size, (int, tuple, list)):
        raise TypeError(f"`size` must be an int or a tuple, not {type(size).__name__}.")
    if not isinstance(size, int) and len(size) not in (2, 3):
        raise ValueError("`size` must have two or three numbers.")
    rank = 2 if isinstance(size, int) else len(size)
    return _patches(images, size, strides, dilation_rate, padding, data_format, rank)


@op("volumes")
def extract_patches_3d(
    volumes, size, strides=None, dilation_rate=1, padding="valid", data_format=None
):
    """Cut volumes into patches, flattened into channels.

    Args:
        volumes: One volume `(depth, height, width, channels)` or a batch.
        size: Size of a patch: an int or three numbers.
        strides: Step between patches. `None` means `size`: no overlap.
        dilation_rate: Distance between voxels of a patch.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Returns:
        Tensor `(..., depths, rows, columns, patch_voxels * channels)`.

    Example:
        >>> tuple(ops.image.extract_patches_3d(np.ones((4, 4, 4, 1), "float32"), 2).shape)
        (2, 2, 2, 8)
    """
    return _patches(volumes, size, strides, dilation_rate, padding, data_format, 3)


def _patches(x, size, strides, dilation_rate, padding, data_format, rank):
    data_format = data_format_of(data_format)
    if x.ndim not in (rank + 1, rank + 2):
        raise ValueError(
            f"expected {rank + 1} axes, or {rank + 2} for a batch, and got shape {x.shape}."
        )
    size = sizes("size", size, rank)
    strides = size if not strides else sizes("strides", strides, rank)
    padding = check_choice("padding", padding.lower(), ("valid", "same"))
    spatial = "DHW"[-rank:]
    y = channels_last(x, data_format, axis=-1 - rank)
    y = y if x.ndim == rank + 2 else y[None]
    patches = jax.lax.conv_general_dilated_patches(
        y,
        filter_shape=size,
        window_strides=strides,
        padding=padding.upper(),
        rhs_dilation=sizes("dilation_rate", dilation_rate, rank),
        dimension_numbers=(f"N{spatial}C", f"{spatial}IO", f"N{spatial}C"),
    )
    # JAX orders a patch channel first, Keras channel last.
    patches = patches.reshape(*patches.shape[:-1], y.shape[-1], -1)
    patches = jnp.swapaxes(patches, -1, -2).reshape(*patches.shape[:-2], -1)
    patches = patches if x.ndim == rank + 2 else patches[0]
    return restore(patches, data_format, axis=-1 - rank)
