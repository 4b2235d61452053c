"""Values of several replicas, and the words for how they become one."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium.core import Tensor
from podium.core.internal import wrap


class ReduceOp:
    """How values of several replicas become one.

    Example:
        >>> podium.distribute.ReduceOp.SUM
        'sum'
    """

    SUM = "sum"
    MEAN = "mean"


class VariableAggregation:
    """How what replicas write to one Variable becomes one value.

    "none" and "only_first_replica" take the first replica's, "mean" the mean, "sum" adds up what
    each replica added.

    Example:
        >>> count = podium.Variable(0, aggregation=podium.distribute.VariableAggregation.ONLY_FIRST_REPLICA)
        >>> count.aggregation
        'only_first_replica'
    """

    NONE = "none"
    SUM = "sum"
    MEAN = "mean"
    ONLY_FIRST_REPLICA = "only_first_replica"


class PerReplica:
    """One value for each replica: what a distributed dataset gives, and what `Strategy.run`
    returns.

    They lie in one array with an axis of replicas in front, each on the device of its replica.

    Args:
        stacked: The values, stacked along a new first axis.

    Example:
        >>> value = podium.distribute.PerReplica(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> len(value), [float(podium.ops.sum(each)) for each in value.values]
        (2, [3.0, 7.0])
    """

    def __init__(self, stacked: Any):
        self.stacked = stacked

    @property
    def array(self) -> Any:
        """The values as one bare array, the axis of replicas in front."""
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
            own = {
                shard.index[0].start or 0: np.asarray(shard.data)[0]
                for shard in array.addressable_shards
            }
            return tuple(wrap(jax.numpy.asarray(own[place])) for place in sorted(own))
        return tuple(wrap(array[place]) for place in range(len(self)))

    def __len__(self) -> int:
        return int(self.stacked.shape[0])

    def __repr__(self) -> str:
        return f"<podium.distribute.PerReplica of {len(self)} values of shape {tuple(self.stacked.shape[1:])}>"


jax.tree_util.register_pytree_node(
    PerReplica, lambda value: ((value.array,), None), lambda _, children: PerReplica(children[0])
)


def is_per_replica(value: Any) -> bool:
    """Tell whether something is the values of several replicas."""
    return isinstance(value, PerReplica)
