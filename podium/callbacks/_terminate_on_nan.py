"""TerminateOnNaN: stops training at the first NaN or infinite loss, and restores finite weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium._typing import Array
from podium.callbacks._callback import Callback
from podium.callbacks._console import write_stdout
from podium.callbacks._logs import Logs
from podium.core import Variable

_Snapshot = list[tuple[Variable, Any]]


class TerminateOnNaN(Callback):
    """Stops `fit` at the first batch whose loss is NaN or infinite, and restores the last finite
    weights.

    That batch has already changed the weights, and the batch before may have (a finite loss can
    have a gradient that is not), so the weights and the optimizer's state before each of the last
    two batches are kept. That costs a copy on the device for each batch, twice the memory of
    weights and optimizer, and a wait for each batch's loss.

    Args:
        raise_error: Whether to raise RuntimeError instead of stopping.
        restore_weights: Whether to restore finite weights; with False nothing is copied.

    Example:
        >>> model = podium.Sequential([podium.layers.Dense(1)])
        >>> terminate = podium.callbacks.TerminateOnNaN()
        >>> callbacks = podium.callbacks.CallbackList(terminate, model=model)
        >>> callbacks.on_train_begin()
        >>> callbacks.on_train_batch_end(3, {"loss": float("nan")})
        Batch 3: Invalid loss, terminating training
        >>> model.stop_training
        True
    """

    every_worker = True

    def __init__(self, raise_error: bool = False, restore_weights: bool = True):
        super().__init__()
        self.raise_error = raise_error
        self.restore_weights = restore_weights
        self._snapshots: list[_Snapshot] = []  # before the last two batches, the later first
        self._restored: list[list[Any]] | None = None  # of a resumed run, until the next batch

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Reset the state of an earlier `fit`."""
        self._snapshots = []

    def get_state(self) -> dict[str, Any]:
        """Return the snapshots if the model's own state is not finite."""
        if not self.restore_weights or all(
            _is_finite(variable.stored) for variable in self._variables()
        ):
            return {"kept": None}
        return {
            "kept": [[np.asarray(value) for _, value in snapshot] for snapshot in self._snapshots]
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the snapshots of a resumed run, before its next batch."""
        self._restored = state["kept"]

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Take a snapshot. It refers to arrays without a copy; the step copies what a snapshot
        refers to instead of reusing it.
        """
        if self._restored is not None:
            variables, restored = self._variables(), self._restored
            self._snapshots, self._restored = (
                [list(zip(variables, snapshot, strict=True)) for snapshot in restored],
                None,
            )
        if self.restore_weights:
            self._snapshots = [
                [(variable, variable.value) for variable in self._variables()],
                *self._snapshots[:1],
            ]

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Check the loss."""
        # A mean is finite if every batch was.
        values = logs.running if isinstance(logs, Logs) else logs or {}
        loss = values.get("loss")
        if loss is None or np.all(np.isfinite(loss)):
            return
        self._restore()
        if self.raise_error:
            raise RuntimeError(f"The loss of batch {batch} is {loss}, so training was stopped.")
        write_stdout(f"Batch {batch}: Invalid loss, terminating training\n")
        self.model.stop_training = True

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Release the snapshots."""
        self._snapshots = []

    def _variables(self) -> list[Variable]:
        optimizer = getattr(self.model, "optimizer", None)
        return [*getattr(self.model, "weights", ()), *getattr(optimizer, "variables", ())]

    def _restore(self) -> None:
        for snapshot in self._snapshots:
            if all(_is_finite(value) for _, value in snapshot):
                for variable, value in snapshot:
                    variable.assign(value)
                return


def _is_finite(value: Array) -> bool:
    array = np.asarray(value)
    return array.dtype.kind in "biu" or bool(np.all(np.isfinite(array.astype(np.float32))))
