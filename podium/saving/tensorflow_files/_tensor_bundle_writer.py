"""Writes the files of a TensorFlow checkpoint, such that it is complete at any time.

The index names its data files by their number, and is replaced last. Data files that the old index
refers to are not touched before that: a checkpoint with one data file is replaced by one that
declares two, of which the first is used, and then renamed back. Guarded by
`test_interrupted_overwrite_leaves_a_complete_checkpoint`.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Mapping

from podium._typing import Array
from podium.saving.io._array_io import array_bytes
from podium.saving.io._atomic_write import atomic_write, sync_directory
from podium.saving.io._errors import InvalidFileError
from podium.saving.tensorflow_files._bundle_entry import (
    StoredTensor,
    encode_entry,
    encode_header,
)
from podium.saving.tensorflow_files._crc32c import crc32c, mask_crc32c
from podium.saving.tensorflow_files._detect import INDEX_SUFFIX
from podium.saving.tensorflow_files._sorted_string_table import encode_table
from podium.saving.tensorflow_files._tensor_bundle import (
    encode_strings,
    read_num_shards,
    shard_path,
)
from podium.saving.tensorflow_files._tensor_dtypes import STRING, dtype_number


def write_bundle(caller: str, prefix: str, tensors: Mapping[str, Array | bytes]) -> None:
    """Write a checkpoint. If writing fails or the process is killed, the previous one remains.

    Args:
        caller: The function that the user called, for messages.
        prefix: The path, without `.index`; its directory exists.
        tensors: Arrays of numbers, or bytes for scalars of strings, by name.

    Raises:
        ValueError: An array has a dtype that TensorFlow does not have.
    """
    for value in tensors.values():
        dtype_number(_dtype_number(value))
    num_shards = 2 if _num_shards_in_use(prefix) == 1 else 1
    entries = _write_shard(caller, shard_path(prefix, 0, num_shards), tensors)
    _write_index(caller, prefix, num_shards, entries)
    if num_shards == 2 and _link_as_single_shard(prefix):
        num_shards = 1
        _write_index(caller, prefix, num_shards, entries)
    _remove_shards(prefix, except_for=shard_path(prefix, 0, num_shards))


def _num_shards_in_use(prefix: str) -> int | None:
    try:
        return read_num_shards(prefix)
    except (OSError, ValueError, InvalidFileError):
        return None  # no checkpoint that could be lost


def _write_shard(
    caller: str, path: str, tensors: Mapping[str, Array | bytes]
) -> list[StoredTensor]:
    """Write the bytes of all tensors to a data file, and return their entries."""
    entries, offset = [], 0
    with atomic_write(caller, path) as file:
        for name in sorted(tensors, key=str.encode):
            value = tensors[name]
            content, crc = _encode_value(value)
            file.write(content)
            shape = () if isinstance(value, bytes) else tuple(value.shape)
            entry = StoredTensor(
                name, _dtype_number(value), shape, 0, offset, len(content), mask_crc32c(crc)
            )
            entries.append(entry)
            offset += len(content)
    return entries


def _encode_value(value: Array | bytes) -> tuple[bytes | memoryview, int]:
    """Return the bytes of a tensor in a data file, and their checksum."""
    if isinstance(value, bytes):
        return encode_strings([value])
    content = array_bytes(value)
    return content, crc32c(content)


def _dtype_number(value: Array | bytes) -> str:
    return STRING if isinstance(value, bytes) else value.dtype.name


def _write_index(caller: str, prefix: str, num_shards: int, entries: list[StoredTensor]) -> None:
    items = [(b"", encode_header(num_shards))]
    items += [(entry.name.encode(), encode_entry(entry)) for entry in entries]
    with atomic_write(caller, prefix + INDEX_SUFFIX) as file:
        file.write(encode_table(items))


def _link_as_single_shard(prefix: str) -> bool:
    """Give the data of a checkpoint with two shards the name of a single shard as well; return
    False where the system cannot.
    """
    single = shard_path(prefix, 0, 1)
    try:
        os.unlink(single)
        os.link(shard_path(prefix, 0, 2), single)
        sync_directory(os.path.dirname(single))
    except OSError:
        return False
    return True


def delete_bundle(prefix: str) -> None:
    """Delete the files of a checkpoint, the index first; those that are missing are ignored."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(prefix + INDEX_SUFFIX)
    _remove_shards(prefix)


def _remove_shards(prefix: str, except_for: str | None = None) -> None:
    for path in glob.glob(f"{glob.escape(prefix)}.data-[0-9]*-of-[0-9]*"):
        if path != except_for:
            with contextlib.suppress(OSError):
                os.unlink(path)
