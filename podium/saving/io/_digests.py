"""Digests of arrays, over name, dtype, shape and bytes.

They are computed on threads, chunk by chunk, while the disk reads or writes. `_array_io.py` passes
the bytes in.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple

from podium._typing import Shape

LARGE = 8 << 20  # bytes from which threads are worth their cost
CHUNK_BYTES = 8 << 20  # small enough to be in the processor's cache for the next consumer

_NUM_THREADS = min(4, os.cpu_count() or 1)


class DigestResult(NamedTuple):
    """The SHA-256 of an array, and the CRC-32 of its bytes alone if that was requested."""

    sha256: str
    crc32: int


class Digests:
    """Computes digests; a context manager, which stops its threads at the end.

    Args:
        num_bytes: How many bytes are expected in all.
        with_crc32: Whether to compute a CRC-32 too.
    """

    def __init__(self, num_bytes: int, with_crc32: bool = False):
        self._workers = [_Worker() for _ in range(_NUM_THREADS if num_bytes >= LARGE else 0)]
        self._with_crc32 = with_crc32

    def __enter__(self) -> Digests:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.pool.shutdown(cancel_futures=error is not None)

    def start(self, name: str, dtype: str, shape: Shape, num_bytes: int) -> Digest:
        """Start the digest of an array, whose bytes are passed to `update` next."""
        digest = Digest(f"{name} {dtype} {tuple(shape)}\n".encode())
        updates = [digest.update_sha256] + ([digest.update_crc32] if self._with_crc32 else [])
        for update in updates:
            worker = min(self._workers, key=lambda worker: worker.num_bytes, default=None)
            digest.jobs.append((update, worker))
            if worker is not None:
                worker.num_bytes += num_bytes
        return digest


class Digest:
    """The digest of one array."""

    def __init__(self, head: bytes):
        self.jobs: list[tuple[Callable[[memoryview], None], _Worker | None]] = []
        self._sha256, self._crc32 = hashlib.sha256(head), 0
        self._last: list[Future[None]] = []

    def update(self, chunk: memoryview) -> None:
        """Add the next bytes, which must not change until the digest is complete."""
        self._last = [
            worker.pool.submit(update, chunk) for update, worker in self.jobs if worker is not None
        ]
        for update, worker in self.jobs:
            if worker is None:
                update(chunk)

    def update_sha256(self, chunk: memoryview) -> None:
        """Add bytes to the SHA-256."""
        self._sha256.update(chunk)

    def update_crc32(self, chunk: memoryview) -> None:
        """Add bytes to the CRC-32."""
        self._crc32 = zlib.crc32(chunk, self._crc32)

    def result(self) -> DigestResult:
        """Wait until all bytes are processed, and return the digest."""
        for future in self._last:
            future.result()
        return DigestResult(self._sha256.hexdigest(), self._crc32)


class _Worker:
    """A thread that processes chunks in order, and the number of bytes assigned to it."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1)
        self.num_bytes = 0


def combine_crc32(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two concatenated byte strings, from theirs and the length of the second.

    A CRC is a remainder of polynomials: the first is multiplied by x to the 8 * length, and the
    second added.
    """
    power, factor = 8 * length, 0x40000000  # x, with the highest bit for x^0
    while power:
        if power & 1:
            first = _multiply_polynomials(first, factor)
        factor = _multiply_polynomials(factor, factor)
        power >>= 1
    return first ^ second


def _multiply_polynomials(a: int, b: int) -> int:
    """Multiply two polynomials modulo that of CRC-32, lowest power in the highest bit."""
    product, bit = 0, 0x80000000
    while bit:
        if a & bit:
            product ^= b
        b = (b >> 1) ^ (0xEDB88320 if b & 1 else 0)
        bit >>= 1
    return product
