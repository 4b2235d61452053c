"""The base class of regularizers: penalties that are added to the loss."""

from __future__ import annotations

from typing import Self

from podium._typing import Config, TensorLike
from podium.core import Tensor


class Regularizer:
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
