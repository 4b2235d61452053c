"""ProgbarLogger: the progress bar of `fit`, `evaluate` and `predict`.

It decides what to show; the text is drawn by `_progbar.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium.callbacks._callback import Callback
from podium.callbacks._console import can_redraw, write_stdout
from podium.callbacks._logs import Logs
from podium.callbacks._progbar import Progbar
from podium.core import Variable, check_choice
from podium.telemetry.internal import clock

_Logs = dict[str, Any] | None


class ProgbarLogger(Callback):
    """Shows progress and logs. `fit` adds one automatically unless `verbose=0`.

    Values are the means over the epoch so far, the same that the History records at its end.

    Args:
        count_mode: "steps": what the bar counts. (Keras 2's "samples" is not supported.)
        stateful_metrics: Names whose values are shown as they are. Needed only in custom loops that
            pass plain dictionaries to the batch hooks; other values of such a loop are averaged.

    Example:
        >>> params = {"verbose": 1, "epochs": 2, "steps": 1}
        >>> callbacks = podium.callbacks.CallbackList(add_progbar=True, **params)
        >>> callbacks.on_train_begin()
        >>> callbacks.on_epoch_begin(0)
        Epoch 1/2
        >>> callbacks.on_epoch_end(0, {"loss": 0.5})
        1/1 [==============================] - 0s .../step - loss: 0.5000
    """

    every_batch = False  # drawn at intervals of time, so one call for many batches is enough
    is_logger = True

    def __init__(self, count_mode: str = "steps", stateful_metrics: Iterable[str] | None = None):
        super().__init__()
        check_choice("count_mode", count_mode, ["steps"])
        self.stateful_metrics = set(stateful_metrics or ())
        self.verbose = 1
        self.epochs: int | None = 1  # None if it is not known in advance
        self.target: int | None = None
        self.seen = 0
        self.progbar: Progbar | None = None
        self._in_fit = False
        # The model's counter of steps, and its value when the bar was started.
        self._counter: Variable | None = None
        self._first_count = 0
        # A step whose logs were not computed yet, to be drawn next time.
        self._pending: tuple[int, _Logs] | None = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Set `verbose`, `epochs` and `steps`; an unknown number of steps is counted in the first
        epoch.
        """
        super().set_params(params)
        verbose = check_choice("verbose", params.get("verbose", 1), ["auto", 0, 1, 2])
        self.verbose = 1 if verbose == "auto" else int(verbose)
        self.epochs = params.get("epochs", 1)
        self.target = params.get("steps")

    def get_state(self) -> None:
        """Return no state: a bar belongs to its terminal."""

    def skips_batch(self, hook: str, batch: int) -> bool:
        """Return whether it is too soon to draw, or a validation inside `fit`; logs are not needed
        then.
        """
        if self._in_fit and hook != "on_train_batch_end":
            return True
        self.seen = batch + 1
        progbar = self.progbar
        return self.verbose != 1 or (progbar is not None and clock.seconds() < progbar.next_drawing)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Do not show the validation inside `fit`."""
        self._in_fit = True

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """End the line if the epoch was interrupted; say so if a limit has ended the run."""
        self._in_fit = False
        if self.progbar is not None:
            self.progbar.close()
        reason = getattr(getattr(self.model, "history", None), "stop_reason", None)
        if self.verbose and reason in ("max_steps", "max_time"):
            steps = int(self.model._train_counter)
            write_stdout(f"Stopped after {steps} steps: {reason} was reached.\n")

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Start a bar, with a heading if there are several epochs."""
        self._begin("train")
        if self.verbose and self.epochs != 1:
            total = "" if self.epochs is None else f"/{self.epochs}"
            write_stdout(f"Epoch {epoch + 1}{total}\n")
        self._announce_compilation("train_function")

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Update the bar."""
        self._advance(batch, logs)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Draw the finished bar with the logs of the epoch, including validation."""
        self._finish(logs)

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Start a bar."""
        if not self._in_fit:
            self._begin("test")
            self._announce_compilation("test_function")

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Update the bar."""
        if not self._in_fit:
            self._advance(batch, logs)

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Draw the finished bar."""
        if not self._in_fit:
            self._finish(logs)

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Start a bar."""
        self._begin("predict")
        self._announce_compilation("predict_function")

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Update the bar; predictions are not shown."""
        self._advance(batch, None)

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Draw the finished bar."""
        self._finish(None)

    def _begin(self, kind: str | None = None) -> None:
        self.seen, self._pending = 0, None
        counter = None if kind is None else getattr(self.model, f"_{kind}_counter", None)
        self._counter = counter if self.verbose and isinstance(counter, Variable) else None
        self._first_count = 0 if self._counter is None else int(self._counter)
        names = {metric.name for metric in getattr(self.model, "metrics", None) or ()}
        self.progbar = Progbar(
            self.target, verbose=self.verbose, stateful_metrics=self.stateful_metrics | names
        )

    def _announce_compilation(self, function: str) -> None:
        """Show on a terminal that the first step is being compiled."""
        traces = getattr(getattr(self.model, function, None), "trace_count", None)
        compiles = traces == 0 and not getattr(self.model, "run_eagerly", False)
        if self.verbose == 1 and compiles and self.progbar is not None and can_redraw():
            self.progbar.announce("compiling")

    def _advance(self, batch: int, logs: _Logs) -> None:
        self.seen = batch + 1
        if self.progbar is None:
            self._begin()
            self.seen = batch + 1
        assert self.progbar is not None
        if self.verbose == 1 and (computed := self._latest_computed(logs)) is not None:
            seen, logs = computed
            if isinstance(logs, Logs) and logs.has_running:
                self.progbar.all_stateful, logs = True, logs.running
            self.progbar.update(seen, logs, finalize=False)

    def _latest_computed(self, logs: _Logs) -> tuple[int, _Logs] | None:
        """Return this step if its logs are computed, or else the previous one: the device does not
        wait for the terminal.
        """
        previous, self._pending = self._pending, None
        if all(array.is_ready() for array in getattr(logs, "arrays", ())):
            return self.seen, logs
        self._pending = self.seen, logs
        return previous

    def _finish(self, logs: _Logs) -> None:
        if self.progbar is None or self._ended_by is not None:
            if self.progbar is not None:
                self.progbar.close()
            return
        if self._counter is not None:
            # A custom loop may report the first step of each execution only; the model counts
            # every step.
            self.seen = max(self.seen, int(self._counter) - self._first_count)
        if self.target is None:
            self.target = self.progbar.target = self.seen
        self.progbar.stateful_metrics.update(logs or ())  # the logs of the epoch are not averaged
        self.progbar.update(self.seen or self.target, logs, finalize=True)
        self.progbar = None
