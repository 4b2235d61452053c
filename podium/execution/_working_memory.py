"""Working memory: on CPU, memory that a step frees stays with the process for the next step.

XLA allocates its working memory for each call. By default the C library returns large blocks to the
kernel when they are freed, and the kernel fills every page with zeros when it hands them out again:
some percent of a step of a few milliseconds.

What a compilation frees is returned: XLA compiles on several threads, whose heaps would keep it in
pieces, and a process that builds one model after the other would grow.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable

import jax

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # the numbers of `mallopt`'s parameters in malloc.h
_MAX_FREE_BYTES = 2**28  # that may be kept
_MAX_BLOCK_BYTES = 2**25  # of a block that is kept; the C library allows no more


@functools.cache
def keep_working_memory() -> bool:
    """Let the C library keep freed memory, once per process, and return whether it does.

    Only glibc can. Thresholds that the user has set (`MALLOC_TRIM_THRESHOLD_`, `GLIBC_TUNABLES`
    ...) are not changed.
    """
    has_settings = any(
        name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ
    )
    if has_settings or not sys.platform.startswith("linux") or jax.default_backend() != "cpu":
        return False
    mallopt = _c_function("mallopt")
    return mallopt is not None and bool(
        mallopt(_MMAP_THRESHOLD, _MAX_BLOCK_BYTES) and mallopt(_TRIM_THRESHOLD, _MAX_FREE_BYTES)
    )


def return_freed_memory() -> bool:
    """Return memory that the C library keeps unused to the kernel; return whether there was any.

    Some milliseconds: for after a compilation. Nothing is done where `keep_working_memory` has not
    changed how the C library keeps memory.
    """
    trim = _c_function("malloc_trim") if keep_working_memory() else None
    return trim is not None and bool(trim(0))


def _c_function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library, None where there is none of this name."""
    function: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    return function
