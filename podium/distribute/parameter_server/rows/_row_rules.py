"""Which equations compute each row of a table by itself, and which look up rows by their ids."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.extend.core import JaxprEqn, Var
from jax.lax import GatherScatterMode

from podium.distribute.parameter_server.rows._flat_program import Atom

# Equations whose results have the shape of their inputs, and depend on the same element of each.
_ELEMENTWISE = frozenset([
    "abs", "acos", "acosh", "add", "add_any", "and", "asin", "asinh", "atan", "atan2",
    "atanh", "cbrt", "ceil", "clamp", "convert_element_type", "copy", "copy_p", "cos",
    "cosh", "digamma", "div", "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1",
    "floor", "ge", "gt", "integer_pow", "is_finite", "le", "lgamma", "log", "log1p",
    "logistic", "lt", "max", "min", "mul", "ne", "neg", "nextafter", "not", "or", "pow",
    "reduce_precision", "rem", "round", "rsqrt", "select_n", "sign", "sin", "sinh", "sqrt",
    "square", "stop_gradient", "sub", "tan", "tanh", "xor",
])  # fmt: skip
_REDUCTIONS = frozenset([
    "reduce_sum", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_prod",
    "reduce_xor", "argmax", "argmin",
])  # fmt: skip
# Reductions over rows, and the constant of other rows that they allow; None for any.
_NEUTRAL = {
    "reduce_sum": 0,
    "reduce_prod": 1,
    "reduce_max": None,
    "reduce_min": None,
    "reduce_and": None,
    "reduce_or": None,
}
_SCATTERS = frozenset(
    ["scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max", "scatter-sub"]
)


class Lookup(NamedTuple):
    """Where an equation has the ids of the rows that it reads or changes.

    Attributes:
        indices: The indices; the last axis has the components of each.
        component: The component that is the id of a row.
        clips: Whether ids outside of the table mean its first or last row.
    """

    indices: Atom
    component: int
    clips: bool

    @property
    def num_ids(self) -> int:
        """The number of ids."""
        aval: Any = self.indices.aval
        return int(aval.size) // int(aval.shape[-1])

    def ids(self, indices: Array, num_rows: int) -> Array:
        """Return the ids of rows, of which some may be outside of the table."""
        ids = indices[..., self.component]
        return jnp.clip(ids, 0, num_rows - 1) if self.clips else ids


def find_lookup(equation: JaxprEqn) -> Lookup | None:
    """Return the lookup of an equation that reads or changes rows of its first input by ids."""
    name, params = equation.primitive.name, equation.params
    if name != "gather" and name not in _SCATTERS:
        return None
    numbers = params["dimension_numbers"]
    if name == "gather":
        axes, batch = numbers.start_index_map, numbers.operand_batching_dims
        is_row = params["slice_sizes"][:1] == (1,)
    else:
        axes, batch = numbers.scatter_dims_to_operand_dims, numbers.operand_batching_dims
        is_row = 0 in numbers.inserted_window_dims
    if 0 not in axes or 0 in batch or not is_row:
        return None
    drops = params["mode"] == GatherScatterMode.FILL_OR_DROP
    return Lookup(equation.invars[1], tuple(axes).index(0), not drops)


def is_elementwise(equation: JaxprEqn) -> bool:
    """Return whether each element of the result depends on one element of each input."""
    return equation.primitive.name in _ELEMENTWISE and len(equation.outvars) == 1


def keeps_rows(equation: JaxprEqn) -> bool:
    """Return whether row i of the result depends on row i of the first input alone."""
    name, params = equation.primitive.name, equation.params
    if name == "broadcast_in_dim":
        dims = tuple(params["broadcast_dimensions"])
        return dims[:1] == (0,) and _num_rows(equation.outvars[0]) == _num_rows(equation.invars[0])
    if name == "reshape":
        is_plain = params["dimensions"] is None
        return is_plain and _num_rows(equation.outvars[0]) == _num_rows(equation.invars[0])
    if name == "squeeze":
        return 0 not in params["dimensions"]
    if name == "transpose":
        return bool(params["permutation"][0] == 0)
    return name in _REDUCTIONS and 0 not in params["axes"]


def adds_rows(equation: JaxprEqn) -> bool:
    """Return whether all rows of the result are equal, since it repeats what has no rows."""
    if equation.primitive.name != "broadcast_in_dim" or len(equation.invars) != 1:
        return False
    return 0 not in tuple(equation.params["broadcast_dimensions"])


def reduces_rows(equation: JaxprEqn, constant: Any) -> bool:
    """Return whether the equation reduces over rows, and allows this constant in other rows."""
    name = equation.primitive.name
    if name not in _NEUTRAL or 0 not in equation.params["axes"] or constant is None:
        return False
    return bool(_NEUTRAL[name] is None or constant == _NEUTRAL[name])


def params_for(equation: JaxprEqn, num_rows: int) -> dict[str, Any]:
    """Return the parameters of an equation that name the number of rows, for another number."""
    if equation.primitive.name == "broadcast_in_dim":
        return {"shape": (num_rows, *equation.params["shape"][1:])}
    if equation.primitive.name == "reshape":
        return {"new_sizes": (num_rows, *equation.params["new_sizes"][1:])}
    return {}


def _num_rows(atom: Atom | Var) -> int | None:
    aval: Any = atom.aval
    return int(aval.shape[0]) if aval.shape else None
