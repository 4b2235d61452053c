"""Arrays written and read by Orbax: each process writes its own parts of arrays that lie on devices
of several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


def write(path: str, arrays: Sequence[Any]) -> None:
    """Write arrays to a new folder, and wait until they are there."""
    with _library().PyTreeCheckpointer() as checkpointer:
        checkpointer.save(
            path, [array if isinstance(array, jax.Array) else np.asarray(array) for array in arrays]
        )


def read(path: str, shardings: Sequence[Any]) -> list[Any]:
    """Read arrays, each to where its sharding says; without one, as a NumPy array."""
    library = _library()
    how = [
        library.RestoreArgs(restore_type=np.ndarray)
        if sharding is None
        else library.ArrayRestoreArgs(restore_type=jax.Array, sharding=sharding)
        for sharding in shardings
    ]
    with library.PyTreeCheckpointer() as checkpointer:
        return list(checkpointer.restore(path, restore_args=how))


def synchronize(what: str) -> None:
    """Wait until all processes are here."""
    if jax.process_count() > 1:
        from jax.experimental import multihost_utils

        multihost_utils.sync_global_devices(what)


def is_needed(arrays: Sequence[Any]) -> bool:
    """Tell whether an array has parts that only other processes have, so that one process cannot
    write it alone.
    """
    return any(
        isinstance(array, jax.Array)
        and not array.is_fully_addressable
        and not array.is_fully_replicated
        for array in arrays
    )


def can_write(array: Any) -> bool:
    """Tell whether an array is one of all processes; it does not take one that each process has for
    itself.
    """
    return jax.process_count() == 1 or (
        isinstance(array, jax.Array) and not array.is_fully_addressable
    )


def _library() -> Any:
    try:
        import orbax.checkpoint as library  # here: it takes longer to import than JAX
    except ImportError as error:
        raise ImportError(
            "Checkpoints of this kind need Orbax: `pip install podium[orbax]`."
        ) from error
    return library
