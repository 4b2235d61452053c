"""Logits: what a softmax or a sigmoid was computed from, kept with its output.

A crossentropy of saturated probabilities has no gradient; that of the logits behind them has. A
Tensor refers to its logits as it does to its mask: any further operation returns a new Tensor
without them. Which losses use them is decided in `podium.ops` and `podium.losses`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from podium._typing import Tree
from podium.core._context import context
from podium.core._tree import tree_leaves
from podium.core.tensor._tensor import Tensor


class Logits(NamedTuple):
    """The values that an activation was applied to.

    Attributes:
        tensor: The values.
        activation: "softmax" or "sigmoid".
        axis: The axis, or axes, of a softmax.
    """

    tensor: Tensor
    activation: str
    axis: int | Sequence[int] | None

    def is_along(self, axis: object) -> bool:
        """Return whether the activation normalizes over this one axis."""
        if not isinstance(self.axis, int) or not isinstance(axis, int) or not self.tensor.shape:
            return False
        return (self.axis - axis) % len(self.tensor.shape) == 0


def attach_logits(result: Tree, logits: Sequence[Logits | None]) -> None:
    """Set the logits of the Tensors of a result, in the order of `collect_logits`."""
    for leaf, entry in zip(tree_leaves(result), logits, strict=True):
        if entry is not None:
            leaf._keras_logits = entry


def collect_logits(result: Tree) -> list[Logits | None]:
    """Return the logits of each leaf of a result, None for one without."""
    return [getattr(leaf, "_keras_logits", None) for leaf in tree_leaves(result)]


def find_logits(value: Any) -> Logits | None:
    """Return the logits behind a value; None if there are none, or if a tape tracks the value and
    not its logits, so that its gradient would be lost.
    """
    logits: Logits | None = getattr(value, "_keras_logits", None)
    if logits is None:
        return None
    is_lost = any(
        tape.recording and tape.tracks(value) and not tape.tracks(logits.tensor)
        for tape in context.tapes
    )
    return None if is_lost else logits
