"""The learning rates of a model's optimizers, for callbacks that read or set them.

Wrapped optimizers are unwrapped; one with a schedule is rejected.
"""

from __future__ import annotations

from typing import Any

from podium.callbacks._callback import Callback


def unwrap_optimizers(model: object) -> dict[str, Any]:
    """Return the model's optimizer under the name "", or those inside a MultiOptimizer under their
    own.
    """
    optimizer = getattr(model, "optimizer", None)
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
    if optimizer is None:
        return {}
    if hasattr(optimizer, "optimizers"):
        return {inner.name: inner for inner in optimizer.optimizers}
    return {"": optimizer}


def optimizers_with_settable_rate(callback: Callback) -> dict[str, Any]:
    """Return the optimizers of a model, whose learning rate the callback may set.

    Raises:
        ValueError: There is none, or its rate is set by a schedule.
    """
    name = type(callback).__name__
    optimizers = unwrap_optimizers(callback.model)
    if not optimizers or not all(hasattr(item, "learning_rate") for item in optimizers.values()):
        optimizer = getattr(callback.model, "optimizer", None)
        raise ValueError(
            f"{name} sets `model.optimizer.learning_rate`, and the model's optimizer is "
            f"{optimizer!r}. Compile the model with an optimizer that has a learning rate."
        )
    for optimizer in optimizers.values():
        schedule = getattr(optimizer, "_learning_rate", None)
        if callable(schedule):
            label = getattr(schedule, "__name__", type(schedule).__name__)
            raise ValueError(
                f"{name} sets the learning rate, but the optimizer was made with a schedule, "
                f"learning_rate={label}, which sets it at every step. Give the optimizer a number, "
                f"or leave {name} out."
            )
    return optimizers


def log_learning_rates(callback: Callback, logs: dict[str, Any] | None) -> None:
    """Add the learning rate to an epoch's logs."""
    if logs is not None:
        for name, optimizer in optimizers_with_settable_rate(callback).items():
            logs[f"learning_rate_{name}" if name else "learning_rate"] = float(
                optimizer.learning_rate
            )
