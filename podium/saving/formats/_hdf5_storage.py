"""Limits on what HDF5 allocates while it reads: attributes of strings, and chunks with filters.

HDF5 decompresses a chunk completely, whatever its size should be, and reads each element of an
attribute of strings, even if the file has it once. So both are examined before HDF5 reads them, and
charged to the budget of the file.
"""

from __future__ import annotations

import contextlib
import math
import os
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from podium.core.internal import charge_file_budget
from podium.saving.io._errors import InvalidFileError

if TYPE_CHECKING:
    import h5py

_DEFLATE, _LZF = 1, 32000
# gzip, shuffle, checksum, lzf. The other filters of HDF5 allocate what their parameters say.
FILTERS = frozenset({_DEFLATE, 2, 3, _LZF})
_LZF_EXPANSION = 90  # three bytes stand for 264 at most
_CHECKSUM_BYTES = 4
_HEAP_MAGIC = b"GCOL"


def check_filters(dataset: h5py.Dataset, name: str) -> list[int]:
    """Return the filters of a dataset; raise if one does not come with h5py, or is repeated."""
    settings = dataset.id.get_create_plist()
    filters = [settings.get_filter(index)[0] for index in range(settings.get_nfilters())]
    if not set(filters) <= FILTERS:
        raise InvalidFileError(
            f"was rejected: {name!r} is packed with a filter that does not come with HDF5, or is "
            "not supported."
        )
    if len(set(filters)) < len(filters):
        raise InvalidFileError(f"was rejected: {name!r} is packed several times (a bomb).")
    return filters


@contextlib.contextmanager
def charge_chunks(dataset: h5py.Dataset, name: str) -> Iterator[None]:
    """Charge the budget for what reading a dataset allocates besides its values."""
    if dataset.chunks is None:
        yield
        return
    chunk_bytes = math.prod(dataset.chunks) * dataset.dtype.itemsize
    filters = check_filters(dataset, name)
    stored: list[Any] = []
    dataset.id.chunk_iter(stored.append)
    extra = max(0, len(stored) * chunk_bytes - dataset.size * dataset.dtype.itemsize)
    extra += chunk_bytes if filters else 0
    reason = f"was rejected: the chunks of {name!r} are far larger than the size of the file."
    charge_file_budget("bytes", extra, reason)
    if filters:
        for chunk in stored:
            _check_chunk(dataset, chunk, chunk_bytes, filters, name)
    yield
    charge_file_budget("bytes", -extra, reason)


def _check_chunk(
    dataset: h5py.Dataset, chunk: Any, chunk_bytes: int, filters: list[int], name: str
) -> None:
    """Raise if a chunk is larger than it should be when it is decompressed."""
    reason = f"was rejected: a chunk of {name!r} holds more than its size (a bomb)."
    if chunk.size > 2 * chunk_bytes + 1024:
        raise InvalidFileError(reason)
    if _LZF in filters:
        charge_file_budget("bytes", _LZF_EXPANSION * chunk.size, reason)
        charge_file_budget("bytes", -_LZF_EXPANSION * chunk.size, reason)
    position = filters.index(_DEFLATE) if _DEFLATE in filters else None
    if position is None or chunk.filter_mask >> position & 1:
        return
    _, content = dataset.id.read_direct_chunk(chunk.chunk_offset)
    if _LZF in filters:
        raise InvalidFileError(f"was rejected: {name!r} is packed several times (a bomb).")
    unpacked = zlib.decompressobj()
    try:
        values = unpacked.decompress(content, chunk_bytes + _CHECKSUM_BYTES + 1)
    except zlib.error as error:
        raise InvalidFileError(f"is corrupt: a chunk of {name!r} cannot be read: {error}") from None
    if len(values) > chunk_bytes + _CHECKSUM_BYTES:
        raise InvalidFileError(reason)


def read_texts(item: Any, key: str, file: BinaryIO) -> list[str]:
    """Return the texts of an attribute that is a list of texts.

    Args:
        item: The group or dataset.
        key: The name of the attribute.
        file: The file, to bound the size of its strings.
    """
    attribute = item.attrs.get_id(key)
    count = math.prod(attribute.shape or ())
    num_bytes = count * attribute.dtype.itemsize
    if attribute.dtype.kind == "O" and count > 1:
        num_bytes += count * _largest_heap(file)
    charge_file_budget(
        "bytes",
        num_bytes,
        f"was rejected: its attribute {key!r} of {count} texts is far larger than the file.",
    )
    values = np.atleast_1d(item.attrs[key]).ravel()
    return [value.decode() if isinstance(value, bytes) else str(value) for value in values]


def read_text(item: Any, key: str) -> str | None:
    """Return an attribute that is one text; None if it is absent or something else."""
    if key not in item.attrs or item.attrs.get_id(key).shape not in ((), (1,)):
        return None
    value = item.attrs[key]
    value = value[0] if isinstance(value, np.ndarray) else value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value if isinstance(value, str) else None


def _largest_heap(file: BinaryIO) -> int:
    """Return the size of the largest collection of strings in a file, which bounds each string."""
    position = file.tell()
    largest, size = 0, file.seek(0, os.SEEK_END)
    overlap = b""
    file.seek(0)
    while part := file.read(1 << 20):
        content = overlap + part
        start = content.find(_HEAP_MAGIC)
        while start >= 0:
            heap = int.from_bytes(content[start + 8 : start + 16], "little")
            largest = max(largest, min(heap, size))
            start = content.find(_HEAP_MAGIC, start + 1)
        overlap = content[-16:]
    file.seek(position)
    return largest
