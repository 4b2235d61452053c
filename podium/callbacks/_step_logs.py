"""StepLogs: the logs of an execution, which may run several steps: of the last one, and of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from podium.callbacks._logs import Logs
from podium.execution import StepValues


@jax.tree_util.register_static
class EpochNames(frozenset[str]):
    """The names whose values in a step's logs describe the epoch so far: results of metrics."""


class StepLogs(Logs):
    """The logs of an execution: a dictionary of the last step's values, fetched when they are read.

    Args:
        values: The result of the execution: for every step the values of its batch (`batch`), those
            of the epoch so far (`running`), and the names for which the step itself returned the
            latter (`epoch_names`).

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
        super().__init__(_values_of_step(last), last["running"], last["batch"])
        self._values = values

    def share(self) -> StepLogs:
        """Return an independent copy that shares the values that have been read."""
        copy = StepLogs.__new__(StepLogs)
        copy._shown, copy._batch, copy._running = self._shown, self._batch, self._running
        copy._values = self._values
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
        return [
            Logs(_values_of_step(step), step["running"], step["batch"])
            for step in self._values.each()
        ]


def _values_of_step(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as the step returned them."""
    names, running = step["epoch_names"], step["running"]
    return {
        name: running[name] if name in names else value for name, value in step["batch"].items()
    }


def running_logs(logs: object) -> Logs:
    """Return the values of the epoch so far, from the logs of its last execution.

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
