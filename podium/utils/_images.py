"""Images as files and as arrays. Needs Pillow, which is imported when a function is called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.core import check_choice, floatx, image_data_format

if TYPE_CHECKING:
    from PIL.Image import Image

_RESAMPLING = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def pillow() -> Any:
    """Return the module PIL.Image, or say how to install it."""
    try:
        import PIL.Image
    except ImportError as error:
        raise ImportError(
            "Reading and writing images needs Pillow. Install it with `pip install pillow` or "
            "`pip install 'podium[image]'`."
        ) from error
    return PIL.Image


def array_to_img(
    x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None
) -> Image:
    """Turn an array into a Pillow image.

    Args:
        x: Numbers `(height, width, channels)` with 1, 3 or 4 channels.
        data_format: "channels_last" or "channels_first".
        scale: Whether to stretch the numbers to the range from 0 to 255.
        dtype: Type to compute in.

    Example:
        >>> podium.utils.array_to_img(np.zeros((4, 6, 3))).size
        (6, 4)
    """
    image = pillow()
    x = np.asarray(x, dtype=dtype or floatx())
    if x.ndim != 3:
        raise ValueError(
            f"array_to_img() was given an array of shape {x.shape}; (height, width, channels) "
            "was expected."
        )
    if (
        check_choice(
            "data_format", data_format or image_data_format(), ("channels_last", "channels_first")
        )
        == "channels_first"
    ):
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - x.min()
        x = x / x.max() * 255 if x.max() != 0 else x
    channels = x.shape[2]
    if channels not in (1, 3, 4):
        raise ValueError(
            f"array_to_img() was given {channels} channels; 1 (grey), 3 (RGB) or 4 (RGBA) were "
            "expected."
        )
    if channels == 1 and x.max() > 255:
        return image.fromarray(x[:, :, 0].astype("int32"))
    return image.fromarray(x[:, :, 0].astype("uint8") if channels == 1 else x.astype("uint8"))


def img_to_array(img: Image, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """Turn a Pillow image into an array `(height, width, channels)`.

    Args:
        img: The image.
        data_format: "channels_last" or "channels_first".
        dtype: Type of the result; by default the default float.

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
    first = (
        check_choice(
            "data_format", data_format or image_data_format(), ("channels_last", "channels_first")
        )
        == "channels_first"
    )
    return x.transpose(2, 0, 1) if first else x


def load_img(
    path: Any,
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Image:
    """Read an image from a file.

    Args:
        path: A path, or an open file.
        color_mode: "rgb", "rgba" or "grayscale".
        target_size: Height and width to resize to.
        interpolation: How to resize: "nearest", "bilinear", "bicubic", "hamming", "box" or
            "lanczos".
        keep_aspect_ratio: Whether to cut off what does not fit, instead of distorting.

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
    image = pillow()
    with image.open(path if hasattr(path, "read") else os.fspath(path)) as opened:
        img = opened.copy() if opened.mode == mode else opened.convert(mode)
    if target_size is None or img.size == (target_size[1], target_size[0]):
        return img
    height, width = target_size
    box = None
    if keep_aspect_ratio:
        inner = (
            min(img.width, img.height * width // height),
            min(img.height, img.width * height // width),
        )
        left, top = (img.width - inner[0]) // 2, (img.height - inner[1]) // 2
        box = (left, top, left + inner[0], top + inner[1])
    return img.resize((width, height), image.Resampling[interpolation.upper()], box=box)


def save_img(
    path: Any,
    x: Any,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Write an array as an image file.

    Args:
        path: A path, or a file open for writing.
        x: Numbers `(height, width, channels)`.
        data_format: "channels_last" or "channels_first".
        file_format: The format, by default told from the path.
        scale: Whether to stretch the numbers to the range from 0 to 255.
        **kwargs: Passed on to Pillow's `save`.

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
    img.save(path, format=file_format, **kwargs)
