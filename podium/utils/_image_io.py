"""Conversion of images between files, Pillow images and arrays.

Needs Pillow, which is imported when a function is called.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from podium._typing import DTypeLike, PathLike, TensorLike
from podium.core import check_choice, floatx, image_data_format

if TYPE_CHECKING:
    from PIL.Image import Image

_RESAMPLING = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def import_pillow() -> ModuleType:
    """Return the module PIL.Image, or raise an ImportError that names the package to install."""
    try:
        import PIL.Image
    except ImportError as error:
        raise ImportError(
            "Reading and writing images needs Pillow. Install it with `pip install pillow` or "
            "`pip install 'podium[image]'`."
        ) from error
    return PIL.Image


def array_to_img(
    x: TensorLike,
    data_format: str | None = None,
    scale: bool = True,
    dtype: DTypeLike | None = None,
) -> Image:
    """Convert an array to a Pillow image.

    Args:
        x: Values `(height, width, channels)` with 1, 3 or 4 channels.
        data_format: "channels_last" or "channels_first".
        scale: Whether to scale the values to the range from 0 to 255.
        dtype: Dtype of the computation.

    Example:
        >>> podium.utils.array_to_img(np.zeros((4, 6, 3))).size
        (6, 4)
    """
    pillow = import_pillow()
    values = np.asarray(x, dtype=dtype or floatx())
    if values.ndim != 3:
        raise ValueError(
            f"array_to_img() was given an array of shape {values.shape}; (height, width, channels) "
            "was expected."
        )
    if _is_channels_first(data_format):
        values = values.transpose(1, 2, 0)
    if scale:
        values = values - values.min()
        values = values / values.max() * 255 if values.max() != 0 else values
    channels = values.shape[2]
    if channels not in (1, 3, 4):
        raise ValueError(
            f"array_to_img() was given {channels} channels; 1 (gray), 3 (RGB) or 4 (RGBA) were "
            "expected."
        )
    if channels == 1 and values.max() > 255:
        pixels = values[:, :, 0].astype("int32")
    else:
        pixels = (values[:, :, 0] if channels == 1 else values).astype("uint8")
    image: Image = pillow.fromarray(pixels)
    return image


def img_to_array(
    img: Image, data_format: str | None = None, dtype: DTypeLike | None = None
) -> np.ndarray[Any, Any]:
    """Convert a Pillow image to an array `(height, width, channels)`.

    Args:
        img: The image.
        data_format: "channels_last" or "channels_first".
        dtype: Dtype of the result; by default the default float dtype.

    Example:
        >>> podium.utils.img_to_array(podium.utils.array_to_img(np.zeros((4, 6, 3)))).shape
        (4, 6, 3)
    """
    x = np.asarray(img, dtype=dtype or floatx())
    if x.ndim not in (2, 3):
        raise ValueError(
            f"img_to_array() was given an image of shape {x.shape}; 2 or 3 dimensions were "
            "expected."
        )
    x = x[:, :, None] if x.ndim == 2 else x
    return x.transpose(2, 0, 1) if _is_channels_first(data_format) else x


def _is_channels_first(data_format: str | None) -> bool:
    choices = ("channels_last", "channels_first")
    data_format = check_choice("data_format", data_format or image_data_format(), choices)
    return data_format == "channels_first"


def load_img(
    path: PathLike | IO[bytes],
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Image:
    """Load an image from a file.

    Args:
        path: A path, or an open file.
        color_mode: "rgb", "rgba" or "grayscale".
        target_size: Height and width to resize to.
        interpolation: The resize method: "nearest", "bilinear", "bicubic", "hamming", "box" or
            "lanczos".
        keep_aspect_ratio: Whether to crop instead of distorting.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> podium.utils.save_img(file, np.zeros((4, 6, 3)), file_format="png")
        >>> podium.utils.load_img(file, target_size=(2, 3)).size
        (3, 2)
    """
    modes = {"rgb": "RGB", "rgba": "RGBA", "grayscale": "L"}
    mode = modes[check_choice("color_mode", color_mode, list(modes))]
    check_choice("interpolation", interpolation, _RESAMPLING)
    pillow = import_pillow()
    file = path if hasattr(path, "read") else os.fspath(path)
    img: Image
    with pillow.open(file) as opened:
        img = opened.copy() if opened.mode == mode else opened.convert(mode)
    if target_size is None or img.size == (target_size[1], target_size[0]):
        return img
    height, width = target_size
    box = None
    if keep_aspect_ratio:
        crop_width = min(img.width, img.height * width // height)
        crop_height = min(img.height, img.width * height // width)
        left, top = (img.width - crop_width) // 2, (img.height - crop_height) // 2
        box = (left, top, left + crop_width, top + crop_height)
    return img.resize((width, height), pillow.Resampling[interpolation.upper()], box=box)


def save_img(
    path: PathLike | IO[bytes],
    x: TensorLike,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Save an array as an image file.

    Args:
        path: A path, or a file open for writing.
        x: Values `(height, width, channels)`.
        data_format: "channels_last" or "channels_first".
        file_format: The format; by default that of the suffix of the path.
        scale: Whether to scale the values to the range from 0 to 255.
        **kwargs: Passed to Pillow's `save`.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> podium.utils.save_img(file, np.zeros((4, 6, 3)), file_format="png")
        >>> file.getvalue()[1:4]
        b'PNG'
    """
    img = array_to_img(x, data_format, scale)
    if img.mode == "RGBA" and str(file_format or path).lower().endswith(("jpg", "jpeg")):
        img = img.convert("RGB")
    if file_format is not None and file_format.lower() == "jpg":
        file_format = "jpeg"  # Pillow knows the suffix alone
    img.save(path, format=file_format, **kwargs)
