"""The base of all learning-rate schedules: functions of the step that optimizers call inside the
compiled step.
"""

from __future__ import annotations

from typing import Any

from podium.core.internal import PublicRepr


class LearningRateSchedule(PublicRepr):
    """A learning rate that changes with the step. Subclass it for a custom schedule.

    A subclass writes `__call__(step)`. The step is an int Tensor, so compute with operators
    and `podium.ops`, and choose with `ops.where` instead of `if`: the schedule is part of the
    compiled step. `get_config` is needed to save models that use it.

    Example:
        >>> class Warmup(podium.optimizers.schedules.LearningRateSchedule):
        ...     def __init__(self, peak, steps):
        ...         self.peak, self.steps = peak, steps
        ...     def __call__(self, step):
        ...         fraction = podium.ops.cast(step, "float32") / self.steps
        ...         return self.peak * podium.ops.minimum(1.0, fraction)
        >>> optimizer = podium.optimizers.SGD(Warmup(0.5, 10))
        >>> optimizer.iterations.assign(4)
        <podium.Tensor shape=(), dtype=int32, value=4>
        >>> round(float(optimizer.learning_rate), 4)
        0.2
    """

    def __call__(self, step: Any) -> Any:
        """Return the learning rate at a step.

        Args:
            step: The number of updates so far, as a whole-number Tensor (plain numbers work too).
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no `__call__`. Write `def __call__(self, step)`."
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this schedule again."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `get_config`. Write one that returns the arguments of "
            "`__init__` as a dict, so that an optimizer that uses it can be saved."
        )

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """Make a schedule from `get_config`'s result."""
        return cls(**config)
