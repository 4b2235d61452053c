"""Directories replaced as a whole: written beside the old one, flushed and renamed.

Between the two renames of a replacement the old directory has a temporary name; if the process is
killed there, the next save renames it back.
"""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
from collections.abc import Collection, Iterator

from podium.saving.io._atomic_write import lock_directory, sync_directory, try_lock

_NEW, _OLD = "model", "old"


@contextlib.contextmanager
def replace_directory(
    caller: str, target: str, known_names: Collection[str], overwrite: bool
) -> Iterator[str]:
    """Create a temporary folder, whose `model` replaces the target at the end of the block.

    Args:
        caller: The function that the user called, for messages.
        target: The directory. Missing parents are created.
        known_names: What an existing directory may have; others' files are not deleted.
        overwrite: Whether an existing directory may be replaced.

    Raises:
        FileExistsError: There is something that must not be replaced.
    """
    path = os.path.realpath(target)
    parent, base = os.path.split(path)
    os.makedirs(parent, exist_ok=True)
    prefix = os.path.join(parent, f".{base[:100]}.")
    _clean_up(prefix, path)
    _check_target(caller, target, path, known_names, overwrite)
    folder = f"{prefix}{secrets.token_hex(8)}.tmp"
    os.mkdir(folder)
    descriptor = lock_directory(folder) if os.name == "posix" else None
    try:
        yield folder
        _sync_files(os.path.join(folder, _NEW))
        _swap(folder, path)
        sync_directory(parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _check_target(
    caller: str, target: str, path: str, known_names: Collection[str], overwrite: bool
) -> None:
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise FileExistsError(
            f"{caller} was given {target!r}, which exists, and overwrite=False. Choose another "
            "name."
        )
    if not os.path.isdir(path):
        raise FileExistsError(
            f"{caller} was given {target!r}, which is a file; the name of a directory was "
            "expected. Choose another name, or delete it."
        )
    others = sorted(set(os.listdir(path)) - set(known_names))
    if others:
        raise FileExistsError(
            f"{caller} was given {target!r}, a directory with other files ({others[0]!r}), which "
            "would be deleted. Choose another name."
        )


def _swap(folder: str, path: str) -> None:
    """Rename the new directory to its name, and the old one into the folder."""
    old = os.path.join(folder, _OLD)
    has_old = os.path.isdir(path)
    if has_old:
        os.rename(path, old)
    try:
        os.rename(os.path.join(folder, _NEW), path)
    except OSError:
        if has_old:
            os.rename(old, path)
        raise


def _sync_files(directory: str) -> None:
    for current, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(current, name), "rb+") as file:
                os.fsync(file.fileno())
        sync_directory(current)


def _clean_up(prefix: str, path: str) -> None:
    """Delete folders of processes that were killed; give an old directory its name back."""
    for folder in glob.glob(f"{glob.escape(prefix)}{'[0-9a-f]' * 16}.tmp"):
        if not os.path.isdir(folder) or os.name != "posix":
            continue
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            if try_lock(descriptor):
                old = os.path.join(folder, _OLD)
                if os.path.isdir(old) and not os.path.lexists(path):
                    os.rename(old, path)
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)
