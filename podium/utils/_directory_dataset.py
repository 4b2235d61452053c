"""A Dataset that reads the files of a directory: shared by the datasets of images, texts
and audio.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from podium._typing import PathLike
from podium.core import check_choice, unknown_choice
from podium.core.internal import check_int
from podium.data import Dataset
from podium.data.internal import OneToOnePipeline, Pipeline
from podium.utils._list_files import (
    Files,
    Labels,
    find_files,
    print_count,
    shuffle_files,
    split_files,
)

_NUM_THREADS = min(8, os.cpu_count() or 1)
_READ_AHEAD = 4 * _NUM_THREADS  # files that are read before they are requested
_LABEL_MODES = ("int", "categorical", "binary", None)


class FileDataset(Dataset):
    """A Dataset of the files of a directory.

    Attributes:
        class_names: The names of the classes in the order of their indices; None without labels.
        file_paths: The paths of the files, before they are shuffled for each epoch.
    """

    def __init__(self, pipeline: Pipeline, files: Files) -> None:
        super().__init__(pipeline)
        self.class_names = files.class_names
        self.file_paths = files.paths


class FilePipeline(OneToOnePipeline):
    """The contents of files in the order of `source`, read ahead by several threads.

    Args:
        source: Row indices.
        read: Returns the element of a row index.
        sample: Returns an element of the same structure and shape, without reading a file. Sizes
            that differ between files depend on its argument.
    """

    def __init__(
        self, source: Pipeline, read: Callable[[int], Any], sample: Callable[[int], Any]
    ) -> None:
        super().__init__(source)
        self._read = read
        self._sample = sample

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Iterate over the contents of the files; the first `start` files are not opened.

        A file that cannot be read raises when its element is requested.
        """
        pool = concurrent.futures.ThreadPoolExecutor(_NUM_THREADS, "podium-files")
        pending: collections.deque[concurrent.futures.Future[Any]] = collections.deque()
        try:
            for row in self.source.elements(start):
                pending.append(pool.submit(self._read, int(row)))
                if len(pending) > _READ_AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # also when the caller stops early
            pool.shutdown(wait=False, cancel_futures=True)

    def sample(self, batch: int) -> Any:
        """Return an element of the same structure and shape."""
        return self._sample(batch)


@dataclasses.dataclass
class DirectoryOptions:
    """The arguments that the functions for images, texts and audio share.

    They are validated on creation.
    """

    directory: PathLike
    labels: Labels | Sequence[float]  # an array after validation
    label_mode: str | None
    class_names: list[str] | None
    batch_size: int | None
    shuffle: bool
    seed: int | None
    validation_split: float | None
    subset: str | None
    follow_links: bool
    format: str
    verbose: bool

    def __post_init__(self) -> None:
        if self.label_mode not in _LABEL_MODES:
            raise unknown_choice("label_mode", self.label_mode, _LABEL_MODES)
        check_choice("format", self.format, ("tf", "grain"))
        if self.batch_size is not None:
            self.batch_size = check_int("batch_size", self.batch_size, integral_floats=True)
        if self.seed is not None:
            self.seed = check_int("seed", self.seed, 0, integral_floats=True)
        self._check_labels()
        self._check_split()

    def create_datasets(
        self,
        suffixes: tuple[str, ...],
        kind: str,
        read: Callable[[str], Any],
        sample: Callable[[str, int], Any],
        pad: bool = False,
    ) -> FileDataset | tuple[FileDataset, FileDataset]:
        """Find the files and return a Dataset of them, or two if `subset` is "both".

        Args:
            suffixes: The suffixes of the files.
            kind: What the files are called in messages.
            read: Returns the contents of a path.
            sample: `sample(path, size)` returns contents like those of a path without reading
                them; `size` is for sizes that differ between files.
            pad: Whether to pad the contents to the longest of a batch.
        """
        # Sampled like in Keras, so that `set_random_seed` produces the same seed.
        seed = int(np.random.randint(10**6)) if self.seed is None else self.seed
        files = find_files(
            self.directory,
            cast("Labels", self.labels),
            self.class_names,
            suffixes,
            self.follow_links,
            kind,
        )
        _check_classes(files, self.label_mode)
        print_count(files, self.verbose)
        files = shuffle_files(files, seed) if self.shuffle else files
        datasets: list[FileDataset] = []
        for part in split_files(files, self.validation_split, self.subset, self.verbose):
            # With "both", the validation files keep their order.
            shuffle_seed = seed if self.shuffle and not datasets else None
            datasets.append(self._create_dataset(part, shuffle_seed, read, sample, pad))
        return datasets[0] if len(datasets) == 1 else (datasets[0], datasets[1])

    def _create_dataset(
        self,
        files: Files,
        seed: int | None,
        read: Callable[[str], Any],
        sample: Callable[[str, int], Any],
        pad: bool,
    ) -> FileDataset:
        labels = _label_encoder(files, self.label_mode)
        rows = Dataset.from_tensor_slices(np.arange(len(files.paths)))
        if seed is not None:
            rows = rows.shuffle(len(files.paths), seed)
        if labels is None:
            pipeline = FilePipeline(
                rows.pipeline,
                lambda row: read(files.paths[row]),
                lambda size: sample(files.paths[0], size),
            )
        else:
            pipeline = FilePipeline(
                rows.pipeline,
                lambda row: (read(files.paths[row]), labels(row)),
                lambda size: (sample(files.paths[0], size), labels(0)),
            )
        dataset = Dataset(pipeline)
        if self.batch_size is not None:
            batch = dataset.padded_batch if pad else dataset.batch
            dataset = batch(self.batch_size)
        return FileDataset(dataset.pipeline, files)

    def _check_labels(self) -> None:
        if self.labels is None or self.label_mode is None:
            self.labels = self.label_mode = None
        inferred = isinstance(self.labels, str)
        if inferred:
            check_choice("labels", self.labels, ("inferred",))
        if self.class_names is not None and not inferred:
            raise ValueError(
                f"class_names={self.class_names!r} was given; it is the order of the "
                "subdirectories, which are read only if labels='inferred' and label_mode is not "
                "None. Remove it."
            )
        if self.class_names is not None and len(set(self.class_names)) != len(self.class_names):
            raise ValueError(f"class_names={self.class_names!r} names a class twice.")
        if self.labels is None or inferred:
            return
        if not isinstance(self.labels, (list, tuple, np.ndarray)):
            raise TypeError(
                f"labels is of type {type(self.labels).__name__}; 'inferred', None or a list with "
                "a class index for each file was expected."
            )
        self.labels = np.array(self.labels)
        if self.labels.dtype.kind not in "iufb" or self.labels.ndim != 1:
            raise ValueError(
                f"labels has the dtype {self.labels.dtype} and the shape {self.labels.shape}; a "
                "list with one class index for each file was expected. Encode the classes first: "
                "`np.unique(labels, return_inverse=True)[1]`."
            )

    def _check_split(self) -> None:
        if self.subset not in ("training", "validation", "both", None):
            raise unknown_choice("subset", self.subset, ("training", "validation", "both", None))
        if self.validation_split and not 0 < self.validation_split < 1:
            raise ValueError(
                f"validation_split={self.validation_split!r} was given; a fraction between 0 and "
                "1 was expected."
            )
        if bool(self.validation_split) != bool(self.subset):
            raise ValueError(
                f"validation_split={self.validation_split!r} and subset={self.subset!r} were "
                "given; they belong together: validation_split=0.2, subset='training' (or "
                "'validation', or 'both')."
            )
        if self.validation_split and self.shuffle and self.seed is None:
            raise ValueError(
                f"validation_split={self.validation_split!r} was given with shuffle=True and no "
                "seed. Without a seed, training and validation files could overlap: pass the same "
                "seed to both calls, such as seed=1, or shuffle=False."
            )


def _check_classes(files: Files, label_mode: str | None) -> None:
    names, indices = files.class_names or [], files.labels
    if indices is None or label_mode not in ("binary", "categorical"):
        return
    if label_mode == "binary" and len(names) != 2:
        raise ValueError(
            f"label_mode='binary' needs two classes, and {len(names)} were found: {names}."
        )
    if indices.dtype.kind not in "iub" or indices.min() < 0 or indices.max() >= len(names):
        raise ValueError(
            f"label_mode={label_mode!r} needs labels that are ints from 0 to "
            f"{len(names) - 1}, and the {len(names)} distinct labels are "
            f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}."
        )


def _label_encoder(files: Files, label_mode: str | None) -> Callable[[int], Any] | None:
    """Return a function from the row of a file to its label."""
    if files.labels is None or label_mode is None:
        return None
    if label_mode == "int":
        labels = files.labels.astype(np.float32 if files.labels.dtype.kind == "f" else np.int32)
        return lambda row: labels[row]
    if label_mode == "binary":
        column = files.labels.astype(np.float32)[:, None]
        return lambda row: column[row]
    indices, num_classes = files.labels, len(files.class_names or ())

    def one_hot(row: int) -> np.ndarray[Any, Any]:
        encoded = np.zeros(num_classes, np.float32)
        encoded[indices[row]] = 1
        return encoded

    return one_hot
