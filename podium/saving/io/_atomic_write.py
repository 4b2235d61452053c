"""Files replaced atomically: written under a temporary name, flushed and renamed.

It also decides which paths may be written or read. A lock marks a file that is being written;
others were left behind by killed processes.
"""

from __future__ import annotations

import contextlib
import glob
import os
import posixpath
import secrets
import shutil
import stat
from collections.abc import Iterator
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

DIGESTS_SUFFIX = ".sha256.json"  # of the file with digests of another one, see `_sidecar.py`


def resolve_target(caller: str, filepath: str, overwrite: bool) -> str:
    """Return the path to write to, with links resolved; raise if it cannot be a regular file.

    Args:
        caller: The function that was called, for messages.
        filepath: The path that it was given.
        overwrite: Whether an existing file may be replaced.
    """
    path = os.path.realpath(filepath)
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        what = "is a file, not a directory" if os.path.exists(directory) else "does not exist"
        raise FileNotFoundError(
            f"{caller} was given {filepath!r}; the directory {directory!r} {what}. Create it "
            f"first: `os.makedirs({os.path.dirname(filepath)!r})`."
        )
    if os.path.isdir(path) or not os.path.basename(filepath):
        raise IsADirectoryError(
            f"{caller} was given {filepath!r}, a directory; the name of a file was expected."
        )
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(
            f"{caller} was given {filepath!r}, which is a device or a pipe; an ordinary file was "
            "expected."
        )
    if os.path.exists(path) and not overwrite:
        raise FileExistsError(
            f"{caller} was given {filepath!r}, which exists, and overwrite=False. Choose another "
            "name."
        )
    return path


def is_inner_path(name: str) -> bool:
    """Return whether a name in a list of files is the normal form of a path inside of their
    directory. Files that are listed once by it are read once.
    """
    return name == posixpath.normpath(name) and not name.startswith(("/", "../")) and name != ".."


@contextlib.contextmanager
def atomic_write(caller: str, path: str) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` at the end of the block. At any time the path is
    the old file or the complete new one.
    """
    directory = os.path.dirname(path)
    prefix = os.path.join(directory, f".{os.path.basename(path)[:100]}.")
    temporary = None
    try:
        remove_leftovers(prefix)
        with _open_temporary(prefix) as file:
            temporary = file.name
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.path.exists(path):
                shutil.copymode(path, temporary)
            if os.name != "posix":
                file.close()  # elsewhere an open file cannot be renamed
            remove_sidecar(path)  # it describes the old file
            os.replace(temporary, path)
        sync_directory(directory)
    except OSError as error:
        _remove(temporary)
        outcome = (
            "The file that was there is unchanged."
            if os.path.exists(path)
            else "Nothing was left behind."
        )
        raise OSError(
            error.errno,
            f"{caller} could not write the file ({error.strerror or error}). {outcome}",
            path,
        ) from error
    except BaseException:
        _remove(temporary)
        raise


def remove_sidecar(path: str) -> None:
    """Delete the digests of a file that is about to be replaced."""
    _remove(path + DIGESTS_SUFFIX)


def _remove(path: str | None) -> None:
    with contextlib.suppress(OSError):
        if path is not None:
            os.unlink(path)


def _open_temporary(prefix: str) -> BinaryIO:
    """Open a new file, locked until it is closed, so that no process removes it as a leftover."""
    while True:
        file = open(f"{prefix}{secrets.token_hex(8)}.tmp", "xb")  # noqa: SIM115
        if try_lock(file.fileno()) is not False and os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another process removed it before it was locked


def remove_leftovers(prefix: str) -> None:
    """Delete temporary files of processes that were killed while writing. A file that is still
    being written is locked.
    """
    for leftover in glob.glob(f"{glob.escape(prefix)}{'[0-9a-f]' * 16}.tmp"):
        with contextlib.suppress(OSError):
            descriptor = os.open(
                leftover, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            )
            try:
                if try_lock(descriptor):
                    os.unlink(leftover)
            finally:
                os.close(descriptor)


def sync_directory(directory: str) -> None:
    """Flush the names in a directory to the disk."""
    if os.name == "posix":  # elsewhere a directory cannot be opened
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_regular_file(caller: str, path: str) -> BinaryIO:
    """Open a regular file for reading. Anything else is rejected without waiting for it."""
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its other end.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise FileNotFoundError(f"{caller} was given {path!r}; there is no such file.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(
            f"{caller} was given {path!r}, which is a directory, a device or a pipe; a file was "
            "expected."
        )
    return os.fdopen(descriptor, "rb")


# --- locks: they end with the process that holds them, however it ends


def lock_directory(directory: str) -> int:
    """Lock a directory for this process, until the returned descriptor is closed.

    Raises:
        RuntimeError: Another process holds the lock.
    """
    descriptor = os.open(directory, os.O_RDONLY)
    if try_lock(descriptor) is False:
        os.close(descriptor)
        raise RuntimeError(
            f"Another process saves checkpoints in {directory!r}. Wait until it has ended, or use "
            "another directory."
        )
    return descriptor


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file or directory. Return False if another process holds it, and None if the
    system does not support locks.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True
