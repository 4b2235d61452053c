"""The base of all regularizers: functions of a weight (or an output) whose result is added to the
loss.
"""

from __future__ import annotations

from typing import Any


class Regularizer:
    """A penalty on weights or activations. Subclass it for one of your own.

    A subclass writes `__call__(x)`, which returns a scalar made with `podium.ops`, so that
    gradients pass, and `get_config`, so that models that use it can be saved.

    Example:
        >>> class MeanSquare(podium.regularizers.Regularizer):
        ...     def __call__(self, x):
        ...         return podium.ops.mean(podium.ops.square(x))
        ...     def get_config(self):
        ...         return {}
        >>> float(MeanSquare()(podium.convert_to_tensor([1.0, 3.0])))
        5.0
    """

    def __call__(self, x: Any) -> Any:
        """Return the penalty for `x`; the base asks for none."""
        return 0.0

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this regularizer again."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `get_config`. Write one that returns the arguments of "
            "`__init__` as a dict, so that a model that uses it can be saved."
        )

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Regularizer:
        """Make a regularizer from `get_config`'s result."""
        return cls(**config)
