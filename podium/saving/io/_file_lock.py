"""Locks that end with the process that holds them, however it ends: whether somebody is still
writing somewhere.
"""

from __future__ import annotations

import os

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]


def lock_folder(folder: str) -> int:
    """Take a folder for this process alone; closing the descriptor that is returned gives it back.

    Raises:
        RuntimeError: Another process has it.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    if try_lock(descriptor) is False:
        os.close(descriptor)
        raise RuntimeError(
            f"Another process saves checkpoints in {folder!r}. Wait until it has ended, or give "
            "this one a directory of its own."
        )
    return descriptor


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file or folder; False if another process holds it, None if nobody can know."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True
