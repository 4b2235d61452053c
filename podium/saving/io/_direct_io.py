"""LargeWriter: writes large arrays past the kernel's page cache, where the system supports that.

The cache would take as much memory as the file has bytes, and filling it often takes longer than
the disk does. Where direct writing is not supported, bytes are written the usual way; the contents
of the file are the same.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import BinaryIO

from podium.saving.io._digests import CHUNK_BYTES, LARGE

_BLOCK = 4096  # direct writes need offsets, lengths and memory to be multiples of this
_NUM_BUFFERS = 3  # writes under way at a time
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)


class LargeWriter:
    """Writes byte ranges at offsets of an open file; a context manager, at whose end the kernel has
    all of them.

    Args:
        file: The file, new and open for writing.
        num_bytes: How many bytes will be written, approximately.
        end: The offset after the last of them.
    """

    def __init__(self, file: BinaryIO, num_bytes: int, end: int):
        self._file = file
        self._direct = _open_direct(file) if num_bytes >= LARGE else None
        self._pool = ThreadPoolExecutor(_NUM_BUFFERS) if self._direct is not None else None
        self._buffers: deque[tuple[Future[None] | None, mmap.mmap]] = deque()
        self._end = end

    def __enter__(self) -> LargeWriter:
        if self._direct is not None:
            try:
                _reserve(self._file, self._end)
                self._buffers.extend(
                    (None, mmap.mmap(-1, CHUNK_BYTES)) for _ in range(_NUM_BUFFERS)
                )
            except BaseException as error:
                self.__exit__(type(error), error, None)
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._direct is None or self._pool is None:
            return
        self._pool.shutdown()
        os.close(self._direct)
        for future, _ in self._buffers:
            if future is not None and error is None:
                future.result()

    def write(self, offset: int, content: memoryview) -> None:
        """Write bytes at an offset. The memory may be reused immediately."""
        if self._pool is None or self._direct is None:
            self._write_buffered(offset, content)
            return
        position = 0
        while position < len(content):
            # Chunks after the first start at multiples of the block size.
            remaining = CHUNK_BYTES - (offset + position) % CHUNK_BYTES
            stop = min(len(content), position + remaining)
            self._write_chunk(offset + position, content[position:stop])
            position = stop

    def _write_chunk(self, offset: int, content: memoryview) -> None:
        start = min(-offset % _BLOCK, len(content))
        stop = start + (len(content) - start) // _BLOCK * _BLOCK
        self._write_buffered(offset, content[:start])
        self._write_buffered(offset + stop, content[stop:])
        if stop > start and self._pool is not None:
            future, buffer = self._buffers[0]
            if future is not None:
                future.result()
            buffer[: stop - start] = content[start:stop]
            self._buffers.rotate(-1)
            self._buffers[-1] = (
                self._pool.submit(self._write_direct, offset + start, buffer, stop - start),
                buffer,
            )

    def _write_direct(self, offset: int, buffer: mmap.mmap, length: int) -> None:
        descriptor, written = self._direct, 0
        assert descriptor is not None
        with memoryview(buffer) as view:
            while written < length:
                try:
                    written += os.pwrite(descriptor, view[written:length], offset + written)
                except OSError as error:
                    if error.errno not in _UNSUPPORTED or descriptor != self._direct:
                        raise
                    descriptor = self._file.fileno()

    def _write_buffered(self, offset: int, content: memoryview) -> None:
        if len(content):
            self._file.seek(offset)
            self._file.write(content)


def _open_direct(file: BinaryIO) -> int | None:
    """Open a file a second time for direct writing; return None if that is not possible."""
    flag, name = getattr(os, "O_DIRECT", 0), getattr(file, "name", None)
    if not flag or not isinstance(name, str):
        return None
    try:
        descriptor = os.open(name, os.O_WRONLY | flag)
    except OSError:
        return None
    if os.path.samestat(os.fstat(descriptor), os.fstat(file.fileno())):
        return descriptor
    os.close(descriptor)
    return None


def _reserve(file: BinaryIO, end: int) -> None:
    """Reserve space on the disk, contiguous if possible, so that a full disk is noticed early."""
    try:
        os.posix_fallocate(file.fileno(), 0, end)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
