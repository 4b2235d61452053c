"""Checks that all devices have the same values of replicated Variables."""

from __future__ import annotations

from collections.abc import Iterable

import jax
import numpy as np

from podium.core import Variable, warn_user


def check_in_sync(variables: Iterable[Variable]) -> bool:
    """Return whether all devices have the same values of replicated Variables; warn if they differ.

    They differ only if a step in `Strategy.run` wrote a value that it computed from its own part of
    the batch to a Variable without an `aggregation`. All values are read from all devices of this
    process, so do not call it in every step.

    Args:
        variables: The Variables, such as `model.variables`.

    Example:
        >>> with podium.distribute.MirroredStrategy(2).scope():
        ...     layer = podium.layers.Dense(1)
        ...     layer.build((None, 2))
        >>> podium.distribute.check_in_sync(layer.variables)
        True
    """
    for variable in variables:
        value = variable.stored
        if (
            variable.placement is None
            or not isinstance(value, jax.Array)
            or not value.is_fully_replicated
        ):
            continue
        copies = [np.asarray(shard.data) for shard in value.addressable_shards]
        if any(
            not np.array_equal(copies[0], other, equal_nan=copies[0].dtype.kind == "f")
            for other in copies[1:]
        ):
            warn_user(
                f"The devices disagree about Variable {variable.path!r}: a step in "
                "`strategy.run` wrote a value of one "
                "replica to it. Write values that are equal on all replicas "
                "(`get_replica_context().all_reduce`), or make the Variable "
                'with aggregation="mean", "sum" or "only_first_replica".'
            )
            return False
    return True
