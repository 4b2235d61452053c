"""One checkpoint on the disk: a folder that is absent, or complete and verified.

    manifest.json            sizes and digests of all other files, and of itself; written last. Of
    files of arrays it has the
                             digest of the header, which has those of the arrays
    arrays.safetensors       the arrays by path; or `arrays/`, written by Orbax, with `arrays.json`
    for their paths state.json               plain data, with its own arrays in `state.safetensors`

It is written under another name in the same folder, flushed, and renamed. `_checkpoint_manager.py`
owns a row of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from podium.saving.checkpoints import _orbax
from podium.saving.formats._safetensors import (
    check_tensors,
    read_tensors,
    stored_tensors,
    unknown_types,
    write_tensors,
)
from podium.saving.io._atomic_write import flush_folder
from podium.saving.io._errors import Unfit
from podium.saving.serialization._json_codec import decoded, encoded
from podium.saving.serialization._strict_json import BadJson, dump, parse

MANIFEST, STATE, STATE_ARRAYS, ARRAYS, NAMES = (
    "manifest.json", "state.json", "state.safetensors", "arrays.safetensors", "arrays.json",
)  # fmt: skip
ORBAX = "arrays"
_KIND, _EARLIER = (
    "podium checkpoint 2",
    "podium checkpoint 1",
)  # the earlier kind has digests of whole files alone


class Damaged(ValueError):
    """A checkpoint is not what its manifest says, or has none."""


class Contents(NamedTuple):
    """What a checkpoint holds: arrays by path, and plain data."""

    arrays: dict[str, Any]
    state: Any


def write(path: str, contents: Contents, with_orbax: bool) -> None:
    """Write a checkpoint. At any instant there is none at `path`, or a whole one.

    Raises:
        OSError: It cannot be written; what was written of it is gone again.
        TypeError: Something in it is neither an array of numbers nor plain data.
    """
    if os.path.lexists(path):
        raise FileExistsError(
            f"There is a checkpoint at {path!r} already. Save under another number."
        )
    beside = beside_name(path)
    first = jax.process_index() == 0
    apart: dict[str, np.ndarray] = {}
    state = dump(
        encoded(contents.state, apart)
    ).encode()  # before anything is written: it may be refused
    for name, kind in unknown_types({**contents.arrays, **apart}).items():
        raise TypeError(f"{name!r} has dtype {kind}, which checkpoints do not hold.")
    files: dict[str, list] = {}  # what the manifest says of those that were written here
    try:
        if first:
            os.mkdir(beside)
            files[STATE] = _write_file(os.path.join(beside, STATE), state)
            if apart:
                files[STATE_ARRAYS] = _write_arrays(os.path.join(beside, STATE_ARRAYS), apart)
        alone = {
            name: array
            for name, array in contents.arrays.items()
            if not (with_orbax and _orbax.can_write(array))
        }
        if with_orbax:
            shared = {name: array for name, array in contents.arrays.items() if name not in alone}
            _orbax.synchronize("podium checkpoint begun")
            _orbax.write(os.path.join(beside, ORBAX), list(shared.values()))
            if first:
                files[NAMES] = _write_file(os.path.join(beside, NAMES), dump(list(shared)).encode())
        if first and (alone or not with_orbax):
            files[ARRAYS] = _write_arrays(os.path.join(beside, ARRAYS), alone)
        if first:
            _write_manifest(beside, files)
            os.rename(beside, path)
            flush_folder(os.path.dirname(path))
        if with_orbax:
            _orbax.synchronize("podium checkpoint written")
    except BaseException as error:
        if first:
            shutil.rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError):
            error.add_note(
                f"The checkpoint {path!r} was not written. Those written before are as they were."
            )
        raise


def beside_name(path: str) -> str:
    """Return the name under which a checkpoint is written: of all processes the same, if there are
    several.
    """
    token = secrets.token_hex(4) if jax.process_count() == 1 else "shared"
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{token}.tmp")


def read(path: str, shardings: Callable[[str], Any] | None = None) -> Contents:
    """Read a checkpoint, and compare every byte with the manifest.

    Args:
        path: The folder.
        shardings: Where an array of some path shall be placed, for those that Orbax wrote.

    Raises:
        Damaged: It is not whole.
    """
    files = _listed(path)
    try:
        apart, alone = (
            {} if name not in files else _read_arrays(path, name, files[name])
            for name in (STATE_ARRAYS, ARRAYS)
        )
        state = decoded(parse(_read_file(path, STATE, files[STATE])), apart)
        if NAMES not in files and ARRAYS in files:
            return Contents(alone, state)
        for name in files:
            if name.startswith(f"{ORBAX}/"):
                _verify(path, name, files[name])
        names = parse(_read_file(path, NAMES, files[NAMES]))
    except (BadJson, KeyError) as error:
        raise Damaged(f"cannot be read: {error}") from error
    except Damaged:
        raise
    except ValueError as error:
        raise Damaged(f"cannot be read: it {error}") from error
    placed = [None if shardings is None else shardings(name) for name in names]
    return Contents(
        {**alone, **dict(zip(names, _orbax.read(os.path.join(path, ORBAX), placed), strict=True))},
        state,
    )


def read_state(path: str) -> Any:
    """Read the plain data of a checkpoint that has no arrays in it.

    Raises:
        Damaged: It is not whole, or has some.
    """
    try:
        return decoded(parse(_read_file(path, STATE, _listed(path)[STATE])), {})
    except (BadJson, KeyError, ValueError) as error:
        raise Damaged(f"cannot be read: {error}") from error


def verify(path: str) -> None:
    """Compare every byte of a checkpoint with its manifest.

    Raises:
        Damaged: It is not whole.
    """
    for name, listed in _listed(path).items():
        _verify(path, name, listed)


# --- files


class _Listed(NamedTuple):
    """What a manifest says of a file: its size, and a digest: of the header of a file of arrays,
    otherwise of all of it.
    """

    size: int
    sha256: str
    header: int | None = None  # the length of the header


def _write_file(path: str, content: bytes) -> list:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return [len(content), hashlib.sha256(content).hexdigest()]


def _write_arrays(path: str, arrays: Mapping[str, Any]) -> list:
    with open(path, "xb") as file:
        header = write_tensors(file, arrays)
        file.flush()
        os.fsync(file.fileno())
        return [os.fstat(file.fileno()).st_size, hashlib.sha256(header).hexdigest(), len(header)]


def _write_manifest(folder: str, files: dict[str, list]) -> None:
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(root, name)
            place = os.path.relpath(path, folder).replace(os.sep, "/")
            if place not in files:  # Orbax wrote it
                with open(path, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                    os.fsync(file.fileno())
                files[place] = [os.path.getsize(path), digest]
        flush_folder(root)
    about = {"kind": _KIND, "files": dict(sorted(files.items()))}
    text = json.dumps({**about, "sha256": _digest_of(about)}, indent=1)
    _write_file(os.path.join(folder, MANIFEST), text.encode())
    flush_folder(folder)


def _digest_of(about: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _listed(path: str) -> dict[str, _Listed]:
    """Return the files that a checkpoint has, by its manifest."""
    try:
        with _opened(path, MANIFEST) as file:
            about = parse(file.read())
        digest = about.pop("sha256")
        files = {name: _Listed(*said) for name, said in about["files"].items()}
        if about["kind"] not in (_KIND, _EARLIER):
            raise Damaged(f"is of another kind, {about['kind']!r}")
        if digest != _digest_of(about) or any(
            ".." in name.split("/") or name.startswith("/") for name in files
        ):
            raise Damaged("has a damaged manifest: its digest is another one")
    except Damaged:
        raise
    except (BadJson, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Damaged(f"has a damaged manifest: {error}") from error
    return files


def _read_file(path: str, name: str, listed: _Listed) -> bytes:
    """Return the bytes of a small file if they are those that were written."""
    with _verified(path, name, listed) as file:
        file.seek(0)
        return file.read()


def _read_arrays(path: str, name: str, listed: _Listed) -> dict[str, np.ndarray]:
    """Return the arrays of a file if they are those that were written. They cannot be changed."""
    with _verified(path, name, listed) as file:
        stored = stored_tensors(file)
        found = read_tensors(stored, stored)
    for array in found.values():
        array.flags.writeable = False
    return found


def _verify(path: str, name: str, listed: _Listed) -> None:
    """Compare every byte of a file with what was written."""
    with _verified(path, name, listed) as file:
        if listed.header is not None:
            check_tensors(stored_tensors(file))


@contextlib.contextmanager
def _verified(path: str, name: str, listed: _Listed) -> Iterator[Any]:
    """Open a file, after its size and its digest were compared. What turns out later is told in the
    same way.
    """
    with _opened(path, name) as file:
        if os.fstat(file.fileno()).st_size != listed.size:
            raise Damaged(
                f"is damaged: {name} has {os.fstat(file.fileno()).st_size} bytes, and "
                f"{listed.size} were written"
            )
        digest = (
            hashlib.file_digest(file, "sha256")
            if listed.header is None
            else hashlib.sha256(file.read(listed.header))
        )
        if digest.hexdigest() != listed.sha256:
            raise Damaged(f"is damaged: the digest of {name} is not the one that was written")
        try:
            yield file
        except Unfit as error:
            raise Damaged(f"is damaged: {name} {error}") from error


@contextlib.contextmanager
def _opened(path: str, name: str) -> Iterator[Any]:
    """Open an ordinary file of a checkpoint, no link."""
    try:
        descriptor = os.open(
            os.path.join(path, name),
            os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0),
        )
    except OSError as error:
        what = (
            "is incomplete: it has no"
            if isinstance(error, FileNotFoundError)
            else "is damaged: nobody can read its"
        )
        raise Damaged(f"{what} {name}") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Damaged(f"is damaged: {name} is no ordinary file")
        yield file
