"""The optimizers of a model, as callbacks meet them: unwrapped, with learning rates that can be
read and set.
"""

from __future__ import annotations

from typing import Any

from podium.callbacks._callback import Callback


def unwrap_optimizers(model: Any) -> dict[str, Any]:
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
    """Return the optimizers whose learning rate a callback may set, or say why it may not."""
    who = type(callback).__name__
    found = unwrap_optimizers(callback.model)
    if not found or not all(hasattr(optimizer, "learning_rate") for optimizer in found.values()):
        given = getattr(callback.model, "optimizer", None)
        raise ValueError(
            f"{who} sets `model.optimizer.learning_rate`, and the model's optimizer is "
            f"{given!r}. Compile the model with an "
            "optimizer that has a learning rate."
        )
    for optimizer in found.values():
        schedule = getattr(optimizer, "_learning_rate", None)
        if callable(schedule):
            kind = getattr(schedule, "__name__", type(schedule).__name__)
            raise ValueError(
                f"{who} sets the learning rate, but the optimizer was made with a schedule, "
                f"learning_rate={kind}, which sets it at every step. Give the optimizer a number, "
                f"or leave {who} out."
            )
    return found


def log_learning_rates(callback: Callback, logs: Any) -> None:
    """Add the learning rate to an epoch's logs."""
    if logs is not None:
        for name, optimizer in optimizers_with_settable_rate(callback).items():
            logs[f"learning_rate_{name}" if name else "learning_rate"] = float(
                optimizer.learning_rate
            )
