"""What replicas returned as one value, and how far they are apart."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from podium.core import check_choice, map_structure
from podium.core.internal import wrap
from podium.distribute._mesh_strategy import over_replicas
from podium.distribute._values import is_per_replica

_REDUCTIONS = ("auto", "first", "concat", "sum", "mean")


def reduce_per_replica(values: Any, strategy: Any, reduction: str = "auto") -> Any:
    """Make one value of what each replica returned, for every PerReplica of a structure.

    Args:
        values: A structure; what is no PerReplica stays as it is.
        strategy: The strategy that ran the step.
        reduction: "first" takes the first replica's, "concat" joins along the batch, "sum" and
            "mean" compute; "auto" takes the mean of numbers and joins everything else.

    Raises:
        ValueError: The reduction is unknown.

    Example:
        >>> strategy = podium.distribute.MirroredStrategy(2)
        >>> logs = {"loss": podium.distribute.PerReplica(jnp.array([1.0, 3.0])), "step": 7}
        >>> float(podium.distribute.reduce_per_replica(logs, strategy)["loss"])
        2.0
        >>> float(podium.distribute.reduce_per_replica(logs, strategy, "first")["loss"])
        1.0
    """
    check_choice("reduction", reduction, _REDUCTIONS)

    def reduced(value: Any) -> Any:
        if not is_per_replica(value):
            return value
        how = ("mean" if value.array.ndim == 1 else "concat") if reduction == "auto" else reduction
        if how == "first":
            return strategy.unwrap(value)[0]
        if how == "concat":
            return (
                wrap(value.array.reshape(-1))
                if value.array.ndim == 1
                else strategy.gather(value, axis=0)
            )
        return strategy.reduce(how, value)

    return over_replicas(reduced, values)


def spread_between_replicas(values: Any) -> Any:
    """Return how far the replicas are apart: the largest value less the smallest, for every
    PerReplica of a structure.

    Example:
        >>> float(podium.distribute.spread_between_replicas(podium.distribute.PerReplica(jnp.array([1.0, 4.0, 3.0]))))
        3.0
    """

    def spread(value: Any) -> Any:
        if not is_per_replica(value):
            return map_structure(lambda each: each, value)
        return wrap(jnp.max(value.array, axis=0) - jnp.min(value.array, axis=0))

    return over_replicas(spread, values)
