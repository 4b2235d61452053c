"""What each format has checksums for, compared one by one.

A function for each format yields findings; an error that it raises is a problem too. `_verify.py`
chooses the function and makes the report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO, Literal, NamedTuple

from podium.core.internal import file_budget
from podium.saving.checkpoints._checkpoint_directory import (
    MANIFEST,
)
from podium.saving.checkpoints._checkpoint_directory import verify as verify_checkpoint
from podium.saving.checkpoints._checkpoint_manager import CheckpointManager, directory_name
from podium.saving.formats._archive import (
    CONFIG,
    MAGIC,
    METADATA,
    open_weights,
    read_texts,
    verify_members,
)
from podium.saving.formats._detect_format import HDF5_MAGIC
from podium.saving.formats._export import check_program_digest, has_program_digest
from podium.saving.formats._hdf5 import (
    StoredWeight,
    is_keras_2,
    list_datasets,
    list_group_weights,
    list_layers,
    list_weights,
    open_hdf5,
    read_all,
    weights_root,
)
from podium.saving.formats._hdf5_checksum import check_structure
from podium.saving.formats._legacy_model import OPTIMIZER
from podium.saving.formats._model_texts import check_config_digest
from podium.saving.formats._safetensors import (
    SUFFIX,
    is_safetensors,
    list_tensors,
    verify_tensors,
)
from podium.saving.io._errors import InvalidFileError, shorten
from podium.saving.tensorflow_files._tensor_bundle import TensorBundle, num_bundle_bytes
from podium.saving.tensorflow_files._tensor_dtypes import STRING

ARCHIVE, HDF5, SAFETENSORS, PROGRAM = "Keras archive", "HDF5", "safetensors", "exported program"
OTHER = "unknown format"
_EXPORT_SUFFIXES = (".jax", ".jaxexport", ".stablehlo")
_DAMAGE = (InvalidFileError, ValueError, OSError)


class Finding(NamedTuple):
    """One line of a report."""

    kind: Literal["checked", "unknown", "problem"]
    text: str


def detect_format(path: str, file: BinaryIO) -> str:
    """Return the format of an open file, by its first and last bytes, or by its suffix."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(16)
    if start.startswith(HDF5_MAGIC):
        return HDF5
    if start.startswith(MAGIC):
        return ARCHIVE
    if path.lower().endswith(SUFFIX) or is_safetensors(start, size):
        return SAFETENSORS
    if path.lower().endswith(_EXPORT_SUFFIXES) or has_program_digest(file):
        return PROGRAM
    if path.lower().endswith((".h5", ".hdf5")):
        return HDF5
    return ARCHIVE if path.lower().endswith(".keras") else OTHER


def verify_file(path: str, file: BinaryIO, format: str) -> Iterator[Finding]:
    """Compare a file of a format with its checksums."""
    file.seek(0)
    if format == ARCHIVE:
        yield from _verify_archive(path, file)
    elif format == HDF5:
        has_checksum = check_structure(file)
        yield from _verify_hdf5(path, file, has_checksum, is_covered=False)
    elif format == SAFETENSORS:
        yield from _verify_safetensors(file)
    elif format == PROGRAM:
        yield from _verify_program(file)
    else:
        yield Finding("unknown", "the format is unknown, so nothing in it can be verified")


def _verify_archive(path: str, file: BinaryIO) -> Iterator[Finding]:
    texts = read_texts(file, (), (CONFIG, METADATA))
    for name in verify_members(file):
        yield Finding("checked", f"the member {name!r} (CRC-32)")
    if CONFIG in texts and check_config_digest(texts):
        yield Finding("checked", "the config (SHA-256)")
    weights = open_weights(file)
    has_checksum = check_structure(weights)
    yield from _verify_hdf5(path, weights, has_checksum, is_covered=True)


def _verify_hdf5(
    path: str, file: BinaryIO, has_checksum: bool, is_covered: bool
) -> Iterator[Finding]:
    """Compare an HDF5 file with its checksums.

    Args:
        path: The file, for messages.
        file: The file, open.
        has_checksum: Whether the structure was compared with one.
        is_covered: Whether a checksum of the archive covers what has none of its own.
    """
    if has_checksum:
        yield Finding("checked", "the structure of HDF5 (SHA-256)")
    elif not is_covered:
        yield Finding(
            "unknown",
            "the structure (names, shapes and attributes, with the config of a model) has no "
            "checksum",
        )
    with open_hdf5(path, file) as opened:
        unverified = set(list_datasets(opened))
        for label, group, stored in _groups_of_weights(opened):
            for name, weight in stored.items():
                problem = _attempt(partial(read_all, opened, group, stored, [name]))
                kind = weight.checksum
                if problem is None and kind is None:
                    continue
                unverified.discard(weight.dataset.name.strip("/"))
                yield problem or Finding("checked", f"{label}{name} ({kind})")
        if unverified and not is_covered:
            shown = ", ".join(repr(name) for name in sorted(unverified)[:3])
            yield Finding(
                "unknown",
                f"the values of {len(unverified)} arrays have no checksum ({shown}"
                f"{', ...' if len(unverified) > 3 else ''}): whether they are what was written "
                "cannot be known",
            )


def _groups_of_weights(file: Any) -> Iterator[tuple[str, Any, Mapping[str, StoredWeight]]]:
    """Yield a label, a group and its weights, by the names in their digests."""
    if not is_keras_2(file):
        yield "", file, list_weights(file)
        return
    by_path = {
        f"{layer.name}/{weight.name}": weight
        for layer in list_layers(file)
        for weight in layer.weights
    }
    yield "", weights_root(file), by_path
    optimizer = list_group_weights(file, OPTIMIZER)
    if optimizer:
        yield "optimizer ", file[OPTIMIZER], {weight.name: weight for weight in optimizer}


def _verify_safetensors(file: BinaryIO) -> Iterator[Finding]:
    stored = list_tensors(file)
    for name, tensor in stored.items():
        problem = _attempt(partial(verify_tensors, {name: tensor}))
        if problem is not None or tensor.sha256 is not None:
            yield problem or Finding("checked", f"{name} (SHA-256)")
    without = [name for name, tensor in stored.items() if tensor.sha256 is None]
    if without:
        yield Finding(
            "unknown",
            f"the values, dtypes and shapes of {len(without)} tensors have no checksum; only the "
            "layout was checked",
        )


def _verify_program(file: BinaryIO) -> Iterator[Finding]:
    if check_program_digest(file.read()):
        yield Finding("checked", "the program (SHA-256)")
    else:
        yield Finding("unknown", "the program and the weights in it have no checksum")


def verify_checkpoints(path: str) -> Iterator[Finding]:
    """Compare a checkpoint, or all of a directory, with their manifests."""
    if os.path.isfile(os.path.join(path, MANIFEST)):
        paths = [path]
    else:
        names = map(directory_name, CheckpointManager(path).all_steps())
        paths = [os.path.join(path, name) for name in names]
    for checkpoint in paths:
        name = os.path.basename(os.path.normpath(checkpoint))
        problem = _attempt(partial(verify_checkpoint, checkpoint), f"{name} ")
        yield problem or Finding("checked", f"all files of {name} (SHA-256)")


def verify_tensorflow(prefix: str) -> Iterator[Finding]:
    """Compare a TensorFlow checkpoint with its checksums."""
    with file_budget(num_bundle_bytes(prefix)):
        bundle = TensorBundle(prefix, "verify")
        yield Finding("checked", "the index (CRC-32C)")
        for name, tensor in bundle.tensors.items():
            read = bundle.read_strings if tensor.dtype == STRING else bundle.read
            yield _attempt(partial(read, name)) or Finding("checked", f"{name} (CRC-32C)")


def verify_saved_model(path: str) -> Iterator[Finding]:
    """Compare the weights of a SavedModel with their checksums."""
    yield from verify_tensorflow(os.path.join(path, "variables", "variables"))
    files = [name for name in sorted(os.listdir(path)) if name.endswith((".pb", ".pbtxt"))]
    yield Finding("unknown", f"{', '.join(files)} has no checksum")


def _attempt(check: Callable[[], object], label: str = "") -> Finding | None:
    """Run a check, and return the problem if it raises an error."""
    try:
        check()
    except _DAMAGE as error:
        return Finding("problem", shorten(f"{label}{error}"))
    return None
