"""Running layers step after step inside one compiled loop, also when they assign Variables (seeds,
statistics).

What a step assigns rides along in the loop's carry and is assigned once, after the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from podium.core import Variable, dispatch_closure, map_structure
from podium.core.internal import VariableScope, context, override, unwrap_result, wrap


def dispatch_loop(run: Callable, *args: Any) -> Any:
    """Run `run(scan, *args)` on bare arrays as one step of an open tape. `scan` is `jax.lax.scan`,
    and its body may call layers.

    Without `podium.function` around it the loop is compiled at every call: its body is a new
    program to JAX each time.
    """
    written: list[Variable] = []

    def looped(*args: Any) -> Any:
        written.clear()
        values: list[Any] = []

        def scan(body: Callable, carry: Any, xs: Any, **options: Any) -> Any:
            own = _written_by(body, carry, jax.tree.map(lambda x: x[0], xs))

            def carrying(carry: Any, x: Any) -> Any:
                (new, y), values = _run(body, own, carry[1], carry[0], x)
                return (
                    jax.tree.map(lambda fresh, old: fresh.astype(old.dtype), new, carry[0]),
                    values,
                ), y

            (carry, last), ys = jax.lax.scan(
                carrying, (carry, [v.read() for v in own]), xs, **options
            )
            written.extend(own)
            values.extend(last)
            return carry, ys

        return run(scan, *args), values

    result, values = dispatch_closure(looped, *args)
    for variable, value in zip(written, values, strict=True):
        variable.assign(value)
    return result


def on_tensors(fn: Callable) -> Callable:
    """Return a function for Tensors, such as a layer, as a function of bare arrays."""

    def run(*args: Any, **kwargs: Any) -> Any:
        tensors = map_structure(
            lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, args
        )
        return unwrap_result(fn(*tensors, **kwargs))

    return run


def trace_only(fn: Callable, written: dict[int, Variable] | None = None) -> Callable:
    """Return `fn` for a look at its shapes: what it assigns is noted in `written` and forgotten."""

    def run(*args: Any) -> Any:
        scope = VariableScope(parent=context.scope)
        with override(scope=scope, tapes=()):
            result = fn(*args)
        if written is not None:
            written.update({key: variable for key, (variable, _) in scope.writes.items()})
        return result

    return run


def _written_by(body: Callable, *args: Any) -> list[Variable]:
    """List the Variables that a loop's body assigns, by tracing it once."""
    found: dict[int, Variable] = {}
    jax.eval_shape(trace_only(body, found), *args)
    return list(found.values())


def _run(body: Callable, variables: list[Variable], values: list, *args: Any) -> tuple[Any, list]:
    """Run a loop's body with given values of some Variables; returns its result and their new
    values.
    """
    inputs = {
        id(variable): (variable, value) for variable, value in zip(variables, values, strict=True)
    }
    scope = VariableScope(inputs, parent=context.scope)
    with override(scope=scope, tapes=()):
        return body(*args), [scope.read(variable) for variable in variables]
