"""The messages of a checkpoint's index: a header, and an entry for each tensor.

They are parsed and encoded here, and each is validated on its own; `_tensor_bundle.py` compares
them with the files.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from podium._typing import Shape
from podium.saving.io._errors import InvalidFileError
from podium.saving.tensorflow_files._slice_keys import FULL, Extent
from podium.saving.tensorflow_files._tensor_dtypes import STRING, dtype_name, dtype_number
from podium.saving.tensorflow_files._wire_format import (
    Message,
    encode_bytes,
    encode_fixed32,
    encode_int,
)

_MAX_SHARDS = 99_999  # in five digits
_VERSION = 1
_MAX_RANK = 32


class StoredTensor(NamedTuple):
    """One tensor of a checkpoint, described but not read: its dtype ("string" for bytes), shape,
    and where its bytes are. A partitioned one has slices instead, each stored as a tensor.
    """

    name: str
    dtype: str
    shape: Shape
    shard: int = 0
    offset: int = 0
    size: int = 0
    masked_crc: int = 0
    slices: tuple[tuple[Extent, ...], ...] = ()

    @property
    def is_float(self) -> bool:
        """Whether the dtype is a float."""
        return self.dtype != STRING and bool(jnp.issubdtype(jnp.dtype(self.dtype), np.floating))


def parse_header(content: bytes) -> int:
    """Return the number of shards that the header of an index declares."""
    header = Message(content, "the header of its index")
    num_shards, version = header.get_int(1), header.get_message(3, "a version")
    if header.get_int(2):
        raise InvalidFileError(
            "was written on a big-endian machine, whose checkpoints cannot be read."
        )
    if not 0 < num_shards <= _MAX_SHARDS:
        raise InvalidFileError(f"is damaged: its index declares {num_shards} shards.")
    if version.get_int(2) > _VERSION:
        raise InvalidFileError(
            f"needs a reader of version {version.get_int(2)} of TensorFlow's checkpoints; "
            f"version {_VERSION} is supported."
        )
    return num_shards


def encode_header(num_shards: int) -> bytes:
    """Return the header of an index."""
    return encode_int(1, num_shards) + encode_bytes(3, encode_int(1, _VERSION))


def parse_entry(name: str, content: bytes) -> StoredTensor:
    """Return the tensor that an entry describes, with a size that fits its dtype and shape."""
    shown = f"the entry of {name[:200]!r}"
    entry = Message(content, shown)
    dims = entry.get_message(2, shown).get_messages(2, shown)
    tensor = StoredTensor(
        name,
        dtype_name(entry.get_int(1)),
        tuple(dim.get_signed(1) for dim in dims),
        entry.get_int(3),
        entry.get_int(4),
        entry.get_int(5),
        entry.get_int(6),
        tuple(_parse_slice(extents) for extents in entry.get_messages(7, shown)),
    )
    if len(dims) > _MAX_RANK or any(size < 0 for size in tensor.shape):
        raise InvalidFileError(f"is damaged: {shown} has the shape {tensor.shape[:_MAX_RANK]}.")
    if not tensor.slices:
        _check_byte_count(tensor)
    return tensor


def _parse_slice(message: Message) -> tuple[Extent, ...]:
    return tuple(
        Extent(extent.get_signed(1), extent.get_signed(2) if extent.has(2) else FULL)
        for extent in message.get_messages(1, "a slice")
    )


def _check_byte_count(tensor: StoredTensor) -> None:
    num_elements = math.prod(tensor.shape)
    if tensor.dtype == STRING:  # a byte of length for each element at least, and a checksum
        fits = tensor.size >= num_elements + 4
    else:
        fits = tensor.size == num_elements * int(jnp.dtype(tensor.dtype).itemsize)
    if not fits or max(tensor.shape, default=0) >= 1 << 62:
        raise InvalidFileError(
            f"is damaged: the entry of {tensor.name[:200]!r} has {tensor.size} bytes, which do "
            f"not fit its shape {tensor.shape} and dtype {tensor.dtype}."
        )


def encode_entry(tensor: StoredTensor) -> bytes:
    """Return the entry of a tensor that is not partitioned."""
    shape = b"".join(encode_bytes(2, encode_int(1, size)) for size in tensor.shape)
    return (
        encode_int(1, dtype_number(tensor.dtype))
        + encode_bytes(2, shape)
        + encode_int(3, tensor.shard)
        + encode_int(4, tensor.offset)
        + encode_int(5, tensor.size)
        + encode_fixed32(6, tensor.masked_crc)
    )
