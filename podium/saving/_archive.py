"""The `.keras` archive: a zip of `metadata.json`, `config.json` and `model.weights.h5`, as Keras 3 writes and reads it.

Members are read one by one into memory and never extracted. Names, links, sizes and checksums are looked at first.
"""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from typing import Any

from podium.saving._hdf5 import Unfit
from podium.saving._json import LARGEST_TEXT

METADATA, CONFIG, WEIGHTS = "metadata.json", "config.json", "model.weights.h5"
MAGIC = b"PK\x03\x04"

_END = b"PK\x05\x06" + bytes(18)  # what closes an archive without a comment
_MOST_MEMBERS = 10_000
_MOST_EXPANSION = 100  # times the packed size; weights hardly shrink at all
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes, whenever it is saved


def pack(members: dict[str, bytes | memoryview]) -> memoryview:
    """Return an archive of these members, stored without compression."""
    image = io.BytesIO()
    with zipfile.ZipFile(image, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            with archive.open(info, "w", force_zip64=len(content) >= 1 << 31) as member:
                member.write(content)
    return image.getbuffer()


def unpack(file: Any, wanted: tuple[str, ...]) -> dict[str, bytes]:
    """Return the wanted members of an archive that nobody vouches for."""
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            _check_ends(file, infos, archive.comment)
            _check_members(infos)
            by_name = {info.filename: info for info in infos}
            for name in wanted:
                if name not in by_name:
                    raise Unfit(f"was refused: {_missing(name, by_name)}: an archive with a member {name!r} was expected.")
            return {name: archive.read(by_name[name]) for name in wanted}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError) as error:
        raise Unfit(f"is corrupt or not a whole zip archive: its checksums or its directory do not fit ({error}).") from None


def _check_members(infos: list[zipfile.ZipInfo]) -> None:
    if len(infos) > _MOST_MEMBERS:
        raise Unfit(f"was refused: it has {len(infos)} members, over the limit of {_MOST_MEMBERS}.")
    seen: set[str] = set()
    for info in infos:
        name = info.filename
        parts = name.replace("\\", "/").split("/")
        if name.startswith(("/", "\\")) or ":" in parts[0] or ".." in parts or "\0" in info.orig_filename:
            raise Unfit(f"was refused: its member {name!r} has an unsafe path that could escape (traversal or absolute).")
        if name.casefold() in seen:
            raise Unfit(f"was refused: it has a duplicate member {name!r}.")
        seen.add(name.casefold())
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise Unfit(f"was refused: its member {name!r} is a link or a device; ordinary files were expected.")
        if info.flag_bits & 0x1:
            raise Unfit(f"was refused: its member {name!r} is encrypted.")
        _check_size(info)


def _check_ends(file: Any, infos: list[zipfile.ZipInfo], comment: bytes) -> None:
    """Refuse bytes before or behind the archive, where another one could hide."""
    file.seek(-len(_END), io.SEEK_END) if file.seek(0, io.SEEK_END) >= len(_END) else None
    if comment or file.read(4) != _END[:4] or min((info.header_offset for info in infos), default=0) != 0:
        raise Unfit("is corrupt: it has unexpected bytes before or behind the archive (leading or trailing data).")


def _missing(name: str, there: Any) -> str:
    if name == CONFIG:
        return "its config is missing"
    if "model.weights.npz" in there:
        return "its weights have the format npz, which is not read, whatever shapes and size its headers declare"
    return "its weights are missing"


def _check_size(info: zipfile.ZipInfo) -> None:
    if info.filename.endswith(".json") and info.file_size > LARGEST_TEXT:
        raise Unfit(f"was refused: its {info.filename!r} has a size of {info.file_size} bytes, over the limit of {LARGEST_TEXT}.")
    if info.file_size > _MOST_EXPANSION * max(info.compress_size, 1) + (1 << 20):
        raise Unfit(
            f"was refused: its member {info.filename!r} grows from {info.compress_size} to {info.file_size} bytes, over the "
            f"limit of {_MOST_EXPANSION} times: a zip bomb."
        )
