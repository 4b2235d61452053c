"""Arrays written and read by Orbax, where each process writes its own shards of an array.

The only file that imports Orbax.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import jax
import numpy as np

from podium._typing import Array
from podium.core.internal import charge_file_budget


def write(path: str, arrays: Sequence[Array]) -> None:
    """Write arrays to a new directory, and wait until they are complete."""
    with _library().PyTreeCheckpointer() as checkpointer:
        checkpointer.save(
            path, [array if isinstance(array, jax.Array) else np.asarray(array) for array in arrays]
        )


def read(path: str, shardings: Sequence[Any]) -> list[Any]:
    """Read arrays, each with its sharding; without one, as a NumPy array."""
    library = _library()
    restore_args = [
        library.RestoreArgs(restore_type=np.ndarray)
        if sharding is None
        else library.ArrayRestoreArgs(restore_type=jax.Array, sharding=sharding)
        for sharding in shardings
    ]
    with library.PyTreeCheckpointer() as checkpointer:
        _charge_arrays(checkpointer.metadata(path).item_metadata.tree)
        return list(checkpointer.restore(path, restore_args=restore_args))


def _charge_arrays(tree: Any) -> None:
    """Charge the budget of the files for the arrays that they declare, and their chunks."""
    for leaf in jax.tree.leaves(tree):
        chunk = getattr(leaf.storage, "chunk_shape", None) or ()
        charge_file_budget(
            "bytes",
            max(math.prod(leaf.shape), math.prod(chunk)) * np.dtype(leaf.dtype).itemsize,
            f"array {leaf.name!r} of shape {leaf.shape} is far larger than its files",
        )


def synchronize(name: str) -> None:
    """Wait until all processes have reached this point."""
    if jax.process_count() > 1:
        from jax.experimental import multihost_utils

        multihost_utils.sync_global_devices(name)


def contain_shards(arrays: Sequence[Array]) -> bool:
    """Return whether an array has shards that only other processes have, so that one process
    cannot write it.
    """
    return any(
        isinstance(array, jax.Array)
        and not array.is_fully_addressable
        and not array.is_fully_replicated
        for array in arrays
    )


def can_write(array: Array) -> bool:
    """Return whether Orbax can write an array: with several processes, only one that all of them
    share.
    """
    return jax.process_count() == 1 or (
        isinstance(array, jax.Array) and not array.is_fully_addressable
    )


def _library() -> ModuleType:
    try:
        # Here, because it takes longer to import than JAX.
        return importlib.import_module("orbax.checkpoint")
    except ImportError as error:
        raise ImportError(
            "Checkpoints of this kind need Orbax: `pip install podium[orbax]`."
        ) from error
