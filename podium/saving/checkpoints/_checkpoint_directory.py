"""One checkpoint on the disk: a directory that is absent, or complete and verified.

    manifest.json        Sizes and digests of all other files, and of itself; written last. For a
                         file of arrays, the digest of its header, which has those of the arrays.
    arrays.safetensors   The arrays by path; or `arrays/`, written by Orbax, with their paths in
                         `arrays.json`.
    state.json           Plain data, with its own arrays in `state.safetensors`.

It is written under a temporary name in the same directory, flushed and renamed.
`_checkpoint_manager.py` owns a series of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import jax

from podium._typing import Array
from podium.core.internal import file_budget
from podium.saving.checkpoints import _orbax
from podium.saving.formats._safetensors import (
    list_tensors,
    read_tensors,
    unsupported_dtypes,
    verify_tensors,
    write_tensors,
)
from podium.saving.io._array_io import NumpyArray
from podium.saving.io._atomic_write import is_inner_path, sync_directory
from podium.saving.io._errors import InvalidFileError
from podium.saving.serialization._json_codec import decode, encode
from podium.saving.serialization._strict_json import InvalidJsonError, dump_json, parse_json

MANIFEST, STATE, STATE_ARRAYS, ARRAYS, NAMES = (
    "manifest.json", "state.json", "state.safetensors", "arrays.safetensors", "arrays.json",
)  # fmt: skip
ORBAX = "arrays"
_KIND = "podium checkpoint 2"
_EARLIER_KIND = "podium checkpoint 1"  # with digests of whole files only


class DamagedCheckpointError(ValueError):
    """A checkpoint does not match its manifest, or has none."""


class CheckpointContents(NamedTuple):
    """The contents of a checkpoint: arrays by path, and plain data."""

    arrays: dict[str, Any]
    state: Any


def write(path: str, contents: CheckpointContents, with_orbax: bool) -> None:
    """Write a checkpoint. At any time there is none at `path`, or a complete one.

    Args:
        path: The directory of the checkpoint.
        contents: What to write.
        with_orbax: Whether Orbax writes the arrays.

    Raises:
        OSError: It cannot be written; incomplete files are deleted.
        TypeError: Something in it is neither a numeric array nor plain data.
    """
    temporary = temporary_name(path)
    is_first = jax.process_index() == 0
    if is_first and os.path.lexists(path):  # others may come after it was written
        raise FileExistsError(
            f"There is a checkpoint at {path!r} already. Save under another number."
        )
    state_arrays: dict[str, NumpyArray] = {}
    # Before anything is written, because it may raise.
    state = dump_json(encode(contents.state, state_arrays)).encode()
    for name, dtype in unsupported_dtypes({**contents.arrays, **state_arrays}).items():
        raise TypeError(f"{name!r} has dtype {dtype}, which checkpoints do not support.")
    files: dict[str, _Entry] = {}  # entries of the manifest for files written by this process
    try:
        if is_first:
            os.mkdir(temporary)
            files[STATE] = _write_file(os.path.join(temporary, STATE), state)
            if state_arrays:
                path_of_arrays = os.path.join(temporary, STATE_ARRAYS)
                files[STATE_ARRAYS] = _write_arrays(path_of_arrays, state_arrays)
        local = {
            name: array
            for name, array in contents.arrays.items()
            if not (with_orbax and _orbax.can_write(array))
        }
        if with_orbax:
            shared = {name: array for name, array in contents.arrays.items() if name not in local}
            _orbax.synchronize("podium checkpoint begun")
            _orbax.write(os.path.join(temporary, ORBAX), list(shared.values()))
            if is_first:
                files[NAMES] = _write_file(
                    os.path.join(temporary, NAMES), dump_json(list(shared)).encode()
                )
        if is_first and (local or not with_orbax):
            files[ARRAYS] = _write_arrays(os.path.join(temporary, ARRAYS), local)
        if is_first:
            _write_manifest(temporary, files)
            os.rename(temporary, path)
            sync_directory(os.path.dirname(path))
        if with_orbax:
            _orbax.synchronize("podium checkpoint written")
    except BaseException as error:
        if is_first:
            shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            error.add_note(
                f"The checkpoint {path!r} was not written. Earlier checkpoints are unchanged."
            )
        raise


def temporary_name(path: str) -> str:
    """Return the name under which a checkpoint is written; the same one in all processes of a
    run.
    """
    token = secrets.token_hex(4) if jax.process_count() == 1 else "shared"
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{token}.tmp")


def read(
    path: str, shardings: Callable[[list[str]], Sequence[Any]] | None = None
) -> CheckpointContents:
    """Read a checkpoint, and compare every byte with the manifest.

    Args:
        path: The directory.
        shardings: Returns the shardings of arrays by their paths, for those that Orbax wrote.

    Raises:
        DamagedCheckpointError: It is not complete.
    """
    files = _read_manifest(path)
    size = sum(entry.size for entry in files.values())
    try:
        with file_budget(size):
            state_arrays, local = (
                {} if name not in files else _read_arrays(path, name, files[name])
                for name in (STATE_ARRAYS, ARRAYS)
            )
            state = decode(parse_json(_read_file(path, STATE, files[STATE])), state_arrays)
        if NAMES not in files and ARRAYS in files:
            return CheckpointContents(local, state)
        for name in files:
            if name.startswith(f"{ORBAX}/"):
                _verify(path, name, files[name])
        names = parse_json(_read_file(path, NAMES, files[NAMES]))
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DamagedCheckpointError(f"is damaged: {NAMES} is not a list of names")
    except (InvalidJsonError, KeyError) as error:
        raise DamagedCheckpointError(f"cannot be read: {error}") from error
    except DamagedCheckpointError:
        raise
    except ValueError as error:
        raise DamagedCheckpointError(f"cannot be read: it {error}") from error
    targets = [None] * len(names) if shardings is None else shardings(names)
    return CheckpointContents({**local, **_read_orbax(path, names, targets, size)}, state)


def _read_orbax(
    path: str, names: list[str], shardings: Sequence[Any], num_bytes: int
) -> dict[str, Any]:
    try:
        with file_budget(num_bytes):
            arrays = _orbax.read(os.path.join(path, ORBAX), shardings)
        return dict(zip(names, arrays, strict=True))
    except ImportError:
        raise
    except Exception as error:  # of many kinds, and not documented
        raise DamagedCheckpointError(
            f"cannot be read by Orbax: {type(error).__name__}: {str(error)[:500]}"
        ) from error


def read_plain_state(path: str) -> Any:
    """Read the plain data of a checkpoint, which must not contain arrays.

    Raises:
        DamagedCheckpointError: It is not complete, or contains arrays.
    """
    try:
        return decode(parse_json(_read_file(path, STATE, _read_manifest(path)[STATE])), {})
    except (InvalidJsonError, KeyError, ValueError) as error:
        raise DamagedCheckpointError(f"cannot be read: {error}") from error


def verify(path: str) -> None:
    """Compare every byte of a checkpoint with its manifest.

    Raises:
        DamagedCheckpointError: It is not complete.
    """
    for name, entry in _read_manifest(path).items():
        _verify(path, name, entry)


# --- files


class _ManifestEntry(NamedTuple):
    """What a manifest says of a file: its size, and the digest of the file, or of the header of a
    file of arrays.
    """

    size: int
    sha256: str
    header_size: int | None = None


_Entry = list[int | str]  # the same as JSON


def _parse_entry(entry: Any) -> _ManifestEntry:
    parsed = _ManifestEntry(*entry)
    sizes = (parsed.size, 0 if parsed.header_size is None else parsed.header_size)
    if (
        not all(type(size) is int and 0 <= size < 1 << 62 for size in sizes)
        or max(sizes) > sizes[0]
    ):
        raise ValueError(f"the sizes {str(sizes)[:200]} are not sizes")
    return parsed


def _write_file(path: str, content: bytes) -> _Entry:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return [len(content), hashlib.sha256(content).hexdigest()]


def _write_arrays(path: str, arrays: Mapping[str, Array]) -> _Entry:
    with open(path, "xb") as file:
        header = write_tensors(file, arrays)
        file.flush()
        os.fsync(file.fileno())
        return [os.fstat(file.fileno()).st_size, hashlib.sha256(header).hexdigest(), len(header)]


def _write_manifest(directory: str, files: dict[str, _Entry]) -> None:
    for root, _, names in os.walk(directory):
        for name in sorted(names):
            path = os.path.join(root, name)
            relative = os.path.relpath(path, directory).replace(os.sep, "/")
            if relative not in files:  # Orbax wrote it
                with open(path, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                    os.fsync(file.fileno())
                files[relative] = [os.path.getsize(path), digest]
        sync_directory(root)
    manifest = {"kind": _KIND, "files": dict(sorted(files.items()))}
    text = json.dumps({**manifest, "sha256": _digest_of(manifest)}, indent=1)
    _write_file(os.path.join(directory, MANIFEST), text.encode())
    sync_directory(directory)


def _digest_of(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _read_manifest(path: str) -> dict[str, _ManifestEntry]:
    """Return the entries of the manifest by file name."""
    try:
        with (
            _open_regular(path, MANIFEST) as file,
            file_budget(os.fstat(file.fileno()).st_size),
        ):
            manifest = parse_json(file.read())
        digest = manifest.pop("sha256")
        files = {name: _parse_entry(entry) for name, entry in manifest["files"].items()}
        if manifest["kind"] not in (_KIND, _EARLIER_KIND):
            raise DamagedCheckpointError(f"is of another kind, {manifest['kind']!r}")
        if digest != _digest_of(manifest):
            raise DamagedCheckpointError("has a damaged manifest: its digest does not match")
        for name in files:
            if not is_inner_path(name):
                raise DamagedCheckpointError(
                    f"has a damaged manifest: {name[:200]!r} is not the path of a file in it"
                )
    except DamagedCheckpointError:
        raise
    except (InvalidJsonError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise DamagedCheckpointError(f"has a damaged manifest: {str(error)[:500]}") from error
    return files


def _read_file(path: str, name: str, entry: _ManifestEntry) -> bytes:
    """Return the verified bytes of a small file."""
    with _open_verified(path, name, entry) as file:
        file.seek(0)
        return file.read()


def _read_arrays(path: str, name: str, entry: _ManifestEntry) -> dict[str, NumpyArray]:
    """Return the verified arrays of a file. They are read-only."""
    with _open_verified(path, name, entry) as file:
        stored = list_tensors(file)
        arrays = read_tensors(stored, stored)
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def _verify(path: str, name: str, entry: _ManifestEntry) -> None:
    """Compare every byte of a file with what was written."""
    with _open_verified(path, name, entry) as file:
        if entry.header_size is not None:
            verify_tensors(list_tensors(file))


@contextlib.contextmanager
def _open_verified(path: str, name: str, entry: _ManifestEntry) -> Iterator[BinaryIO]:
    """Open a file after its size and its digest were compared. Damage that is found later raises
    the same error.
    """
    with _open_regular(path, name) as file:
        size = os.fstat(file.fileno()).st_size
        if size != entry.size:
            raise DamagedCheckpointError(
                f"is damaged: {name} has {size} bytes, and {entry.size} were written"
            )
        digest = (
            hashlib.file_digest(file, "sha256")  # type: ignore[arg-type]
            if entry.header_size is None
            else hashlib.sha256(file.read(entry.header_size))
        )
        if digest.hexdigest() != entry.sha256:
            raise DamagedCheckpointError(
                f"is damaged: the digest of {name} is not the one that was written"
            )
        try:
            yield file
        except InvalidFileError as error:
            raise DamagedCheckpointError(f"is damaged: {name} {error}") from error


@contextlib.contextmanager
def _open_regular(path: str, name: str) -> Iterator[BinaryIO]:
    """Open a regular file of a checkpoint; links are not followed."""
    try:
        descriptor = os.open(
            os.path.join(path, name),
            os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0),
        )
    except OSError as error:
        what = (
            "is incomplete: it has no"
            if isinstance(error, FileNotFoundError)
            else "is damaged: the system cannot read its"
        )
        raise DamagedCheckpointError(f"{what} {name}") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DamagedCheckpointError(f"is damaged: {name} is not an ordinary file")
        yield file
