"""`jax.lax.scan` over layers, also layers that assign Variables such as seeds and statistics.

The assigned values are part of the carry of the loop, and are assigned once after the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from podium._typing import Tree
from podium.core import Variable, dispatch_closure, map_structure
from podium.core.internal import VariableScope, context, override, unwrap_result, wrap


def dispatch_scan(run: Callable[..., Any], *args: Any) -> Tree:
    """Call `run(scan, *args)` on bare arrays as one entry of an open tape.

    `scan` is `jax.lax.scan`, and its body may call layers. Outside of `podium.function` the loop is
    compiled at every call, since its body is a new function each time.
    """
    assigned: list[Variable] = []

    def run_loop(*args: Any) -> Tree:
        assigned.clear()
        values: list[Any] = []

        def scan(body: Callable[..., Any], carry: Any, xs: Any, **options: Any) -> Tree:
            variables = _assigned_variables(body, carry, jax.tree.map(lambda x: x[0], xs))

            def body_with_variables(carry: Any, x: jax.Array) -> Tree:
                (new, y), values = _run_body(body, variables, carry[1], carry[0], x)
                return (
                    jax.tree.map(lambda fresh, old: fresh.astype(old.dtype), new, carry[0]),
                    values,
                ), y

            (carry, last), ys = jax.lax.scan(
                body_with_variables, (carry, [v.read() for v in variables]), xs, **options
            )
            assigned.extend(variables)
            values.extend(last)
            return carry, ys

        return run(scan, *args), values

    result, values = dispatch_closure(run_loop, *args)
    for variable, value in zip(assigned, values, strict=True):
        variable.assign(value)
    return result


def adapt_to_arrays(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of bare arrays that calls a function of Tensors, such as a layer."""

    def run(*args: Any, **kwargs: Any) -> Tree:
        tensors = map_structure(
            lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, args
        )
        return unwrap_result(fn(*tensors, **kwargs))

    return run


def trace_without_writes(
    fn: Callable[..., Any], assigned: dict[int, Variable] | None = None
) -> Callable[..., Any]:
    """Return `fn` for tracing: the Variables it assigns are listed in `assigned`, and unchanged."""

    def run(*args: Any) -> Tree:
        scope = VariableScope(parent=context.scope)
        with override(scope=scope, tapes=()):
            result = fn(*args)
        if assigned is not None:
            assigned.update({key: variable for key, (variable, _) in scope.writes.items()})
        return result

    return run


def _assigned_variables(body: Callable[..., Any], *args: Any) -> list[Variable]:
    """List the Variables that the body of a loop assigns, by tracing it once."""
    assigned: dict[int, Variable] = {}
    jax.eval_shape(trace_without_writes(body, assigned), *args)
    return list(assigned.values())


def _run_body(
    body: Callable[..., Any], variables: list[Variable], values: list[Any], *args: Any
) -> tuple[Any, list[Any]]:
    """Run the body of a loop with these values of Variables; return its result and new values."""
    inputs = {
        id(variable): (variable, value) for variable, value in zip(variables, values, strict=True)
    }
    scope = VariableScope(inputs, parent=context.scope)
    with override(scope=scope, tapes=()):
        return body(*args), [scope.read(variable) for variable in variables]
