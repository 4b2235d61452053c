"""The checksum at the end of HDF5 files that Podium writes: over the structure, that is all bytes
outside of arrays.

HDF5 trusts its structure, and a flipped bit there can crash it, so the checksum is compared before
HDF5 opens the file. Other readers ignore bytes after HDF5's own end. A file without the checksum
was written, or changed, by another program. Digests of arrays are in `_hdf5_writer.py`.
"""

from __future__ import annotations

import hashlib
import io
import struct
from typing import BinaryIO

from podium.saving.io._errors import InvalidFileError

_MAGIC = b"\x89PODIUM\n"
_END = struct.Struct("<Q32s8s")  # the number of array ranges, the digest, the magic


def structure_checksum(ranges: list[tuple[int, int]], structure: hashlib._Hash) -> bytes:
    """Return the bytes to append to a file.

    Args:
        ranges: Offset and length of each array.
        structure: The hash of all bytes outside of them.
    """
    table = b"".join(struct.pack("<QQ", *bounds) for bounds in ranges)
    structure.update(table)
    return table + _END.pack(len(ranges), structure.digest(), _MAGIC)


def check_structure(file: BinaryIO | io.RawIOBase) -> bool:
    """Compare the structure of a file with its checksum; return whether it has one."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END.size))
    end = file.read(_END.size)
    if end is None or len(end) < _END.size or not end.endswith(_MAGIC):
        return False
    count, digest, _ = _END.unpack(end)
    stop = size - _END.size - 16 * count
    if stop < 0:
        raise InvalidFileError("is corrupt: the checksum at its end does not fit its size.")
    file.seek(stop)
    table = file.read(16 * count) or b""
    if digest != _digest(file, list(struct.iter_unpack("<QQ", table)), table, stop):
        raise InvalidFileError(
            "is corrupt: its structure does not fit the checksum that was written with it, and "
            "nothing was loaded."
        )
    return True


def _digest(
    file: BinaryIO | io.RawIOBase, ranges: list[tuple[int, ...]], table: bytes, stop: int
) -> bytes:
    structure, position = hashlib.sha256(), 0
    for offset, length in [*ranges, (stop, 0)]:
        if not position <= offset <= offset + length <= stop:
            raise InvalidFileError(
                "is corrupt: the checksum at its end names offsets that are not in it."
            )
        file.seek(position)
        while position < offset:
            part = file.read(min(1 << 20, offset - position))
            if not part:
                raise InvalidFileError("is corrupt: it is truncated.")
            structure.update(part)
            position += len(part)
        position = offset + length
    structure.update(table)
    return structure.digest()
