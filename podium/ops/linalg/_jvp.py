"""Forward-mode derivatives: Jacobian-vector products."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax

from podium._typing import Tree
from podium.core import call_with_tensors, dispatch_closure
from podium.ops.nn._convolution import lax_convolutions


def jvp(
    fun: Callable[..., Tree],
    primals: Sequence[Tree],
    tangents: Sequence[Tree],
    has_aux: bool = False,
) -> tuple[Tree, ...]:
    """Evaluate a function and its derivative in a direction (forward mode).

    Args:
        fun: Function of Tensors.
        primals: The point: a tuple, one entry for each argument of `fun`.
        tangents: The direction, shaped like `primals`.
        has_aux: Whether `fun` returns a pair of result and auxiliary data.

    Returns:
        `(value, derivative)`, followed by the auxiliary data if `has_aux` is `True`.

    Example:
        >>> value, slope = ops.jvp(lambda x: x * x, (ops.array(3.0),), (ops.array(1.0),))
        >>> float(value), float(slope)
        (9.0, 6.0)
    """

    def run(primals: tuple[Tree, ...], tangents: tuple[Tree, ...]) -> tuple[Tree, ...]:
        with lax_convolutions():  # the fast ones support reverse mode only
            return jax.jvp(call_with_tensors(fun), primals, tangents, has_aux=has_aux)

    results: tuple[Tree, ...] = dispatch_closure(run, tuple(primals), tuple(tangents))
    return results
