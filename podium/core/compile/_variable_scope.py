"""VariableScope: a private view of all Variables while a function is traced or differentiated.

Variables are read and written through the scope, and its opener takes the written values out: the
one way in which state moves in and out of compiled or differentiated code. The stored values belong
to `_variable_store.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import jax

from podium._typing import T
from podium.core._context import context
from podium.core.compile._restore_on_error import set_current_trace

if TYPE_CHECKING:
    from podium.core.autodiff._tape_base import TapeBase
    from podium.core.tensor._tensor import Tensor
    from podium.core.tensor._variable import Variable

# Variables (and Tensors that a paused tape tracks) with their arrays, by id of the former.
ValuesById: TypeAlias = "dict[int, tuple[Any, Any]]"


class VariableScope:
    """A private view of Variables for the duration of one traced call.

    Args:
        inputs: Values by id, usually tracers, that replace the stored ones.
        parent: The scope from which other values are read; None for the stored values.
        reads: Values that were read before, by id.
        paused_tapes: Tapes outside of the call, for which Tensors that are read by closure are
            collected in `reads`.

    Attributes:
        inputs: The inputs, by id.
        touched: The ids of inputs that were read or written.
        reads: The values that were read from the parent, by id.
        writes: The values that were written, by id; the opener takes them out.
        created: The Variables that were created while this scope was open.
        locals: Other values that must not outlive the call, such as the losses of layers.
        discovery_trace: JAX's trace, if the scope only finds out which Variables are read.
    """

    def __init__(
        self,
        inputs: ValuesById | None = None,
        parent: VariableScope | None = None,
        reads: ValuesById | None = None,
        paused_tapes: tuple[TapeBase, ...] = (),
    ):
        self.inputs = inputs or {}
        self.parent = parent
        self.paused_tapes = paused_tapes
        self.discovery_trace: Any = None  # of JAX, which has no public type for it
        self.watches_tensors: bool = bool(paused_tapes) or (
            parent is not None and parent.watches_tensors
        )
        self.touched: set[int] = set()
        self.reads: ValuesById = reads if reads is not None else {}
        self.writes: ValuesById = {}
        self.created: list[Variable] = []
        self.locals: dict[TraceLocal[Any], Any] = {}

    def read(self, variable: Variable) -> jax.Array:
        """Return the Variable's value in this scope."""
        value: jax.Array
        key = id(variable)
        if key in self.writes:
            value = self.writes[key][1]
            return value
        if key in self.inputs:
            self.touched.add(key)
            value = self.inputs[key][1]
            return value
        if key in self.reads:
            value = self.reads[key][1]
            return value
        if self.parent is not None:
            value = self.parent.read(variable)
        elif self.discovery_trace is None:
            variable.mark_exposed()
            value = variable.stored
        elif variable.placement is not None:  # a tracer would keep the mesh of the stored value
            value = variable.stored
        else:
            # A tracer of the outermost trace, not the array: JAX keeps an entry for each trace in
            # which a jitted function is called with arrays alone.
            with set_current_trace(self.discovery_trace):
                value = jax.lax.optimization_barrier(variable.stored)
        self.reads[key] = (variable, value)
        return value

    def read_tensor(self, tensor: Tensor) -> jax.Array:
        """Return a Tensor's array in this scope: it may be an input if a paused tape tracks it."""
        value: jax.Array
        key = id(tensor)
        if key in self.inputs:
            value = self.inputs[key][1]
            return value
        if key in self.reads:
            value = self.reads[key][1]
            return value
        value = self.parent.read_tensor(tensor) if self.parent is not None else tensor._value
        if any(tape.tracks(tensor) for tape in self.paused_tapes):
            self.reads[key] = (tensor, value)
        return value

    def write(self, variable: Variable, value: jax.Array) -> None:
        """Set the Variable's value in this scope."""
        self.touched.add(id(variable))
        self.writes[id(variable)] = (variable, value)

    def add_created(self, variable: Variable) -> None:
        """Add a new Variable to `created`, here and in all enclosing scopes."""
        scope: VariableScope | None = self
        while scope is not None:
            scope.created.append(variable)
            scope = scope.parent

    def commit(self) -> None:
        """Move all writes and locals to the parent, or to the Variables themselves."""
        for variable, value in self.writes.values():
            if self.parent is not None:
                self.parent.write(variable, value)
            else:
                variable.stored = value
        if self.parent is not None:
            self.parent.locals.update(self.locals)
        else:
            for local, value in self.locals.items():
                local.set_global(value)

    def commit_as(self, values: Sequence[jax.Array]) -> None:
        """Write other values than this scope's to the caller's scope: the results that a
        transformed call returned for them.
        """
        for (variable, _), value in zip(self.writes.values(), values, strict=True):
            if context.scope is not None:
                context.scope.write(variable, value)
            else:
                variable.stored = value
            variable.source = None


class TraceLocal(Generic[T]):
    """A value that belongs to the running trace: each scope has its own, which ends with it.

    Layers keep the values of `add_loss` in one of these, so that a loss computed inside a compiled
    step cannot be used outside of it.

    Args:
        default: The value where none has been set.
    """

    def __init__(self, default: T):
        self._value = default

    def get(self) -> T:
        """Return the value of the innermost scope that has one."""
        scope = context.scope
        while scope is not None:
            if self in scope.locals:
                value: T = scope.locals[self]
                return value
            scope = scope.parent
        return self._value

    def set(self, value: T) -> None:
        """Set the value in the innermost scope, or outside of all scopes when none is open."""
        if context.scope is not None:
            context.scope.locals[self] = value
        else:
            self._value = value

    def set_global(self, value: T) -> None:
        """Set the value outside of all scopes."""
        self._value = value
