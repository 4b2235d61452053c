"""The place of a file on the disk: where it may be written, and how it is replaced whole or not at
all.
"""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO

from podium.saving.io._file_lock import try_lock


def place_for(asked: str, given: str, overwrite: bool) -> str:
    """Return the path to write to, after links; refuse what is not the place of a regular file."""
    path = os.path.realpath(given)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        what = "is a file, not a directory" if os.path.exists(folder) else "does not exist"
        raise FileNotFoundError(
            f"{asked} was given {given!r}; the directory {folder!r} {what}. Create it first: "
            f"`os.makedirs({os.path.dirname(given)!r})`."
        )
    if os.path.isdir(path) or not os.path.basename(given):
        raise IsADirectoryError(
            f"{asked} was given {given!r}, a directory; the name of a file was expected."
        )
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(
            f"{asked} was given {given!r}, which is a device or a pipe; an ordinary file was "
            "expected."
        )
    if os.path.exists(path) and not overwrite:
        raise FileExistsError(
            f"{asked} was given {given!r}, which exists, and overwrite=False. Choose another name."
        )
    return path


@contextlib.contextmanager
def replacing(asked: str, path: str) -> Iterator[BinaryIO]:
    """Open a file beside, and when it is written put it in place: at any instant the path holds the
    old file or the new one.
    """
    folder = os.path.dirname(path)
    start = os.path.join(folder, f".{os.path.basename(path)[:100]}.")
    beside = None
    try:
        sweep_leftovers(start)
        with _open_beside(start) as file:
            beside = file.name
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.path.exists(path):
                shutil.copymode(path, beside)
            if os.name != "posix":
                file.close()  # elsewhere an open file cannot be renamed
            os.replace(beside, path)
        flush_folder(folder)
    except OSError as error:
        _remove(beside)
        left = (
            "The file that was there is unchanged."
            if os.path.exists(path)
            else "Nothing was left behind."
        )
        raise OSError(
            error.errno,
            f"{asked} could not write the file ({error.strerror or error}). {left}",
            path,
        ) from error
    except BaseException:
        _remove(beside)
        raise


def _remove(path: str | None) -> None:
    with contextlib.suppress(OSError):
        if path is not None:
            os.unlink(path)


def _open_beside(start: str) -> Any:
    """Open a new file, locked until it is closed: nobody takes it for a leftover."""
    while True:
        file = open(f"{start}{secrets.token_hex(8)}.tmp", "xb")  # noqa: SIM115
        if try_lock(file.fileno()) is not False and os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another process swept it in the instant before


def sweep_leftovers(start: str) -> None:
    """Delete what processes that were killed while writing have left beside a file; one that still
    writes holds a lock.
    """
    for leftover in glob.glob(f"{glob.escape(start)}{'[0-9a-f]' * 16}.tmp"):
        with contextlib.suppress(OSError):
            descriptor = os.open(
                leftover, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            )
            try:
                if try_lock(descriptor):
                    os.unlink(leftover)
            finally:
                os.close(descriptor)


def flush_folder(folder: str) -> None:
    """Have the names in a folder written to the disk."""
    if os.name == "posix":  # elsewhere a directory cannot be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_regular(asked: str, path: str) -> Any:
    """Open an ordinary file for reading; anything else is refused without waiting for it."""
    try:
        descriptor = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
        )  # a pipe would wait for its other end
    except FileNotFoundError:
        raise FileNotFoundError(f"{asked} was given {path!r}; there is no such file.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        hint = ""
        if os.path.exists(os.path.join(path, "saved_model.pb")):
            hint = " It is a TensorFlow SavedModel: build the model, and use `load_weights`, or save it as `.keras` with Keras."
        raise ValueError(
            f"{asked} was given {path!r}, which is a directory, a device or a pipe; a file was "
            f"expected.{hint}"
        )
    return os.fdopen(descriptor, "rb")
