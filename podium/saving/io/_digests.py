"""Digests of arrays: over name, type, shape and bytes. They are computed on threads, piece by
piece, beside the disk's work.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

LARGE = 8 << 20  # bytes from which threads pay
PART = (
    8 << 20
)  # bytes of one piece: still in the processor's cache when the next one to use it comes

_THREADS = min(4, os.cpu_count() or 1)


class Note(NamedTuple):
    """What is noted of an array: its SHA-256, and the CRC-32 of its bytes alone if that was asked
    for.
    """

    sha256: str
    crc32: int


class Digests:
    """Digests in the making; a context, at whose end the threads are gone."""

    def __init__(self, num_bytes: int, with_crc32: bool = False):
        count = _THREADS if num_bytes >= LARGE else 0
        self._lanes = [_Lane() for _ in range(count)]
        self._with_crc32 = with_crc32

    def __enter__(self) -> Digests:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for lane in self._lanes:
            lane.pool.shutdown(cancel_futures=error is not None)

    def begin(self, name: str, dtype: str, shape: tuple[int, ...], num_bytes: int) -> Digest:
        """Begin the digest of an array, whose bytes are handed in next."""
        digest = Digest(f"{name} {dtype} {tuple(shape)}\n".encode())
        for take in (
            (digest.take_sha256, digest.take_crc32) if self._with_crc32 else (digest.take_sha256,)
        ):
            lane = min(self._lanes, key=lambda one: one.num_bytes, default=None)
            digest.jobs.append((take, lane))
            if lane is not None:
                lane.num_bytes += num_bytes
        return digest


class Digest:
    """The digest of one array."""

    def __init__(self, head: bytes):
        self.jobs: list[tuple[Callable[[Any], None], _Lane | None]] = []
        self._sha256, self._crc32 = hashlib.sha256(head), 0
        self._last: list[Future] = []

    def feed(self, part: Any) -> None:
        """Hand in the next bytes, which stay as they are until the digest is done."""
        self._last = [lane.pool.submit(take, part) for take, lane in self.jobs if lane is not None]
        for take, lane in self.jobs:
            if lane is None:
                take(part)

    def take_sha256(self, part: Any) -> None:
        """Add bytes to the one."""
        self._sha256.update(part)

    def take_crc32(self, part: Any) -> None:
        """Add bytes to the other."""
        self._crc32 = zlib.crc32(part, self._crc32)

    def note(self) -> Note:
        """Return what came out, when all bytes are through."""
        for last in self._last:
            last.result()
        return Note(self._sha256.hexdigest(), self._crc32)


class _Lane:
    """A thread that takes pieces in the order in which they come, and how many bytes it was
    given.
    """

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1)
        self.num_bytes = 0


def crc32_of_joined(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two runs of bytes, one after the other, from theirs and the length of
    the second.

    A CRC is a remainder of polynomials: the first is multiplied by x to the 8 * length, and the
    second added.
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
