"""Arrays written to and read from files, each with a digest that is computed meanwhile.

Writing makes no copy; reading fills memory that JAX takes without one. Which arrays a file has, and
at which offsets, is decided by `formats`; digests are computed by `_digests.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, NamedTuple

import jax.numpy as jnp
import numpy as np

from podium._typing import Array, Shape
from podium.core import Variable
from podium.saving.io._digests import CHUNK_BYTES, LARGE, Digest, DigestResult, Digests
from podium.saving.io._direct_io import LargeWriter
from podium.saving.io._errors import InvalidFileError

NumpyArray = np.ndarray[Any, Any]
ByteSink = Callable[[memoryview], None]


class ArrayToWrite(NamedTuple):
    """One array, of NumPy or JAX, and the offset of its bytes in a file."""

    name: str
    array: Array
    offset: int


class ArrayToRead(NamedTuple):
    """One array to read, and the digest that the file has for it, or None. `read` passes the bytes
    to a sink as they arrive.
    """

    name: str
    dtype: str
    shape: Shape
    sha256: str | None
    read: Callable[[ByteSink], NumpyArray]


def array_bytes(array: Array) -> memoryview:
    """Return the bytes of an array, without a copy if they are contiguous on the host."""
    return np.ascontiguousarray(np.asarray(array)).reshape(-1).view("u1").data


def host_value(variable: Variable) -> NumpyArray:
    """Return the value of a variable for writing: on CPU the memory that JAX holds, not a copy."""
    return np.asarray(variable.read(keep=False))


def array_sha256(name: str, array: NumpyArray) -> str:
    """Return the digest of an array under its name."""
    with Digests(0) as digests:
        digest = digests.start(name, array.dtype.name, array.shape, array.nbytes)
        digest.update(array_bytes(array))
        return digest.result().sha256


def write_arrays(
    file: BinaryIO, arrays: list[ArrayToWrite], with_crc32: bool = False
) -> list[DigestResult]:
    """Write arrays at their offsets in a new file, and return their digests."""
    size = sum(item.array.nbytes for item in arrays)
    end = max((item.offset + item.array.nbytes for item in arrays), default=0)
    with Digests(size, with_crc32) as digests:
        with LargeWriter(file, size, end) as writer:
            pending = [_write_array(item, writer, digests) for item in arrays]
        if size >= LARGE:
            file.flush()
            os.fsync(file.fileno())  # while the digests are being computed, not after them
        return [digest.result() for digest in pending]


def _write_array(item: ArrayToWrite, writer: LargeWriter, digests: Digests) -> Digest:
    array = item.array
    digest = digests.start(item.name, array.dtype.name, array.shape, array.nbytes)
    content = array_bytes(array)  # copies an array on another device to the host, one at a time
    for start in range(0, len(content), CHUNK_BYTES):
        digest.update(content[start : start + CHUNK_BYTES])
    writer.write(item.offset, content)
    return digest


def read_arrays(arrays: Iterable[ArrayToRead], keep: bool = True) -> dict[str, NumpyArray]:
    """Read arrays one after the other, and compare their digests meanwhile.

    Args:
        arrays: What to read.
        keep: Whether to return the arrays; with False they are only compared with their digests.

    Raises:
        InvalidFileError: A digest differs.
    """
    arrays = list(arrays)
    values: dict[str, NumpyArray] = {}
    with Digests(sum(map(_num_bytes, arrays))) as digests:
        pending: list[tuple[ArrayToRead, Digest]] = []
        for item in arrays:
            digest = digests.start(item.name, item.dtype, item.shape, _num_bytes(item))
            value = item.read(digest.update if item.sha256 is not None else _ignore)
            pending.append((item, digest))
            if keep:
                values[item.name] = value
            elif len(pending) > 1:
                _compare(*pending.pop(0))  # so that at most two arrays are in memory
        for item, digest in pending:
            _compare(item, digest)
    return values


def _ignore(chunk: memoryview) -> None:
    pass


def _num_bytes(item: ArrayToRead) -> int:
    return math.prod(item.shape) * int(jnp.dtype(item.dtype).itemsize)


def _compare(item: ArrayToRead, digest: Digest) -> None:
    sha256 = digest.result().sha256
    if item.sha256 is not None and item.sha256 != sha256:
        raise InvalidFileError(
            f"is corrupt: the numbers of {item.name!r} do not fit the checksum that was written "
            f"with them (sha256 {item.sha256[:16]}... was expected, and {sha256[:16]}... found). "
            "Nothing was loaded."
        )


def read_into(file: BinaryIO, offset: int, array: NumpyArray, sink: ByteSink) -> bool:
    """Fill an array with the bytes at an offset of a file, and pass them to a sink. Return False if
    the file ends before.
    """
    content = array.reshape(-1).view("u1").data
    file.seek(offset)
    for start in range(0, len(content), CHUNK_BYTES):
        chunk = content[start : start + CHUNK_BYTES]
        if file.readinto(chunk) != len(chunk):  # type: ignore[attr-defined]
            return False
        sink(chunk)
    return True
