"""PerReplica: the values of several replicas; also the names of reductions."""

from __future__ import annotations

from typing import Any, TypeGuard

import jax
import numpy as np

from podium._typing import Array
from podium.core import Tensor
from podium.core.internal import wrap


class ReduceOp:
    """How values of several replicas are reduced to one.

    Example:
        >>> podium.distribute.ReduceOp.SUM
        'sum'
    """

    SUM = "sum"
    MEAN = "mean"


class VariableAggregation:
    """How the values that replicas write to one Variable are combined.

    "none" and "only_first_replica" use the value of the first replica, "mean" the mean, and "sum"
    adds what each replica added.

    Example:
        >>> aggregation = podium.distribute.VariableAggregation.ONLY_FIRST_REPLICA
        >>> count = podium.Variable(0, aggregation=aggregation)
        >>> count.aggregation
        'only_first_replica'
    """

    NONE = "none"
    SUM = "sum"
    MEAN = "mean"
    ONLY_FIRST_REPLICA = "only_first_replica"


class PerReplica:
    """One value for each replica: an element of a distributed dataset, or a result of
    `Strategy.run`.

    The values are stored in one array with a first axis for replicas, each on the device of its
    replica.

    Args:
        stacked: The values, stacked along a new first axis.

    Example:
        >>> value = podium.distribute.PerReplica(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> len(value), [float(podium.ops.sum(part)) for part in value.values]
        (2, [3.0, 7.0])
    """

    def __init__(self, stacked: Tensor | Array):
        self.stacked = stacked

    @property
    def array(self) -> Any:
        """The values as one JAX or NumPy array, the axis of replicas first."""
        return self.stacked._value if isinstance(self.stacked, Tensor) else self.stacked

    @property
    def values(self) -> tuple[Tensor, ...]:
        """The values of the replicas of this process."""
        array = self.array
        if (
            isinstance(array, jax.Array)
            and not isinstance(array, jax.core.Tracer)
            and not array.is_fully_addressable
        ):
            local = {
                shard.index[0].start or 0: np.asarray(shard.data)[0]
                for shard in array.addressable_shards
            }
            return tuple(wrap(jax.numpy.asarray(local[index])) for index in sorted(local))
        return tuple(wrap(array[index]) for index in range(len(self)))

    def __len__(self) -> int:
        return int(self.stacked.shape[0])

    def __repr__(self) -> str:
        shape = tuple(self.stacked.shape[1:])
        return f"<podium.distribute.PerReplica of {len(self)} values of shape {shape}>"


jax.tree_util.register_pytree_node(
    PerReplica, lambda value: ((value.array,), None), lambda _, children: PerReplica(children[0])
)


def is_per_replica(value: object) -> TypeGuard[PerReplica]:
    """Return whether a value is a PerReplica."""
    return isinstance(value, PerReplica)
