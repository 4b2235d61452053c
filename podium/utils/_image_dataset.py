"""Images in folders as a Dataset. Needs Pillow; a file is opened when its turn comes."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.core import check_choice, image_data_format
from podium.core.internal import check_int
from podium.utils._directory_dataset import FileDataset, Folder
from podium.utils._images import pillow
from podium.utils._resizing import INTERPOLATIONS, fitted

_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_MODES = {"rgb": ("RGB", 3), "rgba": ("RGBA", 4), "grayscale": ("L", 1)}


def image_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: list[str] | None = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: int | tuple[int, int] = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    format: str = "tf",
    verbose: bool = True,
    **kwargs: Any,
) -> FileDataset | tuple[FileDataset, FileDataset]:
    """Make a Dataset of the images in a folder, which are read while it is walked.

    Names that end in .bmp, .gif (the first frame), .jpeg, .jpg and .png are read. One seed gives
    the same files for training and validation as Keras, and the same orders in every run; the
    orders of the passes are not Keras's.

    Args:
        directory: The folder. With `labels="inferred"` it has a subfolder for each class.
        labels: "inferred" from the subfolders, None for none, or a list with a number for each file
            in the order of the sorted paths.
        label_mode: How labels are given: "int" as int32 `()`, "categorical" as one-hot float32
            `(classes,)`, "binary" as float32 `(1,)`, or None for no labels.
        class_names: Subfolders to read, in the order of their class numbers; by default all,
            sorted.
        color_mode: "rgb", "rgba" or "grayscale": 3, 4 or 1 channels.
        batch_size: Images in a batch; None for single images.
        image_size: Height and width that images are brought to.
        shuffle: Whether to mix the files, anew for each pass; otherwise they are sorted.
        seed: Fixes the orders. By default `podium.utils.set_random_seed` does.
        validation_split: Fraction of the files to keep for validation.
        subset: "training", "validation", or "both" for two Datasets; needs `validation_split`.
        interpolation: "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian"
            or "mitchellcubic".
        follow_links: Whether to enter folders that are links.
        crop_to_aspect_ratio: Whether to cut off what does not fit, instead of distorting.
        pad_to_aspect_ratio: Whether to fill up with zeros, instead of distorting.
        data_format: "channels_last" or "channels_first".
        format: Accepted for Keras's signature; the result is a Podium Dataset.
        verbose: Whether to say how many files were found.
        **kwargs: `smart_resize`, Keras 2's old word for `crop_to_aspect_ratio`.

    Returns:
        A Dataset of `(images, labels)`, or of images without labels, with the attributes
        `class_names` and `file_paths`; images are float32 from 0 to 255. A pair of Datasets if
        `subset` is "both".

    Raises:
        ImportError: Pillow is missing.
        ValueError: The folder has no images, arguments do not fit; while it is walked, a file that
            is no image.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("cats", "dogs"):
        ...     (folder / name).mkdir()
        ...     podium.utils.save_img(folder / name / "one.png", np.zeros((6, 8, 3)))
        >>> dataset = podium.utils.image_dataset_from_directory(folder, image_size=(4, 4), seed=1)
        Found 2 files belonging to 2 classes.
        >>> images, labels = next(iter(dataset))
        >>> images.shape, sorted(labels.numpy().tolist()), dataset.class_names
        ((2, 4, 4, 3), [0, 1], ['cats', 'dogs'])
    """
    crop = bool(kwargs.pop("smart_resize", crop_to_aspect_ratio))
    if kwargs:
        raise TypeError(
            f"image_dataset_from_directory() got an unexpected argument {next(iter(kwargs))!r}."
        )
    mode, channels = _MODES[check_choice("color_mode", color_mode, list(_MODES))]
    interpolation = check_choice("interpolation", str(interpolation).lower(), INTERPOLATIONS)
    data_format = check_choice(
        "data_format", data_format or image_data_format(), ("channels_last", "channels_first")
    )
    if crop and pad_to_aspect_ratio:
        raise ValueError(
            "crop_to_aspect_ratio=True and pad_to_aspect_ratio=True were given; only one of "
            "them can be."
        )
    height, width = size = _size(image_size)
    folder = Folder(
        directory, labels, label_mode, class_names, batch_size, shuffle, seed, validation_split, subset, follow_links, format,
        verbose,
    )  # fmt: skip
    first = data_format == "channels_first"
    pillow()  # says now, not at the first file, that it is missing

    def read(path: str) -> np.ndarray:
        image = fitted(_pixels(path, mode), size, interpolation, crop, pad_to_aspect_ratio)
        return np.ascontiguousarray(image.transpose(2, 0, 1)) if first else image

    def sample() -> np.ndarray:
        return np.zeros(
            (channels, height, width) if first else (height, width, channels), np.float32
        )

    return folder.datasets(_SUFFIXES, "images", read, sample)


def _size(image_size: Any) -> tuple[int, int]:
    pair = (image_size, image_size) if isinstance(image_size, (int, np.integer)) else image_size
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise ValueError(
            f"image_size={image_size!r} was given; a pair of whole numbers was expected: "
            "(height, width)."
        )
    return check_int("image_size[0]", pair[0], integral_floats=True), check_int(
        "image_size[1]", pair[1], integral_floats=True
    )


def _pixels(path: str, mode: str) -> np.ndarray:
    """Read a file as an array `(height, width, channels)` of 8 bits a channel, as TensorFlow
    does.
    """
    try:
        with pillow().open(path) as image:
            if image.mode.startswith(
                "I"
            ):  # 16 bits of grey; Pillow would cut off what is above 255
                image = pillow().fromarray((np.asarray(image) >> 8).astype(np.uint8))
            elif image.mode == "P" and mode != "RGBA" and "transparency" in image.info:
                image = image.convert(
                    "RGBA"
                )  # a palette with transparency loses it only in two steps
            pixels = np.asarray(image if image.mode == mode else image.convert(mode))
    # damaged files make Pillow raise all sorts of errors; all of them get the name of the file
    except Exception as error:
        raise ValueError(
            f"{path} could not be read as an image: {type(error).__name__}: {error}. Mend or "
            "remove the file."
        ) from error
    return pixels if pixels.ndim == 3 else pixels[:, :, None]
