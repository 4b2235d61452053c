"""From the files of a folder to a Dataset that reads them as it is walked: what images and text
have in common.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from podium.core import check_choice, unknown_choice
from podium.core.internal import check_int
from podium.data import Dataset
from podium.data.internal import OneToOnePipeline, Pipeline
from podium.utils._directory_files import Files, find_files, mixed, report, split

_THREADS = min(8, os.cpu_count() or 1)
_AHEAD = 4 * _THREADS  # files that are read before they are asked for
_LABEL_MODES = ("int", "categorical", "binary", None)


class FileDataset(Dataset):
    """A Dataset of the files of a folder.

    Attributes:
        class_names: The names of the classes in the order of their numbers; None without labels.
        file_paths: The paths of the files, before they are mixed anew for each pass.
    """

    def __init__(self, pipeline: Pipeline, files: Files):
        super().__init__(pipeline)
        self.class_names = files.class_names
        self.file_paths = files.paths


class FilesRead(OneToOnePipeline):
    """What is read from files, in the order of the row numbers that it follows, a little ahead and
    by several threads.

    Args:
        source: Row numbers.
        read: Returns the element of a row number.
        sample: Returns an element such as will come, without reading a file.
    """

    def __init__(self, source: Pipeline, read: Callable[[int], Any], sample: Callable[[], Any]):
        super().__init__(source)
        self._read = read
        self._sample = sample

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk what is in the files; the first `start` are not opened. One that cannot be read
        raises when its turn comes.
        """
        pool = concurrent.futures.ThreadPoolExecutor(_THREADS, "podium-files")
        waiting: collections.deque = collections.deque()
        try:
            for row in self.source.elements(start):
                waiting.append(pool.submit(self._read, int(row)))
                if len(waiting) > _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # also when the walk is left early
            pool.shutdown(wait=False, cancel_futures=True)

    def sample(self, batch: int) -> Any:
        """Return an element such as will come."""
        return self._sample()


@dataclasses.dataclass
class Folder:
    """The arguments that `image_dataset_from_directory` and `text_dataset_from_directory` share,
    checked when made.
    """

    directory: Any
    labels: Any
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

    def datasets(
        self,
        suffixes: tuple[str, ...],
        kind: str,
        read: Callable[[str], Any],
        sample: Callable[[], Any],
    ) -> FileDataset | tuple[FileDataset, FileDataset]:
        """Find the files and return a Dataset of them, or two if `subset` is "both"."""
        # Drawn as Keras draws it: `set_random_seed` fixes it, and then it is Keras's.
        seed = int(np.random.randint(10**6)) if self.seed is None else self.seed
        files = find_files(
            self.directory, self.labels, self.class_names, suffixes, self.follow_links, kind
        )
        _check_classes(files, self.label_mode)
        report(files, self.verbose)
        files = mixed(files, seed) if self.shuffle else files
        made: list[FileDataset] = []
        for part in split(files, self.validation_split, self.subset, self.verbose):
            shuffled = (
                self.shuffle and not made
            )  # of "both", the files for validation keep their order
            made.append(self._dataset(part, seed if shuffled else None, read, sample))
        return made[0] if len(made) == 1 else (made[0], made[1])

    def _dataset(
        self, files: Files, seed: int | None, read: Callable, sample: Callable
    ) -> FileDataset:
        labels = _encoded(files, self.label_mode)
        numbers = Dataset.from_tensor_slices(np.arange(len(files.paths)))
        if seed is not None:
            numbers = numbers.shuffle(len(files.paths), seed)
        if labels is None:
            pipeline = FilesRead(numbers.pipeline, lambda row: read(files.paths[row]), sample)
        else:
            pipeline = FilesRead(
                numbers.pipeline,
                lambda row: (read(files.paths[row]), labels(row)),
                lambda: (sample(), labels(0)),
            )
        dataset = Dataset(pipeline)
        return FileDataset(
            (dataset if self.batch_size is None else dataset.batch(self.batch_size)).pipeline, files
        )

    def _check_labels(self) -> None:
        if self.labels is None or self.label_mode is None:
            self.labels = self.label_mode = None
        inferred = isinstance(self.labels, str)
        if inferred:
            check_choice("labels", self.labels, ("inferred",))
        if self.class_names is not None and not inferred:
            raise ValueError(
                f"class_names={self.class_names!r} was given; it says the order of the subfolders, "
                "which are read only if labels='inferred' and label_mode is not None. Leave it out."
            )
        if self.class_names is not None and len(set(self.class_names)) != len(self.class_names):
            raise ValueError(f"class_names={self.class_names!r} names a class twice.")
        if self.labels is None or inferred:
            return
        if not isinstance(self.labels, (list, tuple, np.ndarray)):
            raise TypeError(
                f"labels is of type {type(self.labels).__name__}; 'inferred', None or a list with "
                "a number for each file was expected."
            )
        self.labels = np.array(self.labels)
        if self.labels.dtype.kind not in "iufb" or self.labels.ndim != 1:
            raise ValueError(
                f"labels has the type {self.labels.dtype} and the shape {self.labels.shape}; a "
                "list with one number for each file was expected. Number the classes first: "
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
                "seed. Without one, files for training and for validation could be the same: give "
                "the same seed, seed=1, to both calls, or shuffle=False."
            )


def _check_classes(files: Files, label_mode: str | None) -> None:
    names, numbers = files.class_names or [], files.labels
    if numbers is None or label_mode not in ("binary", "categorical"):
        return
    if label_mode == "binary" and len(names) != 2:
        raise ValueError(
            f"label_mode='binary' needs two classes, and {len(names)} were found: {names}."
        )
    if numbers.dtype.kind not in "iub" or numbers.min() < 0 or numbers.max() >= len(names):
        raise ValueError(
            f"label_mode={label_mode!r} needs labels that are whole numbers from 0 to "
            f"{len(names) - 1}, and the {len(names)} different ones that were given are "
            f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}."
        )


def _encoded(files: Files, label_mode: str | None) -> Callable[[int], Any] | None:
    """Return a function from a file's number to its label."""
    if files.labels is None or label_mode is None:
        return None
    if label_mode == "int":
        labels = files.labels.astype(np.float32 if files.labels.dtype.kind == "f" else np.int32)
        return lambda row: labels[row]
    if label_mode == "binary":
        column = files.labels.astype(np.float32)[:, None]
        return lambda row: column[row]
    numbers, count = files.labels, len(files.class_names or ())

    def one_hot(row: int) -> np.ndarray:
        hot = np.zeros(count, np.float32)
        hot[numbers[row]] = 1
        return hot

    return one_hot
