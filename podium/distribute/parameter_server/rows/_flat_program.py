"""FlatProgram: a pure function as one list of equations, to be analyzed and evaluated in parts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

Atom: TypeAlias = Var | Literal
Environment: TypeAlias = dict[Var, Any]  # values, by the variables of equations

# Calls of other functions, by the parameter that holds the function. Its derivative, if it has one
# of its own, has been taken already: a program is not differentiated again.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}


@dataclasses.dataclass(frozen=True)
class FlatProgram:
    """A pure function as equations in the order of their evaluation; none of them is a call.

    Attributes:
        inputs: The variables of the arguments.
        equations: The equations.
        outputs: The variables or constants of the results.
        constants: The values of arrays that are part of the program.
    """

    inputs: tuple[Var, ...]
    equations: tuple[JaxprEqn, ...]
    outputs: tuple[Atom, ...]
    constants: Environment

    @classmethod
    def trace(cls, function: Callable[..., Any], *args: Any) -> FlatProgram:
        """Trace a function; only the shapes and dtypes of its arguments matter."""
        traced = jax.make_jaxpr(function)(*args)
        specs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in traced.in_avals]
        inlined = functools.partial(_evaluate_inlined, traced.jaxpr, traced.consts)
        flat = jax.make_jaxpr(inlined)(*specs)
        constants = dict(zip(flat.jaxpr.constvars, flat.consts, strict=True))
        jaxpr = flat.jaxpr
        return cls(tuple(jaxpr.invars), tuple(jaxpr.eqns), tuple(jaxpr.outvars), constants)

    def equations_for(self, atoms: Iterable[Atom]) -> tuple[list[JaxprEqn], set[Var]]:
        """Return the equations that some variables depend on, and the arguments."""
        needed = {atom for atom in atoms if isinstance(atom, Var)}
        equations = []
        for equation in reversed(self.equations):
            if not needed.isdisjoint(equation.outvars):
                equations.append(equation)
                needed |= {atom for atom in equation.invars if isinstance(atom, Var)}
        return equations[::-1], needed.intersection(self.inputs)


def read_atom(environment: Environment, atom: Atom) -> Any:
    """Return the value of a variable or of a constant."""
    return atom.val if isinstance(atom, Literal) else environment[atom]


def evaluate(environment: Environment, equation: JaxprEqn) -> None:
    """Evaluate an equation, and add its results to the environment."""
    inputs = [read_atom(environment, atom) for atom in equation.invars]
    environment.update(zip(equation.outvars, bind(equation, inputs), strict=True))


def bind(equation: JaxprEqn, inputs: Sequence[Any], **changed: Any) -> list[Any]:
    """Return the results of an equation for other inputs, with some parameters changed."""
    params = {**equation.params, **changed}
    options = equation.primitive.get_bind_params(params)
    with equation.ctx.manager:
        results = equation.primitive.bind(*inputs, **options)
    return list(results) if equation.primitive.multiple_results else [results]


def _evaluate_inlined(jaxpr: Jaxpr, constants: Sequence[Any], *args: Any) -> list[Any]:
    """Evaluate a program, and what it calls as part of it."""
    environment: Environment = dict(zip(jaxpr.constvars, constants, strict=True))
    environment.update(zip(jaxpr.invars, args, strict=True))
    for equation in jaxpr.eqns:
        called = equation.params.get(_CALLS.get(equation.primitive.name, ""))
        if called is None:
            evaluate(environment, equation)
            continue
        inputs = [read_atom(environment, atom) for atom in equation.invars]
        inner = called if isinstance(called, ClosedJaxpr) else ClosedJaxpr(called, ())
        results = _evaluate_inlined(inner.jaxpr, inner.consts, *inputs)
        environment.update(zip(equation.outvars, results, strict=True))
    return [read_atom(environment, atom) for atom in jaxpr.outvars]
