"""Validator: when `fit` validates, on which data, and the results.

It owns the `validation_...` arguments of `fit`. The loop itself is that of `evaluate`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from podium._typing import Tree
from podium.callbacks import CallbackList
from podium.data import DataHandler, Retrying
from podium.data.internal import is_array_source
from podium.models.training._argument_checks import steps_between_validations
from podium.models.training._run_batches import evaluate_all
from podium.telemetry.internal import active

if TYPE_CHECKING:
    from podium.models._model import Model


class Validator:
    """The validation of one `fit`. Without data it does nothing.

    Args:
        model: The model.
        data: The argument `validation_data`.
        steps: The argument `validation_steps`.
        batch_size: The argument `validation_batch_size`.
        frequency: The argument `validation_freq`.
        training_batch_size: The batch size of `fit`, the default for arrays.

    Attributes:
        steps_between: The number of steps between two validations, if they are counted in steps.
        on_begin: Called before each validation.
    """

    def __init__(
        self,
        model: Model,
        data: Tree,
        steps: int | None,
        batch_size: int | None,
        frequency: int | str | Collection[int],
        training_batch_size: int | None,
    ):
        self._model = model
        self._frequency = frequency
        self.steps_between = None if data is None else steps_between_validations(frequency)
        self._steps_taken = 0
        self._logs: dict[str, float] = {}  # of the latest validation, until an epoch ends
        self._due = False  # while a validation that is counted in steps runs
        self.on_begin: Callable[[], None] | None = None
        self._data: DataHandler | None = None
        if data is not None:
            x, y, sample_weight = _unpack(data)
            source = x.source if isinstance(x, Retrying) else x
            if batch_size is None and is_array_source(source):  # a Dataset has its own batches
                batch_size = training_batch_size
            self._data = model._make_data("validation_data", x, y, sample_weight, batch_size, steps)

    def count_steps(self, count: int) -> None:
        """Count steps, and record whether a validation is due after them."""
        assert self.steps_between is not None
        before, self._steps_taken = self._steps_taken, self._steps_taken + count
        self._due |= self._steps_taken // self.steps_between > before // self.steps_between

    def run_if_due(self, callbacks: CallbackList) -> None:
        """Validate if that is due after the steps that were counted."""
        if self._due:
            self._run(callbacks)
            self._due = False

    def after_epoch(self, epoch: int, callbacks: CallbackList) -> dict[str, float]:
        """Validate if that is due after this epoch; returns the values, named `val_...`."""
        if self._data is not None and self._is_due(epoch + 1):
            self._run(callbacks)
        logs, self._logs = self._logs, {}
        return logs

    def _is_due(self, num_epochs: int) -> bool:
        if isinstance(self._frequency, str):  # counted in steps
            return False
        if isinstance(self._frequency, Collection):
            return num_epochs in self._frequency
        return num_epochs % self._frequency == 0

    def get_state(self) -> dict[str, Any]:
        """Return its state as plain data."""
        order = None if self._data is None else self._data.order()
        return {
            "steps_taken": self._steps_taken,
            "found": dict(self._logs),
            "due": self._due,
            "order": order,
            "draws": None if self._data is None else self._data.unused_validation_draws(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        self._steps_taken, self._due = state["steps_taken"], state["due"]
        self._logs = state["found"]
        if self._data is not None:
            self._data.set_order(state["order"])
            self._data.restart(state.get("draws", []))

    def record_draws(self) -> list[DataHandler]:
        """Record the random numbers that the data draw; returns the data, if there are any."""
        if self._data is None:
            return []
        self._data.record_draws()
        return [self._data]

    def _run(self, callbacks: CallbackList) -> None:
        if self.on_begin is not None:
            self.on_begin()
        recorder = active.recorder
        assert self._data is not None
        with contextlib.nullcontext() if recorder is None else recorder.record_validation():
            logs = evaluate_all(self._model, self._data, callbacks)
        self._logs = {f"val_{name}": value for name, value in logs.items()}


def _unpack(data: Tree) -> tuple[Tree, Tree, Tree]:
    """Return x, y and sample_weight of `validation_data`; a source of batches is returned as x."""
    if not isinstance(data, (tuple, list)) or isinstance(data, Mapping):
        return data, None, None
    if isinstance(data, list) and len(data) not in (2, 3):
        return data, None, None
    if len(data) not in (1, 2, 3):
        raise ValueError(
            f"validation_data is a tuple of {len(data)} parts; `(x, y)` or `(x, y, sample_weight)` "
            "was expected, or a generator or Dataset of batches."
        )
    x, y, sample_weight = [*list(data), None, None][:3]
    return x, y, sample_weight
