"""Which strategy is in force: the one whose scope is open, else the default one."""

from typing import Any

from podium.core.internal import context
from podium.distribute._replica import ReplicaContext
from podium.distribute._strategy import Strategy, open_strategies

_DEFAULT = Strategy()


def get_strategy() -> Strategy:
    """Return the strategy whose scope is open; outside of all scopes, the default one.

    Example:
        >>> strategy = podium.distribute.OneDeviceStrategy("/cpu:0")
        >>> with strategy.scope():
        ...     print(podium.distribute.get_strategy() is strategy)
        True
    """
    found = open_strategies()
    return found[-1] if found else _DEFAULT


def has_strategy() -> bool:
    """Tell whether a scope of a strategy other than the default one is open.

    Example:
        >>> podium.distribute.has_strategy()
        False
    """
    return get_strategy() is not _DEFAULT


def in_cross_replica_context() -> bool:
    """Tell whether the code runs for all replicas at once: in the scope of a strategy of several,
    and not inside its `run`.

    Example:
        >>> with podium.distribute.MirroredStrategy(2).scope() as strategy:
        ...     outside = podium.distribute.in_cross_replica_context()
        ...     found = strategy.run(lambda: float(podium.distribute.in_cross_replica_context()))
        >>> podium.distribute.in_cross_replica_context(), outside, [bool(value) for value in strategy.unwrap(found)]
        (False, True, [False, False])
    """
    return (
        context.replica_axes is None
        and context.layout is not None
        and not get_strategy()._is_running
    )


def get_replica_context() -> ReplicaContext | None:
    """Return what this replica may ask about itself; None where the code runs for all replicas at
    once.

    Example:
        >>> podium.distribute.get_replica_context().num_replicas_in_sync
        1
    """
    return None if in_cross_replica_context() else ReplicaContext(get_strategy())


def scale_loss_for_distribution(loss_value: Any) -> Any:
    """Divide a loss by the number of replicas, so that their sum is the mean.

    In `fit` there is nothing to divide, whatever the strategy: a step sees the whole batch.

    Example:
        >>> podium.distribute.scale_loss_for_distribution(3.0)
        3.0
    """
    replicas = get_strategy().num_replicas_in_sync
    return (
        loss_value if replicas == 1 or in_cross_replica_context() else loss_value * (1.0 / replicas)
    )
