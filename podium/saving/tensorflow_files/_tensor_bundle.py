"""TensorBundle: the tensors of a TensorFlow checkpoint, an index and one or several data files.

The index is read and compared with the sizes of the files first; tensors are read one by one, and
their checksums compared. What the tensors are for is decided by `_object_graph.py` and its users.
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np

from podium._typing import Shape
from podium.core.internal import charge_file_budget, current_file_budget, file_budget
from podium.saving.io._array_io import NumpyArray, read_into
from podium.saving.io._atomic_write import open_regular_file
from podium.saving.io._errors import InvalidFileError
from podium.saving.tensorflow_files._bundle_entry import StoredTensor, parse_entry, parse_header
from podium.saving.tensorflow_files._crc32c import crc32c, mask_crc32c
from podium.saving.tensorflow_files._detect import INDEX_SUFFIX
from podium.saving.tensorflow_files._slice_keys import FULL, Extent, slice_key
from podium.saving.tensorflow_files._sorted_string_table import read_table
from podium.saving.tensorflow_files._tensor_dtypes import STRING
from podium.saving.tensorflow_files._wire_format import encode_varint, read_varint


def shard_path(prefix: str, shard: int, num_shards: int) -> str:
    """Return the path of a data file of a checkpoint."""
    return f"{prefix}.data-{shard:05d}-of-{num_shards:05d}"


def num_bundle_bytes(prefix: str) -> int:
    """Return the size of the files of a checkpoint."""
    return sum(map(os.path.getsize, bundle_paths(prefix)))


def bundle_paths(prefix: str) -> list[str]:
    """Return the paths of the files of a checkpoint."""
    paths = [prefix + INDEX_SUFFIX, *sorted(glob.glob(f"{glob.escape(prefix)}.data-*"))]
    return [path for path in paths if os.path.isfile(path)]


def read_num_shards(prefix: str) -> int:
    """Return the number of data files that the index of a checkpoint declares.

    Raises:
        OSError: There is no index.
        InvalidFileError: The index is damaged.
    """
    return _read_index("read", prefix)[0]


class TensorBundle:
    """A checkpoint, opened for reading.

    Args:
        prefix: Its path, without `.index`.
        caller: The function that the user called, for messages.

    Raises:
        InvalidFileError: The index is damaged, or does not fit the data files.
        FileNotFoundError: There is no index.
    """

    def __init__(self, prefix: str, caller: str = "load_checkpoint"):
        self._prefix, self._caller = prefix, caller
        self._num_shards, entries = _read_index(caller, prefix)
        self._slices = {
            key: parse_entry("a slice", content)
            for key, content in entries.items()
            if key.startswith(b"\0")
        }
        self.tensors = {
            name: parse_entry(name, content)
            for name, content in (
                (_decode_name(key), content)
                for key, content in entries.items()
                if not key.startswith(b"\0")
            )
        }
        self._check_ranges([*self.tensors.values(), *self._slices.values()])

    def read(self, name: str) -> NumpyArray:
        """Return the values of a tensor that has numbers, and compare its checksum."""
        tensor = self.tensors[name]
        if tensor.dtype == STRING:
            raise InvalidFileError(f"has strings in {name!r}, where numbers were expected.")
        return self._read_slices(tensor) if tensor.slices else self._read_numbers(tensor)

    def read_strings(self, name: str) -> list[bytes]:
        """Return the elements of a tensor of strings, flattened, and compare its checksums."""
        tensor = self.tensors[name]
        if tensor.dtype != STRING or tensor.slices:
            raise InvalidFileError(f"has no plain strings in {name!r}.")
        content = np.empty(tensor.size, np.uint8)
        self._read_into(tensor, content)
        return _parse_strings(content.tobytes(), math.prod(tensor.shape), tensor)

    def _check_ranges(self, tensors: Iterable[StoredTensor]) -> None:
        """Check that tensors are inside their files, and that no two share bytes."""
        stored = sorted(
            (tensor.shard, tensor.offset, tensor.size, tensor.name)
            for tensor in tensors
            if not tensor.slices
        )
        sizes: dict[int, int] = {}
        last_shard, end = -1, 0
        for shard, offset, size, name in stored:
            if shard not in sizes:
                sizes[shard] = self._shard_size(shard)
            end = end if shard == last_shard else 0
            if size and offset < end:
                raise InvalidFileError(f"is damaged: {name!r} shares its bytes with others.")
            if offset + size > sizes[shard]:
                raise InvalidFileError(
                    f"is incomplete: {name!r} ends at byte {offset + size} of data file {shard}, "
                    f"which has {sizes[shard]}."
                )
            last_shard, end = shard, max(end, offset + size)

    def _shard_size(self, shard: int) -> int:
        if shard >= self._num_shards:
            raise InvalidFileError(
                f"is damaged: its index refers to data file {shard} of {self._num_shards}."
            )
        path = shard_path(self._prefix, shard, self._num_shards)
        try:
            return os.stat(path).st_size
        except OSError:
            raise InvalidFileError(f"is incomplete: there is no {path!r}.") from None

    def _read_numbers(self, tensor: StoredTensor) -> NumpyArray:
        values = np.empty(tensor.shape, jnp.dtype(tensor.dtype))
        crc = self._read_into(tensor, values)
        if mask_crc32c(crc) != tensor.masked_crc:
            raise _checksum_error(tensor)
        if tensor.dtype == "bool":  # other bytes than 0 and 1 are undefined for NumPy
            values = values.view(np.uint8).astype(bool)
        return values

    def _read_into(self, tensor: StoredTensor, values: NumpyArray) -> int:
        """Fill an array with the bytes of a tensor, and return their checksum."""
        crc = 0

        def update(chunk: memoryview) -> None:
            nonlocal crc
            crc = crc32c(chunk, crc)

        path = shard_path(self._prefix, tensor.shard, self._num_shards)
        with open_regular_file(self._caller, path) as file:
            if not read_into(file, tensor.offset, values, update):
                raise InvalidFileError(f"is incomplete: {path!r} ends inside of {tensor.name!r}.")
        return crc

    def _read_slices(self, tensor: StoredTensor) -> NumpyArray:
        shapes = [_slice_shape(tensor, extents) for extents in tensor.slices]
        stored = [self._slices.get(slice_key(tensor.name, extents)) for extents in tensor.slices]
        if len(set(tensor.slices)) < len(stored) or sum(map(math.prod, shapes)) != math.prod(
            tensor.shape
        ):
            raise InvalidFileError(f"is damaged: the slices of {tensor.name!r} do not cover it.")
        charge_file_budget(
            "bytes",
            math.prod(tensor.shape) * (jnp.dtype(tensor.dtype).itemsize + 1),
            f"was rejected: {tensor.name!r} has the shape {tensor.shape}, far larger than its "
            "files.",
        )
        values = np.empty(tensor.shape, jnp.dtype(tensor.dtype))
        is_filled = np.zeros(tensor.shape, bool)
        for extents, shape, part in zip(tensor.slices, shapes, stored, strict=True):
            if part is None or (part.dtype, part.shape, part.slices) != (tensor.dtype, shape, ()):
                raise InvalidFileError(
                    f"is damaged: a slice of {tensor.name!r} is missing or does not fit."
                )
            place = tuple(
                slice(extent.start, extent.start + size)
                for extent, size in zip(extents, shape, strict=True)
            )
            values[place], is_filled[place] = self._read_numbers(part), True
        if not is_filled.all():
            raise InvalidFileError(f"is damaged: the slices of {tensor.name!r} do not cover it.")
        return values


def _read_index(caller: str, prefix: str) -> tuple[int, dict[bytes, bytes]]:
    """Return the number of shards and the entries by key."""
    with open_regular_file(caller, prefix + INDEX_SUFFIX) as file:
        content = file.read()
        is_charged = current_file_budget() is not None
        with contextlib.nullcontext() if is_charged else file_budget(len(content)):
            entries = dict(read_table(content))
    if b"" not in entries:
        raise InvalidFileError("is damaged: its index has no header.")
    return parse_header(entries.pop(b"")), entries


def _decode_name(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise InvalidFileError(f"is damaged: a name is not UTF-8: {key[:200]!r}.") from None


def _slice_shape(tensor: StoredTensor, extents: tuple[Extent, ...]) -> Shape:
    shape = tuple(
        size if extent.length == FULL else extent.length
        for extent, size in zip(extents, tensor.shape, strict=False)
    )
    if len(extents) != len(tensor.shape) or any(
        extent.start < 0 or length < 0 or extent.start + length > size
        for extent, length, size in zip(extents, shape, tensor.shape, strict=True)
    ):
        raise InvalidFileError(f"is damaged: a slice of {tensor.name!r} is outside of it.")
    return shape


def encode_strings(strings: Iterable[bytes]) -> tuple[bytes, int]:
    """Return the bytes of a tensor of strings, and their checksum: all lengths, a checksum of them,
    and the strings. Lengths enter the checksums in four bytes.
    """
    strings = list(strings)
    crc = crc32c(b"".join(_length_bytes(len(string)) for string in strings))
    head = mask_crc32c(crc).to_bytes(4, "little")
    body = b"".join(strings)
    lengths = b"".join(encode_varint(len(string)) for string in strings)
    return lengths + head + body, crc32c(body, crc32c(head, crc))


def _length_bytes(length: int) -> bytes:
    return length.to_bytes(4 if length < 1 << 32 else 8, "little")


def _parse_strings(content: bytes, count: int, tensor: StoredTensor) -> list[bytes]:
    lengths, position = [], 0
    for _ in range(count):
        length, position = read_varint(content, position)
        lengths.append(length)
    start = position + 4
    if start + sum(lengths) != len(content):
        raise InvalidFileError(f"is damaged: the strings of {tensor.name!r} have other lengths.")
    strings = []
    for length in lengths:
        strings.append(content[start : start + length])
        start += length
    encoded, crc = encode_strings(strings)
    if encoded != content or mask_crc32c(crc) != tensor.masked_crc:
        raise _checksum_error(tensor)
    return strings


def _checksum_error(tensor: StoredTensor) -> InvalidFileError:
    return InvalidFileError(
        f"is corrupt: the values of {tensor.name!r} do not fit the checksum that was written with "
        "them. Nothing was loaded."
    )
