"""One checkpoint on the disk: a folder that is absent, or complete and verified.

    manifest.json            sizes and digests of all other files, and of itself; written last
    arrays.safetensors       the arrays by path; or `arrays/`, written by Orbax, with `arrays.json` for their paths
    state.json               plain data, with its own arrays in `state.safetensors`

It is written under another name in the same folder, flushed, and renamed. `_checkpoint_manager.py` owns a row of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from podium.saving import _orbax
from podium.saving._json import BadJson, dump, parse
from podium.saving._place import flush_folder
from podium.saving._plain import decoded, encoded
from podium.saving._tensor_file import arrays_in, pieces

MANIFEST, STATE, STATE_ARRAYS, ARRAYS, NAMES = (
    "manifest.json", "state.json", "state.safetensors", "arrays.safetensors", "arrays.json",
)  # fmt: skip
ORBAX = "arrays"
_KIND = "podium checkpoint 1"
_PIECE = 1 << 24


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
        raise FileExistsError(f"There is a checkpoint at {path!r} already. Save under another number.")
    beside = beside_name(path)
    first = jax.process_index() == 0
    apart: dict[str, np.ndarray] = {}
    state = dump(encoded(contents.state, apart)).encode()  # before anything is written: it may be refused
    files: dict[str, list] = {}  # name -> size and digest, of those that were written here
    try:
        if first:
            os.mkdir(beside)
            files[STATE] = _write_file(os.path.join(beside, STATE), [state])
            if apart:
                files[STATE_ARRAYS] = _write_file(os.path.join(beside, STATE_ARRAYS), pieces(apart))
        alone = {name: array for name, array in contents.arrays.items() if not (with_orbax and _orbax.can_write(array))}
        if with_orbax:
            shared = {name: array for name, array in contents.arrays.items() if name not in alone}
            _orbax.synchronize("podium checkpoint begun")
            _orbax.write(os.path.join(beside, ORBAX), list(shared.values()))
            if first:
                files[NAMES] = _write_file(os.path.join(beside, NAMES), [dump(list(shared)).encode()])
        if first and (alone or not with_orbax):
            files[ARRAYS] = _write_file(os.path.join(beside, ARRAYS), pieces(alone))
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
            error.add_note(f"The checkpoint {path!r} was not written. Those written before are as they were.")
        raise


def beside_name(path: str) -> str:
    """Return the name under which a checkpoint is written: of all processes the same, if there are several."""
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
        content = {name: _verified(path, name, *files[name]) for name in (STATE, STATE_ARRAYS) if name in files}
        apart = arrays_in(content[STATE_ARRAYS]) if STATE_ARRAYS in content else {}
        state = decoded(parse(content[STATE]), apart)
        alone = arrays_in(_verified(path, ARRAYS, *files[ARRAYS])) if ARRAYS in files else {}
        if NAMES not in files and ARRAYS in files:
            return Contents(alone, state)
        for name in files:
            if name.startswith(f"{ORBAX}/"):
                _verified(path, name, *files[name], keep=False)
        names = parse(_verified(path, NAMES, *files[NAMES]))
    except (BadJson, KeyError) as error:
        raise Damaged(f"cannot be read: {error}") from error
    except Damaged:
        raise
    except ValueError as error:
        raise Damaged(f"cannot be read: it {error}") from error
    placed = [None if shardings is None else shardings(name) for name in names]
    return Contents({**alone, **dict(zip(names, _orbax.read(os.path.join(path, ORBAX), placed), strict=True))}, state)


def verify(path: str) -> None:
    """Compare every byte of a checkpoint with its manifest.

    Raises:
        Damaged: It is not whole.
    """
    for name, (size, digest) in _listed(path).items():
        _verified(path, name, size, digest, keep=False)


# --- files


def _write_file(path: str, content: Iterable[Any]) -> list:
    """Write a file; returns its size and digest."""
    digest, size = hashlib.sha256(), 0
    with open(path, "xb") as file:
        for piece in content:
            file.write(piece)
            digest.update(piece)
            size += len(piece)
        file.flush()
        os.fsync(file.fileno())
    return [size, digest.hexdigest()]


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
    _write_file(os.path.join(folder, MANIFEST), [text.encode()])
    flush_folder(folder)


def _digest_of(about: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _listed(path: str) -> dict[str, tuple[int, str]]:
    """Return the files that a checkpoint has, by its manifest."""
    try:
        with _opened(path, MANIFEST) as file:
            about = parse(file.read())
        digest = about.pop("sha256")
        files = {name: (size, digest) for name, (size, digest) in about["files"].items()}
        if about["kind"] != _KIND:
            raise Damaged(f"is of another kind, {about['kind']!r}")
        if digest != _digest_of(about) or any(".." in name.split("/") or name.startswith("/") for name in files):
            raise Damaged("has a damaged manifest: its digest is another one")
    except Damaged:
        raise
    except (BadJson, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Damaged(f"has a damaged manifest: {error}") from error
    return files


def _verified(path: str, name: str, size: int, digest: str, keep: bool = True) -> bytes:
    """Return the bytes of a file if they are those that were written."""
    found, kept, count = hashlib.sha256(), [], 0
    with _opened(path, name) as file:
        if os.fstat(file.fileno()).st_size != size:
            raise Damaged(f"is damaged: {name} has {os.fstat(file.fileno()).st_size} bytes, and {size} were written")
        if keep:
            content = file.read()
            found.update(content)
            kept.append(content)
            count = len(content)
        else:
            while piece := file.read(_PIECE):
                found.update(piece)
                count += len(piece)
    if count != size or found.hexdigest() != digest:
        raise Damaged(f"is damaged: the digest of {name} is not the one that was written")
    return kept[0] if keep else b""


@contextlib.contextmanager
def _opened(path: str, name: str) -> Any:
    """Open an ordinary file of a checkpoint, no link."""
    try:
        descriptor = os.open(os.path.join(path, name), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        what = "is incomplete: it has no" if isinstance(error, FileNotFoundError) else "is damaged: nobody can read its"
        raise Damaged(f"{what} {name}") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Damaged(f"is damaged: {name} is no ordinary file")
        yield file
