"""Detects the format of a file from its first bytes, or from its suffix if they are ambiguous.

Reading the format is the task of the other modules here.
"""

from __future__ import annotations

import os
from typing import BinaryIO

from podium.saving.formats._archive import MAGIC
from podium.saving.formats._safetensors import SUFFIX, is_safetensors

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"


def detect_tensorflow(filepath: str) -> str | None:
    """Return the prefix of the TensorFlow checkpoint at a path, or None.

    A path that does not exist is one if there is an `.index` file with its name; a SavedModel has
    one in its `variables`.

    Raises:
        ValueError: It is a SavedModel without readable variables.
    """
    if not os.path.exists(filepath) and os.path.isfile(f"{filepath}.index"):
        return filepath
    if os.path.isdir(filepath) and os.path.isfile(os.path.join(filepath, "saved_model.pb")):
        prefix = os.path.join(filepath, "variables", "variables")
        if os.path.isfile(f"{prefix}.index"):
            return prefix
        raise ValueError(
            f"Unable to load weights from {filepath!r}: it is a SavedModel, and its checkpoint "
            f"{f'{prefix}.index'!r} is missing."
        )
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
