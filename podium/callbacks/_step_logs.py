"""StepLogs: the logs of an execution, which may run several steps: of the last one, and of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.callbacks._logs import Logs
from podium.execution import StepValues


class StepLogs(Logs):
    """The logs of an execution: a dictionary of the last step's values, fetched when they are read.

    Args:
        values: The result of the execution: for every step its values (`batch`) and the means over
            the epoch so far (`running`).

    Example:
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse", steps_per_execution=2)
        >>> data = (np.ones((4, 1)), np.ones((4, 1)))
        >>> batches = podium.data.Dataset.from_tensor_slices(data).batch(2)
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
        """Return an independent copy that shares the values that have been read."""
        copy = StepLogs.__new__(StepLogs)
        copy._batch, copy._running, copy._values = self._batch, self._running, self._values
        dict.update(copy, dict.items(self))
        return copy

    @property
    def count(self) -> int:
        """The number of steps."""
        return self._values.count

    @property
    def arrays(self) -> list[Any]:
        """The device arrays, to wait for."""
        return self._values.arrays

    @property
    def steps(self) -> list[Logs]:
        """The logs of every step, first to last."""
        return [Logs(step["batch"], step["running"]) for step in self._values.each()]


def running_logs(logs: object) -> Logs:
    """Return the means over the epoch so far, from the logs of its last execution.

    A custom `train_function` may return a plain dictionary, whose values are used as they are.
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
