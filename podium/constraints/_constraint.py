"""The base class of constraints: functions that project a weight after an update."""

from __future__ import annotations

from typing import Self

from podium._typing import Config, TensorLike


class Constraint:
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
