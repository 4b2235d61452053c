"""The `.keras` archive: a zip of `metadata.json`, `config.json` and `model.weights.h5`, as Keras 3
writes and reads it.

Members are read one by one into memory and never extracted. Names, links, sizes and checksums are
looked at first.
"""

from __future__ import annotations

import contextlib
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from podium.saving.formats._hdf5_checksum import check_seal
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.io._errors import Unfit
from podium.saving.serialization._strict_json import LARGEST_TEXT

METADATA, CONFIG, WEIGHTS = "metadata.json", "config.json", "model.weights.h5"
MAGIC = b"PK\x03\x04"

_END = b"PK\x05\x06" + bytes(18)  # what closes an archive without a comment
_MOST_MEMBERS = 10_000
_MOST_EXPANSION = 100  # times the packed size; weights hardly shrink at all


def write_archive(out: Any, texts: dict[str, bytes], image: Hdf5Image) -> None:
    """Write an archive of these texts and of the weights, stored without compression: the weights
    straight to their place.
    """
    directory, place = [], 0
    for name, content in texts.items():
        out.write(_header(name, len(content), zlib.crc32(content), False) + content)
        directory.append(_entry(name, len(content), zlib.crc32(content), place, False))
        place = out.tell()
    large = image.num_bytes >= 1 << 31
    start = place + len(_header(WEIGHTS, 0, 0, large))
    size, crc = image.write(out, start, with_crc32=True)
    out.seek(place)
    out.write(_header(WEIGHTS, size, crc, large))  # only now are its size and checksum known
    directory.append(_entry(WEIGHTS, size, crc, place, large))
    out.seek(start + size)
    out.write(b"".join(directory) + _end(len(directory), sum(map(len, directory)), start + size))


_NO_TIME = struct.pack(
    "<HH", 0, 0x21
)  # 1980-01-01: the same model gives the same bytes, whenever it is saved


def _header(name: str, size: int, crc: int, large: bool) -> bytes:
    """Return what stands before a member."""
    told = 0xFFFFFFFF if large else size
    extra = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
    start = struct.pack(
        "<4sHHH4sIIIHH",
        MAGIC,
        45 if large else 20,
        0,
        0,
        _NO_TIME,
        crc,
        told,
        told,
        len(name),
        len(extra),
    )
    return start + name.encode() + extra


def _entry(name: str, size: int, crc: int, offset: int, large: bool) -> bytes:
    """Return what the directory says of a member. Members before the weights are small, so offsets
    always fit.
    """
    told = 0xFFFFFFFF if large else size
    extra = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
    version = 45 if large else 20
    mode = (stat.S_IFREG | 0o644) << 16
    start = struct.pack("<4sBBHHH4sIIIHHHHHII", b"PK\x01\x02", version, 3, version, 0, 0, _NO_TIME, crc, told, told, len(name),
                        len(extra), 0, 0, 0, mode, offset)  # fmt: skip
    return start + name.encode() + extra


def _end(count: int, size: int, offset: int) -> bytes:
    """Return what closes an archive; with the longer form before it if the directory stands beyond
    four gigabytes.
    """
    longer = b""
    if offset >= 0xFFFFFFFF:
        longer = struct.pack(
            "<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, offset
        )
        longer += struct.pack("<4sIQI", b"PK\x06\x07", 0, offset + size, 1)
        offset = 0xFFFFFFFF
    return longer + struct.pack("<4sHHHHIIH", _END[:4], 0, 0, count, count, size, offset, 0)


class Window(io.RawIOBase):
    """A part of a file as a file of its own."""

    def __init__(self, file: Any, start: int, size: int):
        self._file, self._start, self._size, self._place = file, start, size, 0

    def seekable(self) -> bool:
        """Say that places can be chosen."""
        return True

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place within the part."""
        self._place = offset + (0, self._place, self._size)[whence]
        return self._place

    def tell(self) -> int:
        """Return the place within the part."""
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from here on."""
        view = memoryview(buffer).cast("B")[: max(0, self._size - self._place)]
        self._file.seek(self._start + self._place)
        count = self._file.readinto(view)
        self._place += count
        return int(count)


def open_weights(file: Any) -> Any:
    """Return the weights of an archive as a file: in place if they are stored as they are,
    otherwise in memory.

    Those of others are compared with the checksum of the archive; ours have checksums of their own.
    """
    with _opened(file) as archive:
        info = archive.getinfo(WEIGHTS)
        if info.compress_type != zipfile.ZIP_STORED:
            return io.BytesIO(archive.read(info))
        archive.open(info).close()  # compares what stands before the member with the directory
        file.seek(info.header_offset)
        name_length, extra_length = struct.unpack("<HH", file.read(30)[26:])
        start = info.header_offset + 30 + name_length + extra_length
        if (
            start + info.file_size > file.seek(0, io.SEEK_END)
            or info.file_size != info.compress_size
        ):
            raise Unfit(
                f"is corrupt: its member {WEIGHTS!r} does not have the size that the archive says."
            )
    window = Window(file, start, info.file_size)
    if not check_seal(window):
        _check_sum(file)
    return window


def _check_sum(file: Any) -> None:
    with _opened(file) as archive, archive.open(WEIGHTS) as member:
        while member.read(1 << 20):
            pass


@contextlib.contextmanager
def _opened(file: Any) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        OSError,
        RuntimeError,
        ValueError,
    ) as error:
        raise Unfit(
            "is corrupt or not a whole zip archive: its checksums or its directory do not fit "
            f"({error})."
        ) from None


def read_texts(
    file: Any, wanted: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, bytes]:
    """Return the wanted texts of an archive that nobody vouches for, after looking over all of its
    members.
    """
    with _opened(file) as archive:
        infos = archive.infolist()
        _check_ends(file, infos, archive.comment)
        _check_members(infos)
        by_name = {info.filename: info for info in infos}
        for name in (*wanted, WEIGHTS):
            if name not in by_name:
                raise Unfit(
                    f"was refused: {_missing(name, by_name)}: an archive with a member {name!r} "
                    "was expected."
                )
        return {
            name: archive.read(by_name[name]) for name in (*wanted, *optional) if name in by_name
        }


def _check_members(infos: list[zipfile.ZipInfo]) -> None:
    if len(infos) > _MOST_MEMBERS:
        raise Unfit(f"was refused: it has {len(infos)} members, over the limit of {_MOST_MEMBERS}.")
    seen: set[str] = set()
    for info in infos:
        name = info.filename
        parts = name.replace("\\", "/").split("/")
        if (
            name.startswith(("/", "\\"))
            or ":" in parts[0]
            or ".." in parts
            or "\0" in info.orig_filename
        ):
            raise Unfit(
                f"was refused: its member {name!r} has an unsafe path that could escape "
                "(traversal or absolute)."
            )
        if name.casefold() in seen:
            raise Unfit(f"was refused: it has a duplicate member {name!r}.")
        seen.add(name.casefold())
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise Unfit(
                f"was refused: its member {name!r} is a link or a device; ordinary files were "
                "expected."
            )
        if info.flag_bits & 0x1:
            raise Unfit(f"was refused: its member {name!r} is encrypted.")
        _check_size(info)


def _check_ends(file: Any, infos: list[zipfile.ZipInfo], comment: bytes) -> None:
    """Refuse bytes before or behind the archive, where another one could hide."""
    file.seek(-len(_END), io.SEEK_END) if file.seek(0, io.SEEK_END) >= len(_END) else None
    if (
        comment
        or file.read(4) != _END[:4]
        or min((info.header_offset for info in infos), default=0) != 0
    ):
        raise Unfit(
            "is corrupt: it has unexpected bytes before or behind the archive (leading or "
            "trailing data)."
        )


def _missing(name: str, there: Any) -> str:
    if name == CONFIG:
        return "its config is missing"
    if "model.weights.npz" in there:
        return "its weights have the format npz, which is not read, whatever shapes and size its headers declare"
    return "its weights are missing"


def _check_size(info: zipfile.ZipInfo) -> None:
    if info.filename.endswith(".json") and info.file_size > LARGEST_TEXT:
        raise Unfit(
            f"was refused: its {info.filename!r} has a size of {info.file_size} bytes, over the "
            f"limit of {LARGEST_TEXT}."
        )
    if info.file_size > _MOST_EXPANSION * max(info.compress_size, 1) + (1 << 20):
        raise Unfit(
            f"was refused: its member {info.filename!r} grows from {info.compress_size} to "
            f"{info.file_size} bytes, over the limit of {_MOST_EXPANSION} times: a zip bomb."
        )
