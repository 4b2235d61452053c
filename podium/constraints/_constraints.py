"""The base class of constraints, and constraints on the sign and the norm of weights.

The norm is computed along `axis`. The vectors are the weights of one unit with `axis=0` in a Dense
kernel `(in, out)`, and with `axis=[0, 1, 2]` in a Conv2D kernel `(rows, columns, in, out)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import jax.numpy as jnp
from jax import Array

from podium._typing import Config, TensorLike
from podium.core import Tensor, convert_to_tensor, dispatch, epsilon
from podium.core.internal import PublicRepr


class Constraint(PublicRepr):
    """Base class of constraints on weights, which optimizers apply after each update.

    A subclass implements `__call__(w)`, which returns the constrained value, and `get_config` if
    its constructor takes arguments.

    Example:
        >>> class Rounded(podium.constraints.Constraint):
        ...     def __call__(self, w):
        ...         return podium.ops.round(w)
        >>> Rounded()(podium.convert_to_tensor([0.2, 1.7])).numpy()
        array([0., 2.], dtype=float32)
    """

    def __call__(self, w: TensorLike) -> TensorLike:
        """Return the constrained value of a weight; unchanged in the base class."""
        return w

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create a constraint from the result of `get_config`."""
        return cls(**config)


class NonNeg(Constraint):
    """Constrains weights to be non-negative.

    Example:
        >>> podium.constraints.NonNeg()(podium.convert_to_tensor([-1.0, 2.0])).numpy()
        array([0., 2.], dtype=float32)
    """

    def __call__(self, w: TensorLike) -> Tensor:
        """Return `w` with negative values replaced by zero."""
        constrained: Tensor = dispatch(jnp.maximum, convert_to_tensor(w), 0)
        return constrained


class MaxNorm(Constraint):
    """Constrains the norm of vectors to at most `max_value`.

    Args:
        max_value: Maximum norm.
        axis: Axis or axes of the vectors.

    Example:
        >>> w = podium.convert_to_tensor([[3.0, 0.6], [4.0, 0.8]])
        >>> podium.constraints.MaxNorm(2.0)(w).numpy().round(4)
        array([[1.2, 0.6],
               [1.6, 0.8]], dtype=float32)
    """

    def __init__(self, max_value: float = 2, axis: int | Sequence[int] = 0):
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: TensorLike) -> Tensor:
        """Return `w` with longer vectors scaled to the maximum norm."""
        bounds = 0.0, self.max_value
        constrained: Tensor = dispatch(
            _clip_norms, convert_to_tensor(w), *bounds, 1.0, _axis_argument(self.axis), epsilon()
        )
        return constrained

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {"max_value": self.max_value, "axis": self.axis}


class MinMaxNorm(Constraint):
    """Constrains the norm of vectors to the interval from `min_value` to `max_value`.

    Args:
        min_value: Minimum norm.
        max_value: Maximum norm.
        rate: Fraction of the correction that is applied at each update.
        axis: Axis or axes of the vectors.

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

    def __call__(self, w: TensorLike) -> Tensor:
        """Return `w` with the norms of its vectors moved towards the interval."""
        bounds = self.min_value, self.max_value
        axis = _axis_argument(self.axis)
        constrained: Tensor = dispatch(
            _clip_norms, convert_to_tensor(w), *bounds, self.rate, axis, epsilon()
        )
        return constrained

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


class UnitNorm(Constraint):
    """Constrains vectors to unit norm.

    Args:
        axis: Axis or axes of the vectors.

    Example:
        >>> podium.constraints.UnitNorm()(podium.convert_to_tensor([[3.0], [4.0]])).numpy().round(3)
        array([[0.6],
               [0.8]], dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] = 0):
        self.axis = axis

    def __call__(self, w: TensorLike) -> Tensor:
        """Return `w` with its vectors scaled to unit norm; zeros stay zeros."""
        axis = _axis_argument(self.axis)
        constrained: Tensor = dispatch(_scale_to_unit_norm, convert_to_tensor(w), axis, epsilon())
        return constrained

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {"axis": self.axis}


def _clip_norms(
    w: Array, low: float, high: float, rate: float, axis: int | tuple[int, ...], epsilon: float
) -> Array:
    norms = _norms(w, axis)
    target = rate * jnp.clip(norms, low, high) + (1 - rate) * norms
    return w * (target / (epsilon + norms))


def _scale_to_unit_norm(w: Array, axis: int | tuple[int, ...], epsilon: float) -> Array:
    return w / (epsilon + _norms(w, axis))


def _norms(w: Array, axis: int | tuple[int, ...]) -> Array:
    return jnp.sqrt(jnp.sum(jnp.square(w), axis=axis, keepdims=True))


def _axis_argument(axis: int | Sequence[int]) -> int | tuple[int, ...]:
    return axis if isinstance(axis, int) else tuple(axis)  # configs store a list
