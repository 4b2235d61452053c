"""The loops of `predict` and `predict_iter`, from the checked data to the outputs.

The loop over batches is that of `evaluate`: `training/_run_batches.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from podium._typing import Tree
from podium.callbacks import CallbackList
from podium.data import DataHandler
from podium.execution import Execution
from podium.execution.internal import CustomExecution, StepsAutotuner
from podium.models.predict._output_collector import OutputCollector, split_batches
from podium.models.training._run_batches import make_autotuner, run_batches
from podium.models.training._run_guard import hold_model
from podium.models.training._run_telemetry import record_parts
from podium.telemetry.internal import active

if TYPE_CHECKING:
    from podium.models._model import Model

_END = object()


def predict_all(
    model: Model,
    execution: Execution | CustomExecution,
    data: DataHandler,
    callbacks: CallbackList,
    out: Tree,
) -> Tree:
    """Return the outputs for all of the data; see `Model.predict`.

    Args:
        model: The model.
        execution: Runs its predict step.
        data: What to predict for.
        callbacks: The callbacks.
        out: What to fill with the outputs, or None for new arrays.
    """
    outputs = OutputCollector(data, out)
    execution.begin_run()
    execution = execution.for_run(on_result_spec=outputs.allocate)
    every_batch = callbacks.needs_every_batch("predict")
    with (
        data,
        make_autotuner(model, execution, every_batch, data) as autotuner,
        callbacks.ensure_end("predict"),
    ):
        callbacks.on_predict_begin()
        recorder = active.recorder
        for values in run_batches("predict", data, callbacks, execution, autotuner):
            outputs.add(values)
            if recorder is not None and recorder.memory is not None:
                recorder.memory.sample()
        callbacks.on_predict_end()
    result = outputs.result()
    if recorder is not None:
        recorder.output_bytes = outputs.num_bytes
    return result


def iterate_outputs(
    model: Model,
    execution: Execution | CustomExecution,
    data: DataHandler,
    callbacks: CallbackList,
    recording: record_parts,
) -> Iterator[Tree]:
    """Return a generator of the outputs of each batch; see `Model.predict_iter`.

    When it is closed or dropped, started or not, the data are closed too. The model is held only
    while a batch is computed; in between the caller may use it.
    """
    execution.begin_run()
    execution = execution.for_run()
    # What is left of a one-shot iterator belongs to the caller: batches are not read ahead.
    every_batch = callbacks.needs_every_batch("predict") or data.adapter.one_shot
    autotuner = make_autotuner(model, execution, every_batch, data)
    outputs = _outputs(model, execution, data, callbacks, autotuner, recording)
    next(outputs)  # enters the contexts, so that they are left in any case
    return outputs


def _outputs(
    model: Model,
    execution: Execution | CustomExecution,
    data: DataHandler,
    callbacks: CallbackList,
    autotuner: StepsAutotuner,
    recording: record_parts,
) -> Iterator[Tree]:
    executions = run_batches("predict", data, callbacks, execution, autotuner)
    with (
        recording,
        data,
        autotuner,
        callbacks.ensure_end("predict"),
        contextlib.closing(executions),
    ):
        yield
        with recording.running():
            callbacks.on_predict_begin()
        while True:
            with recording.running(), hold_model(model, "predict_iter"):
                values = next(executions, _END)
            if values is _END:
                break
            yield from split_batches(values)
            del values  # not kept while the next ones are computed
        with recording.running():
            callbacks.on_predict_end()
