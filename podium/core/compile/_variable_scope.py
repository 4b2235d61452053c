"""VariableScope: a private view of all Variables while a function is traced or differentiated.

Reads come through the scope and writes stay in it until its opener takes the writes out as values:
the one way in which state moves in and out of compiled or differentiated code. This file does not
own the stored values; see `_variable_store.py`.
"""

from __future__ import annotations

from typing import Any

from podium.core._context import context


class VariableScope:
    """A private view of Variables for the length of one traced call.

    Attributes:
        inputs: id -> (variable, value) handed in by the opener, usually tracers.
        touched: ids of those inputs that were read or written.
        reads: id -> (variable, value) of what was read through to the parent.
        writes: id -> (variable, value) written inside; the opener takes them out.
        created: Variables made while this scope was open.
        locals: other values that must not outlive the call, such as the losses of layers.
        discovers: whether it only finds out what is read, and keeps no value.
        paused: tapes outside that must hear of recorded Tensors met inside by closure.
    """

    def __init__(
        self,
        inputs: dict[int, tuple] | None = None,
        parent: VariableScope | None = None,
        reads: dict[int, tuple] | None = None,
        paused: tuple = (),
    ):
        self.inputs = inputs or {}
        self.parent = parent
        self.paused = paused
        self.discovers = False
        self.watches_tensors: bool = bool(paused) or (parent is not None and parent.watches_tensors)
        self.touched: set[int] = set()
        self.reads: dict[int, tuple] = reads if reads is not None else {}
        self.writes: dict[int, tuple] = {}
        self.created: list[Any] = []
        self.locals: dict[Any, Any] = {}

    def read(self, variable: Any) -> Any:
        """Return the variable's value as this scope sees it."""
        key = id(variable)
        if key in self.writes:
            return self.writes[key][1]
        if key in self.inputs:
            self.touched.add(key)
            return self.inputs[key][1]
        if key in self.reads:
            return self.reads[key][1]
        if self.parent is not None:
            value = self.parent.read(variable)
        else:
            value = variable.stored if self.discovers else variable.expose()
        self.reads[key] = (variable, value)
        return value

    def read_tensor(self, tensor: Any) -> Any:
        """Return a Tensor's array as this scope sees it: one that a paused tape tracks may be an
        input.
        """
        key = id(tensor)
        if key in self.inputs:
            return self.inputs[key][1]
        if key in self.reads:
            return self.reads[key][1]
        value = self.parent.read_tensor(tensor) if self.parent is not None else tensor._value
        if any(tape.tracks(tensor) for tape in self.paused):
            self.reads[key] = (tensor, value)
        return value

    def write(self, variable: Any, value: Any) -> None:
        """Keep a new value in this scope."""
        self.touched.add(id(variable))
        self.writes[id(variable)] = (variable, value)

    def note_created(self, variable: Any) -> None:
        """Remember a Variable made inside; every enclosing scope hears of it too."""
        scope: VariableScope | None = self
        while scope is not None:
            scope.created.append(variable)
            scope = scope.parent

    def commit(self) -> None:
        """Pass all writes and locals on to the parent, or to the Variables themselves."""
        for variable, value in self.writes.values():
            if self.parent is not None:
                self.parent.write(variable, value)
            else:
                variable.stored = value
        if self.parent is not None:
            self.parent.locals.update(self.locals)
        else:
            for key, value in self.locals.items():
                key.keep(value)

    def commit_as(self, values: list[Any]) -> None:
        """Pass other values than were written here on to the scope around the caller: what a
        transformed call gave for them.
        """
        for (variable, _), value in zip(self.writes.values(), values, strict=True):
            if context.scope is not None:
                context.scope.write(variable, value)
            else:
                variable.stored = value
            variable.source = None


class TraceLocal:
    """A value that belongs to the running trace: each scope has its own, and none outlives its
    scope.

    Layers keep the values of `add_loss` in one of these, so that a loss made inside a compiled step
    can never be met outside of it.
    """

    def __init__(self, empty: Any):
        self._empty = empty
        self._kept = empty

    def get(self) -> Any:
        """Return the value as the innermost scope sees it."""
        scope = context.scope
        while scope is not None:
            if self in scope.locals:
                return scope.locals[self]
            scope = scope.parent
        return self._kept

    def set(self, value: Any) -> None:
        """Set the value for the innermost scope, or for good when no scope is open."""
        if context.scope is not None:
            context.scope.locals[self] = value
        else:
            self._kept = value

    def keep(self, value: Any) -> None:
        """Set the value outside of all scopes."""
        self._kept = value
