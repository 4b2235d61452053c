"""may_exhaust_memory and copy_state: what the first step of a program does if it may not fit.

On CPU a step is computed after the call has returned, and its working memory is allocated then. If
that fails, the state that was donated to it is lost. What a program allocates is known when it is
compiled and the same for each step, so only its first step can fail unless memory becomes scarce
later. Where XLA plans more than is available, that step runs on a copy of the state, and the host
waits for it. Guarded by tests/models/test_errors_while_running.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from podium.core.tensor._placement import is_cpu

_MAX_FRACTION = 0.5  # of the available memory: other processes allocate too


def may_exhaust_memory(state: list[Any], compile_step: Callable[[], Any]) -> bool:
    """Return whether a step may fail to allocate its working memory after its call has returned.

    Args:
        state: The arrays that are donated to it.
        compile_step: Returns the compiled step.
    """
    if not any(isinstance(array, jax.Array) and is_cpu(array.sharding) for array in state):
        return False  # on a GPU or TPU the call itself raises, and donates nothing
    plan, available = compile_step().memory_analysis(), available_memory()
    if plan is None or available is None:
        return False
    needed: int = plan.temp_size_in_bytes + plan.output_size_in_bytes
    return needed > available * _MAX_FRACTION


def copy_state(state: list[Any]) -> list[Any]:
    """Return copies of arrays."""
    return [jnp.array(array, copy=True) for array in state]


def available_memory() -> int | None:
    """Return how many bytes can be allocated without swapping, or None if that is unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            continue
    return None
