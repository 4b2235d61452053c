"""`ImageDataGenerator`: random transformations of NumPy images, and batches of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from podium._typing import DTypeLike, PathLike
from podium.compat.keras.preprocessing._affine_transform import (
    Image,
    apply_affine_transform,
    draw_zoom,
)
from podium.compat.keras.preprocessing._file_iterators import DataFrameIterator, DirectoryIterator
from podium.compat.keras.preprocessing._image_iterator import (
    NumpyArrayIterator,
    check_image_batch,
)
from podium.compat.keras.preprocessing._pixel_shifts import (
    apply_brightness_shift,
    apply_channel_shift,
)
from podium.core import check_choice, floatx, image_data_format, warn_user
from podium.core.internal import PublicRepr

_Range = float | int | Sequence[float]


class ImageDataGenerator(PublicRepr):
    """Transforms NumPy images at random while batches are read.

    For new code, the layers `RandomFlip`, `RandomRotation` and the like do this inside of the
    compiled step. Random numbers come from `np.random`.

    Args:
        featurewise_center: Whether to subtract the mean of the data given to `fit`.
        samplewise_center: Whether to subtract the mean of each image.
        featurewise_std_normalization: Whether to divide by the standard deviation of the data.
        samplewise_std_normalization: Whether to divide by the standard deviation of each image.
        zca_whitening: Whether to whiten the images, by the data given to `fit`.
        zca_epsilon: Added to the singular values.
        rotation_range: The largest angle of rotation, in degrees.
        width_shift_range: The largest shift: a fraction of the width below 1, pixels from 1 on; an
            int for whole pixels below it; or a list to choose from.
        height_shift_range: The same for rows.
        brightness_range: The smallest and the largest factor of brightness.
        shear_range: The largest angle of shearing, in degrees.
        zoom_range: The smallest and the largest zoom, or their distance from 1.
        channel_shift_range: The largest number that is added to channels.
        fill_mode: What is outside of images: "nearest", "constant", "reflect" or "wrap".
        cval: The value outside, for "constant".
        horizontal_flip: Whether to flip images at random.
        vertical_flip: Whether to flip images upside down at random.
        rescale: A factor for all values, after the transformations.
        preprocessing_function: A function of an image, called before `rescale`.
        data_format: "channels_last", "channels_first", or None for the default.
        validation_split: The fraction of the images in the subset "validation".
        interpolation_order: The order of interpolation, from 0 to 5.
        dtype: The dtype of batches.

    Example:
        >>> from podium.compat import keras
        >>> generator = keras.preprocessing.image.ImageDataGenerator(
        ...     rotation_range=20, horizontal_flip=True, rescale=1 / 255
        ... )
        >>> images, targets = next(generator.flow(np.full((8, 6, 6, 3), 255.0), np.arange(8)))
        >>> images.shape, float(images.max())
        ((8, 6, 6, 3), 1.0)
    """

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: _Range = 0.0,
        height_shift_range: _Range = 0.0,
        brightness_range: Sequence[float] | None = None,
        shear_range: float = 0.0,
        zoom_range: float | Sequence[float] = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: float | None = None,
        preprocessing_function: Callable[[Image], Image] | None = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        interpolation_order: int = 1,
        dtype: DTypeLike | None = None,
    ):
        self.featurewise_center = featurewise_center
        self.samplewise_center = samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening = zca_whitening
        self.zca_epsilon = zca_epsilon
        self.rotation_range = rotation_range
        self.width_shift_range = width_shift_range
        self.height_shift_range = height_shift_range
        self.brightness_range = brightness_range
        self.shear_range = shear_range
        self.zoom_range = _as_zoom_range(zoom_range)
        self.channel_shift_range = channel_shift_range
        self.fill_mode = fill_mode
        self.cval = cval
        self.horizontal_flip = horizontal_flip
        self.vertical_flip = vertical_flip
        self.rescale = rescale
        self.preprocessing_function = preprocessing_function
        self.dtype = dtype or floatx()
        self.interpolation_order = interpolation_order
        self.data_format = check_choice(
            "data_format", data_format or image_data_format(), ("channels_last", "channels_first")
        )
        is_last = self.data_format == "channels_last"
        self.row_axis, self.col_axis, self.channel_axis = (1, 2, 3) if is_last else (2, 3, 1)
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(
                f"validation_split={validation_split} was given; a fraction below 1 was expected."
            )
        self.validation_split = validation_split
        if brightness_range is not None and np.shape(brightness_range) != (2,):
            raise ValueError(
                f"brightness_range={brightness_range!r} was given; a pair of numbers was expected."
            )
        self.mean: Image | None = None
        self.std: Image | None = None
        self.zca_whitening_matrix: Image | None = None
        self._enable_centering()

    def _enable_centering(self) -> None:
        """Set what other arguments need, with Keras's warnings."""
        if self.zca_whitening and self.featurewise_std_normalization:
            self.featurewise_std_normalization = False
            warn_user("zca_whitening=True turns featurewise_std_normalization off.")
        needs_mean = self.zca_whitening or self.featurewise_std_normalization
        if needs_mean and not self.featurewise_center:
            self.featurewise_center = True
            reason = "zca_whitening" if self.zca_whitening else "featurewise_std_normalization"
            warn_user(f"{reason}=True turns featurewise_center on.")
        if self.samplewise_std_normalization and not self.samplewise_center:
            self.samplewise_center = True
            warn_user("samplewise_std_normalization=True turns samplewise_center on.")

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
        save_to_dir: PathLike | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        ignore_class_split: bool = False,
        subset: str | None = None,
    ) -> NumpyArrayIterator:
        """Return batches of an array of images; `NumpyArrayIterator` describes the arguments."""
        return NumpyArrayIterator(
            x,
            y,
            self,
            batch_size,
            shuffle,
            sample_weight,
            seed,
            self.data_format,
            save_to_dir,
            save_prefix,
            save_format,
            subset,
            ignore_class_split,
            self.dtype,
        )

    def flow_from_directory(
        self,
        directory: PathLike,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: PathLike | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        keep_aspect_ratio: bool = False,
    ) -> DirectoryIterator:
        """Return batches of images in a directory; `DirectoryIterator` describes the arguments."""
        return DirectoryIterator(
            directory,
            self,
            target_size,
            color_mode,
            classes,
            class_mode,
            batch_size,
            shuffle,
            seed,
            self.data_format,
            save_to_dir,
            save_prefix,
            save_format,
            follow_links,
            subset,
            interpolation,
            keep_aspect_ratio,
            self.dtype,
        )

    def flow_from_dataframe(
        self,
        dataframe: Any,
        directory: PathLike | None = None,
        x_col: str = "filename",
        y_col: str | Sequence[str] = "class",
        weight_col: str | None = None,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: PathLike | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        validate_filenames: bool = True,
        keep_aspect_ratio: bool = False,
    ) -> DataFrameIterator:
        """Return batches of images that a pandas DataFrame names.

        `DirectoryIterator` describes the arguments that are not here.

        Args:
            dataframe: The DataFrame.
            directory: The directory of the files; None if the column has whole paths.
            x_col: The column of paths.
            y_col: The column of classes or targets, or a list of them.
            weight_col: The column of sample weights.
            target_size: Height and width that images are resized to.
            color_mode: "rgb", "rgba" or "grayscale".
            classes: The classes that are read; by default all, sorted.
            class_mode: "categorical", "binary", "sparse", "input", or None; or "raw" for the values
                of the columns, and "multi_output" for a list with an array per column.
            batch_size: The number of images in a batch.
            shuffle: Whether to shuffle the images before each epoch.
            seed: The seed of the order and of the transformations.
            save_to_dir: A directory to which the transformed images are saved.
            save_prefix: The beginning of the names of files.
            save_format: The suffix of the names of files.
            subset: "training" or "validation".
            interpolation: The method of resizing.
            validate_filenames: Whether rows of files that do not exist are left out.
            keep_aspect_ratio: Whether to crop instead of distorting.
        """
        return DataFrameIterator(
            dataframe,
            directory,
            self,
            x_col,
            y_col,
            weight_col,
            classes,
            batch_size,
            shuffle,
            seed,
            validate_filenames,
            target_size=target_size,
            color_mode=color_mode,
            class_mode=class_mode,
            data_format=self.data_format,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            subset=subset,
            interpolation=interpolation,
            keep_aspect_ratio=keep_aspect_ratio,
            dtype=self.dtype,
        )

    def transform_sample(self, x: Image) -> Image:
        """Transform an image at random, and standardize it."""
        return self.standardize(self.random_transform(x))

    def standardize(self, x: Image) -> Image:
        """Rescale, center, normalize and whiten an image, or a batch of them."""
        if self.preprocessing_function is not None:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x = x / (np.std(x, keepdims=True) + 1e-6)
        if self.featurewise_center:
            x = x if _is_missing("mean", self.mean) else x - self.mean
        if self.featurewise_std_normalization and not _is_missing("standard deviation", self.std):
            x = x / (np.asarray(self.std) + 1e-6)
        matrix = self.zca_whitening_matrix
        if self.zca_whitening and not _is_missing("whitening", matrix):
            x = np.reshape(np.reshape(x, (-1, np.prod(x.shape[-3:]))) @ matrix, x.shape)
        return x

    def get_random_transform(
        self, img_shape: Sequence[int], seed: int | None = None
    ) -> dict[str, Any]:
        """Return random parameters for `apply_transform`.

        Args:
            img_shape: The shape of the image.
            seed: The seed of `np.random`; None to continue.
        """
        if seed is not None:
            np.random.seed(seed)
        draw = np.random.uniform
        theta = draw(-self.rotation_range, self.rotation_range) if self.rotation_range else 0
        tx = _draw_shift(self.height_shift_range, img_shape[self.row_axis - 1])
        ty = _draw_shift(self.width_shift_range, img_shape[self.col_axis - 1])
        shear = draw(-self.shear_range, self.shear_range) if self.shear_range else 0
        zx, zy = draw_zoom(self.zoom_range)
        flip_horizontal = (np.random.random() < 0.5) * self.horizontal_flip
        flip_vertical = (np.random.random() < 0.5) * self.vertical_flip
        channel_shift = brightness = None
        if self.channel_shift_range != 0:
            channel_shift = draw(-self.channel_shift_range, self.channel_shift_range)
        if self.brightness_range is not None:
            brightness = draw(self.brightness_range[0], self.brightness_range[1])
        return {
            "theta": theta,
            "tx": tx,
            "ty": ty,
            "shear": shear,
            "zx": zx,
            "zy": zy,
            "flip_horizontal": flip_horizontal,
            "flip_vertical": flip_vertical,
            "channel_shift_intensity": channel_shift,
            "brightness": brightness,
        }

    def apply_transform(self, x: Image, transform_parameters: dict[str, Any]) -> Image:
        """Transform an image by the parameters that `get_random_transform` returns."""
        get = transform_parameters.get
        row_axis, col_axis, channel_axis = (
            axis - 1 for axis in (self.row_axis, self.col_axis, self.channel_axis)
        )
        x = apply_affine_transform(
            x,
            theta=get("theta", 0),
            tx=get("tx", 0),
            ty=get("ty", 0),
            shear=get("shear", 0),
            zx=get("zx", 1),
            zy=get("zy", 1),
            row_axis=row_axis,
            col_axis=col_axis,
            channel_axis=channel_axis,
            fill_mode=self.fill_mode,
            cval=self.cval,
            order=self.interpolation_order,
        )
        if get("channel_shift_intensity") is not None:
            intensity = transform_parameters["channel_shift_intensity"]
            x = apply_channel_shift(x, intensity, channel_axis)
        if get("flip_horizontal"):
            x = np.flip(x, col_axis)
        if get("flip_vertical"):
            x = np.flip(x, row_axis)
        if get("brightness") is not None:
            x = apply_brightness_shift(x, transform_parameters["brightness"], False)
        return x

    def random_transform(self, x: Image, seed: int | None = None) -> Image:
        """Transform an image at random.

        Args:
            x: The image.
            seed: The seed of `np.random`; None to continue.
        """
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Compute the mean, the standard deviation and the whitening of images.

        Args:
            x: Images.
            augment: Whether to transform the images at random before.
            rounds: How often each image is transformed.
            seed: The seed of `np.random`; None to continue.
        """
        images = np.array(x, dtype=self.dtype)
        check_image_batch(images, self.data_format, "ImageDataGenerator.fit")
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            images *= self.rescale
        if augment:
            transformed = [self.random_transform(x) for _ in range(rounds) for x in images]
            images = np.stack(transformed).astype(self.dtype)
        axes = (0, self.row_axis, self.col_axis)
        if self.featurewise_center:
            self.mean = np.mean(images, axis=axes, keepdims=True)[0]
            images -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(images, axis=axes, keepdims=True)[0]
            images /= self.std + 1e-6
        if self.zca_whitening:
            flat = images.reshape(len(images), -1)
            u, s, _ = np.linalg.svd(flat.T, full_matrices=False)
            scale = np.sqrt(len(flat)) / (s + self.zca_epsilon)
            self.zca_whitening_matrix = (u * scale) @ u.T


def _as_zoom_range(zoom_range: float | Sequence[float]) -> tuple[float, float]:
    if isinstance(zoom_range, (int, float)):
        return (1 - zoom_range, 1 + zoom_range)
    if np.shape(zoom_range) != (2,):
        raise ValueError(f"zoom_range={zoom_range!r} was given; a number or a pair was expected.")
    return (zoom_range[0], zoom_range[1])


def _is_missing(name: str, value: Image | None) -> bool:
    """Return whether a statistic is not known, with a warning if it is not."""
    if value is None:
        warn_user(
            f"The {name} of the images is not known, so they are not normalized by it. Call "
            "`generator.fit(images)` before batches are read."
        )
    return value is None


def _draw_shift(shift_range: _Range, size: int) -> float:
    """Return a random number of pixels, with the draws of Keras 2."""
    if isinstance(shift_range, (int, float)) and not shift_range:
        return 0
    if isinstance(shift_range, float):
        shift = np.random.uniform(-shift_range, shift_range)
    else:  # an int or a list to choose from
        shift = np.random.choice(shift_range) * np.random.choice([-1, 1])
    return float(shift * size if np.max(shift_range) < 1 else shift)
