"""Validation: when `fit` validates, on what, and what it found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from podium.callbacks import CallbackList
from podium.data import DataHandler
from podium.data.internal import is_array_source
from podium.models.training._argument_checks import steps_between_validations


class Validation:
    """The validation of one `fit`. Without data it does nothing."""

    def __init__(
        self,
        model: Any,
        data: Any,
        steps: int | None,
        batch_size: int | None,
        frequency: Any,
        training_batch: Any,
    ):
        self._model = model
        self._frequency = frequency
        self._steps_between = steps_between_validations(frequency)
        self._steps_taken = 0
        self._found: dict[str, float] = {}
        self._due = False  # while a validation that is counted in steps runs
        self.before: Callable[[], None] | None = None  # called before each validation
        self._data: DataHandler | None = None
        if data is not None:
            x, y, sample_weight = _unpacked(data)
            if batch_size is None and is_array_source(x):  # a Dataset makes batches of its own
                batch_size = training_batch
            self._data = model._data_for("validation_data", x, y, sample_weight, batch_size, steps)

    @property
    def steps_between(self) -> int | None:
        """How many steps lie between two validations, if they are counted in steps."""
        return None if self._data is None else self._steps_between

    def after_step(self, count: int, listeners: CallbackList) -> None:
        """Validate if so many steps have been taken since the last time."""
        if self._data is None or self._steps_between is None:
            return
        before = self._steps_taken
        self._steps_taken += count
        if self._due or self._steps_taken // self._steps_between > before // self._steps_between:
            self._due = True
            self._run(listeners)
            self._due = False

    def after_epoch(self, epoch: int, listeners: CallbackList) -> dict[str, float]:
        """Validate if this epoch asks for it; returns the values, named `val_...`."""
        if self._data is not None and self._steps_between is None and self._is_due(epoch + 1):
            self._run(listeners)
        found, self._found = self._found, {}
        return found

    def _is_due(self, epoch: int) -> bool:
        if isinstance(self._frequency, Collection):
            return epoch in self._frequency
        return epoch % self._frequency == 0

    def get_state(self) -> dict[str, Any]:
        """Return where it is, as plain data."""
        order = None if self._data is None else self._data.order()
        return {
            "steps_taken": self._steps_taken,
            "found": dict(self._found),
            "due": self._due,
            "order": order,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Put back what `get_state` returned."""
        self._steps_taken, self._found, self._due = (
            state["steps_taken"],
            state["found"],
            state["due"],
        )
        if self._data is not None:
            self._data.set_order(state["order"])

    def _run(self, listeners: CallbackList) -> None:
        assert self._data is not None
        if self.before is not None:
            self.before()
        logs = self._model._evaluate(self._data, listeners)
        self._found = {f"val_{name}": value for name, value in logs.items()}


def _unpacked(data: Any) -> tuple[Any, Any, Any]:
    """Return x, y and sample_weight of `validation_data`; a source of batches stays whole."""
    if not isinstance(data, (tuple, list)) or isinstance(data, Mapping):
        return data, None, None
    if isinstance(data, list) and len(data) not in (2, 3):
        return data, None, None
    if len(data) not in (1, 2, 3):
        raise ValueError(
            f"validation_data is a tuple of {len(data)} parts; `(x, y)` or `(x, y, sample_weight)` "
            "was expected, or a generator or Dataset of batches."
        )
    return (*data, *[None] * (3 - len(data)))
