"""The base of all initializers: objects that make the first value of a weight from its shape and
dtype.
"""

from __future__ import annotations

import operator
from typing import Any


class Initializer:
    """Makes first values of weights. Subclass it for a recipe of your own.

    A subclass writes `__call__(shape, dtype=None)`, which returns a Tensor of that shape, and
    `get_config` if its constructor takes arguments.

    Example:
        >>> class Halves(podium.initializers.Initializer):
        ...     def __call__(self, shape, dtype=None):
        ...         return podium.ops.full(shape, 0.5, dtype)
        >>> Halves()((2,)).numpy()
        array([0.5, 0.5], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """Return the first value of a weight.

        Args:
            shape: The shape of the weight: whole numbers.
            dtype: Its type; None means the default float type.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no `__call__`. Write `def __call__(self, shape, "
            "dtype=None)` that returns a Tensor of that shape."
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this initializer again."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Make an initializer from `get_config`'s result."""
        return cls(**config)

    def clone(self) -> Initializer:
        """Return a new initializer with the same arguments; without a seed, it draws other
        numbers.
        """
        return type(self).from_config(self.get_config())


def checked_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of whole numbers, or say why it is none."""
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        return tuple(operator.index(size) for size in sizes)
    except TypeError:
        raise ValueError(
            f"shape={shape!r} was given to an initializer; whole numbers were expected. A weight "
            "cannot have an unknown dimension: give the layer an input whose dimensions are known."
        ) from None
