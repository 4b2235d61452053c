"""Makes functions with TensorFlow's names and arguments out of functions that Podium has: `alias`.

A row of a table is a signature as TensorFlow writes it and the function that does the work. `name`
is accepted everywhere and unused. What is known while a program is traced (sizes and other whole
numbers) stays known, so that it can serve as a shape.
"""

import functools
from collections.abc import Callable
from textwrap import dedent, indent
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.compat.tensorflow._dtypes import number_type
from podium.core import KerasTensor, Tensor, Variable

_TYPES = ("dtype", "output_type")  # parameters that name a type
_FIRST_LINE = ">>> from podium.compat import tensorflow as tf"


def alias(
    signature: str,
    fn: Callable,
    example: str = "",
    output: str = "",
    summary: str = "",
    known: bool = True,
) -> Callable:
    """Make a function with TensorFlow's signature.

    Args:
        signature: Name and parameters: `"reduce_sum(input_tensor, axis=None, keepdims=False,
            name=None)"`.
        fn: Gets all of them but `name`, by position.
        example: An expression of `tf`; by default the example of `fn`.
        output: What Python prints for it.
        summary: One line on what it does; by default that of `fn`.
        known: Whether known whole numbers give known numbers. Not for what makes large arrays of
            sizes: those would become constants of the program.

    Returns:
        The function.
    """
    name, _, rest = signature.partition("(")
    names = [part.split("=")[0].strip() for part in rest.rstrip(")").split(",")]
    passed = ", ".join(
        f"narrow({each})" if each in _TYPES else each for each in names if each != "name"
    )
    namespace: dict[str, Any] = {
        "fn": keeping_known(fn) if known else fn,
        "narrow": _narrow,
        "__name__": __name__,
    }
    exec(
        f"def {signature}: return fn({passed})", namespace
    )  # a real signature, for help() and for errors
    made = namespace[name]
    made.__module__ = "podium.compat.tensorflow"
    made.__doc__ = _docstring(fn, example, output, summary)
    return made


def _narrow(dtype: Any) -> Any:
    return None if dtype is None else number_type(dtype)


def _docstring(fn: Callable, example: str, output: str, summary: str) -> str:
    told = dedent(fn.__doc__ or "")
    summary = summary or told.partition("\n")[0]
    if example:
        shown = f"{_FIRST_LINE}\n>>> {example}\n{output}".rstrip()
    else:
        shown = dedent(told.partition("Example:\n")[2]).strip()
        summary += f"\n\nTensorFlow's name for `podium.ops.{fn.__name__}`, which says more."
    return f"{summary}\n\nExample:\n{indent(shown, '    ')}\n"


def keeping_known(fn: Callable) -> Callable:
    """Make `fn` compute at once, also inside a trace, when it is given known whole numbers only.

    Without this `tf.concat([[batch], [1, 1]], 0)` inside a compiled function would be numbers of
    the running program, and no shape could be made of them.
    """

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        if all(map(is_known, args)) and all(map(is_known, kwargs.values())):
            with jax.ensure_compile_time_eval():
                return fn(*args, **kwargs)
        return fn(*args, **kwargs)

    return run


def is_known(value: Any) -> bool:
    """Tell whether an argument holds whole numbers that are known now, or is no number at all."""
    if isinstance(value, Tensor):
        value = value._value
    if isinstance(value, (list, tuple)):
        return all(map(is_known, value))
    if isinstance(value, (jax.core.Tracer, Variable, KerasTensor, float, complex)):
        return False
    if isinstance(value, (jax.Array, np.ndarray, np.generic)):
        return jnp.issubdtype(value.dtype, jnp.integer) or value.dtype == np.bool_
    return True
