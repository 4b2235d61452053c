"""RunningMeans: means over the epoch of what a step returns.

A metric's `result()`, and what is computed from results alone, is a value of the epoch already and
is reported as it is. Any other number in the logs, such as a loss returned as it was computed, is
averaged here, weighted by the size of its batch: progress bar, History and callbacks report the
same numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Tree
from podium.core import Tensor, Variable, convert_to_tensor, dispatch, stop_gradient


class RunningMeans:
    """The running means of one kind of step.

    Args:
        step_name: The name of the step, for messages.
    """

    def __init__(self, step_name: str):
        self._step_name = step_name
        # By the names of the values: their weighted sums, and the sum of the weights.
        self._sums: dict[tuple[str, ...], Variable] = {}

    @property
    def variables(self) -> list[Variable]:
        """The Variables of the sums."""
        return list(self._sums.values())

    def by_names(self) -> list[tuple[tuple[str, ...], Variable]]:
        """Return the Variables with the names of the values that they sum."""
        return list(self._sums.items())

    def reset_state(self) -> None:
        """Reset the means, at the beginning of an epoch."""
        for sums in self._sums.values():
            sums.clear()

    def collect(
        self, logs: Mapping[str, Any], results: Collection[int], data: Tree
    ) -> dict[str, dict[str, Any]]:
        """Update the means with the logs of a step, and return the values of this batch and the
        running ones.

        Args:
            logs: What the step returned.
            results: The `id` of each value that is a value of the epoch already.
            data: The batch.

        Raises:
            TypeError: The step did not return a dictionary of numbers.
        """
        batch: dict[str, Any] = {}
        to_average: dict[str, Any] = {}
        for name, value in self._check_logs(logs).items():
            is_running = id(value) in results
            batch[name] = (
                value.read_value() if isinstance(value, Variable) else convert_to_tensor(value)
            )
            if not is_running and batch[name].shape == ():
                to_average[name] = batch[name]
        running = dict(batch)
        if to_average:
            names = tuple(to_average)
            if names not in self._sums:
                self._sums[names] = Variable(
                    np.zeros(len(names) + 1, np.float32),
                    trainable=False,
                    name=f"{self._step_name}_sums",
                )
            values = [stop_gradient(value) for value in to_average.values()]
            sums = self._sums[names].assign_add(
                dispatch(_weighted_sums, values, float(_batch_size(data)))
            )
            running.update(zip(names, dispatch(_means, sums), strict=True))
        return {"batch": batch, "running": running}

    def _check_logs(self, logs: object) -> Mapping[str, Any]:
        step = self._step_name
        expected = (
            f"`{step}` must return a dictionary from names to values, such as {{'loss': loss}}"
        )
        if logs is None:
            raise TypeError(f"`{step}` returned None. {expected}: is there a `return` at its end?")
        if not isinstance(logs, Mapping):
            raise TypeError(
                f"`{step}` returned {logs!r} of type {type(logs).__name__}. {expected}."
            )
        for name, value in logs.items():
            if not isinstance(name, str):
                raise TypeError(
                    f"`{step}` returned a dictionary with the key {name!r}. {expected}."
                )
            if value is None or isinstance(value, (str, Mapping)):
                raise TypeError(f"`{step}` returned {value!r} for {name!r}. {expected}.")
        return logs


def _weighted_sums(values: Sequence[jax.Array], weight: float) -> jax.Array:
    """Return the values times the weight, and the weight, as one vector."""
    one = jnp.ones((), jnp.float32)
    return jnp.stack([*(value.astype(jnp.float32) for value in values), one]) * weight


def _means(sums: jax.Array) -> list[jax.Array]:
    return list(sums[:-1] / sums[-1])


def _batch_size(data: Tree) -> int:
    """Return the batch size: the leading size of the first array that has one."""
    for leaf in jax.tree.leaves(data, is_leaf=lambda leaf: isinstance(leaf, Tensor)):
        if len(leaf.shape):
            return int(leaf.shape[0])
    return 1
