"""TerminateOnNaN: end training at the first loss that is no number, with weights that still are."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.callbacks._callback import Callback
from podium.callbacks._console import write_stdout
from podium.callbacks._logs import Logs
from podium.core import Variable

_Snapshot = list[tuple[Variable, Any]]


class TerminateOnNaN(Callback):
    """Stops `fit` at the first batch whose loss is NaN or infinite, and gives the model its last
    finite weights back.

    That batch has already changed the weights, and the batch before may have (a finite loss can
    have a gradient that is not), so the weights and the optimizer's state before each of the last
    two batches are kept. That costs a copy on the device for each batch, twice the memory of
    weights and optimizer, and a wait for each batch's loss.

    Args:
        raise_error: Whether to raise RuntimeError instead of ending quietly.
        restore_weights: Whether to go back to finite weights; with False nothing is copied.

    Example:
        >>> model = podium.Sequential([podium.layers.Dense(1)])
        >>> callbacks = podium.callbacks.CallbackList(podium.callbacks.TerminateOnNaN(), model=model)
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
        self._kept: list[_Snapshot] = []  # before the last two batches, the later first
        self._waiting: list[list[Any]] | None = (
            None  # the same, of a run that goes on, until the next batch
        )

    def on_train_begin(self, logs: Any = None) -> None:
        """Forget an earlier `fit`."""
        self._kept = []

    def get_state(self) -> dict[str, Any]:
        """Return the finite state to go back to, if the model's is not finite any more; else that
        one serves.
        """
        if not self.restore_weights or all(
            _is_finite(variable.stored) for variable in self._variables()
        ):
            return {"kept": None}
        return {"kept": [[np.asarray(value) for _, value in snapshot] for snapshot in self._kept]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take the states of a run that goes on, for when a loss is looked at."""
        self._waiting = state["kept"]

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Keep the state. Arrays never change, so this holds them; the step copies what is held
        instead of reusing it.
        """
        if self._waiting is not None:
            variables, waiting = self._variables(), self._waiting
            self._kept, self._waiting = (
                [list(zip(variables, snapshot, strict=True)) for snapshot in waiting],
                None,
            )
        if self.restore_weights:
            self._kept = [
                [(variable, variable.value) for variable in self._variables()],
                *self._kept[:1],
            ]

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Look at the loss."""
        figures = (
            logs.running if isinstance(logs, Logs) else logs or {}
        )  # a mean is finite if every batch was
        loss = figures.get("loss")
        if loss is None or np.all(np.isfinite(loss)):
            return
        self._restore()
        if self.raise_error:
            raise RuntimeError(f"The loss of batch {batch} is {loss}, so training was stopped.")
        write_stdout(f"Batch {batch}: Invalid loss, terminating training\n")
        self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:
        """Let the kept state go."""
        self._kept = []

    def _variables(self) -> list[Variable]:
        optimizer = getattr(self.model, "optimizer", None)
        return [*getattr(self.model, "weights", ()), *getattr(optimizer, "variables", ())]

    def _restore(self) -> None:
        for snapshot in self._kept:
            if all(_is_finite(value) for _, value in snapshot):
                for variable, value in snapshot:
                    variable.assign(value)
                return


def _is_finite(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype.kind in "biu" or bool(np.all(np.isfinite(array.astype(np.float32))))
