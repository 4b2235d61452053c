"""Working memory: on CPU, memory that a step frees stays with the process for the next step.

XLA allocates its working memory for each call. By default the C library returns large blocks to the
kernel when they are freed, and the kernel fills every page with zeros when it hands them out again:
some percent of a step of a few milliseconds.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

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
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(
        mallopt(_MMAP_THRESHOLD, _MAX_BLOCK_BYTES) and mallopt(_TRIM_THRESHOLD, _MAX_FREE_BYTES)
    )
