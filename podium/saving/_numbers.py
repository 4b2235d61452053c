"""Arrays on their way to a file and back: written without a copy, read into memory that JAX takes as it is.

Every array has a digest over its name, type, shape and bytes. It is computed on threads beside the reading and writing.
"""

from __future__ import annotations

import hashlib
import math
import os
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from podium.core import Variable
from podium.saving._unfit import Unfit

_LARGE = 8 << 20  # bytes from which threads pay
_ALIGNED = 64  # JAX takes memory with this alignment without a copy
_THREADS = min(4, os.cpu_count() or 1)


class Piece(NamedTuple):
    """One array, and where its bytes go in a file."""

    name: str
    array: np.ndarray
    offset: int


class Note(NamedTuple):
    """What is noted of an array that was written."""

    sha256: str
    crc32: int


class Reading(NamedTuple):
    """One array to be read, and the digest that the file has for it, or None."""

    name: str
    read: Callable[[], np.ndarray]
    sha256: str | None


def bytes_of(array: np.ndarray) -> memoryview:
    """Return the bytes of an array, without a copy if they lie in order."""
    return np.ascontiguousarray(array).reshape(-1).view("u1").data


def value_of(variable: Variable) -> np.ndarray:
    """Return the numbers of a Variable for the time of writing: on CPU the very memory that JAX holds."""
    return np.asarray(variable._peek())


def sha256_of(name: str, array: np.ndarray) -> str:
    """Return the digest of an array under its name."""
    digest = hashlib.sha256(f"{name} {array.dtype.name} {tuple(array.shape)}\n".encode())
    digest.update(bytes_of(array))
    return digest.hexdigest()


def _note(piece: Piece) -> Note:
    return Note(sha256_of(piece.name, piece.array), zlib.crc32(bytes_of(piece.array)))


def write_pieces(file: Any, pieces: list[Piece]) -> list[Note]:
    """Write arrays to their places, and return their digests."""
    large = sum(piece.array.nbytes for piece in pieces) >= _LARGE
    pool = ThreadPoolExecutor(_THREADS) if large else None
    try:
        notes = [pool.submit(_note, piece) for piece in pieces] if pool else []
        for piece in pieces:
            file.seek(piece.offset)
            file.write(bytes_of(piece.array))
        if pool is None:
            return [_note(piece) for piece in pieces]
        file.flush()
        os.fsync(file.fileno())  # now, while the digests are being computed, and not after
        return [note.result() for note in notes]
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)


def read_pieces(readings: Iterable[Reading]) -> dict[str, np.ndarray]:
    """Read arrays one after the other, and compare their digests meanwhile; raise `Unfit` if one differs."""
    values: dict[str, np.ndarray] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        found = {}
        for name, read, noted in readings:
            array = values[name] = read()
            if noted is not None:
                found[name] = (noted, pool.submit(sha256_of, name, array) if array.nbytes >= _LARGE else None)
    for name, (noted, computed) in found.items():
        digest = computed.result() if computed else sha256_of(name, values[name])
        if digest != noted:
            raise Unfit(
                f"is corrupt: the numbers of {name!r} do not fit the checksum that was written with them (sha256 {noted[:16]}... "
                f"was expected, and {digest[:16]}... found). Nothing was loaded."
            )
    return values


def empty_array(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return memory for an array at an address where JAX takes it without a copy."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + _ALIGNED, "u1")
    start = -memory.ctypes.data % _ALIGNED
    return memory[start : start + size].view(dtype).reshape(shape)


def crc32_of_joined(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two runs of bytes, one after the other, from theirs and the length of the second.

    A CRC is a remainder of polynomials: the first is multiplied by x to the 8 * length, and the second added.
    """
    power, factor = 8 * length, 0x40000000  # x, with the highest bit for x^0
    while power:
        if power & 1:
            first = _times(first, factor)
        factor = _times(factor, factor)
        power >>= 1
    return first ^ second


def _times(a: int, b: int) -> int:
    """Multiply two polynomials modulo that of CRC-32, lowest power in the highest bit."""
    product, bit = 0, 0x80000000
    while bit:
        if a & bit:
            product ^= b
        b = (b >> 1) ^ (0xEDB88320 if b & 1 else 0)
        bit >>= 1
    return product
