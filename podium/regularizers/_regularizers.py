"""The base class of regularizers, and the L1 and L2 penalties."""

from __future__ import annotations

from typing import Self

import jax.numpy as jnp
from jax import Array

from podium._typing import Config, TensorLike
from podium.core import Tensor, dispatch, promote_dtypes
from podium.core.internal import PublicRepr, check_number


class Regularizer(PublicRepr):
    """Base class of regularizers, penalties on weights or activations.

    A subclass implements `__call__(x)`, which returns a scalar computed with `podium.ops`, so that
    it has gradients, and `get_config`, so that models that use it can be saved.

    Example:
        >>> class MeanSquare(podium.regularizers.Regularizer):
        ...     def __call__(self, x):
        ...         return podium.ops.mean(podium.ops.square(x))
        ...     def get_config(self):
        ...         return {}
        >>> float(MeanSquare()(podium.convert_to_tensor([1.0, 3.0])))
        5.0
    """

    def __call__(self, x: TensorLike) -> Tensor | float:
        """Return the penalty for `x`; zero in the base class."""
        return 0.0

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `get_config`. Implement one that returns the "
            "arguments of `__init__` as a dict, so that a model that uses it can be saved."
        )

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create a regularizer from the result of `get_config`."""
        return cls(**config)


class L1(Regularizer):
    """L1 penalty `l1 * sum(abs(x))`, which drives weights to exactly zero.

    Args:
        l1: Factor, zero or more.

    Example:
        >>> float(podium.regularizers.L1(0.5)(podium.convert_to_tensor([1.0, -3.0])))
        2.0
    """

    def __init__(self, l1: float | None = 0.01):
        self.l1 = check_number("l1", 0.01 if l1 is None else l1, 0)

    def __call__(self, x: TensorLike) -> Tensor:
        """Return the penalty for `x`."""
        penalty: Tensor = dispatch(_l1_penalty, x, self.l1)
        return penalty

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {"l1": self.l1}


class L2(Regularizer):
    """L2 penalty `l2 * sum(square(x))`, which keeps weights small.

    Args:
        l2: Factor, zero or more.

    Example:
        >>> w = podium.Variable([1.0, -3.0])
        >>> with podium.GradientTape() as tape:
        ...     penalty = podium.regularizers.L2(0.5)(w)
        >>> float(penalty), tape.gradient(penalty, w).numpy()
        (5.0, array([ 1., -3.], dtype=float32))
    """

    def __init__(self, l2: float | None = 0.01):
        self.l2 = check_number("l2", 0.01 if l2 is None else l2, 0)

    def __call__(self, x: TensorLike) -> Tensor:
        """Return the penalty for `x`."""
        penalty: Tensor = dispatch(_l2_penalty, x, self.l2)
        return penalty

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {"l2": self.l2}


class L1L2(Regularizer):
    """L1 and L2 penalty: `l1 * sum(abs(x)) + l2 * sum(square(x))`.

    Args:
        l1: Factor of the L1 penalty, zero or more. None means 0.
        l2: Factor of the L2 penalty, zero or more. None means 0.

    Example:
        >>> float(podium.regularizers.L1L2(l1=0.5, l2=0.25)(podium.convert_to_tensor([1.0, -3.0])))
        4.5
    """

    def __init__(self, l1: float | None = 0.0, l2: float | None = 0.0):
        self.l1 = check_number("l1", 0.0 if l1 is None else l1, 0)
        self.l2 = check_number("l2", 0.0 if l2 is None else l2, 0)

    def __call__(self, x: TensorLike) -> Tensor:
        """Return the penalty for `x`."""
        penalty: Tensor = dispatch(_l1_l2_penalty, x, self.l1, self.l2)
        return penalty

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {"l1": self.l1, "l2": self.l2}


@promote_dtypes
def _l1_penalty(x: Array, factor: float) -> Array:
    return factor * jnp.sum(jnp.abs(x))


@promote_dtypes
def _l2_penalty(x: Array, factor: float) -> Array:
    return factor * jnp.sum(jnp.square(x))


def _l1_l2_penalty(x: Array, l1: float, l2: float) -> Array:
    # A factor of zero skips its sum: 0 * inf would be NaN.
    terms = ([_l1_penalty(x, l1)] if l1 else []) + ([_l2_penalty(x, l2)] if l2 else [])
    return sum(terms[1:], terms[0]) if terms else jnp.zeros((), jnp.result_type(x))
