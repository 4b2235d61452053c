"""OtherRows: what a program computes for the rows that it does not look up, as formulas.

A formula is an int; equal formulas are the same int. So "unchanged" means: the formula of a
Variable's new rows is that of its old ones. Arithmetic with constants is done here, under the
assumption that values are finite: x * 0, 0 / x and x - x are 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import JaxprEqn

_SUMS = {"add", "add_any"}
_COPIES = {"copy", "copy_p", "stop_gradient"}
# Results have the shapes of rows, which formulas do not: the same parameters mean the same.
_SHAPES = {"broadcast_in_dim", "reshape", "squeeze", "transpose"}


class OtherRows:
    """Formulas of rows that a program does not look up."""

    def __init__(self) -> None:
        self._formulas: dict[Hashable, int] = {}
        self._constants: dict[int, Any] = {}  # by formula
        self._casts: dict[int, tuple[int, np.dtype[Any]]] = {}  # what was cast, and from what

    def symbol(self, *key: Hashable) -> int:
        """Return the formula of something that is known by its name only."""
        return self._formulas.setdefault(("symbol", *key), len(self._formulas))

    def constant(self, value: Any) -> int:
        """Return the formula of a number."""
        array = np.asarray(value)
        formula = self.symbol("constant", str(array.dtype), array.item())
        self._constants[formula] = array
        return formula

    def value_of(self, formula: int) -> Any:
        """Return the number that a formula has been simplified to; None if it is none."""
        return self._constants.get(formula)

    def apply(self, equation: JaxprEqn, inputs: Sequence[int]) -> int:
        """Return the formula of the result of an equation that computes each row by itself."""
        name = equation.primitive.name
        if name in _COPIES or (name in _SHAPES and inputs[0] in self._constants):
            return inputs[0]
        if name == "convert_element_type":
            return self._cast(equation, inputs[0])
        if name not in _SHAPES and all(formula in self._constants for formula in inputs):
            with jax.ensure_compile_time_eval():
                values = [jnp.asarray(self._constants[formula]) for formula in inputs]
                return self.constant(equation.primitive.bind(*values, **equation.params))
        simple = self._simplify(equation, inputs)
        if simple is not None:
            return simple
        return self.symbol(name, _freeze(equation.params), *inputs)

    def equation_key(self, equation: JaxprEqn, inputs: Sequence[Hashable]) -> int:
        """Return the same int for equations that compute the same."""
        name = equation.primitive.name
        return self.symbol("computed", name, _freeze(equation.params), *inputs)

    def _simplify(self, equation: JaxprEqn, inputs: Sequence[int]) -> int | None:
        name, first, last = equation.primitive.name, inputs[0], inputs[-1]
        if name in _SUMS and self._is(last, 0):
            return first
        if name in _SUMS and self._is(first, 0):
            return last
        if name == "sub" and first == last:
            result: Any = equation.outvars[0].aval
            return self.constant(np.zeros((), result.dtype))
        if name == "sub" and self._is(last, 0):
            return first
        if name == "mul" and (self._is(first, 0) or self._is(last, 1)):
            return first
        if name == "mul" and (self._is(last, 0) or self._is(first, 1)):
            return last
        if name == "div" and (self._is(first, 0) or self._is(last, 1)):
            return first
        if name == "select_n":
            chosen = self._constants.get(first)
            if chosen is not None:
                return inputs[1 + int(chosen)]
            if len(set(inputs[1:])) == 1:
                return last
        return None

    def _is(self, formula: int, number: int) -> bool:
        return bool(self._constants.get(formula, np.nan) == number)

    def _cast(self, equation: JaxprEqn, formula: int) -> int:
        """Return the formula of a cast; casts to a wider dtype and back cancel out."""
        source: Any = equation.invars[0].aval
        old, new = source.dtype, np.dtype(equation.params["new_dtype"])
        if old == new:
            return formula
        if formula in self._constants:
            return self.constant(np.asarray(self._constants[formula]).astype(new))
        if formula in self._casts:
            original, dtype = self._casts[formula]
            if dtype == new and np.can_cast(dtype, old):
                return original
        cast = self.symbol("cast", str(new), formula)
        self._casts[cast] = (formula, old)
        return cast


def _freeze(params: Mapping[str, Any]) -> str:
    return repr(sorted((name, repr(value)) for name, value in params.items()))
