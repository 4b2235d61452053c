"""The compilation cache: compiled programs on disk, so that the next process need not compile them
again.

JAX reads and writes the entries. This file owns where they are, who is asked first, and how much
they may take.
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

_LIMIT = 2**31  # bytes; what was not used for longest goes first
_DAY = 86_400.0  # seconds between two looks at the size
_OFF = ("off", "0", "false", "no", "none")
_STAMP = ".swept"
_trouble: list[str] = []  # why there is no cache, to be mentioned when something is compiled


def compilation_cache(path: str | os.PathLike[str] | EllipsisType | None = ...) -> str | None:
    """Set where compiled programs are kept for later processes, or return where that is.

    It is on by default, in `$PODIUM_CACHE_DIR`, or else `$XDG_CACHE_HOME/podium/xla`, or else
    `~/.cache/podium/xla`. There each kind of processor gets a folder of its own, since programs of
    one may not run on another. Programs are found again by what they compute, so nothing is ever
    out of date; once a day those not used for longest are deleted until the rest fits 2 GiB. A
    cache that was set through JAX (`JAX_COMPILATION_CACHE_DIR`, `jax_compilation_cache_dir`) is
    left as it is.

    Like any program, entries are trusted: do not use a folder that people you do not trust can
    write to.

    Args:
        path: A folder, which is made if needed; None for no cache (as `PODIUM_CACHE_DIR=off` in the
            environment); by default nothing is changed.

    Returns:
        The folder of the entries, or None if there is no cache.

    Raises:
        OSError: The folder cannot be made or written to.

    Example:
        >>> podium.execution.compilation_cache() is not None
        True
    """
    if path is ...:
        return jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    from jax.experimental.compilation_cache import compilation_cache as opened

    _trouble.clear()
    _use(None if path is None else _folder(pathlib.Path(path)))
    opened.reset_cache()  # JAX keeps the one it has opened until then
    return compilation_cache()


def start_compilation_cache() -> None:
    """Use the default folder, unless the user has made his choice. An unusable folder is no error:
    then there is no cache.
    """
    config = jax.config
    if config.jax_compilation_cache_dir is not None or not config.jax_enable_compilation_cache:  # type: ignore[attr-defined]
        return
    wanted = os.environ.get("PODIUM_CACHE_DIR") or _default()
    if wanted.lower() in _OFF:
        return
    try:
        _use(_folder(pathlib.Path(wanted).expanduser()))
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        _trouble.append(
            f"Compiled programs cannot be kept in {wanted!r} ({error}), so every process compiles "
            "them anew. Set PODIUM_CACHE_DIR to a folder that can be written to, or to 'off'."
        )


def warn_if_cache_unavailable() -> None:
    """Warn, once, that there is no cache although one was wanted; training goes on without."""
    while _trouble:
        warn_user(_trouble.pop())


def _default() -> str:
    return os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"), "podium", "xla"
    )


def _use(folder: str | None) -> None:
    """Tell JAX, and let it keep also what compiles quickly, unless the user has set that
    himself.
    """
    jax.config.update("jax_compilation_cache_dir", folder)
    if folder is None:
        return
    if jax.config.jax_persistent_cache_min_compile_time_secs == 1.0:  # type: ignore[attr-defined]
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    if jax.config.jax_persistent_cache_min_entry_size_bytes == 0:  # type: ignore[attr-defined]
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _folder(path: pathlib.Path) -> str:
    """Return the folder for this machine's programs, made and swept if it is time."""
    own = path / _machine()
    own.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not os.access(own, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(f"{own} cannot be written to")
    stamp = own / _STAMP
    with contextlib.suppress(OSError):  # another process may sweep too, and take files away
        if not stamp.exists() or time.time() - stamp.stat().st_mtime > _DAY:
            stamp.touch()
            sweep(own, _LIMIT)
    return str(own)


def sweep(folder: pathlib.Path, limit: int) -> None:
    """Delete entries that were cut off when they were written, and the oldest ones until the rest
    fits.
    """
    entries = []
    with os.scandir(folder) as found:
        for entry in found:
            if entry.name.endswith("-cache"):
                about = entry.stat()
                entries.append((max(about.st_atime, about.st_mtime), about.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if size == 0 or total > limit:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            total -= size


def _machine() -> str:
    """Name the kind of processor: programs are compiled for what it can do, which JAX's keys do not
    tell.
    """
    kind = (
        os.uname().machine
        if hasattr(os, "uname")
        else os.environ.get("PROCESSOR_ARCHITECTURE", "cpu")
    )
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read(8192).partition("\n\n")[0].splitlines()  # of the first core
    except OSError:
        return kind
    told = [
        line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))
    ]
    return f"{kind}-{hashlib.sha256(''.join(told).encode()).hexdigest()[:8]}"
