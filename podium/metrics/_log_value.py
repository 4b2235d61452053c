"""LogValue: a value in the logs of a step, with how it is reduced over an epoch and over replicas.

It owns the names of the reductions. They are computed in `models/training/_running_logs.py` and in
`distribute/_reduce_per_replica.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax

from podium.core import check_choice, unknown_choice

OVER_EPOCH = ("mean", "sum", "min", "max", "last")
OVER_REPLICAS = ("mean", "sum", "min", "max", "first", "concat")

# What one name means for both. None: a mean of scalars, and otherwise the last value of the epoch
# and the values of all replicas.
_BY_NAME: dict[str, tuple[str | None, str | None]] = {
    "mean": ("mean", "mean"),
    "sum": ("sum", "sum"),
    "min": ("min", "min"),
    "max": ("max", "max"),
    "last": ("last", None),
    "first": (None, "first"),
    "concat": ("last", "concat"),
}


class LogReduction(NamedTuple):
    """How a log is reduced; None for the default."""

    over_epoch: str | None = None
    over_replicas: str | None = None

    def or_else(self, other: LogReduction) -> LogReduction:
        """Return this reduction, with those of another one where it has the default."""
        return LogReduction(
            self.over_epoch or other.over_epoch, self.over_replicas or other.over_replicas
        )


def to_log_reduction(argument: str, value: object) -> LogReduction:
    """Return the reduction for the name of one, or for a dictionary of both.

    Args:
        argument: What the value is, for messages.
        value: A name, or a dictionary with "over_epoch", "over_replicas" or both.

    Raises:
        TypeError: It is neither.
        ValueError: A name is unknown.

    Example:
        >>> from podium.metrics._log_value import to_log_reduction
        >>> to_log_reduction("log_reductions['lr']", "last")
        LogReduction(over_epoch='last', over_replicas=None)
    """
    if isinstance(value, str):
        return LogReduction(*_BY_NAME[check_choice(argument, value, list(_BY_NAME))])
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{argument}={value!r} was given; the name of a reduction was expected, such as 'max', "
            "or a dictionary such as {'over_epoch': 'max', 'over_replicas': 'mean'}."
        )
    choices = {"over_epoch": OVER_EPOCH, "over_replicas": OVER_REPLICAS}
    for key, name in value.items():
        if key not in choices:
            raise unknown_choice(f"key of {argument}", key, choices)
        if name is not None:
            check_choice(f"{key} of {argument}", name, choices[key])
    return LogReduction(**value)


def to_log_reductions(value: object) -> dict[str, LogReduction]:
    """Return the argument `log_reductions` of `compile` by name of the log."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TypeError(
            f"log_reductions={value!r} was given; a dictionary from the names of logs to "
            "reductions was expected, such as {'loss': 'sum'}."
        )
    return {
        name: to_log_reduction(f"log_reductions[{name!r}]", reduction)
        for name, reduction in value.items()
    }


class LogValue:
    """A value that a step returns for its logs, with how it is reduced over an epoch and over
    replicas.

    `log_reductions` of `compile` does the same from outside, and takes precedence.

    Args:
        value: The value of this batch: a number, a Tensor or the `result()` of a metric.
        reduction: For the values of the epoch: "mean" (of the samples), "sum", "min", "max" or
            "last". For the values of replicas, where a step is run by `strategy.run`: "mean",
            "sum", "min", "max", "first" or "concat". A name that both have is used for both.
        over_epoch: The reduction over the epoch, if it is another one.
        over_replicas: The reduction over replicas, if it is another one.

    Raises:
        ValueError: A reduction is unknown; the message lists the choices.

    Example:
        >>> class Model(podium.Sequential):
        ...     def train_step(self, data):
        ...         logs = super().train_step(data)
        ...         x, _ = data
        ...         return logs | {"largest": podium.metrics.LogValue(podium.ops.max(x), "max")}
        >>> model = Model([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> x = np.array([[3.0], [9.0], [1.0], [2.0]])
        >>> model.fit(x, x, batch_size=2, verbose=0).history["largest"]
        [9.0]
    """

    def __init__(
        self,
        value: Any,
        reduction: str | None = None,
        *,
        over_epoch: str | None = None,
        over_replicas: str | None = None,
    ):
        both = {"over_epoch": over_epoch, "over_replicas": over_replicas}
        chosen = to_log_reduction("LogValue", both)
        if reduction is not None:
            chosen = chosen.or_else(to_log_reduction("reduction", reduction))
        self.value = value
        self.reduction = chosen

    def __repr__(self) -> str:
        return f"LogValue({self.value!r}, {self.reduction})"


def _flatten_log_value(value: LogValue) -> tuple[tuple[Any], LogReduction]:
    return (value.value,), value.reduction


def _unflatten_log_value(reduction: LogReduction, children: Iterable[Any]) -> LogValue:
    (child,) = children
    return LogValue(child, **reduction._asdict())


jax.tree_util.register_pytree_node(LogValue, _flatten_log_value, _unflatten_log_value)
