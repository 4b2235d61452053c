"""TapeBase: the common part of gradient tapes and forward accumulators.

It owns the open state, the tracked values and the list of entries; it computes no derivatives.
"""

from __future__ import annotations

from podium._typing import Tree, Value
from podium.core._context import context
from podium.core._public_repr import PublicRepr
from podium.core._tree import tree_leaves
from podium.core.autodiff._entries import Entry
from podium.core.tensor._dtypes import is_differentiable
from podium.core.tensor._tensor import Tensor
from podium.core.tensor._variable import Variable


class TapeBase(PublicRepr):
    """The common part of tapes and forward accumulators: open state, tracked values, entries."""

    needs_pullback = True

    def __init__(self, watch_accessed_variables: bool = True):
        self.recording = False
        self._watch_accessed = watch_accessed_variables
        self.entries: list[Entry] = []
        # Values by id; holding a value keeps its id from being reused.
        self._tracked: dict[int, Value] = {}
        self._variables: dict[int, Variable] = {}

    def tracks(self, value: object) -> bool:
        """Return whether operations on `value` belong on this tape."""
        if id(value) in self._tracked:
            return True
        return isinstance(value, Variable) and value.trainable and self._watch_accessed

    def append(self, entry: Entry) -> None:
        """Add an entry; its outputs are tracked from then on."""
        self.entries.append(entry)
        for output in entry.outputs:
            self._tracked[id(output)] = output
        for value in entry.inputs:
            if isinstance(value, Variable):
                self._variables[id(value)] = value

    def watch(self, tensor: Tree) -> None:
        """Record operations on a Tensor or Variable, or on each of a structure of them."""
        for value in tree_leaves(tensor):
            if not isinstance(value, (Tensor, Variable)):
                raise TypeError(
                    f"tape.watch was given a {type(value).__name__}; a Tensor or Variable was "
                    "expected, because the tape records operations on those only. Convert it "
                    "first: `x = podium.convert_to_tensor(x)`, and compute with that x."
                )
            if not is_differentiable(value):
                raise TypeError(
                    f"tape.watch was given values of dtype {value.dtype}, which have no gradient. "
                    "Convert them first: `x = ops.cast(x, 'float32')`."
                )
            self._tracked[id(value)] = value
            if isinstance(value, Variable):
                self._variables[id(value)] = value

    def _open(self) -> None:
        if self in context.tapes:
            raise RuntimeError(
                f"This {type(self).__name__} is already open; leave its `with` block first."
            )
        context.tapes = (*context.tapes, self)
        self.recording = True

    def _close(self) -> None:
        context.tapes = tuple(tape for tape in context.tapes if tape is not self)
        self.recording = False
