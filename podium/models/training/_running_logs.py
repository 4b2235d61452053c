"""RunningLogs: the values of the epoch so far, of what a step returns.

A metric's `result()`, and what is computed from results alone, is a value of the epoch already and
is reported as it is. Any other number in the logs, such as a loss returned as it was computed, is
averaged here, weighted by the size of its batch: progress bar, History and callbacks report the
same numbers. A reduction that was chosen, in `compile` or by a `LogValue`, is applied to the values
of the batches instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Shape, Tree
from podium.callbacks import Logs
from podium.callbacks.internal import EpochNames
from podium.core import Tensor, Variable, convert_to_tensor, dispatch, stop_gradient
from podium.distribute.internal import reduce_replicas
from podium.metrics import LogValue
from podium.metrics.internal import LogReduction, StepResults
from podium.models.training._unknown_logs import UnknownLogs

Reductions = Mapping[str, LogReduction]
_Names = tuple[str, ...]


class RunningLogs:
    """The values of the epoch so far, for one kind of step.

    Args:
        step_name: The name of the step, for messages.
        reductions: The reductions that `compile` was given, by the names of the logs.
    """

    def __init__(self, step_name: str, reductions: Reductions | None = None):
        self._step_name = step_name
        self._reductions = reductions or {}
        self._unknown = UnknownLogs(step_name, self._reductions)
        # By reduction and names of the values: their reduced values, and the sum of the weights.
        self._totals: dict[tuple[str, _Names], Variable] = {}
        self._shapes: dict[tuple[str, _Names], list[Shape]] = {}

    @property
    def variables(self) -> list[Variable]:
        """The Variables of the totals."""
        return list(self._totals.values())

    def by_path(self) -> dict[str, Variable]:
        """Return the Variables by their paths in a checkpoint."""
        return {
            f"{'means' if mode == 'mean' else f'reductions/{mode}'}/{','.join(names)}": totals
            for (mode, names), totals in self._totals.items()
        }

    def reset_state(self) -> None:
        """Forget the values, at the beginning of an epoch."""
        for totals in self._totals.values():
            totals.clear()

    def collect(
        self, logs: Mapping[str, Any], results: StepResults, data: Tree
    ) -> dict[str, dict[str, Any] | EpochNames]:
        """Add the logs of a step, and return the values of this batch and those of the epoch.

        Args:
            logs: What the step returned.
            results: The values that are values of the epoch already.
            data: The batch.

        Raises:
            TypeError: The step did not return a dictionary of numbers.
            ValueError: The shape of a value that is reduced has changed.
        """
        checked = self._check_logs(logs)
        self._unknown.report(checked)
        batch: dict[str, Any] = {}
        running: dict[str, Any] = {}
        epoch_names = []
        by_mode: dict[str, dict[str, Any]] = {}
        for name, value in checked.items():
            chosen, value = self._reduction(name, value)
            mode, result = chosen.over_epoch, results.get(id(value))
            of_batch = value if result is None else result.batch
            batch[name] = running[name] = _log_to_tensor(
                reduce_replicas(of_batch, chosen.over_replicas)
            )
            if result is not None:
                epoch_names.append(name)
            if result is not None and mode in (None, "mean"):
                running[name] = _log_to_tensor(reduce_replicas(value, chosen.over_replicas))
            elif mode is None and batch[name].shape == ():
                by_mode.setdefault("mean", {})[name] = batch[name]
            elif mode is not None and mode != "last":
                by_mode.setdefault(mode, {})[name] = batch[name]
        weight = float(_batch_size(data))
        for mode, values in by_mode.items():
            running.update(self._add(mode, values, weight))
        return {"batch": batch, "running": running, "epoch_names": EpochNames(epoch_names)}

    def collect_execution(self, logs: Any, steps: int) -> Any:
        """Return the logs of an execution by a function of the user's own, with the reductions that
        were chosen.

        Args:
            logs: What the function returned; for other values than a dictionary nothing is done.
            steps: The number of steps of the execution.
        """
        if not isinstance(logs, Mapping) or isinstance(logs, Logs):
            return logs
        self._unknown.report(logs)
        values: dict[str, Any] = {}
        by_mode: dict[str, dict[str, Any]] = {}
        for name, value in logs.items():
            chosen, value = self._reduction(name, value)
            mode = chosen.over_epoch
            values[name] = reduce_replicas(value, chosen.over_replicas)
            if mode is None or mode == "last":
                continue
            if mode == "mean" or steps > 1:
                raise ValueError(_NOT_EVERY_STEP.format(mode=mode, name=name))
            by_mode.setdefault(mode, {})[name] = _log_to_tensor(values[name])
        if not by_mode:
            return values
        running = dict(values)
        for mode, group in by_mode.items():
            running.update(self._add(mode, group, 1.0))
        return Logs(values, running=running)

    def _reduction(self, name: str, value: Any) -> tuple[LogReduction, Any]:
        """Return how a log is reduced, and its value."""
        chosen = self._reductions.get(name, LogReduction())
        if isinstance(value, LogValue):
            return chosen.or_else(value.reduction), value.value
        return chosen, value

    def _add(self, mode: str, values: dict[str, Any], weight: float) -> dict[str, Any]:
        """Add values to their totals, and return the values of the epoch so far."""
        key = mode, tuple(values)
        shapes = [tuple(value.shape) for value in values.values()]
        if key not in self._totals:
            size = sum(map(_size, shapes)) + 1
            self._shapes[key] = shapes
            self._totals[key] = Variable(
                np.zeros(size, np.float32), trainable=False, name=f"{self._step_name}_{mode}"
            )
        for name, shape, known in zip(values, shapes, self._shapes[key], strict=True):
            if shape != known:
                raise ValueError(_OTHER_SHAPE.format(
                    name=name, shape=shape, known=known, mode=mode, step=self._step_name
                ))  # fmt: skip
        totals = self._totals[key]
        detached = [stop_gradient(value) for value in values.values()]
        new = totals.assign(dispatch(_ADD[mode], totals, detached, weight))
        return dict(zip(values, dispatch(_split_totals, new, shapes, mode == "mean"), strict=True))

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


_OTHER_SHAPE = (
    "`{step}` returned {name!r} with the shape {shape}, and before with {known}; a value whose "
    "reduction over the epoch is {mode!r} must keep its shape. Return a scalar, such as its mean, "
    "or choose the reduction 'last'."
)
_NOT_EVERY_STEP = (
    "The reduction {mode!r} over the epoch was chosen for {name!r}, a log of a function that "
    "`make_train_function` or `make_test_function` returned. Its logs are those of the last of "
    "several steps, and do not say how many samples they are of. Reduce the value inside of the "
    "step, in a metric; or set steps_per_execution=1 and choose 'sum', 'min', 'max' or 'last'."
)


def _log_to_tensor(value: Any) -> Tensor:
    return value.read_value() if isinstance(value, Variable) else convert_to_tensor(value)


def _size(shape: Shape) -> int:
    return int(np.prod(shape, dtype=int))


def _concatenate_values(values: Sequence[jax.Array]) -> jax.Array:
    """Return the values, and a one to count them, as one vector."""
    one = jnp.ones((1,), jnp.float32)
    return jnp.concatenate([*(jnp.ravel(value).astype(jnp.float32) for value in values), one])


def _add_weighted(totals: jax.Array, values: Sequence[jax.Array], weight: float) -> jax.Array:
    return totals + _concatenate_values(values) * weight


def _add_plain(totals: jax.Array, values: Sequence[jax.Array], weight: float) -> jax.Array:
    return totals + _concatenate_values(values)


def _keep_smallest(totals: jax.Array, values: Sequence[jax.Array], weight: float) -> jax.Array:
    new = _concatenate_values(values)
    return jnp.where(totals[-1] > 0, jnp.minimum(totals, new), new)


def _keep_largest(totals: jax.Array, values: Sequence[jax.Array], weight: float) -> jax.Array:
    new = _concatenate_values(values)
    return jnp.where(totals[-1] > 0, jnp.maximum(totals, new), new)


_ADD = {"mean": _add_weighted, "sum": _add_plain, "min": _keep_smallest, "max": _keep_largest}


def _split_totals(totals: jax.Array, shapes: Sequence[Shape], divide: bool) -> list[jax.Array]:
    """Return the values of a vector of totals, divided by the sum of the weights for means."""
    values = totals[:-1] / totals[-1] if divide else totals[:-1]
    ends = np.cumsum([_size(shape) for shape in shapes])
    parts = jnp.split(values, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _batch_size(data: Tree) -> int:
    """Return the batch size: the leading size of the first array that has one."""
    for leaf in jax.tree.leaves(data, is_leaf=lambda leaf: isinstance(leaf, Tensor)):
        if len(leaf.shape):
            return int(leaf.shape[0])
    return 1
