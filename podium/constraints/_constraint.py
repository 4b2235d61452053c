"""The base of all constraints: functions that bring a weight back into bounds after an update."""

from __future__ import annotations

from typing import Any


class Constraint:
    """A rule that weights must obey. Optimizers apply it after each update. Subclass it for one of
    your own.

    A subclass writes `__call__(w)`, which returns the nearest allowed value, and `get_config` if
    its constructor takes arguments.

    Example:
        >>> class Rounded(podium.constraints.Constraint):
        ...     def __call__(self, w):
        ...         return podium.ops.round(w)
        >>> Rounded()(podium.convert_to_tensor([0.2, 1.7])).numpy()
        array([0., 2.], dtype=float32)
    """

    def __call__(self, w: Any) -> Any:
        """Return the allowed value for a weight; the base allows everything."""
        return w

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this constraint again."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Constraint:
        """Make a constraint from `get_config`'s result."""
        return cls(**config)
