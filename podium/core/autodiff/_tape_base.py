"""Recorder: what gradient tapes and forward accumulators share, an open or closed state, known
values, entries.
"""

from __future__ import annotations

from typing import Any

from podium.core._context import context
from podium.core._tree import tree_leaves
from podium.core.autodiff._entries import Entry
from podium.core.tensor._dtypes import is_differentiable
from podium.core.tensor._tensor import Tensor
from podium.core.tensor._variable import Variable


class TapeBase:
    """What tapes and forward accumulators share: an open/closed state, known values, entries."""

    wants_pullback = True

    def __init__(self, watch_accessed_variables: bool = True):
        self.recording = False
        self._watch_accessed = watch_accessed_variables
        self.entries: list[Entry] = []
        self._known: dict[
            int, Any
        ] = {}  # id -> value; holding the value keeps its id from being reused
        self._variables: dict[int, Variable] = {}

    def tracks(self, value: Any) -> bool:
        """Tell whether results computed from `value` belong on this tape."""
        if id(value) in self._known:
            return True
        return isinstance(value, Variable) and value.trainable and self._watch_accessed

    def append(self, entry: Entry) -> None:
        """Take an entry; its outputs are known from now on."""
        self.entries.append(entry)
        for output in entry.outputs:
            self._known[id(output)] = output
        for value in entry.inputs:
            if isinstance(value, Variable):
                self._variables[id(value)] = value

    def watch(self, tensor: Any) -> None:
        """Follow a Tensor or Variable (or a structure of them) from here on."""
        for value in tree_leaves(tensor):
            if not isinstance(value, (Tensor, Variable)):
                raise TypeError(
                    f"tape.watch was given a {type(value).__name__}; a Tensor or Variable was "
                    "expected, because the tape must see what is done with it. Convert it first: "
                    "`x = podium.convert_to_tensor(x)`, and compute with that x."
                )
            if not is_differentiable(value):
                raise TypeError(
                    f"tape.watch was given values of type {value.dtype}, which have no gradient. "
                    "Convert them first: `x = ops.cast(x, 'float32')`."
                )
            self._known[id(value)] = value
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
        context.tapes = tuple(recorder for recorder in context.tapes if recorder is not self)
        self.recording = False
