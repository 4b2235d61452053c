"""Means over the epoch of what a step returns, so that bar, History and callbacks show the same numbers.

A metric's `result()` is a mean over the epoch already and is left as it is. Any other value in the logs, such as a
loss returned as it was computed, is averaged here, weighted by the size of its batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from podium.core import Tensor, Variable, convert_to_tensor
from podium.metrics import Mean
from podium.metrics._results import is_result


class RunningMeans:
    """The running values of one kind of step."""

    def __init__(self, step_name: str):
        self._step_name = step_name
        self._means: dict[str, Mean] = {}

    @property
    def variables(self) -> list[Variable]:
        """What the means have gathered."""
        return [variable for mean in self._means.values() for variable in mean.variables]

    def reset_state(self) -> None:
        """Start the means anew, at the beginning of an epoch."""
        for mean in self._means.values():
            mean.reset_state()

    def collect(self, logs: Any, data: Any) -> dict[str, dict[str, Any]]:
        """Take the logs of a step on `data` into the means; returns this batch's values and the running ones.

        Raises:
            TypeError: The step did not return a dictionary of numbers.
        """
        batch_size = _length_of(data)
        batch, running = {}, {}
        for name, value in self._checked(logs).items():
            is_running = is_result(value)
            value = value.read_value() if isinstance(value, Variable) else convert_to_tensor(value)
            batch[name] = running[name] = value
            if not is_running and value.shape == ():
                if name not in self._means:
                    self._means[name] = Mean(name=name)
                self._means[name].update_state(value, sample_weight=batch_size)
                running[name] = self._means[name].result()
        return {"batch": batch, "running": running}

    def _checked(self, logs: Any) -> Mapping[str, Any]:
        expected = f"`{self._step_name}` must return a dictionary from names to values, such as {{'loss': loss}}"
        if logs is None:
            raise TypeError(f"`{self._step_name}` returned None. {expected}: is there a `return` at its end?")
        if not isinstance(logs, Mapping):
            raise TypeError(f"`{self._step_name}` returned {logs!r} of type {type(logs).__name__}. {expected}.")
        for name, value in logs.items():
            if not isinstance(name, str):
                raise TypeError(f"`{self._step_name}` returned a dictionary with the key {name!r}. {expected}.")
            if value is None or isinstance(value, (str, Mapping)):
                raise TypeError(f"`{self._step_name}` returned {value!r} for {name!r}. {expected}.")
        return logs


def _length_of(data: Any) -> int:
    """Return the batch size: the first length of the first array that has one."""
    for leaf in jax.tree.leaves(data, is_leaf=lambda leaf: isinstance(leaf, Tensor)):
        if len(leaf.shape):
            return int(leaf.shape[0])
    return 1
