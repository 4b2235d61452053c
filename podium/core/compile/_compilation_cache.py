"""The persistent compilation cache: compiled programs on disk, for later processes.

JAX reads and writes the entries. This file owns the folder, the environment variables that set it,
and the limit of its size.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import time
from types import EllipsisType

import jax

from podium.core._errors import warn_user
from podium.core._jax_config import jax_config

_MAX_SIZE = 2**31  # bytes; the least recently used entries are deleted first
_CLEANUP_INTERVAL = 86_400.0  # seconds
_OFF = ("off", "0", "false", "no", "none")
_CLEANUP_STAMP = ".swept"
_pending_warnings: list[str] = []  # why there is no cache, to be shown at the first compilation


def compilation_cache(path: str | os.PathLike[str] | EllipsisType | None = ...) -> str | None:
    """Set the folder of the persistent compilation cache, or return it.

    The cache is on by default, in `$PODIUM_CACHE_DIR`, or else `$XDG_CACHE_HOME/podium/xla`, or
    else `~/.cache/podium/xla`, with a folder for each type of processor, since programs for one may
    not run on another. The key of an entry is the program itself, so entries never become stale.
    Once a day the least recently used ones are deleted until the remaining ones fit 2 GiB. A cache
    that was set through JAX (`JAX_COMPILATION_CACHE_DIR`, `jax_compilation_cache_dir`) is not
    changed.

    Entries are executed: do not use a folder that untrusted people can write to.

    Args:
        path: A folder, which is created if needed; None for no cache (as with
            `PODIUM_CACHE_DIR=off` in the environment); by default nothing is changed.

    Returns:
        The folder of the entries, or None if there is no cache.

    Raises:
        OSError: The folder cannot be created or written to.

    Example:
        >>> podium.execution.compilation_cache() is not None
        True
    """
    if path is ...:
        folder: str | None = jax_config.jax_compilation_cache_dir
        return folder
    from jax.experimental.compilation_cache import compilation_cache as jax_cache

    _pending_warnings.clear()
    _set_folder(None if path is None else _prepare_folder(pathlib.Path(path)))
    jax_cache.reset_cache()  # JAX uses the previous one until then
    return compilation_cache()


def start_compilation_cache() -> None:
    """Use the default folder, unless the user has set one. If it cannot be used, there is no
    cache.
    """
    if (
        jax_config.jax_compilation_cache_dir is not None
        or not jax_config.jax_enable_compilation_cache
    ):
        return
    folder = os.environ.get("PODIUM_CACHE_DIR") or _default_folder()
    if folder.lower() in _OFF:
        return
    try:
        _set_folder(_prepare_folder(pathlib.Path(folder).expanduser()))
    except (OSError, RuntimeError) as error:  # RuntimeError: no home directory
        _pending_warnings.append(
            f"Compiled programs cannot be stored in {folder!r} ({error}), so every process "
            "compiles them again. Set PODIUM_CACHE_DIR to a folder that can be written to, or to "
            "'off'."
        )


def warn_if_cache_unavailable() -> None:
    """Warn, once, if the default cache cannot be used; training continues without it."""
    while _pending_warnings:
        warn_user(_pending_warnings.pop())


def _default_folder() -> str:
    return os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"), "podium", "xla"
    )


def _set_folder(folder: str | None) -> None:
    """Set JAX's options, so that programs that compile quickly are stored too."""
    jax.config.update("jax_compilation_cache_dir", folder)
    if folder is None:
        return
    if jax_config.jax_persistent_cache_min_compile_time_secs == 1.0:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    if jax_config.jax_persistent_cache_min_entry_size_bytes == 0:
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _prepare_folder(path: pathlib.Path) -> str:
    """Return the folder for this machine's programs; create it and clean it up if due."""
    folder = path / _processor_name()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written to")
    stamp = folder / _CLEANUP_STAMP
    with contextlib.suppress(OSError):  # another process may delete entries too
        if not stamp.exists() or time.time() - stamp.stat().st_mtime > _CLEANUP_INTERVAL:
            stamp.touch()
            delete_old_entries(folder, _MAX_SIZE)
    return str(folder)


def delete_old_entries(folder: pathlib.Path, max_size: int) -> None:
    """Delete entries that were truncated, and the oldest ones until the others fit `max_size`."""
    entries = []
    with os.scandir(folder) as files:
        for file in files:
            if file.name.endswith("-cache"):
                stat = file.stat()
                entries.append((max(stat.st_atime, stat.st_mtime), stat.st_size, file.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if size == 0 or total > max_size:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            total -= size


def _processor_name() -> str:
    """Return a name for the type of processor: programs use its instructions, and JAX's keys do not
    include them.
    """
    if hasattr(os, "uname"):
        machine = os.uname().machine
    else:
        machine = os.environ.get("PROCESSOR_ARCHITECTURE", "cpu")
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read(8192).partition("\n\n")[0].splitlines()  # of the first core
    except OSError:
        return machine
    features = [
        line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))
    ]
    return f"{machine}-{hashlib.sha256(''.join(features).encode()).hexdigest()[:8]}"
