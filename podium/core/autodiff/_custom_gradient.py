"""Functions that change gradients: `stop_gradient` and `custom_gradient`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import jax

from podium._typing import AnyFunction, P, R, Tree
from podium.core._context import context, override
from podium.core._dispatch import dispatch, unwrap_result
from podium.core._tree import map_structure
from podium.core.autodiff._entries import read_array
from podium.core.compile._variable_scope import VariableScope
from podium.core.tensor._dtypes import conjugate
from podium.core.tensor._symbolic import is_symbolic
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable


def stop_gradient(variable: Tree) -> Tree:
    """Return the same value, as a constant for every tape.

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

    def stop(value: object) -> object:
        if isinstance(value, Variable):
            array = value.cast_to_compute_dtype(value.read())
        elif isinstance(value, Tensor):
            array = read_array(value)
        elif isinstance(value, jax.Array):
            array = value
        else:
            return value
        constant = jax.lax.stop_gradient(array)
        return constant if context.bare_arrays else wrap(constant)

    return map_structure(stop, variable)


def custom_gradient(f: Callable[P, tuple[R, AnyFunction]]) -> Callable[P, R]:
    """Return a function whose gradient is defined by the user.

    Args:
        f: A function of Tensors that returns `(result, grad)`. `grad(upstream)` receives the
            gradient of the result and returns the gradient of each argument: one value, or a tuple
            for several arguments.

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

    def run_on_arrays(is_taped: bool, args: tuple[Any, ...]) -> tuple[Tree, AnyFunction]:
        scope = VariableScope(parent=context.scope)
        with override(scope=scope):
            tensors = map_structure(
                lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, args
            )
            result, grad = cast(AnyFunction, f)(*tensors)
        paths = [variable.path for variable, _ in scope.reads.values() if variable.trainable]
        if paths and is_taped:
            raise TypeError(
                f"{getattr(f, '__name__', 'A function')} has a custom gradient and reads the "
                f"Variable {paths[0]!r} by closure; no gradient would reach it. Pass the Variable "
                "as an argument, and return its gradient too."
            )
        scope.commit()

        def grad_of_arrays(upstream: Tree) -> Tree:
            wrapped = jax.tree.map(lambda leaf: wrap(conjugate(leaf)), upstream)
            gradients = grad(*wrapped) if isinstance(upstream, (tuple, list)) else grad(wrapped)
            return jax.tree.map(
                lambda leaf: conjugate(leaf) if isinstance(leaf, jax.Array) else leaf,
                unwrap_result(gradients),
            )

        return unwrap_result(result), grad_of_arrays

    @functools.wraps(f)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            name = getattr(f, "__name__", "A function")
            raise TypeError(
                f"{name} has a custom gradient and takes positional arguments only, not "
                f"{list(kwargs)}."
            )
        is_taped = any(tape.recording for tape in context.tapes)
        pure = jax.custom_gradient(lambda *args: run_on_arrays(is_taped, args))
        result: R = dispatch(pure, *args)
        return result

    return run
