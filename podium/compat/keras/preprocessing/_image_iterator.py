"""Batches of transformed images, by index or as an iterator without end.

`Iterator` owns the order of the samples; subclasses read and transform them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator as IteratorOf
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from podium._typing import DTypeLike, PathLike, Tree
from podium.core import check_choice, floatx, image_data_format, warn_user
from podium.data import PyDataset
from podium.utils import array_to_img

if TYPE_CHECKING:
    from podium.compat.keras.preprocessing._image_data_generator import ImageDataGenerator

Array = np.ndarray[Any, Any]
SUBSETS = ("training", "validation")


class Iterator(PyDataset):
    """Base class of iterators over images; override `_get_batches_of_transformed_samples`.

    `fit` reads `len(iterator)` batches by index in each epoch. `next(iterator)` never ends.

    Args:
        n: The number of samples.
        batch_size: The number of samples in a batch.
        shuffle: Whether to shuffle the samples before each epoch.
        seed: The seed of the order, and of what is drawn for each batch, in `np.random`.

    Example:
        >>> from podium.compat import keras
        >>> class Indices(keras.preprocessing.image.Iterator):
        ...     def _get_batches_of_transformed_samples(self, index_array):
        ...         return index_array
        >>> iterator = Indices(n=5, batch_size=2, shuffle=False, seed=None)
        >>> [batch.tolist() for batch, _ in zip(iterator, range(4))]
        [[0, 1], [2, 3], [4], [0, 1]]
    """

    white_list_formats = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None):
        super().__init__()
        self.n = n
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.batch_index = 0
        self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: Array | None = None
        self.index_generator = self._flow_index()

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return -(-self.n // self.batch_size)

    def __getitem__(self, idx: int) -> Tree:
        """Return a batch of the current epoch."""
        if idx >= len(self):
            raise IndexError(f"Batch {idx} was requested; there are {len(self)} batches.")
        self._seed_next_batch()
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        start = self.batch_size * idx
        return self._get_batches_of_transformed_samples(
            self._indices()[start : start + self.batch_size]
        )

    def on_epoch_end(self) -> None:
        """Shuffle the samples, or put them in their order."""
        self._set_index_array()

    def reset(self) -> None:
        """Let `next` begin with the first batch."""
        self.batch_index = 0

    def __iter__(self) -> IteratorOf[Tree]:
        return self

    def __next__(self) -> Tree:
        return self.next()

    def next(self) -> Tree:
        """Return the next batch; after the last one, the first of the next epoch."""
        with self.lock:
            indices = next(self.index_generator)
        return self._get_batches_of_transformed_samples(indices)

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _indices(self) -> Array:
        return np.arange(self.n) if self.index_array is None else self.index_array

    def _seed_next_batch(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)

    def _flow_index(self) -> IteratorOf[Array]:
        self.reset()
        while True:
            self._seed_next_batch()
            if self.batch_index == 0:
                self._set_index_array()
            start = (self.batch_index * self.batch_size) % max(self.n, 1)
            is_last = start + self.batch_size >= self.n
            self.batch_index = 0 if is_last else self.batch_index + 1
            self.total_batches_seen += 1
            yield self._indices()[start : start + self.batch_size]

    def _get_batches_of_transformed_samples(self, index_array: Array) -> Tree:
        """Return the batch of the samples with these indices."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `_get_batches_of_transformed_samples`: define it to "
            "return the batch of an array of indices."
        )


def save_images(
    images: Array,
    indices: Array,
    data_format: str,
    directory: PathLike,
    prefix: str,
    file_format: str,
    max_number: int,
) -> None:
    """Save the images of a batch, with random numbers in the names of the files."""
    for image, index in zip(images, indices, strict=True):
        name = f"{prefix}_{index}_{np.random.randint(max_number)}.{file_format}"
        array_to_img(image, data_format, scale=True).save(os.path.join(directory, name))


class NumpyArrayIterator(Iterator):
    """Batches of an array of images, which an ImageDataGenerator transforms.

    Args:
        x: Images; or a pair of images and an array, or a list of them, that is returned unchanged.
        y: The targets; None for none.
        image_data_generator: The ImageDataGenerator.
        batch_size: The number of images in a batch.
        shuffle: Whether to shuffle the images before each epoch.
        sample_weight: A weight for each image.
        seed: The seed of the order and of the transformations.
        data_format: "channels_last", "channels_first", or None for the default.
        save_to_dir: A directory to which the transformed images are saved.
        save_prefix: The beginning of the names of files.
        save_format: The suffix of the names of files.
        subset: "training" or "validation": a part of the images, by the `validation_split` of the
            generator; validation comes first.
        ignore_class_split: Whether the two subsets may have different classes.
        dtype: The dtype of the images.

    Example:
        >>> from podium.compat import keras
        >>> generator = keras.preprocessing.image.ImageDataGenerator(rescale=0.5)
        >>> batches = keras.preprocessing.image.NumpyArrayIterator(
        ...     np.ones((3, 4, 4, 1)), np.arange(3), generator, batch_size=2
        ... )
        >>> images, targets = batches[0]
        >>> float(images.max()), targets.tolist()
        (0.5, [0, 1])
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        image_data_generator: ImageDataGenerator,
        batch_size: int = 32,
        shuffle: bool = False,
        sample_weight: Any = None,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: PathLike | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        ignore_class_split: bool = False,
        dtype: DTypeLike | None = None,
    ):
        self.dtype = dtype or floatx()
        self.data_format = data_format or image_data_format()
        others: list[Array] = []
        if isinstance(x, (tuple, list)):
            x, extra = x
            others = [
                np.asarray(array) for array in (extra if isinstance(extra, list) else [extra])
            ]
        arrays = [*others, *(array for array in (y, sample_weight) if array is not None)]
        if any(len(array) != len(x) for array in arrays):
            raise ValueError(
                f"NumpyArrayIterator was given {len(x)} images and arrays of the lengths "
                f"{[len(array) for array in arrays]}; equal lengths were expected."
            )
        part = slice(None)
        if subset is not None:
            split = int(len(x) * image_data_generator.validation_split)
            check_choice("subset", subset, SUBSETS)
            part = slice(None, split) if subset == "validation" else slice(split, None)
            if y is not None and not ignore_class_split:
                _check_equal_classes(y[:split], y[split:])
        self.x = np.asarray(x[part], dtype=self.dtype)
        self.x_misc = [array[part] for array in others]
        self.y = None if y is None else np.asarray(y[part])
        weights = None if sample_weight is None else np.asarray(sample_weight)
        # Keras 2 does not split the weights, and so returns those of other samples.
        self.sample_weight = None if weights is None else weights[part]
        check_image_batch(self.x, self.data_format, "NumpyArrayIterator")
        self.image_data_generator = image_data_generator
        self.save_to_dir = save_to_dir
        self.save_prefix = save_prefix
        self.save_format = save_format
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: Array) -> Tree:
        batch = np.zeros((len(index_array), *self.x.shape[1:]), self.dtype)
        for row, index in enumerate(index_array):
            batch[row] = self.image_data_generator.transform_sample(
                self.x[index].astype(self.dtype)
            )
        if self.save_to_dir is not None:
            file_options = (self.save_to_dir, self.save_prefix, self.save_format)
            save_images(batch, index_array, self.data_format, *file_options, max_number=10**4)
        images = [batch, *(array[index_array] for array in self.x_misc)] if self.x_misc else batch
        if self.y is None:
            return images
        weights = [] if self.sample_weight is None else [self.sample_weight[index_array]]
        return (images, self.y[index_array], *weights)


def _check_equal_classes(validation: Sequence[Any], training: Sequence[Any]) -> None:
    if not np.array_equal(np.unique(validation), np.unique(training)):
        raise ValueError(
            "The classes of the training and the validation subset differ. Shuffle arrays that are "
            "sorted by class, or pass `ignore_class_split=True`."
        )


def check_image_batch(x: Array, data_format: str, receiver: str) -> None:
    """Raise if an array is not a batch of images, and warn about another number of channels."""
    if x.ndim != 4:
        raise ValueError(
            f"{receiver} was given an array of shape {x.shape}; images with four dimensions were "
            "expected."
        )
    axis = 3 if data_format == "channels_last" else 1
    if x.shape[axis] not in (1, 3, 4):
        warn_user(
            f"{receiver} was given an array of shape {x.shape}: {x.shape[axis]} channels with "
            f'data_format="{data_format}", where 1, 3 or 4 are usual.'
        )
