"""Large runs of bytes on their way to the disk, past the kernel's cache where the system can do
that.

The cache would take as much memory as the file has bytes, and filling it often takes longer than
the disk does. Where direct writing is not known or refused, bytes go the usual way; what stands in
the file is the same.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from podium.saving.io._digests import LARGE, PART

_BLOCK = 4096  # disks want places, lengths and memory to be multiples of this
_BUFFERS = 3  # that many writes are under way at a time
_REFUSED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)


class LargeWriter:
    """Writes runs of bytes to their places in an open file; a context, at whose end all of them are
    with the kernel.

    Args:
        file: The file, new and open for writing.
        num_bytes: How many bytes are to come, roughly.
        end: The place behind the last of them.
    """

    def __init__(self, file: Any, num_bytes: int, end: int):
        self._file = file
        self._direct = _reopened(file) if num_bytes >= LARGE else None
        self._pool = ThreadPoolExecutor(_BUFFERS) if self._direct is not None else None
        self._turns: deque[tuple[Future | None, mmap.mmap]] = deque()
        self._end = end

    def __enter__(self) -> LargeWriter:
        if self._direct is not None:
            try:
                _reserve(self._file, self._end)
                self._turns.extend((None, mmap.mmap(-1, PART)) for _ in range(_BUFFERS))
            except BaseException as error:
                self.__exit__(type(error), error, None)
                raise
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._direct is None or self._pool is None:
            return
        self._pool.shutdown()
        os.close(self._direct)
        for done, _ in self._turns:
            if done is not None and error is None:
                done.result()

    def write(self, offset: int, content: memoryview) -> None:
        """Write bytes to a place. The memory may be used again at once."""
        if self._pool is None or self._direct is None:
            self._write_plainly(offset, content)
            return
        place = 0
        while place < len(content):
            stop = min(
                len(content), place + PART - (offset + place) % PART
            )  # later parts begin at blocks
            self._write_part(offset + place, content[place:stop])
            place = stop

    def _write_part(self, offset: int, content: memoryview) -> None:
        start = min(-offset % _BLOCK, len(content))
        stop = start + (len(content) - start) // _BLOCK * _BLOCK
        self._write_plainly(offset, content[:start])
        self._write_plainly(offset + stop, content[stop:])
        if stop > start and self._pool is not None:
            done, buffer = self._turns[0]
            if done is not None:
                done.result()
            buffer[: stop - start] = content[start:stop]
            self._turns.rotate(-1)
            self._turns[-1] = (
                self._pool.submit(self._put, offset + start, buffer, stop - start),
                buffer,
            )

    def _put(self, offset: int, buffer: mmap.mmap, length: int) -> None:
        descriptor, done = self._direct, 0
        with memoryview(buffer) as view:
            while done < length:
                try:
                    done += os.pwrite(descriptor, view[done:length], offset + done)  # type: ignore[arg-type]
                except OSError as error:
                    if error.errno not in _REFUSED or descriptor != self._direct:
                        raise
                    descriptor = self._file.fileno()

    def _write_plainly(self, offset: int, content: memoryview) -> None:
        if len(content):
            self._file.seek(offset)
            self._file.write(content)


def _reopened(file: Any) -> int | None:
    """Open a file once more, for writing past the cache; None if that cannot be."""
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


def _reserve(file: Any, end: int) -> None:
    """Have the disk set room aside, in one stretch if it can: a full one is noticed now."""
    try:
        os.posix_fallocate(file.fileno(), 0, end)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
