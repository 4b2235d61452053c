"""Bounds on weights: not negative, or vectors of a wanted length.

The length is taken along `axis`. In a Dense kernel `(in, out)`, `axis=0` makes it the weights of
one unit; in a Conv2D kernel `(rows, columns, in, out)`, `axis=[0, 1, 2]` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from podium.constraints._constraint import Constraint
from podium.core import convert_to_tensor, dispatch, epsilon


class NonNeg(Constraint):
    """Weights that are zero or more.

    Example:
        >>> podium.constraints.NonNeg()(podium.convert_to_tensor([-1.0, 2.0])).numpy()
        array([0., 2.], dtype=float32)
    """

    def __call__(self, w: Any) -> Any:
        """Return `w` with zeros for its negative numbers."""
        return dispatch(jnp.maximum, convert_to_tensor(w), 0)


class MaxNorm(Constraint):
    """Vectors no longer than `max_value`; longer ones are shortened.

    Args:
        max_value: The greatest length.
        axis: The axis or axes along which the length is taken.

    Example:
        >>> w = podium.convert_to_tensor([[3.0, 0.6], [4.0, 0.8]])
        >>> podium.constraints.MaxNorm(2.0)(w).numpy().round(4)
        array([[1.2, 0.6],
               [1.6, 0.8]], dtype=float32)
    """

    def __init__(self, max_value: float = 2, axis: int | Sequence[int] = 0):
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        """Return `w` with its long vectors shortened."""
        return dispatch(
            _within, convert_to_tensor(w), 0.0, self.max_value, 1.0, _axes(self.axis), epsilon()
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this constraint again."""
        return {"max_value": self.max_value, "axis": self.axis}


class MinMaxNorm(Constraint):
    """Vectors of a length between `min_value` and `max_value`.

    Args:
        min_value: The smallest length.
        max_value: The greatest length.
        rate: How much of the way back is taken at each update: 1 is all of it.
        axis: The axis or axes along which the length is taken.

    Example:
        >>> constraint = podium.constraints.MinMaxNorm(1.0, 2.0, rate=0.5)
        >>> constraint(podium.convert_to_tensor([[4.0, 0.5, 1.5]])).numpy().round(3)
        array([[3.  , 0.75, 1.5 ]], dtype=float32)
    """

    def __init__(
        self,
        min_value: float = 0.0,
        max_value: float = 1.0,
        rate: float = 1.0,
        axis: int | Sequence[int] = 0,
    ):
        self.min_value = min_value
        self.max_value = max_value
        self.rate = rate
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        """Return `w` with its vectors brought towards the interval."""
        bounds = self.min_value, self.max_value
        return dispatch(
            _within, convert_to_tensor(w), *bounds, self.rate, _axes(self.axis), epsilon()
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this constraint again."""
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


class UnitNorm(Constraint):
    """Vectors of length one.

    Args:
        axis: The axis or axes along which the length is taken.

    Example:
        >>> podium.constraints.UnitNorm()(podium.convert_to_tensor([[3.0], [4.0]])).numpy().round(3)
        array([[0.6],
               [0.8]], dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] = 0):
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        """Return `w` with its vectors scaled to length one; zeros stay zeros."""
        return dispatch(_unit, convert_to_tensor(w), _axes(self.axis), epsilon())

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this constraint again."""
        return {"axis": self.axis}


def _within(w: Any, low: float, high: float, rate: float, axis: Any, smallest: float) -> Any:
    lengths = _lengths(w, axis)
    wanted = rate * jnp.clip(lengths, low, high) + (1 - rate) * lengths
    return w * (wanted / (smallest + lengths))


def _unit(w: Any, axis: Any, smallest: float) -> Any:
    return w / (smallest + _lengths(w, axis))


def _lengths(w: Any, axis: Any) -> Any:
    return jnp.sqrt(jnp.sum(jnp.square(w), axis=axis, keepdims=True))


def _axes(axis: int | Sequence[int]) -> int | tuple[int, ...]:
    return axis if isinstance(axis, int) else tuple(axis)  # a list is what a config holds
