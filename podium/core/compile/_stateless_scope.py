"""StatelessScope: a `with` block in which Variables have other values, and writes change none.

It opens a `VariableScope`, the one mechanism that moves state; `SymbolicScope` is its counterpart
for blocks that compute shapes only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any, Self

import jax

from podium._typing import TensorLike
from podium.core._context import context, override
from podium.core._dispatch import unwrap_result
from podium.core._public_repr import PublicRepr
from podium.core.compile._variable_scope import VariableScope
from podium.core.tensor._convert import convert_to_tensor
from podium.core.tensor._variable import Variable


class StatelessScope(PublicRepr):
    """Gives Variables other values inside a `with` block, and keeps what is written to them apart.

    Args:
        state_mapping: Pairs of Variable and value.
        collect_losses: Whether `add_loss` appends to `losses`.
        initialize_variables: Accepted for Keras's signature; Variables are initialized at once.

    Example:
        >>> total = podium.Variable(1.0)
        >>> with podium.core.StatelessScope([(total, 5.0)]) as scope:
        ...     _ = total.assign_add(2.0)
        >>> float(scope.get_current_value(total)), float(total)
        (7.0, 1.0)
    """

    def __init__(
        self,
        state_mapping: Iterable[tuple[Variable, TensorLike]] | None = None,
        collect_losses: bool = False,
        initialize_variables: bool = True,
    ):
        self.collect_losses = collect_losses
        self.initialize_variables = initialize_variables
        self.losses: list[Any] = []
        self._inputs: dict[int, tuple[Variable, jax.Array]] = {}
        self._scope: VariableScope | None = None
        self._stack = contextlib.ExitStack()
        for variable, value in state_mapping or ():
            self._inputs[id(variable)] = (variable, _check_initial_value(variable, value))

    def __enter__(self) -> Self:
        self._scope = VariableScope(dict(self._inputs), context.scope)
        self._stack.enter_context(override(scope=self._scope, tapes=()))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def add_loss(self, loss: Any) -> None:
        """Append a loss to `losses`."""
        self.losses.append(loss)

    def add_update(self, update: tuple[Variable, TensorLike]) -> None:
        """Set the value of a Variable in this scope.

        Args:
            update: The Variable and its value.
        """
        variable, value = update
        array = _check_initial_value(variable, value)
        self._inputs[id(variable)] = (variable, array)
        if self._scope is not None:
            self._scope.write(variable, array)

    def get_current_value(self, variable: Variable) -> jax.Array | None:
        """Return the value of a Variable in this scope; None if it has none of its own."""
        if self._scope is not None and id(variable) in self._scope.writes:
            written: jax.Array = self._scope.writes[id(variable)][1]
            return written
        entry = self._inputs.get(id(variable))
        return None if entry is None else entry[1]


def _check_initial_value(variable: object, value: TensorLike) -> jax.Array:
    if not isinstance(variable, Variable):
        raise ValueError(
            f"StatelessScope was given the key {variable!r}; pairs of a Variable and its value "
            "were expected, such as `zip(model.variables, values)`."
        )
    array: jax.Array = unwrap_result(convert_to_tensor(value, variable.dtype))
    if tuple(array.shape) != tuple(variable.shape):
        raise ValueError(
            f"StatelessScope was given a value of shape {tuple(array.shape)} for the Variable "
            f"{variable.name!r} of shape {tuple(variable.shape)}; the same shape was expected."
        )
    return array


class SymbolicScope(PublicRepr):
    """Marks a `with` block that computes shapes and not values, as Keras's code does.

    Podium's operations see that from their arguments; the mark is for user code, which reads it
    with `active`.

    Example:
        >>> with podium.core.SymbolicScope():
        ...     podium.core.SymbolicScope.active()
        True
        >>> podium.core.SymbolicScope.active()
        False
    """

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()

    @staticmethod
    def active() -> bool:
        """Return whether such a block is open."""
        return context.in_symbolic_scope

    def __enter__(self) -> Self:
        self._stack.enter_context(override(in_symbolic_scope=True))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()
