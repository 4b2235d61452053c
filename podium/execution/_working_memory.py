"""Working memory: on CPU, what a step frees stays with the process for the next step.

XLA asks for its working memory anew at every call. By default the C library gives large pieces back
to the kernel when they are freed, and the kernel fills every page with zeros when it hands them out
again: some per cent of a step of a few milliseconds.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

import jax

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h numbers the parameters of `mallopt`
_KEPT = 2**28  # bytes that may lie free
_LARGEST = 2**25  # bytes of a piece that is kept; the C library allows no more


@functools.cache
def keep_working_memory() -> bool:
    """Let the C library keep freed memory, once in a process; returns whether it does.

    Only glibc can. A user who has set its thresholds (`MALLOC_TRIM_THRESHOLD_`, `GLIBC_TUNABLES`
    ...) is not overruled.
    """
    chosen = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    if chosen or not sys.platform.startswith("linux") or jax.default_backend() != "cpu":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(
        mallopt(_MMAP_THRESHOLD, _LARGEST) and mallopt(_TRIM_THRESHOLD, _KEPT)
    )
