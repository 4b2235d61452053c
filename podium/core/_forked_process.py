"""Detects a process that was forked after JAX had started its threads.

Threads do not survive a fork, and JAX waits for them forever; so such a process gets an error
instead.
"""

from __future__ import annotations

import os

from jax._src import xla_bridge

_FORKED = (
    "This process was forked after JAX was used, and JAX's threads do not survive a fork: it would "
    "wait forever. Start processes with `multiprocessing.get_context('spawn')` (or 'forkserver'), "
    "or fork before anything is computed."
)


class ThisProcess:
    """What this process knows about its forks."""

    uses_jax = False  # whether JAX had started when this process forked
    is_broken = False  # whether JAX had started when this process was forked


def check_not_forked() -> None:
    """Raise if JAX cannot work in this process.

    Raises:
        RuntimeError: It was forked from a process that had used JAX.
    """
    if ThisProcess.is_broken:
        raise RuntimeError(_FORKED)


def _before_fork() -> None:
    """Remember, in the parent, whether JAX has started its threads."""
    ThisProcess.uses_jax = xla_bridge.backends_are_initialized()


def _after_fork() -> None:
    """Mark, in the child, that they are missing."""
    ThisProcess.is_broken = ThisProcess.uses_jax


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
