"""Archives from elsewhere, unpacked with suspicion: plain files and folders that stay inside, of a
size to be expected.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

_MOST_MEMBERS = 2_000_000
_MOST_EXPANSION = 200  # times the size of the archive; text shrinks to a tenth
_SPARE = 100 << 20


class _Member(NamedTuple):
    name: str
    size: int
    is_folder: bool
    is_plain: bool
    source: Any


def extract_archive(archive: pathlib.Path, folder: pathlib.Path, how: str | None = "auto") -> None:
    """Unpack a tar or zip archive into a new folder.

    Args:
        archive: The file.
        folder: Is created, and holds a part of the archive if an error is raised.
        how: "tar", "zip", or "auto" to try both.

    Raises:
        ValueError: It is no archive, it is damaged, or something in it is refused: a link or
            device, a path that leaves the folder, a size far beyond that of the archive.
    """
    try:
        if how in ("auto", "tar", None) and tarfile.is_tarfile(archive):
            with tarfile.open(archive) as tar:
                _extract(archive, folder, _tar_members(tar), tar.extractfile)
        elif how in ("auto", "zip", None) and zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                _extract(archive, folder, _zip_members(packed), packed.open)
        else:
            raise ValueError(
                f"{archive} is no archive of the format {how!r}; a tar or zip file was expected."
            )
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise ValueError(f"{archive} is damaged, and was not unpacked ({error}).") from error


def _tar_members(tar: tarfile.TarFile) -> Iterator[_Member]:
    return (
        _Member(one.name, one.size, one.isdir(), one.isreg() or one.isdir(), one) for one in tar
    )


def _zip_members(packed: zipfile.ZipFile) -> Iterator[_Member]:
    for one in packed.infolist():
        plain = (
            stat.S_IFMT(one.external_attr >> 16) in (0, stat.S_IFREG, stat.S_IFDIR)
            and not one.flag_bits & 1
        )
        yield _Member(one.filename, one.file_size, one.is_dir(), plain, one)


def _extract(
    archive: pathlib.Path, folder: pathlib.Path, members: Iterator[_Member], opened: Any
) -> None:
    """Look at each member just before it is written, so that a bomb is never read to its end."""
    folder.mkdir(parents=True)
    left = _MOST_EXPANSION * os.path.getsize(archive) + _SPARE
    for count, member in enumerate(members, start=1):
        left -= member.size
        _check(archive, member, count, left)
        target = folder.joinpath(*_parts(member.name))
        if member.is_folder:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with opened(member.source) as source, open(target, "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)


def _parts(name: str) -> list[str]:
    return [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]


def _check(archive: pathlib.Path, member: _Member, count: int, left: int) -> None:
    name = member.name
    parts = _parts(name)
    if name.startswith(("/", "\\")) or ".." in parts or "\0" in name or (parts and ":" in parts[0]):
        raise ValueError(
            f"{archive} was refused: its member {name[:200]!r} has an unsafe path, outside of "
            "the folder."
        )
    if not member.is_plain:
        raise ValueError(
            f"{archive} was refused: its member {name[:200]!r} is a link, a device or encrypted."
        )
    if left < 0 or count > _MOST_MEMBERS:
        raise ValueError(
            f"{archive} was refused: it has too many members, or grows beyond the limit of "
            f"{_MOST_EXPANSION} times its size at {name[:200]!r}: a bomb."
        )
