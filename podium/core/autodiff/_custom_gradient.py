"""Where gradients stop or take a path of the user's choice: `stop_gradient`, `custom_gradient`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from podium.core._context import context, override
from podium.core._dispatch import dispatch, unwrap_result
from podium.core._tree import map_structure
from podium.core.autodiff._entries import read_array
from podium.core.compile._variable_scope import VariableScope
from podium.core.tensor._dtypes import conjugate
from podium.core.tensor._symbolic import is_symbolic
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable


def stop_gradient(variable: Any) -> Any:
    """Return the same value, cut off from every tape.

    Args:
        variable: A Tensor, Variable or symbolic value, or a structure of them.

    Example:
        >>> x = podium.Variable(3.0)
        >>> with podium.GradientTape() as tape:
        ...     y = x * podium.stop_gradient(x)
        >>> float(tape.gradient(y, x))
        3.0
    """
    if is_symbolic(variable):
        return dispatch(jax.lax.stop_gradient, variable)

    def cut(value: Any) -> Any:
        if isinstance(value, (Tensor, Variable)):
            raw = value.read_cast() if isinstance(value, Variable) else read_array(value)
        elif isinstance(value, jax.Array):
            raw = value
        else:
            return value
        stopped = jax.lax.stop_gradient(raw)
        return stopped if context.bare_arrays else wrap(stopped)

    return map_structure(cut, variable)


def custom_gradient(f: Callable) -> Callable:
    """Give a function a gradient of your own.

    Args:
        f: A function of Tensors that returns `(result, grad)`. `grad(upstream)` gets the gradient
            of the result and returns the gradient of each argument: one value, or a tuple for
            several arguments.

    Returns:
        A function with the same arguments that returns the result alone.

    Example:
        >>> @podium.custom_gradient
        ... def clip_backwards(x):
        ...     return x, lambda upstream: podium.ops.clip(upstream, -1.0, 1.0)
        >>> x = podium.Variable(2.0)
        >>> with podium.GradientTape() as tape:
        ...     y = 10.0 * clip_backwards(x)
        >>> float(tape.gradient(y, x))
        1.0
    """

    def raw(taped: bool, args: tuple) -> tuple[Any, Callable]:
        scope = VariableScope(parent=context.scope)
        with override(scope=scope):
            result, grad = f(
                *map_structure(
                    lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, args
                )
            )
        read = [variable.path for variable, _ in scope.reads.values() if variable.trainable]
        if read and taped:
            raise TypeError(
                f"{getattr(f, '__name__', 'A function')} has a custom gradient and reads the "
                f"Variable {read[0]!r} by closure; no gradient would reach it. Pass the Variable "
                "as an argument, and return its gradient too."
            )
        scope.commit()

        def raw_grad(upstream: Any) -> Any:
            wrapped = jax.tree.map(lambda leaf: wrap(conjugate(leaf)), upstream)
            gradients = grad(*wrapped) if isinstance(upstream, (tuple, list)) else grad(wrapped)
            return jax.tree.map(
                lambda leaf: conjugate(leaf) if isinstance(leaf, jax.Array) else leaf,
                unwrap_result(gradients),
            )

        return unwrap_result(result), raw_grad

    @functools.wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise TypeError(
                f"{f.__name__} has a custom gradient and takes positional arguments only, not "
                f"{list(kwargs)}."
            )
        taped = any(tape.recording for tape in context.tapes)
        return dispatch(jax.custom_gradient(lambda *args: raw(taped, args)), *args)

    return run
