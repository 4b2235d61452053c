"""Keys under which a checkpoint has the slices of a partitioned variable, in TensorFlow's ordered
code.

The code sorts as the values do; here it is only written, to find slices that an entry lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FULL = -1  # the length of a slice that is the whole dimension


class Extent(NamedTuple):
    """The part of one dimension that a slice covers: its start, and its length or `FULL`."""

    start: int
    length: int


def slice_key(name: str, extents: Sequence[Extent]) -> bytes:
    """Return the key of a slice of a variable."""
    key = _encode_unsigned(0) + _encode_text(name.encode()) + _encode_unsigned(len(extents))
    return key + b"".join(
        _encode_signed(number) for extent in extents for number in (extent.start, extent.length)
    )


def _encode_unsigned(value: int) -> bytes:
    """Return the number of bytes, and the bytes, highest first."""
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _encode_text(content: bytes) -> bytes:
    return content.replace(b"\x00", b"\x00\xff") + b"\x00\x01"  # no byte of UTF-8 is 0xff


def _encode_signed(value: int) -> bytes:
    """Return as many leading ones as there are bytes, a zero, and the value with its sign; the
    leading bits are inverted for negative values.
    """
    num_bits = (~value if value < 0 else value).bit_length()
    size = num_bits // 7 + 1
    header = ((1 << size) - 1) << (7 * size)
    return ((value & ((1 << 8 * size) - 1)) ^ header).to_bytes(size, "big")
