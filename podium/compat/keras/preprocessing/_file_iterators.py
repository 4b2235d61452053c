"""Batches of images in files: of directories with one subdirectory per class, or of a table."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from podium._typing import DTypeLike, PathLike, Tree
from podium.compat.keras.preprocessing._image_iterator import (
    SUBSETS,
    Array,
    Iterator,
    save_images,
)
from podium.core import check_choice, floatx, image_data_format, warn_user
from podium.utils import img_to_array, load_img

if TYPE_CHECKING:
    from podium.compat.keras.preprocessing._image_data_generator import ImageDataGenerator

_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
_CLASS_MODES = ("categorical", "binary", "sparse", "input", None)
_TABLE_CLASS_MODES = ("binary", "categorical", "input", "multi_output", "raw", "sparse", None)
_WITHOUT_CLASSES = ("input", "multi_output", "raw", None)


class FileIterator(Iterator):
    """Reads and transforms the images of a batch. Subclasses set the list of files and targets."""

    filenames: list[str]
    class_indices: dict[str, int]
    classes: Any = None

    def __init__(
        self,
        image_data_generator: ImageDataGenerator | None,
        target_size: Sequence[int],
        color_mode: str,
        class_mode: str | None,
        data_format: str | None,
        save_to_dir: PathLike | None,
        save_prefix: str,
        save_format: str,
        subset: str | None,
        interpolation: str,
        keep_aspect_ratio: bool,
        dtype: DTypeLike | None,
    ):
        self.image_data_generator = image_data_generator
        height, width = target_size
        self.target_size = (height, width)
        self.color_mode = check_choice("color_mode", color_mode, list(_CHANNELS))
        self.class_mode = class_mode
        self.data_format = data_format or image_data_format()
        channels = (_CHANNELS[color_mode],)
        is_last = self.data_format == "channels_last"
        self.image_shape = (height, width, *channels) if is_last else (*channels, height, width)
        self.save_to_dir = save_to_dir
        self.save_prefix = save_prefix
        self.save_format = save_format
        self.interpolation = interpolation
        self.keep_aspect_ratio = keep_aspect_ratio
        self.dtype = dtype or floatx()
        self.subset = subset
        self.split: tuple[float, float] | None = None
        if subset is not None:
            check_choice("subset", subset, SUBSETS)
            split = 0.0 if image_data_generator is None else image_data_generator.validation_split
            self.split = (0, split) if subset == "validation" else (split, 1)
        self.directory: PathLike = ""
        self.targets: Any = None
        self.sample_weight: Array | None = None

    @property
    def samples(self) -> int:
        """The number of files."""
        return len(self.filenames)

    @property
    def filepaths(self) -> list[str]:
        """The paths of the files."""
        return [os.path.join(self.directory, name) for name in self.filenames]

    @property
    def labels(self) -> Any:
        """The class indices of the files, or their targets."""
        return self.targets if self.class_mode in ("multi_output", "raw") else self.classes

    def _get_batches_of_transformed_samples(self, index_array: Array) -> Tree:
        batch = np.zeros((len(index_array), *self.image_shape), self.dtype)
        paths = self.filepaths
        for row, index in enumerate(index_array):
            image = img_to_array(self._load_image(paths[index]), self.data_format)
            if self.image_data_generator is not None:
                image = self.image_data_generator.transform_sample(image)
            batch[row] = image
        if self.save_to_dir is not None:
            file_options = (self.save_to_dir, self.save_prefix, self.save_format)
            save_images(batch, index_array, self.data_format, *file_options, max_number=10**7)
        if self.class_mode is None:
            return batch
        weights = [] if self.sample_weight is None else [self.sample_weight[index_array]]
        return (batch, self._targets_of(batch, index_array), *weights)

    def _load_image(self, path: str) -> Any:
        return load_img(
            path,
            color_mode=self.color_mode,
            target_size=self.target_size,
            interpolation=self.interpolation,
            keep_aspect_ratio=self.keep_aspect_ratio,
        )

    def _targets_of(self, images: Array, indices: Array) -> Tree:
        if self.class_mode == "input":
            return images.copy()
        if self.class_mode == "multi_output":
            return [target[indices] for target in self.targets]
        if self.class_mode == "raw":
            return self.targets[indices]
        if self.class_mode in ("binary", "sparse"):
            return np.array([self.classes[index] for index in indices], self.dtype)
        targets = np.zeros((len(indices), len(self.class_indices)), self.dtype)
        for row, index in enumerate(indices):
            targets[row, self.classes[index]] = 1.0
        return targets

    def _part_of(self, count: int) -> slice:
        """Return the part of `count` files that the subset has."""
        if self.split is None:
            return slice(None)
        return slice(int(self.split[0] * count), int(self.split[1] * count))


class DirectoryIterator(FileIterator):
    """Batches of images in a directory, which an ImageDataGenerator transforms.

    `utils.image_dataset_from_directory` reads the same directories as a Dataset.

    Args:
        directory: A directory with a subdirectory for each class.
        image_data_generator: The ImageDataGenerator.
        target_size: Height and width that images are resized to.
        color_mode: "rgb", "rgba" or "grayscale".
        classes: The subdirectories, in the order of their class indices; by default all, sorted.
        class_mode: The targets: "categorical" for one-hot rows, "binary" or "sparse" for class
            indices, "input" for the images, or None for none.
        batch_size: The number of images in a batch.
        shuffle: Whether to shuffle the images before each epoch.
        seed: The seed of the order and of the transformations.
        data_format: "channels_last", "channels_first", or None for the default.
        save_to_dir: A directory to which the transformed images are saved.
        save_prefix: The beginning of the names of files.
        save_format: The suffix of the names of files.
        follow_links: Whether to follow links to directories.
        subset: "training" or "validation": a part of each class, by the `validation_split` of the
            generator; validation comes first.
        interpolation: "nearest", "bilinear", "bicubic", "hamming", "box" or "lanczos".
        keep_aspect_ratio: Whether to crop instead of distorting.
        dtype: The dtype of the images.

    Example:
        >>> import pathlib, tempfile
        >>> from podium.compat import keras
        >>> directory = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("cats", "dogs"):
        ...     (directory / name).mkdir()
        ...     podium.utils.save_img(directory / name / "1.png", np.zeros((6, 8, 3)))
        >>> generator = keras.preprocessing.image.ImageDataGenerator()
        >>> batches = keras.preprocessing.image.DirectoryIterator(
        ...     directory, generator, target_size=(4, 4), shuffle=False
        ... )
        Found 2 images belonging to 2 classes.
        >>> images, targets = next(batches)
        >>> images.shape, targets.tolist(), batches.class_indices
        ((2, 4, 4, 3), [[1.0, 0.0], [0.0, 1.0]], {'cats': 0, 'dogs': 1})
    """

    def __init__(
        self,
        directory: PathLike,
        image_data_generator: ImageDataGenerator | None,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: PathLike | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        keep_aspect_ratio: bool = False,
        dtype: DTypeLike | None = None,
    ):
        FileIterator.__init__(
            self,
            image_data_generator,
            target_size,
            color_mode,
            class_mode,
            data_format,
            save_to_dir,
            save_prefix,
            save_format,
            subset,
            interpolation,
            keep_aspect_ratio,
            dtype,
        )
        _check_class_mode(class_mode, _CLASS_MODES)
        self.directory = directory
        names = list(classes or _subdirectories(directory))
        self.num_classes = len(names)
        self.class_indices = {name: index for index, name in enumerate(names)}
        self.filenames, numbers = [], []
        for index, name in enumerate(names):
            files = self._list_files(name, follow_links)
            files = files[self._part_of(len(files))]
            self.filenames += files
            numbers += [index] * len(files)
        self.classes = np.array(numbers, "int32")
        sys.stdout.write(f"Found {self.samples} images belonging to {self.num_classes} classes.\n")
        Iterator.__init__(self, self.samples, batch_size, shuffle, seed)

    def _list_files(self, name: str, follow_links: bool) -> list[str]:
        """Return the paths of the images of a class, relative to the directory."""
        top = os.path.join(self.directory, name)
        found = []
        for folder, _, files in sorted(os.walk(top, followlinks=follow_links)):
            for file in sorted(files):
                if file.lower().endswith(self.white_list_formats):
                    relative = os.path.relpath(os.path.join(folder, file), top)
                    found.append(os.path.join(os.path.basename(top), relative))
        return found


class DataFrameIterator(FileIterator):
    """Batches of images that a pandas DataFrame names; see `flow_from_dataframe` for arguments."""

    def __init__(
        self,
        dataframe: Any,
        directory: PathLike | None,
        image_data_generator: ImageDataGenerator | None,
        x_col: str,
        y_col: str | Sequence[str],
        weight_col: str | None,
        classes: Sequence[str] | None,
        batch_size: int,
        shuffle: bool,
        seed: int | None,
        validate_filenames: bool,
        **file_options: Any,
    ):
        FileIterator.__init__(self, image_data_generator, **file_options)
        _check_class_mode(self.class_mode, _TABLE_CLASS_MODES)
        self.directory = directory or ""
        table = dataframe.copy()
        self._check_columns(table, x_col, y_col, weight_col)
        if validate_filenames:
            table = self._drop_missing_files(table, x_col)
        has_classes = self.class_mode not in _WITHOUT_CLASSES
        if has_classes:
            table, names = _select_classes(table, y_col, classes)
            if self.class_mode == "binary" and len(names) != 2:
                raise ValueError(f'class_mode="binary" needs 2 classes; {names} were found.')
            self.class_indices = {name: index for index, name in enumerate(names)}
        table = table.iloc[self._part_of(len(table))]
        if has_classes:
            self.classes = [self._indices_of(labels) for labels in table[y_col]]
        elif classes:
            warn_user(f"classes={classes} has no effect with class_mode={self.class_mode!r}.")
        self.filenames = table[x_col].tolist()
        self.sample_weight = table[weight_col].to_numpy() if weight_col else None
        if self.class_mode == "multi_output":
            self.targets = [np.array(table[column].tolist()) for column in y_col]
        elif self.class_mode == "raw":
            self.targets = table[y_col if isinstance(y_col, str) else list(y_col)].to_numpy()
        kind = "validated" if validate_filenames else "non-validated"
        ending = f" belonging to {len(self.class_indices)} classes" if has_classes else ""
        sys.stdout.write(f"Found {self.samples} {kind} image filenames{ending}.\n")
        Iterator.__init__(self, self.samples, batch_size, shuffle, seed)

    def _check_columns(
        self, table: Any, x_col: str, y_col: str | Sequence[str], weight_col: str | None
    ) -> None:
        if self.class_mode == "multi_output" and not isinstance(y_col, list):
            raise TypeError(
                f'class_mode="multi_output" needs a list as y_col; {y_col!r} was given.'
            )
        if not all(isinstance(name, str) for name in table[x_col]):
            raise TypeError(f"The column x_col={x_col!r} must contain strings, paths of images.")
        kinds = {"categorical": (str, list, tuple), "binary": (str,), "sparse": (str,)}
        allowed = kinds.get(str(self.class_mode))
        if allowed and not all(isinstance(label, allowed) for label in table[y_col]):
            names = " or ".join(kind.__name__ for kind in allowed)
            raise TypeError(
                f"The column y_col={y_col!r} must contain values of type {names} with "
                f"class_mode={self.class_mode!r}. Convert it with `.astype(str)`."
            )
        if weight_col and not np.issubdtype(table[weight_col].dtype, np.number):
            raise TypeError(f"The column weight_col={weight_col!r} must contain numbers.")

    def _drop_missing_files(self, table: Any, x_col: str) -> Any:
        paths = [os.path.join(self.directory, name) for name in table[x_col]]
        is_image = [
            path.lower().endswith(self.white_list_formats) and os.path.isfile(path)
            for path in paths
        ]
        missing = len(paths) - sum(is_image)
        if missing:
            warn_user(
                f"{missing} of the files in the column x_col={x_col!r} do not exist, or are not "
                "images; their rows are ignored."
            )
        return table[np.array(is_image, bool)]

    def _indices_of(self, labels: str | Sequence[str]) -> int | list[int]:
        if isinstance(labels, str):
            return self.class_indices[labels]
        return [self.class_indices[label] for label in labels]


def _check_class_mode(class_mode: str | None, choices: Sequence[str | None]) -> None:
    if class_mode not in choices:
        raise ValueError(f"class_mode={class_mode!r} was given; one of {choices} was expected.")


def _subdirectories(directory: PathLike) -> list[str]:
    names = sorted(os.listdir(directory))
    return [name for name in names if os.path.isdir(os.path.join(directory, name))]


def _select_classes(table: Any, y_col: Any, classes: Sequence[str] | None) -> tuple[Any, list[str]]:
    """Return the rows with some of the classes, and the names of all classes."""
    if not classes:
        labels = [[label] if isinstance(label, str) else label for label in table[y_col]]
        return table, sorted({name for names in labels for name in names})
    names = list(dict.fromkeys(classes))

    def keep(labels: str | Sequence[str]) -> Any:
        if isinstance(labels, str):
            return labels if labels in names else None
        return [label for label in labels if label in names] or None

    kept = [keep(labels) for labels in table[y_col]]
    table = table.assign(**{y_col: kept})
    return table[np.array([labels is not None for labels in kept], bool)], names
