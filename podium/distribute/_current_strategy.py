"""The current strategy: the one whose scope is open, or the default one."""

from typing import TypeVar

from podium.core import Tensor
from podium.core.internal import context
from podium.distribute._replica_context import ReplicaContext
from podium.distribute._strategy import Strategy, open_strategies

_DEFAULT = Strategy()

LossT = TypeVar("LossT", float, Tensor)


def get_strategy() -> Strategy:
    """Return the strategy whose scope is open; outside of all scopes, the default one.

    Example:
        >>> strategy = podium.distribute.OneDeviceStrategy("/cpu:0")
        >>> with strategy.scope():
        ...     print(podium.distribute.get_strategy() is strategy)
        True
    """
    strategies = open_strategies()
    return strategies[-1] if strategies else _DEFAULT


def has_strategy() -> bool:
    """Return whether the scope of a strategy other than the default one is open.

    Example:
        >>> podium.distribute.has_strategy()
        False
    """
    return get_strategy() is not _DEFAULT


def in_cross_replica_context() -> bool:
    """Return whether the code runs for all replicas at once: in the scope of a strategy of several,
    and not inside its `run`.

    Example:
        >>> with podium.distribute.MirroredStrategy(2).scope() as strategy:
        ...     outside = podium.distribute.in_cross_replica_context()
        ...     result = strategy.run(lambda: float(podium.distribute.in_cross_replica_context()))
        >>> outside, [bool(value) for value in strategy.unwrap(result)]
        (True, [False, False])
        >>> podium.distribute.in_cross_replica_context()
        False
    """
    return (
        context.replica_axes is None
        and context.layout is not None
        and not get_strategy()._is_running
    )


def get_replica_context() -> ReplicaContext | None:
    """Return the context of this replica; None if the code runs for all replicas at once.

    Example:
        >>> podium.distribute.get_replica_context().num_replicas_in_sync
        1
    """
    return None if in_cross_replica_context() else ReplicaContext(get_strategy())


def scale_loss_for_distribution(loss_value: LossT) -> LossT:
    """Divide a loss by the number of replicas, so that their sum is the mean.

    In `fit` the loss is not divided, whatever the strategy: a step receives the global batch.

    Example:
        >>> podium.distribute.scale_loss_for_distribution(3.0)
        3.0
    """
    replicas = num_traced_replicas()
    return loss_value if replicas == 1 else loss_value * (1.0 / replicas)


def num_traced_replicas() -> int:
    """Return the number of replicas whose step is being traced.

    It is 1 outside of `Strategy.run`, where a step receives the global batch.
    """
    return 1 if in_cross_replica_context() else get_strategy().num_replicas_in_sync
