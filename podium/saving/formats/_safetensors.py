"""The `.safetensors` format: a header with the dtype, shape and offsets of each array, then their
bytes.

Files of weights and checkpoints use it. Podium adds digests to the header's metadata, which other
libraries ignore.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, NamedTuple

import jax.numpy as jnp
import numpy as np

from podium._typing import Array, Shape
from podium.core.internal import charge_file_budget, empty_array
from podium.saving.io._array_io import (
    ArrayToRead,
    ArrayToWrite,
    ByteSink,
    NumpyArray,
    read_arrays,
    read_into,
    write_arrays,
)
from podium.saving.io._errors import InvalidFileError
from podium.saving.serialization._strict_json import InvalidJsonError, dump_json, parse_json

SUFFIX = ".safetensors"

_METADATA = "__metadata__"
_DIGEST = "sha256 "  # before the name of an array, in the metadata
_MAX_HEADER_BYTES = 32 << 20
_MAX_RANK = 32
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8",
    "BOOL": "bool", "C64": "complex64",
}  # fmt: skip
_CODES = {name: code for code, name in _DTYPES.items()}


class StoredTensor(NamedTuple):
    """One array, described but not read."""

    name: str
    dtype: str
    shape: Shape
    offset: int
    sha256: str | None
    file: BinaryIO

    @property
    def is_float(self) -> bool:
        """Whether the dtype is a float."""
        return bool(jnp.issubdtype(jnp.dtype(self.dtype), np.floating))

    def read(self, sink: ByteSink) -> NumpyArray:
        """Return the values, and pass their bytes to a sink."""
        array = empty_array(self.shape, jnp.dtype(self.dtype))
        if not read_into(self.file, self.offset, array, sink):
            raise InvalidFileError(f"is truncated: it ends within {self.name!r}.")
        return array


# --- writing


def unsupported_dtypes(arrays: Mapping[str, Array]) -> dict[str, str]:
    """Return the names and dtypes of the arrays that the format does not support."""
    return {
        name: array.dtype.name for name, array in arrays.items() if array.dtype.name not in _CODES
    }


def write_tensors(file: BinaryIO, arrays: Mapping[str, Array]) -> bytes:
    """Write arrays of NumPy or JAX under their names; return the header, which has the digests of
    everything after it.

    Raises:
        ValueError: The format does not support a dtype.
    """
    for name, dtype in unsupported_dtypes(arrays).items():
        raise ValueError(
            f"Weight {name!r} has dtype {dtype!r}, which `.safetensors` files do not have; save "
            "to `.weights.h5`."
        )
    # Largest elements first, so that all arrays are aligned.
    ordered = dict(sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize))
    start = len(_header(ordered, dict.fromkeys(ordered, "0" * 64)))
    to_write, offset = [], start
    for name, array in ordered.items():
        to_write.append(ArrayToWrite(name, array, offset))
        offset += array.nbytes
    results = write_arrays(file, to_write)
    digests = {name: result.sha256 for name, result in zip(ordered, results, strict=True)}
    header = _header(ordered, digests)
    file.seek(0)
    file.write(header)
    return header


def _header(arrays: Mapping[str, Array], digests: dict[str, str]) -> bytes:
    header: dict[str, Any] = {
        _METADATA: {"written_by": "podium"} | {_DIGEST + name: digests[name] for name in arrays}
    }
    offset = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": _CODES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = dump_json(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


# --- reading


def is_safetensors(start: bytes, size: int) -> bool:
    """Return whether the first nine bytes of a file are a length and the start of JSON."""
    return len(start) >= 9 and start[8:9] == b"{" and struct.unpack("<Q", start[:8])[0] <= size - 8


def list_tensors(file: BinaryIO) -> dict[str, StoredTensor]:
    """List the arrays of an untrusted file, without reading values.

    Raises:
        InvalidFileError: The header is damaged or inconsistent.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size < 8:
        raise InvalidFileError(
            f"was rejected: it is empty or too small ({size} bytes) for the header of a "
            "safetensors file."
        )
    length = struct.unpack("<Q", file.read(8))[0]
    if length > min(_MAX_HEADER_BYTES, size - 8):
        raise InvalidFileError(
            f"was rejected: its header claims a size of {length} bytes, more than the file has "
            f"({size}) or than the limit ({_MAX_HEADER_BYTES}): corrupt, truncated, or not a "
            "safetensors file."
        )
    try:
        header = parse_json(file.read(length))
    except InvalidJsonError as error:
        raise InvalidFileError(f"was rejected: its header {error}.") from None
    if not isinstance(header, dict):
        raise InvalidFileError(
            "was rejected: its header is invalid: an object of names was expected."
        )
    digests = _digests(header.pop(_METADATA, {}))
    tensors = {
        name: _read_entry(name, entry, 8 + length, digests, file) for name, entry in header.items()
    }
    if digests is not None and (surplus := set(digests) - set(tensors)):
        raise InvalidFileError(
            f"is corrupt: its header has a checksum for {min(surplus)!r}, and no such tensor."
        )
    _check_layout(tensors.values(), 8 + length, size)
    return tensors


def read_tensors(stored: Mapping[str, StoredTensor], names: Iterable[str]) -> dict[str, NumpyArray]:
    """Read arrays by name, and compare them with their digests if there are any."""
    return read_arrays(_array_to_read(stored[name]) for name in names)


def verify_tensors(stored: Mapping[str, StoredTensor]) -> None:
    """Compare all arrays with their digests; raise `InvalidFileError` if one differs."""
    read_arrays(map(_array_to_read, stored.values()), keep=False)


def _array_to_read(tensor: StoredTensor) -> ArrayToRead:
    charge_file_budget(
        "bytes",
        math.prod(tensor.shape) * jnp.dtype(tensor.dtype).itemsize,
        f"was rejected: with {tensor.name!r}, its tensors are far larger than the size of the "
        "file.",
    )
    return ArrayToRead(tensor.name, tensor.dtype, tensor.shape, tensor.sha256, tensor.read)


def _digests(metadata: object) -> dict[str, str] | None:
    """Return the digests by name; None if another program wrote the file."""
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise InvalidFileError(
            f"was rejected: the `{_METADATA}` of its header is invalid: strings were expected."
        )
    digests = {
        key.removeprefix(_DIGEST): value
        for key, value in metadata.items()
        if key.startswith(_DIGEST)
    }
    return digests if digests or metadata.get("written_by") == "podium" else None


def _read_entry(
    name: str, entry: object, start: int, digests: dict[str, str] | None, file: BinaryIO
) -> StoredTensor:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise InvalidFileError(
            f"was rejected: its header is invalid: {name!r} needs exactly `dtype`, `shape` and "
            "`data_offsets`."
        )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise InvalidFileError(
            f"was rejected: {name!r} has the unknown dtype {str(dtype)[:40]!r}; one of "
            f"{', '.join(_DTYPES)} was expected."
        )
    for what, numbers in (("shape", shape), ("data_offsets", offsets)):
        if not isinstance(numbers, list) or not all(
            type(number) is int and 0 <= number < 1 << 63 for number in numbers
        ):
            raise InvalidFileError(
                f"was rejected: the {what} of {name!r} is invalid: a list of ints was expected."
            )
    if len(shape) > _MAX_RANK:
        raise InvalidFileError(
            f"was rejected: {name!r} has a shape of {len(shape)} dimensions, over the limit of "
            f"{_MAX_RANK}."
        )
    needed = math.prod(shape) * jnp.dtype(_DTYPES[dtype]).itemsize
    if len(offsets) != 2 or offsets[1] - offsets[0] != needed:
        raise InvalidFileError(
            f"was rejected: {name!r} has the shape {str(shape)[:80]} and dtype {dtype}, a size of "
            f"{needed} bytes, and the invalid offsets {str(offsets)[:80]}."
        )
    if digests is not None and name not in digests:
        raise InvalidFileError(
            f"is corrupt: {name!r} has no checksum in the header, and all tensors of the file "
            "should have one."
        )
    return StoredTensor(
        name,
        _DTYPES[dtype],
        tuple(shape),
        start + offsets[0],
        digests[name] if digests else None,
        file,
    )


def _check_layout(tensors: Iterable[StoredTensor], start: int, size: int) -> None:
    """Raise if tensors overlap, or if bytes belong to no tensor."""
    end = start
    for tensor in sorted(tensors, key=lambda tensor: (tensor.offset, math.prod(tensor.shape))):
        if tensor.offset != end:
            what = "overlaps another tensor" if tensor.offset < end else "has a hole before it"
            raise InvalidFileError(
                f"was rejected: {tensor.name!r} {what}, by the offsets in the header."
            )
        end += math.prod(tensor.shape) * jnp.dtype(tensor.dtype).itemsize
    if end != size:
        what = "it is truncated" if end > size else "it has trailing bytes"
        raise InvalidFileError(
            f"is corrupt: the offsets in its header end at {end}, and its size is {size}: {what}."
        )
