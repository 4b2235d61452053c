"""Detects the format of a file from its first bytes, or from its suffix if they are ambiguous.

Reading the format is the task of the other modules here.
"""

from __future__ import annotations

import os
from typing import BinaryIO

from podium.saving.formats._archive import MAGIC
from podium.saving.formats._safetensors import SUFFIX, is_safetensors
from podium.saving.tensorflow_files._detect import (
    INDEX_SUFFIX,
    contains_saved_model,
    is_hdf5_filepath,
    is_readable_tf_checkpoint,
    saved_variables,
)

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"


def detect_tensorflow(filepath: str) -> str | None:
    """Return the prefix of the TensorFlow checkpoint at a path, or None.

    A path is one if there is an `.index` file with its name; a SavedModel has one in its
    `variables`.

    Raises:
        ValueError: It is a SavedModel without readable variables.
    """
    has_index = os.path.isfile(filepath + INDEX_SUFFIX) and not is_hdf5_filepath(filepath)
    # There may be another file with the name of the prefix, such as `checkpoint`.
    if has_index and (not os.path.isfile(filepath) or is_readable_tf_checkpoint(filepath)):
        return filepath
    if contains_saved_model(filepath):
        return saved_variables(filepath)
    return None


def detect_contents(filepath: str, file: BinaryIO) -> str:
    """Return "keras", "h5" or "safetensors" for an open file. For a damaged one the suffix decides,
    and "h5" is the default.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(16)
    file.seek(0)
    if start.startswith(HDF5_MAGIC):
        return "h5"
    if start.startswith(MAGIC):
        return "keras"
    if filepath.lower().endswith(SUFFIX) or is_safetensors(start, size):
        return "safetensors"
    return "h5"
