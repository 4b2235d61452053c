"""Reduces the results of replicas to one value, and measures how much they differ."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from podium._typing import Tree
from podium.core import check_choice, map_structure
from podium.core.internal import wrap
from podium.distribute._current_strategy import get_strategy
from podium.distribute._mesh_strategy import map_replicas
from podium.distribute._per_replica import is_per_replica
from podium.distribute._strategy import Strategy
from podium.metrics import LogValue
from podium.metrics.internal import OVER_REPLICAS

_REDUCTIONS = ("auto", *OVER_REPLICAS)


def reduce_per_replica(
    values: Tree, strategy: Strategy | None = None, reduction: str = "auto"
) -> Tree:
    """Reduce every PerReplica of a structure to one value.

    Args:
        values: A structure; values other than PerReplica are returned as they are.
        strategy: The strategy that ran the step; by default the one whose scope is open.
        reduction: "first" for the value of the first replica, "concat" to concatenate along the
            batch, "sum", "mean", "min" or "max"; "auto" is the mean for scalars and "concat" for
            other values. A `LogValue` with a reduction over replicas is reduced by that one.

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
    strategy = strategy or get_strategy()

    def reduce_leaf(value: Any) -> Any:
        if isinstance(value, LogValue):
            name = value.reduction.over_replicas or reduction
            return LogValue(_reduce_value(value.value, name, strategy), **value.reduction._asdict())
        return _reduce_value(value, reduction, strategy)

    return map_replicas(reduce_leaf, values)


def reduce_replicas(value: Any, reduction: str | None) -> Any:
    """Reduce one value of several replicas, by default as "auto" does; return others as they
    are.
    """
    return _reduce_value(value, reduction or "auto", get_strategy())


def _reduce_value(value: Any, reduction: str, strategy: Strategy) -> Any:
    if not is_per_replica(value):
        return value
    name = ("mean" if value.array.ndim == 1 else "concat") if reduction == "auto" else reduction
    if name == "first":
        return strategy.unwrap(value)[0]
    if name == "concat":
        return (
            wrap(value.array.reshape(-1))
            if value.array.ndim == 1
            else strategy.gather(value, axis=0)
        )
    if name in ("min", "max"):
        return wrap((jnp.min if name == "min" else jnp.max)(value.array, axis=0))
    return strategy.reduce(name, value)


def spread_between_replicas(values: Tree) -> Tree:
    """Return the largest value minus the smallest among the replicas, for every PerReplica of a
    structure.

    Example:
        >>> values = podium.distribute.PerReplica(jnp.array([1.0, 4.0, 3.0]))
        >>> float(podium.distribute.spread_between_replicas(values))
        3.0
    """

    def spread(value: Any) -> Any:
        if not is_per_replica(value):
            return map_structure(lambda leaf: leaf, value)
        return wrap(jnp.max(value.array, axis=0) - jnp.min(value.array, axis=0))

    return map_replicas(spread, values)
