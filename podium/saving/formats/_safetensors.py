"""Arrays as `.safetensors`: a header that says where each array lies, and their bytes. Other
libraries read it too.

Files of weights and checkpoints are written and read here. Digests stand in the header's metadata.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from podium.core.internal import empty_array
from podium.saving.io._array_io import Feed, Piece, Reading, read_at, read_pieces, write_pieces
from podium.saving.io._errors import Unfit
from podium.saving.serialization._strict_json import BadJson, dump, parse

SUFFIX = ".safetensors"

_METADATA = "__metadata__"
_DIGEST = "sha256 "  # before the name of an array, in the metadata
_LARGEST_HEADER = 32 << 20
_TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32",
    "U16": "uint16", "U8": "uint8", "BOOL": "bool", "C64": "complex64",
}  # fmt: skip
_NAMES = {name: code for code, name in _TYPES.items()}


class StoredTensor(NamedTuple):
    """One array, described but not read."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    sha256: str | None
    file: Any

    @property
    def is_float(self) -> bool:
        """Whether the numbers are floats."""
        return bool(jnp.issubdtype(jnp.dtype(self.dtype), np.floating))

    def read(self, feed: Feed) -> np.ndarray:
        """Return the numbers, and hand on their bytes."""
        array = empty_array(self.shape, jnp.dtype(self.dtype))
        if not read_at(self.file, self.offset, array, feed):
            raise Unfit(f"is truncated: it ends within {self.name!r}.")
        return array


# --- writing


def unknown_types(arrays: Mapping[str, Any]) -> dict[str, str]:
    """Return the names and types of those arrays that a file cannot hold."""
    return {
        name: array.dtype.name for name, array in arrays.items() if array.dtype.name not in _NAMES
    }


def write_tensors(file: Any, arrays: Mapping[str, Any]) -> bytes:
    """Write arrays of NumPy or JAX under their names; return the header, whose digests vouch for
    all that follows it.

    Raises:
        ValueError: The format has no name for the type of one.
    """
    for name, dtype in unknown_types(arrays).items():
        raise ValueError(
            f"Weight {name!r} has dtype {dtype!r}, which `.safetensors` files do not have; save "
            "to `.weights.h5`."
        )
    ordered = dict(
        sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize)
    )  # so that all of them lie aligned
    start = len(_header(ordered, dict.fromkeys(ordered, "0" * 64)))
    pieces, place = [], start
    for name, array in ordered.items():
        pieces.append(Piece(name, array, place))
        place += array.nbytes
    notes = write_pieces(file, pieces)
    header = _header(
        ordered, {name: note.sha256 for name, note in zip(ordered, notes, strict=True)}
    )
    file.seek(0)
    file.write(header)
    return header


def _header(arrays: Mapping[str, Any], digests: dict[str, str]) -> bytes:
    described: dict[str, Any] = {
        _METADATA: {"written_by": "podium"} | {_DIGEST + name: digests[name] for name in arrays}
    }
    place = 0
    for name, array in arrays.items():
        described[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [place, place + array.nbytes],
        }
        place += array.nbytes
    text = dump(described).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


# --- reading


def is_safetensors(start: bytes, size: int) -> bool:
    """Tell by its first nine bytes whether a file has a header of JSON behind the length of it."""
    return len(start) >= 9 and start[8:9] == b"{" and struct.unpack("<Q", start[:8])[0] <= size - 8


def stored_tensors(file: Any) -> dict[str, StoredTensor]:
    """List the arrays of a file that nobody vouches for, without reading numbers; raise `Unfit` if
    anything is odd.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size < 8:
        raise Unfit(
            f"was refused: it is empty or too small ({size} bytes) for the header of a "
            "safetensors file."
        )
    length = struct.unpack("<Q", file.read(8))[0]
    if length > min(_LARGEST_HEADER, size - 8):
        raise Unfit(
            f"was refused: its header claims a size of {length} bytes, more than the file has "
            f"({size}) or than the limit ({_LARGEST_HEADER}): corrupt, truncated, or not a "
            "safetensors file."
        )
    try:
        header = parse(file.read(length))
    except BadJson as error:
        raise Unfit(f"was refused: its header {error}.") from None
    if not isinstance(header, dict):
        raise Unfit("was refused: its header is invalid: an object of names was expected.")
    digests = _digests(header.pop(_METADATA, {}))
    found = {
        name: _described(name, entry, 8 + length, digests, file) for name, entry in header.items()
    }
    if digests is not None and (surplus := set(digests) - set(found)):
        raise Unfit(
            f"is corrupt: its header has a checksum for {min(surplus)!r}, and no such tensor."
        )
    _check_layout(found.values(), 8 + length, size)
    return found


def read_tensors(
    stored: Mapping[str, StoredTensor], wanted: Iterable[str]
) -> dict[str, np.ndarray]:
    """Read the numbers of the wanted arrays, and compare them with the digests if there are any."""
    return read_pieces(map(_reading, (stored[name] for name in wanted)))


def check_tensors(stored: Mapping[str, StoredTensor]) -> None:
    """Compare all numbers with the digests, and keep none; raise `Unfit` if one differs."""
    read_pieces(map(_reading, stored.values()), keep=False)


def _reading(tensor: StoredTensor) -> Reading:
    return Reading(tensor.name, tensor.dtype, tensor.shape, tensor.sha256, tensor.read)


def _digests(metadata: Any) -> dict[str, str] | None:
    """Return the digests by name; None if the file is not ours and has none."""
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise Unfit(
            f"was refused: the `{_METADATA}` of its header is invalid: strings were expected."
        )
    found = {
        key.removeprefix(_DIGEST): value
        for key, value in metadata.items()
        if key.startswith(_DIGEST)
    }
    return found if found or metadata.get("written_by") == "podium" else None


def _described(
    name: str, entry: Any, start: int, digests: dict[str, str] | None, file: Any
) -> StoredTensor:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise Unfit(
            f"was refused: its header is invalid: {name!r} needs exactly `dtype`, `shape` and "
            "`data_offsets`."
        )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _TYPES:
        raise Unfit(
            f"was refused: {name!r} has the unknown dtype {str(dtype)[:40]!r}; one of "
            f"{', '.join(_TYPES)} was expected."
        )
    for what, numbers in (("shape", shape), ("data_offsets", offsets)):
        if not isinstance(numbers, list) or not all(
            type(number) is int and 0 <= number < 1 << 63 for number in numbers
        ):
            raise Unfit(
                f"was refused: the {what} of {name!r} is invalid: a list of whole numbers was "
                "expected."
            )
    needed = math.prod(shape) * jnp.dtype(_TYPES[dtype]).itemsize
    if len(offsets) != 2 or offsets[1] - offsets[0] != needed:
        raise Unfit(
            f"was refused: {name!r} has the shape {str(shape)[:80]} and dtype {dtype}, a size of "
            f"{needed} bytes, and the invalid offsets {str(offsets)[:80]}."
        )
    if digests is not None and name not in digests:
        raise Unfit(
            f"is corrupt: {name!r} has no checksum in the header, and all tensors of the file "
            "should have one."
        )
    return StoredTensor(
        name,
        _TYPES[dtype],
        tuple(shape),
        start + offsets[0],
        digests[name] if digests else None,
        file,
    )


def _check_layout(tensors: Any, start: int, size: int) -> None:
    """Refuse overlaps, holes and bytes that belong to nothing."""
    place = start
    for tensor in sorted(tensors, key=lambda one: (one.offset, math.prod(one.shape))):
        if tensor.offset != place:
            what = "overlaps another tensor" if tensor.offset < place else "has a hole before it"
            raise Unfit(f"was refused: {tensor.name!r} {what}, by the offsets in the header.")
        place += math.prod(tensor.shape) * jnp.dtype(tensor.dtype).itemsize
    if place != size:
        what = "it is truncated" if place > size else "it has trailing bytes"
        raise Unfit(
            f"is corrupt: the offsets in its header end at {place}, and its size is {size}: {what}."
        )
