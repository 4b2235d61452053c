"""Arrays on their way to a file and back: written without a copy, read into memory that JAX takes
as it is.

Each has a digest (`_digests.py`), computed while the disk is at work.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from podium.core import Variable
from podium.saving.io._digests import LARGE, PART, Digest, Digests, Note
from podium.saving.io._direct_io import LargeWriter
from podium.saving.io._errors import Unfit

Feed = Callable[[Any], None]


class Piece(NamedTuple):
    """One array, of NumPy or JAX, and where its bytes go in a file."""

    name: str
    array: Any
    offset: int


class Reading(NamedTuple):
    """One array to be read, and the digest that the file has for it, or None. Bytes are handed on
    as they come.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str | None
    read: Callable[[Feed], np.ndarray]


def bytes_of(array: Any) -> memoryview:
    """Return the bytes of an array, without a copy if they lie in order on the host."""
    return np.ascontiguousarray(np.asarray(array)).reshape(-1).view("u1").data


def value_of(variable: Variable) -> np.ndarray:
    """Return the numbers of a Variable for the time of writing: on CPU the very memory that JAX
    holds.
    """
    return np.asarray(variable._peek())


def sha256_of(name: str, array: np.ndarray) -> str:
    """Return the digest of an array under its name."""
    with Digests(0) as digests:
        digest = digests.begin(name, array.dtype.name, array.shape, array.nbytes)
        digest.feed(bytes_of(array))
        return digest.note().sha256


def write_pieces(file: Any, pieces: list[Piece], with_crc32: bool = False) -> list[Note]:
    """Write arrays to their places in a new file, and return their digests."""
    size = sum(piece.array.nbytes for piece in pieces)
    end = max((piece.offset + piece.array.nbytes for piece in pieces), default=0)
    with Digests(size, with_crc32) as digests:
        with LargeWriter(file, size, end) as out:
            found = [_written(piece, out, digests) for piece in pieces]
        if size >= LARGE:
            file.flush()
            os.fsync(file.fileno())  # now, while the digests are being computed, and not after
        return [digest.note() for digest in found]


def _written(piece: Piece, out: LargeWriter, digests: Digests) -> Digest:
    digest = digests.begin(
        piece.name, piece.array.dtype.name, piece.array.shape, piece.array.nbytes
    )
    content = bytes_of(
        piece.array
    )  # from other devices it comes to the host now, when it is its turn
    for start in range(0, len(content), PART):
        digest.feed(content[start : start + PART])
    out.write(piece.offset, content)
    return digest


def read_pieces(readings: Iterable[Reading], keep: bool = True) -> dict[str, np.ndarray]:
    """Read arrays one after the other, and compare their digests meanwhile; raise `Unfit` if one
    differs.

    Args:
        readings: What to read.
        keep: Whether to return the arrays, and not to compare their digests alone.
    """
    readings = list(readings)
    values: dict[str, np.ndarray] = {}
    with Digests(sum(map(_num_bytes, readings))) as digests:
        found: list[tuple[Reading, Digest]] = []
        for reading in readings:
            digest = digests.begin(reading.name, reading.dtype, reading.shape, _num_bytes(reading))
            array = reading.read(digest.feed if reading.sha256 is not None else _ignore)
            found.append((reading, digest))
            if keep:
                values[reading.name] = array
            elif len(found) > 1:
                _compare(*found.pop(0))  # so that no more than two arrays are in memory
        for reading, digest in found:
            _compare(reading, digest)
    return values


def _ignore(part: Any) -> None:
    pass


def _num_bytes(reading: Reading) -> int:
    return math.prod(reading.shape) * jnp.dtype(reading.dtype).itemsize


def _compare(reading: Reading, digest: Digest) -> None:
    found = digest.note().sha256
    if reading.sha256 is not None and reading.sha256 != found:
        raise Unfit(
            f"is corrupt: the numbers of {reading.name!r} do not fit the checksum that was written "
            f"with them (sha256 {reading.sha256[:16]}... was expected, and {found[:16]}... found). "
            "Nothing was loaded."
        )


def read_at(file: Any, offset: int, array: np.ndarray, feed: Feed) -> bool:
    """Fill an array with the bytes that stand at a place of a file, and hand them on; False if the
    file ends before.
    """
    content = array.reshape(-1).view("u1").data
    file.seek(offset)
    for start in range(0, len(content), PART):
        part = content[start : start + PART]
        if file.readinto(part) != len(part):
            return False
        feed(part)
    return True
