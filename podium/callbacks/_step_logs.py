"""StepLogs: the logs of an execution: those of its last step, and of every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.callbacks._logs import Logs
from podium.execution import StepValues


class StepLogs(Logs):
    """The logs of an execution: a dictionary of the last step's values, read when asked for.

    Args:
        values: What the execution returned: for every step its values (`batch`) and the epoch's so
            far (`running`).

    Example:
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse", steps_per_execution=2)
        >>> batches = podium.data.Dataset.from_tensor_slices((np.ones((4, 1)), np.ones((4, 1)))).batch(2)
        >>> logs = model.make_train_function()(iter(batches))
        >>> logs.count, [list(step) for step in logs.steps]
        (2, [['loss'], ['loss']])
    """

    __slots__ = ("_values",)

    def __init__(self, values: StepValues):
        last = values.last
        super().__init__(last["batch"], last["running"])
        self._values = values

    def share(self) -> StepLogs:
        """Return a copy that can be changed alone and shares what has been read."""
        copy = StepLogs.__new__(StepLogs)
        copy._batch, copy._running, copy._values = self._batch, self._running, self._values
        dict.update(copy, dict.items(self))
        return copy

    @property
    def count(self) -> int:
        """How many steps were taken."""
        return self._values.count

    @property
    def arrays(self) -> list[Any]:
        """The device values underneath, to wait for."""
        return self._values.arrays

    @property
    def steps(self) -> list[Logs]:
        """The logs of every step, first to last."""
        return [Logs(step["batch"], step["running"]) for step in self._values.each()]


def running_logs(logs: Any) -> Logs:
    """Return the epoch's values so far, to be read when asked for, from the logs of its last
    execution.

    A `train_function` of the user's own returns a plain dictionary; its values are taken as they
    are.
    """
    if isinstance(logs, StepValues):
        return Logs(logs.last["running"])
    if isinstance(logs, Logs):
        return logs.running
    if not isinstance(logs, Mapping):
        raise TypeError(
            f"A train or test function returned {logs!r}; a dictionary from names to values was "
            "expected, such as what `train_step` returns."
        )
    return Logs(logs)
