"""Sidecars: digests of files, kept in a file of their own beside them.

Formats without checksums can be verified with them. A sidecar of `model.h5` is
`model.h5.sha256.json`; one of a TensorFlow checkpoint or a directory has the digests of all of its
files. `verification` decides when they are written; loading compares them if they are there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from podium.core.internal import file_budget
from podium.saving.io._atomic_write import (
    DIGESTS_SUFFIX,
    atomic_write,
    is_inner_path,
    open_regular_file,
)
from podium.saving.io._errors import InvalidFileError, name_path
from podium.saving.serialization._strict_json import InvalidJsonError, dump_json, parse_json

_KIND = "podium digests 1"


class FileDigest(NamedTuple):
    """The size of a file and the SHA-256 of its bytes."""

    size: int
    sha256: str


class Sidecar(NamedTuple):
    """Digests of files, by their paths relative to the directory of the sidecar; and of the values
    of the datasets in an HDF5 file.
    """

    files: dict[str, FileDigest]
    datasets: dict[str, str]


def sidecar_path(path: str) -> str:
    """Return the path of the sidecar of a file, checkpoint or directory."""
    return os.path.realpath(path) + DIGESTS_SUFFIX


def digest_file(file: BinaryIO) -> FileDigest:
    """Return the digest of an open file, and set its position to the start."""
    file.seek(0)
    sha256 = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    size = file.tell()
    file.seek(0)
    return FileDigest(size, sha256)


def digest_files(caller: str, path: str, names: list[str]) -> dict[str, FileDigest]:
    """Return the digests of files that belong to a path.

    Args:
        caller: The function that was called, for messages.
        path: The file, checkpoint or directory.
        names: Relative to the directory that `path` is in.
    """
    directory, digests = os.path.dirname(os.path.realpath(path)), {}
    for name in names:
        with open_regular_file(caller, os.path.join(directory, name)) as file:
            digests[name] = digest_file(file)
    return digests


def write_sidecar(caller: str, path: str, sidecar: Sidecar) -> str:
    """Write a sidecar, and return its path."""
    contents = {
        "kind": _KIND,
        "files": {
            name: {"size": digest.size, "sha256": digest.sha256}
            for name, digest in sorted(sidecar.files.items())
        },
        "datasets": dict(sorted(sidecar.datasets.items())),
    }
    target = sidecar_path(path)
    with atomic_write(caller, target) as file:
        file.write(dump_json({**contents, "sha256": _digest_of(contents)}, indent=1).encode())
    return target


def read_sidecar(path: str) -> Sidecar | None:
    """Return the sidecar of a path, or None if there is none.

    Raises:
        InvalidFileError: It is damaged.
    """
    target = sidecar_path(path)
    if not os.path.lexists(target):
        return None
    try:
        with (
            open_regular_file("read", target) as file,
            file_budget(os.fstat(file.fileno()).st_size),
        ):
            contents = parse_json(file.read())
        digest = contents.pop("sha256")
        files = {
            name: FileDigest(int(entry["size"]), str(entry["sha256"]))
            for name, entry in contents["files"].items()
        }
        if contents["kind"] != _KIND or digest != _digest_of(contents) or not files:
            raise ValueError("it is of another kind, or its own digest does not match")
        return Sidecar(files, dict(contents["datasets"]))
    except (
        InvalidJsonError,
        InvalidFileError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise InvalidFileError(
            f"has a damaged sidecar {os.path.basename(target)!r} ({error}). Delete it, or write it "
            f"again: `podium.saving.write_digests({path!r})`."
        ) from None


def _digest_of(contents: Mapping[str, Any]) -> str:
    return hashlib.sha256(dump_json(contents, sort_keys=True).encode()).hexdigest()


def find_changes(sidecar: Sidecar, path: str, file: BinaryIO | None = None) -> Iterator[str]:
    """Compare files with a sidecar; yield what differs.

    Args:
        sidecar: The digests.
        path: The file, checkpoint or directory.
        file: The file, if `path` is one and is open.
    """
    directory = os.path.dirname(os.path.realpath(path))
    for name, expected in sidecar.files.items():
        if os.path.isabs(name) or not is_inner_path(name):
            yield f"{name[:200]!r} is not the path of a file in its directory"
            continue
        try:
            if file is not None and name == os.path.basename(os.path.realpath(path)):
                actual = digest_file(file)
            else:
                with open_regular_file("verify", os.path.join(directory, name)) as opened:
                    actual = digest_file(opened)
        except (OSError, ValueError):
            yield f"{name!r} is missing"
            continue
        if actual.size != expected.size:
            yield f"{name!r} has {actual.size} bytes, and had {expected.size}"
        elif actual.sha256 != expected.sha256:
            yield (
                f"{name!r} has the sha256 {actual.sha256[:16]}..., and had "
                f"{expected.sha256[:16]}..."
            )


def check_sidecar(path: str, file: BinaryIO | None = None) -> None:
    """Compare what is about to be loaded with its sidecar, if it has one.

    Raises:
        ValueError: It has changed since the sidecar was written. The message names it.
    """
    try:
        sidecar = read_sidecar(path)
        changes = [] if sidecar is None else list(find_changes(sidecar, path, file))
    except InvalidFileError as error:
        raise ValueError(name_path(path, error)) from None
    if changes:
        raise ValueError(
            name_path(
                path,
                f"has changed since its digests were written to "
                f"{os.path.basename(sidecar_path(path))!r}, and nothing was loaded: {changes[0]}. "
                "If you changed it on purpose, write them again: "
                f"`podium.saving.write_digests({os.path.basename(path)!r})`; or delete them.",
            )
        )
