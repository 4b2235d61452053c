"""The `.keras` archive: a zip of `metadata.json`, `config.json` and `model.weights.h5`, as Keras 3
writes and reads it.

Members are read one by one into memory and never extracted. Names, links, sizes and checksums are
validated first. What the members contain is the concern of `_model_file.py`.
"""

from __future__ import annotations

import contextlib
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO, cast

from podium.core.internal import FileBudgetError, charge_file_budget
from podium.saving.formats._hdf5_checksum import check_structure
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.io._errors import InvalidFileError
from podium.saving.serialization._strict_json import MAX_TEXT_BYTES

METADATA, CONFIG, WEIGHTS = "metadata.json", "config.json", "model.weights.h5"
MAGIC = b"PK\x03\x04"

_END = b"PK\x05\x06" + bytes(18)  # the end of an archive without a comment
_MAX_MEMBERS = 10_000
_BYTES_OF_TEXT = 4  # that parsing a byte of JSON takes
_MAX_EXPANSION = 100  # times the packed size; weights are hardly compressible


def write_archive(out: BinaryIO, texts: dict[str, bytes], image: Hdf5Image) -> None:
    """Write an archive of texts and weights, stored without compression, in one pass."""
    directory, position = [], 0
    for name, content in texts.items():
        out.write(_header(name, len(content), zlib.crc32(content), False) + content)
        directory.append(_entry(name, len(content), zlib.crc32(content), position, False))
        position = out.tell()
    large = image.num_bytes >= 1 << 31
    start = position + len(_header(WEIGHTS, 0, 0, large))
    size, crc = image.write(out, start, with_crc32=True)
    out.seek(position)
    out.write(_header(WEIGHTS, size, crc, large))  # only now are its size and checksum known
    directory.append(_entry(WEIGHTS, size, crc, position, large))
    out.seek(start + size)
    out.write(b"".join(directory) + _end(len(directory), sum(map(len, directory)), start + size))


# 1980-01-01: the same model produces the same bytes, whenever it is saved.
_NO_TIME = struct.pack("<HH", 0, 0x21)


def _header(name: str, size: int, crc: int, large: bool) -> bytes:
    """Return the header before a member."""
    size_field = 0xFFFFFFFF if large else size
    extra = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
    start = struct.pack(
        "<4sHHH4sIIIHH",
        MAGIC,
        45 if large else 20,
        _flags_of(name),
        0,
        _NO_TIME,
        crc,
        size_field,
        size_field,
        len(name.encode()),
        len(extra),
    )
    return start + name.encode() + extra


def _entry(name: str, size: int, crc: int, offset: int, large: bool) -> bytes:
    """Return the directory entry of a member. Members before the weights are small, so offsets
    always fit.
    """
    size_field = 0xFFFFFFFF if large else size
    extra = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
    version = 45 if large else 20
    mode = (stat.S_IFREG | 0o644) << 16
    start = struct.pack(
        "<4sBBHHH4sIIIHHHHHII",
        b"PK\x01\x02", version, 3, version, _flags_of(name), 0, _NO_TIME, crc, size_field,
        size_field, len(name.encode()), len(extra), 0, 0, 0, mode, offset,
    )  # fmt: skip
    return start + name.encode() + extra


def _flags_of(name: str) -> int:
    """Return the flags of a member: names that are not ASCII are marked as UTF-8."""
    return 0 if name.isascii() else 0x800


def _end(count: int, size: int, offset: int) -> bytes:
    """Return the end of an archive; preceded by the ZIP64 form if the directory starts after four
    gigabytes.
    """
    zip64 = b""
    if offset >= 0xFFFFFFFF:
        zip64 = struct.pack(
            "<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, offset
        )
        zip64 += struct.pack("<4sIQI", b"PK\x06\x07", 0, offset + size, 1)
        offset = 0xFFFFFFFF
    return zip64 + struct.pack("<4sHHHHIIH", _END[:4], 0, 0, count, count, size, offset, 0)


class Window(io.RawIOBase):
    """A range of a file, readable like a file."""

    def __init__(self, file: BinaryIO, start: int, size: int):
        self._file, self._start, self._size, self._position = file, start, size, 0

    def seekable(self) -> bool:
        """Return that the position can be set."""
        return True

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position within the range."""
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        """Return the position within the range."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from the position on."""
        view = memoryview(buffer).cast("B")[: max(0, self._size - self._position)]
        self._file.seek(self._start + self._position)
        count = self._file.readinto(view)  # type: ignore[attr-defined]
        self._position += count
        return int(count)


def open_weights(file: BinaryIO) -> BinaryIO:
    """Return the weights of an archive as a file: in place if they are not compressed, otherwise in
    memory.

    Weights that another program wrote are compared with the checksum of the archive; Podium's have
    their own checksums.
    """
    with _open_archive(file) as archive:
        info = archive.getinfo(WEIGHTS)
        if info.compress_type != zipfile.ZIP_STORED:
            _charge_bytes(info, info.file_size)
            return io.BytesIO(archive.read(info))
        archive.open(info).close()  # compares the header of the member with the directory
        file.seek(info.header_offset)
        name_length, extra_length = struct.unpack("<HH", file.read(30)[26:])
        start = info.header_offset + 30 + name_length + extra_length
        if (
            start + info.file_size > file.seek(0, io.SEEK_END)
            or info.file_size != info.compress_size
        ):
            raise InvalidFileError(
                f"is corrupt: its member {WEIGHTS!r} does not have the size in the archive."
            )
    window = Window(file, start, info.file_size)
    if not check_structure(window):
        _verify_crc32(file)
    return cast(BinaryIO, window)


def _verify_crc32(file: BinaryIO) -> None:
    with _open_archive(file) as archive, archive.open(WEIGHTS) as member:
        while member.read(1 << 20):
            pass


@contextlib.contextmanager
def _open_archive(file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except FileBudgetError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        OSError,
        RuntimeError,
        ValueError,
    ) as error:
        raise InvalidFileError(
            "is corrupt or not a whole zip archive: its checksums or its directory do not fit "
            f"({error})."
        ) from None


def verify_members(file: BinaryIO) -> list[str]:
    """Compare all members with their CRC-32; return their names."""
    with _open_archive(file) as archive:
        infos = archive.infolist()
        _check_members(infos)
        for info in infos:
            _charge_bytes(info, info.file_size)
            with archive.open(info) as member:
                while member.read(1 << 20):
                    pass
        return [info.filename for info in infos]


def read_texts(
    file: BinaryIO, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, bytes]:
    """Return texts of an untrusted archive, after validating all of its members."""
    with _open_archive(file) as archive:
        infos = archive.infolist()
        _check_ends(file, infos, archive.comment)
        _check_members(infos)
        by_name = {info.filename: info for info in infos}
        for name in (*required, WEIGHTS):
            if name not in by_name:
                raise InvalidFileError(
                    f"was rejected: {_describe_missing(name, by_name)}: an archive with a member "
                    f"{name!r} was expected."
                )
        names = [name for name in (*required, *optional) if name in by_name]
        for name in names:
            _charge_bytes(by_name[name], _BYTES_OF_TEXT * by_name[name].file_size)
        return {name: archive.read(by_name[name]) for name in names}


def list_members(file: BinaryIO) -> list[str]:
    """Return the names of the members of an untrusted archive, after validating them."""
    with _open_archive(file) as archive:
        infos = archive.infolist()
        _check_members(infos)
        return [info.filename for info in infos]


def _check_members(infos: list[zipfile.ZipInfo]) -> None:
    if len(infos) > _MAX_MEMBERS:
        raise InvalidFileError(
            f"was rejected: it has {len(infos)} members, over the limit of {_MAX_MEMBERS}."
        )
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
            raise InvalidFileError(
                f"was rejected: its member {name!r} has an unsafe path that could escape "
                "(traversal or absolute)."
            )
        if name.casefold() in seen:
            raise InvalidFileError(f"was rejected: it has a duplicate member {name!r}.")
        seen.add(name.casefold())
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise InvalidFileError(
                f"was rejected: its member {name!r} is a link or a device; ordinary files were "
                "expected."
            )
        if info.flag_bits & 0x1:
            raise InvalidFileError(f"was rejected: its member {name!r} is encrypted.")
        _check_member_size(info)


def _check_ends(file: BinaryIO, infos: list[zipfile.ZipInfo], comment: bytes) -> None:
    """Raise if there are bytes before or after the archive, where another one could hide."""
    file.seek(-len(_END), io.SEEK_END) if file.seek(0, io.SEEK_END) >= len(_END) else None
    if (
        comment
        or file.read(4) != _END[:4]
        or min((info.header_offset for info in infos), default=0) != 0
    ):
        raise InvalidFileError(
            "is corrupt: it has unexpected bytes before or after the archive (leading or "
            "trailing data)."
        )


def _describe_missing(name: str, members: Collection[str]) -> str:
    if name == CONFIG:
        return "its config is missing"
    if "model.weights.npz" in members:
        return (
            "its weights have the format npz, which is not read, whatever shapes and size its "
            "headers declare"
        )
    return "its weights are missing"


def _charge_bytes(info: zipfile.ZipInfo, num_bytes: int) -> None:
    charge_file_budget(
        "bytes",
        num_bytes,
        f"was rejected: its member {info.filename[:200]!r} of {info.file_size} bytes is too large "
        "for the size of the file (a zip bomb).",
    )


def _check_member_size(info: zipfile.ZipInfo) -> None:
    if info.filename.endswith(".json") and info.file_size > MAX_TEXT_BYTES:
        raise InvalidFileError(
            f"was rejected: its {info.filename!r} has a size of {info.file_size} bytes, over the "
            f"limit of {MAX_TEXT_BYTES}."
        )
    if info.file_size > _MAX_EXPANSION * max(info.compress_size, 1) + (1 << 20):
        raise InvalidFileError(
            f"was rejected: its member {info.filename!r} grows from {info.compress_size} to "
            f"{info.file_size} bytes, over the limit of {_MAX_EXPANSION} times: a zip bomb."
        )
