"""HDF5 files written in one pass: h5py makes the structure in memory, and the bytes of arrays go
straight to the disk.

So a full disk is a plain error outside of HDF5, and no second copy of the weights is needed. The
checksum of the structure is in `_hdf5_checksum.py`; reading is in `_hdf5.py`.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from typing import Any, BinaryIO

import numpy as np

from podium.saving.formats._hdf5_checksum import structure_checksum
from podium.saving.io._array_io import ArrayToWrite, NumpyArray, array_sha256, write_arrays
from podium.saving.io._digests import DigestResult, combine_crc32

# dtypes that HDF5 does not have: their bits are stored.
EXTENDED_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4")
DIGEST = "sha256"  # an attribute of every dataset: a flipped bit is noticed
# An attribute of the file, or of a group: every dataset inside has a digest.
DIGESTS_REQUIRED = "podium_digests"

_PAGE = 1 << 14
_BLANK = np.bytes_(b"0" * 64)  # replaced when the digest is known


class Hdf5Image:
    """An HDF5 file to be written: add groups and attributes to `file`, then arrays with
    `add_dataset`, then call `write`.
    """

    def __init__(self) -> None:
        import h5py  # here, because it would add a tenth to the time that `import podium` takes

        self._pages = _Pages()
        self.file = h5py.File(self._pages, "w")
        self._datasets: list[tuple[str, Any, NumpyArray]] = []

    def add_dataset(self, group: Any, key: str, name: str, array: NumpyArray) -> None:
        """Allocate a dataset whose contents are written later.

        Args:
            group: The group of `file`.
            key: The name of the dataset in the group.
            name: The name that its digest includes.
            array: The contents.
        """
        import h5py

        is_extended = array.dtype.name in EXTENDED_DTYPES
        stored = array.view(f"u{array.dtype.itemsize}") if is_extended else array
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        settings.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        settings.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        settings.set_obj_track_times(False)  # the same model produces the same bytes
        links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
        links.set_create_intermediate_group(True)
        space = (
            h5py.h5s.create_simple(stored.shape)
            if stored.shape
            else h5py.h5s.create(h5py.h5s.SCALAR)
        )
        kind = h5py.h5t.py_create(stored.dtype, logical=True)
        dataset = h5py.Dataset(h5py.h5d.create(group.id, None, kind, space, dcpl=settings))
        h5py.h5o.link(dataset.id, group.id, key.encode(), lcpl=links)
        if is_extended:
            dataset.attrs["dtype"] = array.dtype.name
        dataset.attrs[DIGEST] = _BLANK
        self._datasets.append((name, dataset, array))

    @property
    def num_bytes(self) -> int:
        """The size of all arrays that were added, in bytes."""
        return sum(array.nbytes for _, _, array in self._datasets)

    def write(self, out: BinaryIO, base: int = 0, with_crc32: bool = False) -> tuple[int, int]:
        """Write the file at offset `base`; return its size, and its CRC-32 if requested."""
        self.file.flush()
        non_empty = [item for item in self._datasets if item[2].size]
        arrays = [
            ArrayToWrite(name, array, base + dataset.id.get_offset())
            for name, dataset, array in non_empty
        ]
        digests = write_arrays(out, arrays, with_crc32)
        for (_, dataset, _), digest in zip(non_empty, digests, strict=True):
            dataset.attrs.modify(DIGEST, np.bytes_(digest.sha256.encode()))
        for name, dataset, array in self._datasets:
            if not array.size:
                dataset.attrs.modify(DIGEST, np.bytes_(array_sha256(name, array).encode()))
        self.file.close()
        return self._write_structure(
            out, base, sorted(zip(arrays, digests, strict=True), key=_offset)
        )

    def _write_structure(
        self, out: BinaryIO, base: int, written: list[tuple[ArrayToWrite, DigestResult]]
    ) -> tuple[int, int]:
        """Write the bytes between the arrays, and their checksum; return the size and the CRC-32 of
        the file.
        """
        position, crc, digest = 0, 0, hashlib.sha256()
        for item, result in [
            *written,
            (ArrayToWrite("", np.zeros(0), base + self._pages.size), DigestResult("", 0)),
        ]:
            between = self._pages.read_range(position, item.offset - base - position)
            out.seek(base + position)
            out.write(between)
            digest.update(between)
            crc = combine_crc32(zlib.crc32(between, crc), result.crc32, item.array.nbytes)
            position = item.offset - base + item.array.nbytes
        checksum = structure_checksum(
            [(item.offset - base, item.array.nbytes) for item, _ in written], digest
        )
        out.write(checksum)
        return position + len(checksum), zlib.crc32(checksum, crc)


def _offset(written: tuple[ArrayToWrite, DigestResult]) -> int:
    return written[0].offset


class _Pages:
    """A sparse file in memory for h5py: ranges that were not written take no memory."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self._position = 0
        self.size = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position."""
        self._position = (
            offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        )
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def flush(self) -> None:
        """Do nothing: there is no disk."""

    def truncate(self, size: int) -> int:
        """Set the size."""
        self.size = size
        return size

    def read_range(self, offset: int, length: int) -> bytes:
        """Return a range of bytes; zeros where nothing was written."""
        parts, end = [], offset + length
        while offset < end:
            page, start = divmod(offset, _PAGE)
            stop = min(_PAGE, start + end - offset)
            content = self._pages.get(page)
            parts.append(bytes(stop - start) if content is None else bytes(content[start:stop]))
            offset += stop - start
        return b"".join(parts)

    def read(self, length: int = -1) -> bytes:
        """Return bytes from the position on."""
        content = self.read_range(
            self._position, self.size - self._position if length < 0 else length
        )
        self._position += len(content)
        return content

    def readinto(self, buffer: memoryview) -> int:
        """Fill a buffer from the position on."""
        view = memoryview(buffer).cast("B")
        view[:] = self.read(len(view))
        return len(view)

    def write(self, content: bytes | memoryview) -> int:
        """Write bytes at the position."""
        view, done = memoryview(content).cast("B"), 0
        while done < len(view):
            page, start = divmod(self._position, _PAGE)
            part = view[done : done + _PAGE - start]
            self._pages.setdefault(page, bytearray(_PAGE))[start : start + len(part)] = part
            done += len(part)
            self._position += len(part)
        self.size = max(self.size, self._position)
        return len(view)
