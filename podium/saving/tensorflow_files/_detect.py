"""Which of Keras 2's formats a path of weights has: HDF5, a TensorFlow checkpoint or a SavedModel.

Paths and the ends of index files decide; reading them is the task of the other modules here.
"""

from __future__ import annotations

import os

from podium._typing import PathLike
from podium.saving.tensorflow_files._sorted_string_table import TABLE_MAGIC

INDEX_SUFFIX = ".index"
_HDF5_SUFFIXES = (".h5", ".keras", ".hdf5")


def is_hdf5_filepath(filepath: PathLike) -> bool:
    """Return whether Keras 2 writes HDF5 to a path: it ends in `.h5`, `.keras` or `.hdf5`."""
    return os.fsdecode(filepath).endswith(_HDF5_SUFFIXES)


def contains_saved_model(filepath: PathLike) -> bool:
    """Return whether a path is the directory of a SavedModel."""
    path = os.fsdecode(filepath)
    names = ("saved_model.pb", "saved_model.pbtxt")
    return any(os.path.isfile(os.path.join(path, name)) for name in names)


def is_readable_tf_checkpoint(filepath: PathLike) -> bool:
    """Return whether a path is the prefix of a TensorFlow checkpoint: `path.index` is a table."""
    try:
        with open(os.fsdecode(filepath) + INDEX_SUFFIX, "rb") as file:
            file.seek(-len(TABLE_MAGIC), os.SEEK_END)
            return file.read() == TABLE_MAGIC
    except OSError:
        return False


def detect_save_format(filepath: PathLike) -> tuple[str, str]:
    """Return the path to load weights from and its format, as Keras 2's `_detect_save_format` does.

    Args:
        filepath: A file, the prefix of a checkpoint, or the directory of a SavedModel.

    Returns:
        The path, which for a SavedModel is the prefix of its checkpoint; and "h5" or "tf".

    Raises:
        ValueError: It is a SavedModel without readable variables.
    """
    path = os.fsdecode(filepath)
    if is_hdf5_filepath(path):
        return path, "h5"
    if is_readable_tf_checkpoint(path):
        return path, "tf"
    if contains_saved_model(path):
        return saved_variables(path), "tf"
    return path, "h5"


def saved_variables(directory: str) -> str:
    """Return the prefix of the checkpoint in a SavedModel; raise ValueError if it has none."""
    prefix = os.path.join(directory, "variables", "variables")
    if not is_readable_tf_checkpoint(prefix):
        raise ValueError(
            f"Unable to load weights from {directory!r}: it is a SavedModel, and its checkpoint "
            f"{prefix + INDEX_SUFFIX!r} is missing or damaged."
        )
    return prefix
