"""The logits behind probabilities: stored by softmax and sigmoid, used by crossentropies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from podium._typing import TensorLike
from podium.core import Tensor, Variable, convert_to_tensor, is_float_dtype, warn_user
from podium.core.internal import Logits, find_logits

R = TypeVar("R")


def store_logits(
    outputs: R, x: TensorLike, activation: str, axis: int | Sequence[int] | None = None
) -> R:
    """Store with the outputs of an activation what it was applied to, and return the outputs.

    Args:
        outputs: The outputs. Symbolic values and bare arrays are returned unchanged.
        x: The argument of the activation; a Variable is read, because its value may change.
        activation: "softmax" or "sigmoid".
        axis: The axis, or axes, of a softmax.
    """
    if isinstance(x, Variable):
        x = convert_to_tensor(x)
    if isinstance(outputs, Tensor) and isinstance(x, Tensor) and is_float_dtype(x.dtype):
        outputs._keras_logits = Logits(x, activation, axis)
    return outputs


def prefer_logits(
    loss: str, activation: str, output: TensorLike, from_logits: bool, axis: int | None = None
) -> tuple[TensorLike, bool]:
    """Return the logits behind the output of an activation, and whether logits are returned.

    Probabilities that have reached 0 or 1 have no gradient, so a model could not leave them.

    Args:
        loss: The name of the loss, for the message.
        activation: The activation whose logits the loss can use.
        output: The predictions.
        from_logits: Whether the caller declares that these are logits.
        axis: The axis of the classes, which must be that of a softmax.
    """
    logits = find_logits(output)
    if logits is None or logits.activation != activation:
        return output, from_logits
    if axis is not None and not logits.is_along(axis):
        return output, from_logits
    if from_logits:
        warn_user(
            f"{loss} was given from_logits=True and the output of a {activation}, which are "
            f"probabilities; the logits before the {activation} are used. Remove one of the two."
        )
    return logits.tensor, True
