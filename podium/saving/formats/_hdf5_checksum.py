"""What closes an HDF5 file of ours: a checksum of its structure, that is of all bytes that are not
numbers.

HDF5 trusts its structure, and a flipped bit there can make it crash. So it is compared before HDF5
sees the file. Others read the file as ever: HDF5 does not look behind its own end. A file without
the seal is one of others, or was changed since.
"""

from __future__ import annotations

import hashlib
import io
import struct
from typing import Any

from podium.saving.io._errors import Unfit

_MAGIC = b"\x89PODIUM\n"
_END = struct.Struct("<Q32s8s")  # how many ranges of numbers, the digest, the magic


def seal_bytes(ranges: list[tuple[int, int]], structure: Any) -> bytes:
    """Return the seal for a structure that has been hashed, and the places of numbers: offset and
    length.
    """
    places = b"".join(struct.pack("<QQ", *place) for place in ranges)
    structure.update(places)
    return places + _END.pack(len(ranges), structure.digest(), _MAGIC)


def check_seal(file: Any) -> bool:
    """Compare the structure of a file with its seal; return whether it has one."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END.size))
    end = file.read(_END.size)
    if len(end) < _END.size or not end.endswith(_MAGIC):
        return False
    count, digest, _ = _END.unpack(end)
    stop = size - _END.size - 16 * count
    if stop < 0:
        raise Unfit("is corrupt: the seal at its end does not fit its size.")
    file.seek(stop)
    places = file.read(16 * count)
    if digest != _digest(file, list(struct.iter_unpack("<QQ", places)), places, stop):
        raise Unfit(
            "is corrupt: its structure does not fit the checksum that was written with it, and "
            "nothing was loaded."
        )
    return True


def _digest(file: Any, ranges: list[Any], places: bytes, stop: int) -> bytes:
    structure, place = hashlib.sha256(), 0
    for offset, length in [*ranges, (stop, 0)]:
        if not place <= offset <= offset + length <= stop:
            raise Unfit("is corrupt: the seal at its end names places that are not in it.")
        file.seek(place)
        while place < offset:
            part = file.read(min(1 << 20, offset - place))
            if not part:
                raise Unfit("is corrupt: it is truncated.")
            structure.update(part)
            place += len(part)
        place = offset + length
    structure.update(places)
    return structure.digest()
