"""Penalties on the size of weights: L1, L2 and both."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from podium.core import dispatch, promote_dtypes
from podium.regularizers._regularizer import Regularizer


class L1(Regularizer):
    """`l1 * sum(abs(x))`: pushes weights to exactly zero.

    Args:
        l1: The factor, zero or more.

    Example:
        >>> float(podium.regularizers.L1(0.5)(podium.convert_to_tensor([1.0, -3.0])))
        2.0
    """

    def __init__(self, l1: float = 0.01):
        self.l1 = checked_factor("l1", 0.01 if l1 is None else l1)

    def __call__(self, x: Any) -> Any:
        """Return the penalty for `x`."""
        return dispatch(_l1, x, self.l1)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this regularizer again."""
        return {"l1": self.l1}


class L2(Regularizer):
    """`l2 * sum(square(x))`: keeps weights small.

    Args:
        l2: The factor, zero or more.

    Example:
        >>> w = podium.Variable([1.0, -3.0])
        >>> with podium.GradientTape() as tape:
        ...     penalty = podium.regularizers.L2(0.5)(w)
        >>> float(penalty), tape.gradient(penalty, w).numpy()
        (5.0, array([ 1., -3.], dtype=float32))
    """

    def __init__(self, l2: float = 0.01):
        self.l2 = checked_factor("l2", 0.01 if l2 is None else l2)

    def __call__(self, x: Any) -> Any:
        """Return the penalty for `x`."""
        return dispatch(_l2, x, self.l2)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this regularizer again."""
        return {"l2": self.l2}


class L1L2(Regularizer):
    """`l1 * sum(abs(x)) + l2 * sum(square(x))`: both penalties.

    Args:
        l1: The factor of the first, zero or more. None means 0.
        l2: The factor of the second, zero or more. None means 0.

    Example:
        >>> float(podium.regularizers.L1L2(l1=0.5, l2=0.25)(podium.convert_to_tensor([1.0, -3.0])))
        4.5
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0):
        self.l1 = checked_factor("l1", 0.0 if l1 is None else l1)
        self.l2 = checked_factor("l2", 0.0 if l2 is None else l2)

    def __call__(self, x: Any) -> Any:
        """Return the penalty for `x`."""
        return dispatch(_l1_l2, x, self.l1, self.l2)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this regularizer again."""
        return {"l1": self.l1, "l2": self.l2}


@promote_dtypes
def _l1(x: Any, factor: float) -> Any:
    return factor * jnp.sum(jnp.abs(x))


@promote_dtypes
def _l2(x: Any, factor: float) -> Any:
    return factor * jnp.sum(jnp.square(x))


def _l1_l2(x: Any, l1: float, l2: float) -> Any:
    # A factor of zero skips its sum: 0 * inf would be nan.
    terms = ([_l1(x, l1)] if l1 else []) + ([_l2(x, l2)] if l2 else [])
    return sum(terms[1:], terms[0]) if terms else jnp.zeros((), jnp.result_type(x))


def checked_factor(name: str, value: Any) -> float:
    """Return a penalty's factor as a float, or refuse it: a finite number, zero or more, is
    expected.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}={value!r} was given; a number was expected.")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(
            f"{name}={value!r} was given; a finite number, zero or more, was expected."
        )
    return float(value)
