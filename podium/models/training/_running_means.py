"""Means over the epoch of what a step returns, so that bar, History and callbacks show the same
numbers.

A metric's `result()`, and what is computed from results alone, is a figure of the epoch already and
is left as it is. Any other number in the logs, such as a loss returned as it was computed, is
averaged here, weighted by the size of its batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import Tensor, Variable, convert_to_tensor, dispatch, stop_gradient


class RunningMeans:
    """The running values of one kind of step."""

    def __init__(self, step_name: str):
        self._step_name = step_name
        self._sums: dict[
            tuple[str, ...], Variable
        ] = {}  # names -> their weighted sums, and the sum of the weights

    @property
    def variables(self) -> list[Variable]:
        """What the means have gathered."""
        return list(self._sums.values())

    def by_names(self) -> list[tuple[tuple[str, ...], Variable]]:
        """Return what has been gathered with the names that it belongs to."""
        return list(self._sums.items())

    def reset_state(self) -> None:
        """Start the means anew, at the beginning of an epoch."""
        for sums in self._sums.values():
            sums.clear()

    def collect(self, logs: Any, results: dict[int, Any], data: Any) -> dict[str, dict[str, Any]]:
        """Take the logs of a step on `data` into the means; returns this batch's values and the
        running ones.

        Args:
            logs: What the step returned.
            results: Values that are figures of the epoch already, by `id`.
            data: The batch.

        Raises:
            TypeError: The step did not return a dictionary of numbers.
        """
        batch: dict[str, Any] = {}
        raw: dict[str, Any] = {}
        for name, value in self._checked(logs).items():
            is_running = id(value) in results
            batch[name] = (
                value.read_value() if isinstance(value, Variable) else convert_to_tensor(value)
            )
            if not is_running and batch[name].shape == ():
                raw[name] = batch[name]
        running = dict(batch)
        if raw:
            names = tuple(raw)
            if names not in self._sums:
                self._sums[names] = Variable(
                    np.zeros(len(names) + 1, np.float32),
                    trainable=False,
                    name=f"{self._step_name}_sums",
                )
            values = [stop_gradient(value) for value in raw.values()]
            sums = self._sums[names].assign_add(
                dispatch(_weighted, values, float(_length_of(data)))
            )
            running.update(zip(names, dispatch(_means, sums), strict=True))
        return {"batch": batch, "running": running}

    def _checked(self, logs: Any) -> Mapping[str, Any]:
        expected = f"`{self._step_name}` must return a dictionary from names to values, such as {{'loss': loss}}"
        if logs is None:
            raise TypeError(
                f"`{self._step_name}` returned None. {expected}: is there a `return` at its end?"
            )
        if not isinstance(logs, Mapping):
            raise TypeError(
                f"`{self._step_name}` returned {logs!r} of type {type(logs).__name__}. {expected}."
            )
        for name, value in logs.items():
            if not isinstance(name, str):
                raise TypeError(
                    f"`{self._step_name}` returned a dictionary with the key {name!r}. {expected}."
                )
            if value is None or isinstance(value, (str, Mapping)):
                raise TypeError(f"`{self._step_name}` returned {value!r} for {name!r}. {expected}.")
        return logs


def _weighted(values: list, weight: float) -> Any:
    """Return the values times the weight, and the weight, as one vector."""
    return (
        jnp.stack([value.astype(jnp.float32) for value in values] + [jnp.ones((), jnp.float32)])
        * weight
    )


def _means(sums: Any) -> list:
    return list(sums[:-1] / sums[-1])


def _length_of(data: Any) -> int:
    """Return the batch size: the first length of the first array that has one."""
    for leaf in jax.tree.leaves(data, is_leaf=lambda leaf: isinstance(leaf, Tensor)):
        if len(leaf.shape):
            return int(leaf.shape[0])
    return 1
