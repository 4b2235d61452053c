"""Images in directories as a Dataset. Needs Pillow; files are opened when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium._typing import PathLike
from podium.core import check_choice, image_data_format
from podium.core.internal import check_int
from podium.utils._directory_dataset import DirectoryOptions, FileDataset
from podium.utils._image_io import import_pillow
from podium.utils._image_resize import INTERPOLATIONS, resize_to_fit

_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_MODES = {"rgb": ("RGB", 3), "rgba": ("RGBA", 4), "grayscale": ("L", 1)}


def image_dataset_from_directory(
    directory: PathLike,
    labels: str | Sequence[float] | np.ndarray[Any, Any] | None = "inferred",
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
    """Create a Dataset of the images in a directory, which are read during iteration.

    Files that end in .bmp, .gif (the first frame), .jpeg, .jpg and .png are read. One seed gives
    the same training and validation files as in Keras, and the same order in every run; the order
    within an epoch differs from Keras.

    Args:
        directory: The directory. With `labels="inferred"` it has a subdirectory for each class.
        labels: "inferred" from the subdirectories, None for none, or a list with a class index for
            each file in the order of the sorted paths.
        label_mode: The encoding of labels: "int" as int32 `()`, "categorical" as one-hot float32
            `(classes,)`, "binary" as float32 `(1,)`, or None for no labels.
        class_names: Subdirectories to read, in the order of their class indices; by default all,
            sorted.
        color_mode: "rgb", "rgba" or "grayscale": 3, 4 or 1 channels.
        batch_size: Images in a batch; None for single images.
        image_size: Height and width that images are resized to.
        shuffle: Whether to shuffle the files for each epoch; otherwise they are sorted.
        seed: The seed of the shuffling; by default set by `podium.utils.set_random_seed`.
        validation_split: Fraction of the files for validation.
        subset: "training", "validation", or "both" for two Datasets; needs `validation_split`.
        interpolation: "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian"
            or "mitchellcubic".
        follow_links: Whether to follow links to directories.
        crop_to_aspect_ratio: Whether to crop instead of distorting.
        pad_to_aspect_ratio: Whether to pad with zeros instead of distorting.
        data_format: "channels_last" or "channels_first".
        format: Accepted for Keras's signature; the result is a Podium Dataset.
        verbose: Whether to print the number of files.
        **kwargs: `smart_resize`, Keras 2's name of `crop_to_aspect_ratio`.

    Returns:
        A Dataset of `(images, labels)`, or of images without labels, with the attributes
        `class_names` and `file_paths`; images are float32 from 0 to 255. A pair of Datasets if
        `subset` is "both".

    Raises:
        ImportError: Pillow is not installed.
        ValueError: The directory has no images or an argument is invalid; during iteration, a file
            is not an image.

    Example:
        >>> import pathlib, tempfile
        >>> directory = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("cats", "dogs"):
        ...     (directory / name).mkdir()
        ...     podium.utils.save_img(directory / name / "1.png", np.zeros((6, 8, 3)))
        >>> dataset = podium.utils.image_dataset_from_directory(
        ...     directory, image_size=(4, 4), seed=1
        ... )
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
            "crop_to_aspect_ratio=True and pad_to_aspect_ratio=True were given; at most "
            "one of them was expected."
        )
    height, width = size = _check_image_size(image_size)
    options = DirectoryOptions(
        directory=directory,
        labels=labels,
        label_mode=label_mode,
        class_names=class_names,
        batch_size=batch_size,
        shuffle=shuffle,
        seed=seed,
        validation_split=validation_split,
        subset=subset,
        follow_links=follow_links,
        format=format,
        verbose=verbose,
    )
    channels_first = data_format == "channels_first"
    import_pillow()  # raises now, not at the first file, if it is not installed

    def read(path: str) -> np.ndarray[Any, Any]:
        pixels = _read_pixels(path, mode)
        image = resize_to_fit(pixels, size, interpolation, crop, pad_to_aspect_ratio)
        return np.ascontiguousarray(image.transpose(2, 0, 1)) if channels_first else image

    def sample(path: str, size: int) -> np.ndarray[Any, Any]:
        shape = (channels, height, width) if channels_first else (height, width, channels)
        return np.zeros(shape, np.float32)

    return options.create_datasets(_SUFFIXES, "images", read, sample)


def _check_image_size(image_size: int | Sequence[int]) -> tuple[int, int]:
    pair = (image_size, image_size) if isinstance(image_size, (int, np.integer)) else image_size
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise ValueError(
            f"image_size={image_size!r} was given; a pair of ints was expected: (height, width)."
        )
    return check_int("image_size[0]", pair[0], integral_floats=True), check_int(
        "image_size[1]", pair[1], integral_floats=True
    )


def _read_pixels(path: str, mode: str) -> np.ndarray[Any, Any]:
    """Read a file as an array `(height, width, channels)` of uint8, like TensorFlow."""
    pillow = import_pillow()
    try:
        with pillow.open(path) as image:
            if image.mode.startswith("I"):
                # 16 bits of gray; Pillow would clip at 255.
                image = pillow.fromarray((np.asarray(image) >> 8).astype(np.uint8))
            elif image.mode == "P" and mode != "RGBA" and "transparency" in image.info:
                # The transparency of a palette is lost only in two steps.
                image = image.convert("RGBA")
            pixels = np.asarray(image if image.mode == mode else image.convert(mode))
    # Pillow raises many types of errors for corrupt files; all of them get the path of the file.
    except Exception as error:
        raise ValueError(
            f"{path} could not be read as an image: {type(error).__name__}: {error}. Fix or "
            "remove the file."
        ) from error
    return pixels if pixels.ndim == 3 else pixels[:, :, None]
