"""share_checkpoints: with several processes, what the first one has in its directory of checkpoints
is what all of them resume from.

The directory may be on a disk that all processes share, or each may have its own: then the files
that are missing there are sent. Arrays that Orbax wrote in shards need a shared disk.

A copy has a file that marks it, from its first moment on. What a killed process has left is known
by that and deleted later; a checkpoint that a process has written itself never is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from podium.saving.checkpoints._checkpoint_directory import MANIFEST, ORBAX
from podium.saving.io._atomic_write import sync_directory

_COPY_MARK = "copied"  # an empty file in the directory of a copy
_INCOMPLETE_COPY = re.compile(r"\.checkpoint-\d{1,18}\.copy\d+\.tmp")
_CHUNK_BYTES = 64 * 2**20  # sent at once, so that a large file is never in memory as a whole


def share_checkpoints(directory: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Copy the first process's checkpoints to the directories of those that lack them. All
    processes must call it.

    Copies of earlier runs that the first process does not have any more are deleted. Where it has
    copies itself, they become its own checkpoints.

    Args:
        directory: The directory in this process.
        names: The names of the checkpoints in it.

    Returns:
        The names of the first process's checkpoints, and of those that are copies here.
    """
    if jax.process_index() == 0:
        for name in names:
            _remove_mark(os.path.join(directory, name))
    else:
        _remove_incomplete_copies(directory)
    if jax.process_count() == 1:
        return list(names), []
    listing = {name: _describe_files(os.path.join(directory, name)) for name in names}
    offered = json.loads(_broadcast(json.dumps(listing).encode()))
    missing = [listing.get(name) != description for name, description in offered.items()]
    for name, is_missing, is_needed in zip(offered, missing, _any_process(missing), strict=True):
        files = offered[name]["files"]
        if is_needed and files:
            _copy_checkpoint(os.path.join(directory, name), files, is_missing)
    delete_copies(directory, [name for name in names if name not in offered])
    return list(offered), [name for name in offered if _is_copy(os.path.join(directory, name))]


def delete_copies(directory: str, names: Sequence[str]) -> None:
    """Delete the checkpoints that are copies; each is renamed before its files are removed."""
    for name in names:
        path = os.path.join(directory, name)
        if _is_copy(path):
            renamed = _incomplete_name(path)
            shutil.rmtree(renamed, ignore_errors=True)
            with contextlib.suppress(FileNotFoundError):  # deleted by another process of this disk
                os.rename(path, renamed)
            shutil.rmtree(renamed, ignore_errors=True)


def check_same_choice(directory: str, chosen: int) -> None:
    """Raise if the processes have chosen different checkpoints; -1 stands for none.

    Raises:
        ValueError: They have.
    """
    if jax.process_count() == 1:
        return
    from jax.experimental import multihost_utils

    choices = multihost_utils.process_allgather(np.int32(chosen)).ravel().tolist()
    if len(set(choices)) > 1:
        described = ", ".join(
            f"worker {worker}: {'none' if choice < 0 else f'checkpoint {choice}'}"
            for worker, choice in enumerate(choices)
        )
        raise ValueError(
            f"The workers would resume from different checkpoints of {directory!r}: {described}. "
            "All must have the same files: put the directory on a disk that they share, or delete "
            "the damaged checkpoints."
        )


def _describe_files(path: str) -> dict[str, Any]:
    """Return a digest of a checkpoint's manifest, and its files; Orbax's files are not copied."""
    files = [] if os.path.isdir(os.path.join(path, ORBAX)) else sorted(os.listdir(path))
    files = [name for name in files if name != _COPY_MARK]
    try:
        with open(os.path.join(path, MANIFEST), "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
    except OSError:  # it is not complete; reading it will say so
        return {"digest": "", "files": []}
    return {"digest": digest, "files": files}


def _copy_checkpoint(path: str, files: Sequence[str], is_missing: bool) -> None:
    """Send a checkpoint from the first process to those that lack it."""
    temporary = _incomplete_name(path)
    if is_missing:
        shutil.rmtree(temporary, ignore_errors=True)
        os.makedirs(temporary)
        with open(os.path.join(temporary, _COPY_MARK), "xb"):
            pass
    for name in files:
        target = os.path.join(temporary, name)
        for chunk in _send_file(os.path.join(path, name)):
            if is_missing:
                with open(target, "ab") as output:
                    output.write(chunk)
    if is_missing:
        shutil.rmtree(path, ignore_errors=True)  # of another run
        os.rename(temporary, path)
        sync_directory(os.path.dirname(path))


def _incomplete_name(path: str) -> str:
    """Return the name of a copy that this process writes or deletes."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.copy{jax.process_index()}.tmp")


def _remove_incomplete_copies(directory: str) -> None:
    """Delete what killed processes have left. No process copies before the first one has sent its
    list, for which all wait.
    """
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(directory):
            if _INCOMPLETE_COPY.fullmatch(name):
                shutil.rmtree(os.path.join(directory, name), ignore_errors=True)


def _is_copy(path: str) -> bool:
    return os.path.lexists(os.path.join(path, _COPY_MARK))


def _remove_mark(path: str) -> None:
    if _is_copy(path):  # to delete what is absent would fail on a read-only disk
        os.remove(os.path.join(path, _COPY_MARK))


def _send_file(path: str) -> Iterator[bytes]:
    """Iterate over the content of a file of the first process, in all processes."""
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(open(path, "rb")) if jax.process_index() == 0 else None
        while chunk := _broadcast(b"" if source is None else source.read(_CHUNK_BYTES)):
            yield chunk


def _broadcast(content: bytes) -> bytes:
    """Return the content that the first process has passed."""
    from jax.experimental import multihost_utils

    size = int(multihost_utils.broadcast_one_to_all(np.int32(len(content))))
    buffer = np.zeros(size, np.uint8)
    if jax.process_index() == 0:
        buffer[:] = np.frombuffer(content, np.uint8)
    if not size:
        return b""
    return np.asarray(multihost_utils.broadcast_one_to_all(buffer)).tobytes()


def _any_process(flags: Sequence[bool]) -> list[bool]:
    """Return for each flag whether it is true in any process."""
    from jax.experimental import multihost_utils

    if not flags:
        return []
    gathered = multihost_utils.process_allgather(np.array(flags, np.bool_))
    by_process = np.asarray(gathered).reshape(-1, len(flags)).tolist()
    return [any(column) for column in zip(*by_process, strict=True)]
