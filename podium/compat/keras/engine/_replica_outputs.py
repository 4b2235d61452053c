"""What Keras 2's `training.py` does with the outputs of replicas: concatenation in the order of the
batch, and control dependencies.

Keras 2 names these functions with an underscore, and excerpts of its training loop call them so;
`keras.engine.training` has them under those names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import jax
import numpy as np
from jax.experimental import sparse

from podium import ops
from podium._typing import TensorLike, Tree
from podium.compat._nest import flatten
from podium.core import Tensor, Variable
from podium.core.internal import is_tracing
from podium.distribute import MultiWorkerMirroredStrategy, PerReplica, Strategy


class WorkerStrategy(Protocol):
    """What the functions here use of a strategy, Podium's or another."""

    @property
    def extended(self) -> Any:
        """Has `worker_devices`, or `num_replicas_per_host`."""

    def gather(self, value: Tree, axis: int) -> Tree:
        """Concatenate the values of all replicas of all workers."""

    def experimental_local_results(self, value: Tree) -> Sequence[Tree]:
        """Return the values of the replicas of this machine."""


def concat(tensors: Sequence[TensorLike], axis: int = 0) -> Any:
    """Concatenate the outputs of several batches or replicas: dense, sparse or scalar.

    Args:
        tensors: Values of one kind. Scalars are stacked.
        axis: The axis to concatenate along, usually 0 for the batch.

    Example:
        >>> from podium.compat.keras.engine import training
        >>> training.concat([np.ones((2, 3)), np.ones((1, 3))]).shape
        (3, 3)
        >>> training.concat([podium.Tensor(1.0), podium.Tensor(2.0)]).numpy()
        array([1., 2.], dtype=float32)
    """
    first = tensors[0]
    if isinstance(first, sparse.BCOO):
        return sparse.bcoo_concatenate(list(tensors), dimension=axis)
    if is_scalar(first):
        return ops.stack(list(tensors), axis=axis)
    return ops.concatenate(list(tensors), axis=axis)


def is_scalar(value: object) -> bool:
    """Return whether a value is a Tensor, Variable or array without dimensions."""
    return isinstance(value, (Tensor, Variable, jax.Array, np.ndarray, np.generic)) and not len(
        value.shape
    )


def minimum_control_deps(outputs: Tree) -> list[Any]:
    """Return what a step's counter has to wait for, to be advanced only if the step succeeded.

    That is one output while a function is traced and nothing otherwise. Podium runs operations in
    program order and undoes a step that fails, so the result is correct either way.

    Args:
        outputs: What the step returned.
    """
    if not is_tracing():
        return []
    leaves = [leaf for leaf in flatten(outputs) if not isinstance(leaf, Variable)]
    return leaves[:1]


def multi_worker_concat(value: Tree, strategy: WorkerStrategy) -> Any:
    """Concatenate the values of the replicas of all workers, in the order of the global batch.

    Podium's strategies divide a batch in the order of the replicas, in which `gather` returns it.
    Of other strategies, `gather` returns the replicas worker by worker, while the batch was dealt
    to the first replica of every worker, then to the second, and so on; sizes may differ.

    Args:
        value: A PerReplica with the values of this worker, or one value.
        strategy: The strategy.
    """
    gathered = strategy.gather(value, axis=0)
    if isinstance(strategy, Strategy):
        return gathered
    local = value.values if is_per_replica_instance(value) else (value,)
    sizes = np.asarray(strategy.gather(np.array([len(each) for each in local]), axis=0))
    parts = ops.split(gathered, [int(end) for end in np.cumsum(sizes)[:-1]])
    return concat(_by_replica(parts, len(strategy.extended.worker_devices)))


def tpu_multi_host_concat(value: Tree, strategy: WorkerStrategy) -> Any:
    """Concatenate the values of the replicas of a TPU pod, in the order of the global batch.

    The batch was divided in the order (replica, host), and values are returned in the order
    (host, replica). Podium's strategies have one order.

    Args:
        value: A PerReplica.
        strategy: The strategy.
    """
    replicas = list(strategy.experimental_local_results(value))
    if isinstance(strategy, Strategy):
        return concat(replicas)
    return concat(_by_replica(replicas, strategy.extended.num_replicas_per_host))


def _by_replica(parts: Sequence[Any], replicas_per_host: int) -> list[Any]:
    """Return values in the order (replica, host) that are given in the order (host, replica)."""
    return [
        part for replica in range(replicas_per_host) for part in parts[replica::replicas_per_host]
    ]


def is_per_replica_instance(value: object) -> bool:
    """Return whether a value is a PerReplica, of Podium or of another library."""
    return isinstance(value, PerReplica) or isinstance(getattr(value, "values", None), tuple)


def collective_all_reduce_multi_worker(strategy: object) -> bool:
    """Return whether a strategy trains on several workers with collective operations."""
    return isinstance(strategy, MultiWorkerMirroredStrategy) and strategy.spans_processes


def is_tpu_multi_host(strategy: WorkerStrategy) -> bool:
    """Return whether a strategy needs `_tpu_multi_host_concat`: those of Podium never do."""
    return not isinstance(strategy, Strategy) and getattr(strategy.extended, "num_hosts", 1) > 1
