"""The files of a directory, their classes, and the split into training and validation files.

Files, orders and splits are those of Keras: paths are sorted, shuffled once with the seed, and the
last ones are for validation.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from podium._typing import PathLike
from podium.callbacks.internal import write_stdout
from podium.core import unknown_choice

# "inferred", None, or a class index for each file.
Labels: TypeAlias = str | np.ndarray[Any, Any] | None


@dataclasses.dataclass
class Files:
    """Paths, their class indices and the class names; the last two are None without labels."""

    paths: list[str]
    labels: np.ndarray[Any, Any] | None
    class_names: list[str] | None

    def select(self, rows: slice | np.ndarray[Any, Any]) -> Files:
        """Return some of the files, by a slice or an array of indices."""
        paths = self.paths[rows] if isinstance(rows, slice) else [self.paths[row] for row in rows]
        return Files(paths, None if self.labels is None else self.labels[rows], self.class_names)


def find_files(
    directory: PathLike,
    labels: Labels,
    class_names: list[str] | None,
    suffixes: tuple[str, ...],
    follow_links: bool,
    kind: str,
) -> Files:
    """List the files of a directory with their classes, sorted.

    Args:
        directory: The directory.
        labels: "inferred" for the names of the subdirectories, None for none, or an array with a
            class index for each file.
        class_names: Subdirectories to read, in the order of their indices; None for all.
        suffixes: Suffixes of the file names, in lower case.
        follow_links: Whether to follow links to directories.
        kind: The kind of files, for messages.
    """
    directory = os.fspath(directory)
    if not os.path.isdir(directory):
        problem = "is a file" if os.path.exists(directory) else "does not exist"
        raise ValueError(
            f"directory={directory!r} was given, which {problem}; a directory was expected."
        )
    if not isinstance(labels, str):
        paths = list(_iterate_paths(directory, suffixes, follow_links))
        _check_not_empty(paths, directory, suffixes, kind)
        return Files(paths, labels, _label_names(labels, paths, directory))
    names = _list_classes(directory, class_names, suffixes)
    paths_by_class = [
        list(_iterate_paths(os.path.join(directory, name), suffixes, follow_links))
        for name in names
    ]
    paths = list(itertools.chain.from_iterable(paths_by_class))
    _check_not_empty(paths, directory, suffixes, kind)
    counts = [len(class_paths) for class_paths in paths_by_class]
    indices = np.repeat(np.arange(len(names), dtype=np.int32), counts)
    return Files(paths, indices, names)


def shuffle_files(files: Files, seed: int) -> Files:
    """Return the files in the shuffled order that Keras has for a seed."""
    order = np.arange(len(files.paths))
    np.random.RandomState(seed).shuffle(order)
    return files.select(order)


def split_files(
    files: Files, validation_split: float | None, subset: str | None, verbose: bool
) -> list[Files]:
    """Return the requested parts: all files, one part, or training and validation files."""
    if not validation_split:
        return [files]
    num_validation = int(validation_split * len(files.paths))
    num_training = len(files.paths) - num_validation
    if not num_validation or not num_training:
        raise ValueError(
            f"validation_split={validation_split!r} of {len(files.paths)} files leaves "
            f"{num_training} for training and {num_validation} for validation; at least one of "
            "each was expected."
        )
    parts = []
    if subset in ("training", "both"):
        _print(f"Using {num_training} files for training.", verbose)
        parts.append(files.select(slice(0, num_training)))
    if subset in ("validation", "both"):
        _print(f"Using {num_validation} files for validation.", verbose)
        parts.append(files.select(slice(num_training, None)))
    return parts


def print_count(files: Files, verbose: bool) -> None:
    """Print the number of files and classes."""
    classes = "" if files.class_names is None else f" belonging to {len(files.class_names)} classes"
    _print(f"Found {len(files.paths)} files{classes}.", verbose)


def _print(text: str, verbose: bool) -> None:
    if verbose:
        write_stdout(f"{text}\n")


def _iterate_paths(directory: str, suffixes: tuple[str, ...], follow_links: bool) -> Iterator[str]:
    """Iterate over the files of a directory tree, sorted by directory and then by name."""
    # The real paths of each directory and its parents.
    real_parents: dict[str, tuple[str, ...]] = {}
    entries = []
    for parent, subdirectories, names in os.walk(directory, followlinks=follow_links):
        path = os.path.normpath(parent)
        real_path = os.path.realpath(parent)
        ancestors = real_parents.get(os.path.dirname(path), ())
        if follow_links and real_path in ancestors:  # a link to an ancestor: an endless loop
            subdirectories.clear()
            continue
        real_parents[path] = (*ancestors, real_path)
        entries.append((parent, names))
    for parent, names in sorted(entries, key=lambda entry: entry[0]):
        yield from (
            os.path.join(parent, name) for name in sorted(names) if name.lower().endswith(suffixes)
        )


def _list_classes(
    directory: str, class_names: list[str] | None, suffixes: tuple[str, ...]
) -> list[str]:
    with os.scandir(directory) as entries:
        subdirectories = sorted(
            entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")
        )
    for name in class_names or ():
        if name not in subdirectories:
            raise unknown_choice("name in class_names,", name, subdirectories)
    if not subdirectories:
        num_files = sum(name.lower().endswith(suffixes) for name in os.listdir(directory))
        raise ValueError(
            f"directory={directory!r} has no subdirectories, and labels='inferred' takes the "
            f"classes from their names ({num_files} files are in the directory itself). Create a "
            "subdirectory for each class, or pass labels=None or a list."
        )
    return list(class_names) if class_names else subdirectories


def _label_names(
    labels: np.ndarray[Any, Any] | None, paths: list[str], directory: str
) -> list[str] | None:
    if labels is None:
        return None
    if len(labels) != len(paths):
        raise ValueError(
            f"labels has {len(labels)} entries and directory={directory!r} has {len(paths)} files; "
            "one for each file was expected, in the order of the sorted paths."
        )
    return [str(label) for label in np.unique(labels).tolist()]


def _check_not_empty(
    paths: list[str], directory: str, suffixes: tuple[str, ...], kind: str
) -> None:
    if not paths:
        raise ValueError(
            f"No {kind} found in directory={directory!r}. Files that end in "
            f"{', '.join(suffixes)} were expected."
        )
