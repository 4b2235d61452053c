"""`tf.autograph`: nothing is converted. Functions are traced as they are; Python loops over numbers
that are known while tracing are unrolled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])


def set_loop_options(
    parallel_iterations: int | None = None,
    swap_memory: bool | None = None,
    maximum_iterations: int | None = None,
    shape_invariants: object = None,
) -> None:
    """Do nothing: it gives TensorFlow hints about the loop that it is called in.

    Args:
        parallel_iterations: Unused.
        swap_memory: Unused.
        maximum_iterations: Unused.
        shape_invariants: Unused; values may change their shape in a loop that is unrolled.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.autograph.experimental.set_loop_options(shape_invariants=[])
    """


@overload
def do_not_convert(func: F) -> F: ...
@overload
def do_not_convert(func: None = None) -> Callable[[F], F]: ...
def do_not_convert(func: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return the function as it is; a decorator with or without parentheses.

    Args:
        func: The function.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.autograph.experimental.do_not_convert(abs) is abs
        True
    """
    return func if func is not None else _identity


def _identity(func: F) -> F:
    return func
