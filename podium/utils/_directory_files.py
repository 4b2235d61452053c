"""Finding the files of a folder, their classes, and which of them are for training and which for
validation.

Files, orders and splits are those of Keras: paths sorted, mixed once with the seed, the last ones
for validation.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.callbacks.internal import write_stdout
from podium.core import unknown_choice


@dataclasses.dataclass
class Files:
    """Paths, the class number of each (None without labels) and the names of the classes (None
    without labels).
    """

    paths: list[str]
    labels: np.ndarray | None
    class_names: list[str] | None

    def part(self, rows: Any) -> Files:
        """Return some of the files: a slice, or an array of numbers."""
        paths = self.paths[rows] if isinstance(rows, slice) else [self.paths[row] for row in rows]
        return Files(paths, None if self.labels is None else self.labels[rows], self.class_names)


def find_files(
    directory: Any,
    labels: Any,
    class_names: list[str] | None,
    suffixes: tuple[str, ...],
    follow_links: bool,
    kind: str,
) -> Files:
    """List the files of a folder with their classes, sorted.

    Args:
        directory: The folder.
        labels: "inferred" for the names of the subfolders, None for none, or an array with a number
            for each file.
        class_names: Subfolders to read, in the order of their numbers; None for all.
        suffixes: How the names of the files end, in small letters.
        follow_links: Whether to enter folders that are links.
        kind: What the files are, for messages.
    """
    directory = os.fspath(directory)
    if not os.path.isdir(directory):
        what = "is a file" if os.path.exists(directory) else "does not exist"
        raise ValueError(f"directory={directory!r} was given, which {what}; a folder was expected.")
    if not (isinstance(labels, str) and labels == "inferred"):
        paths = list(_walk(directory, suffixes, follow_links))
        _refuse_none(paths, directory, suffixes, kind)
        return Files(paths, labels, _names_of(labels, paths, directory))
    names = _classes(directory, class_names, suffixes)
    found = [list(_walk(os.path.join(directory, name), suffixes, follow_links)) for name in names]
    paths = list(itertools.chain.from_iterable(found))
    _refuse_none(paths, directory, suffixes, kind)
    numbers = np.repeat(np.arange(len(names), dtype=np.int32), [len(part) for part in found])
    return Files(paths, numbers, names)


def mixed(files: Files, seed: int) -> Files:
    """Return the files in the order that Keras's shuffle gives them for a seed."""
    order = np.arange(len(files.paths))
    np.random.RandomState(seed).shuffle(order)
    return files.part(order)


def split(
    files: Files, validation_split: float | None, subset: str | None, verbose: bool
) -> list[Files]:
    """Return the parts that were asked for: all files, one part, or training and validation."""
    if not validation_split:
        return [files]
    count = int(validation_split * len(files.paths))
    left = len(files.paths) - count
    if not count or not left:
        raise ValueError(
            f"validation_split={validation_split!r} of {len(files.paths)} files leaves {left} for "
            f"training and {count} for validation; at least one of each was expected."
        )
    parts = []
    if subset in ("training", "both"):
        _say(f"Using {left} files for training.", verbose)
        parts.append(files.part(slice(0, left)))
    if subset in ("validation", "both"):
        _say(f"Using {count} files for validation.", verbose)
        parts.append(files.part(slice(left, None)))
    return parts


def report(files: Files, verbose: bool) -> None:
    """Say how many files there are."""
    classes = "" if files.class_names is None else f" belonging to {len(files.class_names)} classes"
    _say(f"Found {len(files.paths)} files{classes}.", verbose)


def _say(text: str, verbose: bool) -> None:
    if verbose:
        write_stdout(f"{text}\n")


def _walk(directory: str, suffixes: tuple[str, ...], follow_links: bool) -> Iterator[str]:
    """Walk the paths of the files of a folder and the folders in it, sorted by folder and then by
    name.
    """
    above: dict[
        str, tuple[str, ...]
    ] = {}  # the real folders that each folder lies in, itself among them
    rows = []
    for folder, inner, names in os.walk(directory, followlinks=follow_links):
        here = os.path.normpath(folder)
        real, outer = os.path.realpath(folder), above.get(os.path.dirname(here), ())
        if follow_links and real in outer:  # a link back to a folder above it: a walk without end
            inner.clear()
            continue
        above[here] = (*outer, real)
        rows.append((folder, names))
    for folder, names in sorted(rows, key=lambda row: row[0]):
        yield from (
            os.path.join(folder, name) for name in sorted(names) if name.lower().endswith(suffixes)
        )


def _classes(directory: str, class_names: list[str] | None, suffixes: tuple[str, ...]) -> list[str]:
    with os.scandir(directory) as entries:
        folders = sorted(
            entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")
        )
    for name in class_names or ():
        if name not in folders:
            raise unknown_choice("name in class_names,", name, folders)
    if not folders:
        loose = sum(name.lower().endswith(suffixes) for name in os.listdir(directory))
        raise ValueError(
            f"directory={directory!r} has no subfolders, and labels='inferred' takes the classes "
            f"from their names ({loose} files lie in the folder itself). Make a subfolder for each "
            "class, or give labels=None or a list."
        )
    return list(class_names) if class_names else folders


def _names_of(labels: Any, paths: list[str], directory: str) -> list[str] | None:
    if labels is None:
        return None
    if len(labels) != len(paths):
        raise ValueError(
            f"labels has {len(labels)} numbers and directory={directory!r} has {len(paths)} files; "
            "one for each file was expected, in the order of the sorted paths."
        )
    return [str(label) for label in np.unique(labels).tolist()]


def _refuse_none(paths: list[str], directory: str, suffixes: tuple[str, ...], kind: str) -> None:
    if not paths:
        raise ValueError(
            f"No {kind} found in directory={directory!r}. Files that end in "
            f"{', '.join(suffixes)} were expected."
        )
