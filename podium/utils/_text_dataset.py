"""Text files in directories as a Dataset of strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium._typing import PathLike
from podium.core.internal import check_int
from podium.utils._directory_dataset import DirectoryOptions, FileDataset


def text_dataset_from_directory(
    directory: PathLike,
    labels: str | Sequence[float] | np.ndarray[Any, Any] | None = "inferred",
    label_mode: str | None = "int",
    class_names: list[str] | None = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    format: str = "tf",
    verbose: bool = True,
) -> FileDataset | tuple[FileDataset, FileDataset]:
    """Create a Dataset of the text files (.txt) in a directory, which are read during iteration.

    Models do not accept text: batches are NumPy arrays of Python strings, to be converted to
    numbers by `map`. One seed gives the same training and validation files as in Keras, and the
    same order in every run; the order within an epoch differs from Keras.

    Args:
        directory: The directory. With `labels="inferred"` it has a subdirectory for each class.
        labels: "inferred" from the subdirectories, None for none, or a list with a class index for
            each file in the order of the sorted paths.
        label_mode: The encoding of labels: "int" as int32 `()`, "categorical" as one-hot float32
            `(classes,)`, "binary" as float32 `(1,)`, or None for no labels.
        class_names: Subdirectories to read, in the order of their class indices; by default all,
            sorted.
        batch_size: Texts in a batch; None for single texts.
        max_length: Longer texts are truncated to this number of characters.
        shuffle: Whether to shuffle the files for each epoch; otherwise they are sorted.
        seed: The seed of the shuffling; by default set by `podium.utils.set_random_seed`.
        validation_split: Fraction of the files for validation.
        subset: "training", "validation", or "both" for two Datasets; needs `validation_split`.
        follow_links: Whether to follow links to directories.
        format: Accepted for Keras's signature; the result is a Podium Dataset.
        verbose: Whether to print the number of files.

    Returns:
        A Dataset of `(texts, labels)`, or of texts without labels, with the attributes
        `class_names` and `file_paths`. A pair of Datasets if `subset` is "both".

    Raises:
        ValueError: The directory has no text files or an argument is invalid; during iteration, a
            file is not UTF-8.

    Example:
        >>> import pathlib, tempfile
        >>> directory = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("bad", "good"):
        ...     (directory / name).mkdir()
        ...     _ = (directory / name / "1.txt").write_text(f"A {name} film.")
        >>> dataset = podium.utils.text_dataset_from_directory(directory, shuffle=False)
        Found 2 files belonging to 2 classes.
        >>> texts, labels = next(iter(dataset))
        >>> texts.tolist(), labels.numpy()
        (['A bad film.', 'A good film.'], array([0, 1], dtype=int32))
        >>> lengths = dataset.map(lambda texts, labels: ([len(text) for text in texts], labels))
        >>> next(iter(lengths))[0].numpy()
        array([11, 12], dtype=int32)
    """
    if max_length is not None:
        max_length = check_int("max_length", max_length, integral_floats=True)
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
    return options.create_datasets(
        (".txt",), "text files", lambda path: _read_text(path)[:max_length], lambda path, size: ""
    )


def _read_text(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:  # line endings are kept
        try:
            return file.read()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not UTF-8 text: {error}. Convert or remove the file."
            ) from error
