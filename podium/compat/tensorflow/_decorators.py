"""Decorators of the functions with TensorFlow's names: constant folding and lifting to Tensors.

`fold_constants` keeps ints and shapes that are known while a program is traced known, so that they
can serve as shapes. The operations themselves are elsewhere.
"""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import KerasTensor, Tensor, Variable, lift, promote_dtypes

P = ParamSpec("P")
R = TypeVar("R")


def fold_constants(fn: Callable[P, R]) -> Callable[P, R]:
    """Make `fn` compute eagerly, also inside a trace, when all its arguments are known ints.

    Without this `tf.concat([[batch], [1, 1]], 0)` inside a compiled function would be a traced
    value, and no shape could be made of it. Not for functions that make large arrays from a shape:
    those would become constants of the program.
    """

    @functools.wraps(fn)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if all(map(is_static, args)) and all(map(is_static, kwargs.values())):
            with jax.ensure_compile_time_eval():
                return fn(*args, **kwargs)
        return fn(*args, **kwargs)

    return run


def is_static(value: object) -> bool:
    """Return whether an argument holds ints or bools that are known now, or no numbers at all."""
    if isinstance(value, Tensor):
        value = value._value
    if isinstance(value, (list, tuple)):
        return all(map(is_static, value))
    if isinstance(value, (jax.core.Tracer, Variable, KerasTensor, float, complex)):
        return False
    if isinstance(value, (jax.Array, np.ndarray, np.generic)):
        return bool(jnp.issubdtype(value.dtype, jnp.integer)) or value.dtype == np.bool_
    return True


def lift_with_promotion(fn: Callable[P, jax.Array]) -> Callable[P, Tensor]:
    """Make a function of JAX arrays accept Tensors, promote mixed dtypes and record gradients."""
    return cast("Callable[P, Tensor]", lift(promote_dtypes(fn)))
