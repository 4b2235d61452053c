"""Extraction of untrusted archives: regular files and directories that stay inside the target
directory, with limits on count and size.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_MAX_MEMBERS = 2_000_000
_MAX_EXPANSION = 200  # times the size of the archive; text compresses about tenfold
_MAX_MESSAGE = 1000
_ALLOWANCE = 100 << 20  # bytes, for small archives


class _Member(NamedTuple):
    name: str
    size: int
    is_directory: bool
    is_regular: bool  # neither a link or device, nor encrypted
    source: Any


def extract_archive(
    archive: pathlib.Path, directory: pathlib.Path, archive_format: str | None = "auto"
) -> None:
    """Extract a tar or zip archive into a new directory.

    Args:
        archive: The file.
        directory: Is created, and holds a part of the archive if an error is raised.
        archive_format: "tar", "zip", or "auto" to try both.

    Raises:
        ValueError: The file is not an archive, is corrupt, or has an unsafe member: a link or
            device, a path outside of the directory, a size far beyond that of the archive.
    """
    try:
        if archive_format in ("auto", "tar", None) and tarfile.is_tarfile(archive):
            with tarfile.open(archive) as tar:
                _extract_members(archive, directory, _tar_members(tar), tar.extractfile)
        elif archive_format in ("auto", "zip", None) and zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                _extract_members(archive, directory, _zip_members(zipped), zipped.open)
        else:
            raise ValueError(
                f"{archive} is not an archive of the format {archive_format!r}; a tar or zip file "
                "was expected."
            )
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OverflowError,
        struct.error,
    ) as error:
        raise ValueError(
            f"{archive} is corrupt and was not extracted ({str(error)[:500]})."
        ) from error
    except OSError as error:
        is_clash = isinstance(error, (FileExistsError, IsADirectoryError, NotADirectoryError))
        if not is_clash and error.filename is not None and len(str(error)) < _MAX_MESSAGE:
            raise  # the disk is full, or the directory cannot be written
        raise ValueError(
            f"{archive} is corrupt and was not extracted ({error.strerror or str(error)[:500]})."
        ) from error


def _tar_members(tar: tarfile.TarFile) -> Iterator[_Member]:
    return (
        _Member(info.name, info.size, info.isdir(), info.isreg() or info.isdir(), info)
        for info in tar
    )


def _zip_members(zipped: zipfile.ZipFile) -> Iterator[_Member]:
    for info in zipped.infolist():
        file_type, is_encrypted = stat.S_IFMT(info.external_attr >> 16), info.flag_bits & 1
        is_regular = file_type in (0, stat.S_IFREG, stat.S_IFDIR) and not is_encrypted
        yield _Member(info.filename, info.file_size, info.is_dir(), is_regular, info)


def _extract_members(
    archive: pathlib.Path,
    directory: pathlib.Path,
    members: Iterator[_Member],
    open_member: Callable[[Any], Any],
) -> None:
    """Write the members; each is checked just before, so that a zip bomb is never read fully."""
    directory.mkdir(parents=True)
    directories = {str(directory)}
    remaining_bytes = _MAX_EXPANSION * os.path.getsize(archive) + _ALLOWANCE
    for count, member in enumerate(members, start=1):
        remaining_bytes -= member.size
        _check_member(archive, member, count, remaining_bytes)
        target = os.path.join(directory, *_path_parts(member.name))
        parent = target if member.is_directory else os.path.dirname(target)
        if parent not in directories:  # one call for each member would double the time
            os.makedirs(parent, exist_ok=True)
            directories.add(parent)
        if not member.is_directory:
            with open_member(member.source) as source, open(target, "wb", buffering=0) as file:
                shutil.copyfileobj(source, file, 1 << 20)


def _path_parts(name: str) -> list[str]:
    return [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]


def _check_member(archive: pathlib.Path, member: _Member, count: int, remaining_bytes: int) -> None:
    name = member.name
    parts = _path_parts(name)
    if name.startswith(("/", "\\")) or ".." in parts or "\0" in name or (parts and ":" in parts[0]):
        raise ValueError(
            f"{archive} was not extracted: its member {name[:200]!r} has an unsafe path, outside "
            "of the directory."
        )
    if not member.is_regular:
        raise ValueError(
            f"{archive} was not extracted: its member {name[:200]!r} is a link, a device or "
            "encrypted."
        )
    if remaining_bytes < 0 or count > _MAX_MEMBERS:
        raise ValueError(
            f"{archive} was not extracted: it has too many members, or grows beyond the limit of "
            f"{_MAX_EXPANSION} times its size at {name[:200]!r}, like a zip bomb."
        )
