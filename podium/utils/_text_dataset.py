"""Text files in folders as a Dataset of strings, for `map` to turn into numbers."""

from __future__ import annotations

from typing import Any

from podium.core.internal import check_int
from podium.utils._directory_dataset import FileDataset, Folder


def text_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
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
    """Make a Dataset of the text files (.txt) in a folder, which are read while it is walked.

    Text cannot go into a model: batches are NumPy arrays of Python strings, and `map` must turn
    them into numbers. One seed gives the same files for training and validation as Keras, and the
    same orders in every run; the orders of the passes are not Keras's.

    Args:
        directory: The folder. With `labels="inferred"` it has a subfolder for each class.
        labels: "inferred" from the subfolders, None for none, or a list with a number for each file
            in the order of the sorted paths.
        label_mode: How labels are given: "int" as int32 `()`, "categorical" as one-hot float32
            `(classes,)`, "binary" as float32 `(1,)`, or None for no labels.
        class_names: Subfolders to read, in the order of their class numbers; by default all,
            sorted.
        batch_size: Texts in a batch; None for single texts.
        max_length: Longer texts are cut to so many characters.
        shuffle: Whether to mix the files, anew for each pass; otherwise they are sorted.
        seed: Fixes the orders. By default `podium.utils.set_random_seed` does.
        validation_split: Fraction of the files to keep for validation.
        subset: "training", "validation", or "both" for two Datasets; needs `validation_split`.
        follow_links: Whether to enter folders that are links.
        format: Accepted for Keras's signature; the result is a Podium Dataset.
        verbose: Whether to say how many files were found.

    Returns:
        A Dataset of `(texts, labels)`, or of texts without labels, with the attributes
        `class_names` and `file_paths`. A pair of Datasets if `subset` is "both".

    Raises:
        ValueError: The folder has no text files, arguments do not fit; while it is walked, a file
            that is not UTF-8.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("bad", "good"):
        ...     (folder / name).mkdir()
        ...     _ = (folder / name / "1.txt").write_text(f"A {name} film.")
        >>> dataset = podium.utils.text_dataset_from_directory(folder, shuffle=False)
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
    folder = Folder(
        directory, labels, label_mode, class_names, batch_size, shuffle, seed, validation_split, subset, follow_links, format,
        verbose,
    )  # fmt: skip
    return folder.datasets(
        (".txt",), "text files", lambda path: _text(path)[:max_length], lambda: ""
    )


def _text(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:  # ends of lines stay as they are
        try:
            return file.read()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not UTF-8 text: {error}. Convert or remove the file."
            ) from error
