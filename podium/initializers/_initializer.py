"""The base class of initializers: objects that create the initial value of a weight."""

from __future__ import annotations

import operator
from typing import Self

from podium._typing import Config, DTypeLike, Shape, ShapeLike
from podium.core import Tensor
from podium.core.internal import PublicRepr


class Initializer(PublicRepr):
    """Base class of initializers, which create the initial values of weights.

    A subclass implements `__call__(shape, dtype=None)`, which returns a Tensor of that shape, and
    `get_config` if its constructor takes arguments.

    Example:
        >>> class Halves(podium.initializers.Initializer):
        ...     def __call__(self, shape, dtype=None):
        ...         return podium.ops.full(shape, 0.5, dtype)
        >>> Halves()((2,)).numpy()
        array([0.5, 0.5], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return the initial value of a weight.

        Args:
            shape: Shape of the weight.
            dtype: Dtype of the weight; None means the default float dtype.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no `__call__`. Implement `def __call__(self, shape, "
            "dtype=None)`, which returns a Tensor of that shape."
        )

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create an initializer from the result of `get_config`."""
        return cls(**config)

    def clone(self) -> Self:
        """Return a new initializer with the same arguments; without a seed, it draws new values."""
        return type(self).from_config(self.get_config())


def check_shape(shape: ShapeLike) -> Shape:
    """Return a shape as a tuple of ints; raise if a dimension is unknown."""
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        return tuple(operator.index(size) for size in sizes)
    except TypeError:
        raise ValueError(
            f"shape={shape!r} was given to an initializer; ints were expected. A weight cannot "
            "have an unknown dimension: pass the layer an input whose dimensions are known."
        ) from None
