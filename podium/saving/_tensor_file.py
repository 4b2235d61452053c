"""Many arrays in one file of safetensors' layout, in pieces: written without a second copy, read without running anything.

For checkpoints, where a manifest holds the digests. A file that anybody may hand in is another matter.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from podium.saving._json import BadJson, parse

_TYPES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "complex64": "C64",
}  # fmt: skip
_NAMES = {code: name for name, code in _TYPES.items()}
_PIECE = 1 << 24


def pieces(arrays: Mapping[str, Any]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file with these arrays; each is brought to the host when its turn comes."""
    header: dict[str, Any] = {}
    offset = 0
    for name, array in arrays.items():
        kind = str(array.dtype)
        if kind not in _TYPES:
            raise TypeError(f"{name!r} has dtype {kind}, which checkpoints do not hold; they hold {', '.join(_TYPES)}.")
        size = math.prod(array.shape) * jnp.dtype(array.dtype).itemsize
        header[name] = {"dtype": _TYPES[kind], "shape": list(array.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield struct.pack("<Q", len(text)) + text
    for array in arrays.values():
        raw = np.ascontiguousarray(np.asarray(array)).reshape(-1).view(np.uint8)
        for start in range(0, raw.size, _PIECE):
            yield raw[start : start + _PIECE].data


def arrays_in(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a file, as views of its bytes.

    Raises:
        ValueError: The bytes are no such file.
    """
    if len(content) < 8:
        raise ValueError("is cut off")
    (length,) = struct.unpack("<Q", content[:8])
    if length > len(content) - 8:
        raise ValueError("is cut off in its header")
    try:
        header = parse(content[8 : 8 + length])
    except BadJson as error:
        raise ValueError(f"has a header that {error}") from None
    data = memoryview(content)[8 + length :]
    found, expected = {}, 0
    for name, about in header.items():
        try:
            kind, shape, (start, end) = jnp.dtype(_NAMES[about["dtype"]]), tuple(about["shape"]), about["data_offsets"]
            whole = all(type(number) is int and number >= 0 for number in (*shape, start, end))
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"describes {name!r} in a way that cannot be read") from None
        if not whole or start != expected or end - start != math.prod(shape) * kind.itemsize or end > len(data):
            raise ValueError(f"has no room for {name!r} as it describes it")
        found[name] = np.frombuffer(data[start:end], np.uint8).view(kind).reshape(shape)
        expected = end
    if expected != len(data):
        raise ValueError("holds more than it lists")
    return found
