"""record_run: measures a `fit`, `evaluate` or `predict` from its call to its return.

What is measured, and how, is the matter of `podium/telemetry`. This file owns what only a model
knows: its replicas, and where the results are kept.
"""

from __future__ import annotations

import functools
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from podium.distribute.internal import measure_all_reduce
from podium.telemetry.internal import (
    Recorder,
    Recording,
    export_due,
    export_ended,
    make_telemetry,
    next_export,
)

if TYPE_CHECKING:
    from podium.models._model import Model

_ONLY_FIT = "only `fit` sums gradients over replicas"
_SPLIT = "the weights are split over devices, so gradients are not summed as a whole"


class record_run:
    """Measures a run in a `with` block; `model.telemetry` has the results, also after an error.

    Args:
        model: The model.
        kind: "fit", "evaluate", "predict" or "predict_iter".
    """

    def __init__(self, model: Model, kind: str):
        self._model = model
        self._recorder = Recorder(kind)
        self._recording = Recording(self._recorder)

    def __enter__(self) -> Recorder:
        recorder = self._recorder
        self._model._check_initialized()
        self._model._telemetry = recorder
        history = self._model.history
        previous = None if history is None else history.telemetry
        if history is not None and previous is not None and history.stop_reason is None:
            # An error has ended it.
            recorder.last_step = previous.first_step + previous.steps
        due = next_export()
        if due is not None:
            recorder.export_while_running(functools.partial(_export, recorder), due)
        return self._recording.__enter__()

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._recording.__exit__(error_type, error, traceback)
        end_recording(self._model, self._recorder, error)


class record_parts:
    """Measures a run that is suspended in between, such as `predict_iter`: what happens in
    `running()`, until the `with` block of this object ends.

    Args:
        model: The model.
        kind: "predict_iter".
    """

    def __init__(self, model: Model, kind: str):
        self._model = model
        self._recorder = Recorder(kind)
        model._check_initialized()
        model._telemetry = self._recorder

    def running(self) -> Recording:
        """Return a context that is measured."""
        return Recording(self._recorder)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        end_recording(self._model, self._recorder, error)


def end_recording(model: Model, recorder: Recorder, error: BaseException | None) -> None:
    """Keep the results of a run that has ended, and export them."""
    history = model.history if recorder.kind == "fit" else None
    if isinstance(error, GeneratorExit):
        recorder.stop_reason = "closed"
    elif error is not None:
        recorder.stop_reason = type(error).__name__
    elif history is not None:
        recorder.stop_reason = history.stop_reason
    else:
        recorder.stop_reason = "completed"
    recorder.timeline.stop()
    _describe_replicas(recorder, model)
    telemetry = make_telemetry(recorder)
    if recorder.kind != "predict_iter" or model._telemetry is recorder:
        model._telemetry = telemetry
    if history is not None:
        history.telemetry = telemetry
    export_ended(telemetry)


def _export(recorder: Recorder) -> int | None:
    export_due(recorder)
    return next_export()


def _describe_replicas(recorder: Recorder, model: Model) -> None:
    """Record how many replicas there are, and how their collectives can be measured."""
    strategy = model.distribute_strategy
    layout = strategy.layout
    recorder.replicas = strategy.num_replicas_in_sync
    if recorder.replicas == 1 or layout is None:
        return
    variables = model.trainable_variables
    if recorder.kind != "fit":
        recorder.unmeasured = _ONLY_FIT
    elif any(
        variable.placement is not None and not variable.placement.sharding.is_fully_replicated
        for variable in variables
    ):
        recorder.unmeasured = _SPLIT
    else:
        specs = [(tuple(each.shape), np.dtype(each.value.dtype)) for each in variables]
        recorder.measure_collectives = functools.partial(measure_all_reduce, layout, specs)
