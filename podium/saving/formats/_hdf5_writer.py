"""HDF5 files written in one pass: the structure is made in memory without the numbers, whose bytes
go straight to the disk.

So a full disk is a plain error and not HDF5's business, and no second copy of the weights is
needed.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from typing import Any

import numpy as np

from podium.saving.formats._hdf5_checksum import seal_bytes
from podium.saving.io._array_io import Piece, sha256_of, write_pieces
from podium.saving.io._digests import Note, crc32_of_joined

OWN_TYPES = (
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "int4",
)  # not known to HDF5: their bits are stored
DIGEST = "sha256"  # an attribute of every dataset: a flipped bit is noticed
SEALED = (
    "podium_digests"  # an attribute of the file, or of a group: every dataset inside has a digest
)

_PAGE = 1 << 14
_BLANK = np.bytes_(b"0" * 64)  # takes the place of a digest that is not known yet


class Hdf5Image:
    """An HDF5 file in the making: fill `file` with groups and attributes, `put` arrays, then
    `write` it.
    """

    def __init__(self) -> None:
        import h5py  # here, because it would add a tenth to the time that `import podium` takes

        self._pages = _Pages()
        self.file = h5py.File(self._pages, "w")
        self._datasets: list[tuple[str, Any, np.ndarray]] = []

    def put(self, group: Any, key: str, name: str, array: np.ndarray) -> None:
        """Give a dataset its place, for numbers that are written later; `name` is the one that the
        digest is for.
        """
        import h5py

        own = array.dtype.name in OWN_TYPES
        stored = array.view(f"u{array.dtype.itemsize}") if own else array
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        settings.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        settings.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        settings.set_obj_track_times(False)  # the same model gives the same bytes
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
        if own:
            dataset.attrs["dtype"] = array.dtype.name
        dataset.attrs[DIGEST] = _BLANK
        self._datasets.append((name, dataset, array))

    @property
    def num_bytes(self) -> int:
        """The bytes of all arrays so far."""
        return sum(array.nbytes for _, _, array in self._datasets)

    def write(self, out: Any, base: int = 0, with_crc32: bool = False) -> tuple[int, int]:
        """Write the file from `base` on; return its size, and its CRC-32 if that is asked for."""
        self.file.flush()
        kept = [(name, dataset, array) for name, dataset, array in self._datasets if array.size]
        pieces = [
            Piece(name, array, base + dataset.id.get_offset()) for name, dataset, array in kept
        ]
        notes = write_pieces(out, pieces, with_crc32)
        for (_, dataset, _), note in zip(kept, notes, strict=True):
            dataset.attrs.modify(DIGEST, np.bytes_(note.sha256.encode()))
        for name, dataset, array in self._datasets:
            if not array.size:
                dataset.attrs.modify(DIGEST, np.bytes_(sha256_of(name, array).encode()))
        self.file.close()
        return self._write_structure(
            out, base, sorted(zip(pieces, notes, strict=True), key=_offset)
        )

    def _write_structure(
        self, out: Any, base: int, written: list[tuple[Piece, Note]]
    ) -> tuple[int, int]:
        """Write what lies between the arrays, and the seal; return the size and the CRC-32 of
        all.
        """
        place, crc, digest = 0, 0, hashlib.sha256()
        for piece, note in [
            *written,
            (Piece("", np.zeros(0), base + self._pages.size), Note("", 0)),
        ]:
            between = self._pages.read_at(place, piece.offset - base - place)
            out.seek(base + place)
            out.write(between)
            digest.update(between)
            crc = crc32_of_joined(zlib.crc32(between, crc), note.crc32, piece.array.nbytes)
            place = piece.offset - base + piece.array.nbytes
        seal = seal_bytes(
            [(piece.offset - base, piece.array.nbytes) for piece, _ in written], digest
        )
        out.write(seal)
        return place + len(seal), zlib.crc32(seal, crc)


def _offset(written: tuple[Piece, Note]) -> int:
    return written[0].offset


class _Pages:
    """A file in memory with holes, as h5py wants one: where nothing was written, nothing is
    kept.
    """

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self._place = 0
        self.size = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._place = (
            offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self.size}[whence]
        )
        return self._place

    def tell(self) -> int:
        """Return the place."""
        return self._place

    def flush(self) -> None:
        """Do nothing: there is no disk below."""

    def truncate(self, size: int) -> int:
        """Set the size."""
        self.size = size
        return size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes from a place; zeros where nothing was written."""
        parts, end = [], offset + length
        while offset < end:
            page, start = divmod(offset, _PAGE)
            stop = min(_PAGE, start + end - offset)
            held = self._pages.get(page)
            parts.append(bytes(stop - start) if held is None else bytes(held[start:stop]))
            offset += stop - start
        return b"".join(parts)

    def read(self, length: int = -1) -> bytes:
        """Return bytes from here on."""
        content = self.read_at(self._place, self.size - self._place if length < 0 else length)
        self._place += len(content)
        return content

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from here on."""
        view = memoryview(buffer).cast("B")
        view[:] = self.read(len(view))
        return len(view)

    def write(self, content: Any) -> int:
        """Put bytes here."""
        view, done = memoryview(content).cast("B"), 0
        while done < len(view):
            page, start = divmod(self._place, _PAGE)
            part = view[done : done + _PAGE - start]
            self._pages.setdefault(page, bytearray(_PAGE))[start : start + len(part)] = part
            done += len(part)
            self._place += len(part)
        self.size = max(self.size, self._place)
        return len(view)
