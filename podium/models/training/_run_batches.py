"""run_batches: the loop of `evaluate`, `predict` and `predict_iter`, once over the data.

`fit` has its own loop in `_model.py`: it runs many epochs and may be stopped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

from podium.callbacks import CallbackList, ProgbarLogger
from podium.callbacks.internal import running_logs
from podium.data import DataHandler
from podium.execution import Execution
from podium.execution.internal import CustomExecution, StepsAutotuner, count_steps, to_execution
from podium.models.predict._output_collector import concatenate_outputs
from podium.models.training._run_guard import is_fitting
from podium.telemetry.internal import active

if TYPE_CHECKING:
    from podium.models._model import Model

_END = object()


def run_batches(
    kind: str,
    data: DataHandler,
    callbacks: CallbackList,
    execution: Execution | CustomExecution,
    autotuner: StepsAutotuner,
) -> Generator[Any, None, None]:
    """Run a step on all of the data, and yield what each execution returned.

    The caller keeps `data`, `autotuner` and `callbacks.ensure_end(kind)` open, and calls the
    callbacks at the beginning and the end.

    Args:
        kind: "test" or "predict".
        data: What to iterate over.
        callbacks: Called for each execution.
        execution: Runs the step on the next batches of an iterator.
        autotuner: Chooses how many steps an execution fuses.
    """
    on_batch_begin = getattr(callbacks, f"on_{kind}_batch_begin")
    on_batch_end = getattr(callbacks, f"on_{kind}_batch_end")
    data.steps_per_execution = autotuner.steps
    if active.recorder is not None:
        active.recorder.end_setup()
    for _, iterator in data.enumerate_epochs():
        values: Any = _END
        with data.catch_stop_iteration():
            for step in data.steps():
                on_batch_begin(step)
                values = execution.run(
                    iterator, data.execution_steps, data.steps_per_execution, active.recorder
                )
                if not autotuner.settled:
                    data.steps_per_execution = autotuner.record(values)
                end_step = data.record_steps(count_steps(values))
                on_batch_end(end_step, values if kind == "test" else _logs(callbacks, values))
                yield values
        if values is _END:
            verb = "evaluate" if kind == "test" else "predict"
            raise ValueError(
                f"The dataset must contain at least one batch of samples; there was none to {verb}."
            )


def _logs(callbacks: CallbackList, values: Any) -> dict[str, Any]:
    """Return the logs of an execution of `predict`: its outputs, if a callback may read them."""
    needs_outputs = callbacks.implements("on_predict_batch_end") and any(
        type(callback) is not ProgbarLogger for callback in callbacks
    )
    return {"outputs": concatenate_outputs(values)} if needs_outputs else {}


def make_autotuner(
    model: Model,
    execution: Execution | CustomExecution,
    every_batch: bool,
    data: DataHandler,
    max_steps: int | None = None,
) -> StepsAutotuner:
    """Return the autotuner of a run.

    Args:
        model: The model.
        execution: Runs its steps.
        every_batch: Whether callbacks must be called for each batch.
        data: What the steps run on.
        max_steps: The largest number of steps that may be fused, if there is a limit.
    """
    steps = model._steps_per_execution
    return StepsAutotuner(execution, steps.given, steps.auto, every_batch, data, max_steps)


def evaluate_all(model: Model, data: DataHandler, callbacks: CallbackList) -> dict[str, Any]:
    """Run the test step of a model once over the data, and return the logs."""
    execution = to_execution(model.make_test_function(), model._test_logs.collect_execution)
    execution.begin_run()
    model._test_counter.clear()
    values = None
    with (
        data,
        make_autotuner(model, execution, callbacks.needs_every_batch("test"), data) as autotuner,
        callbacks.ensure_end("test"),
        _restore_metrics(model),
    ):
        callbacks.on_test_begin()
        model.reset_metrics()
        for values in run_batches("test", data, callbacks, execution, autotuner):  # noqa: B007
            pass
        logs = {} if values is None else running_logs(values).copy()
        callbacks.on_test_end(logs)
    return logs


@contextlib.contextmanager
def _restore_metrics(model: Model) -> Iterator[None]:
    """Restore the metrics of an epoch after an evaluation inside it, which uses them too."""
    saved = []
    if is_fitting(model):
        variables = [variable for metric in model.metrics for variable in metric.variables]
        variables += model._train_logs.variables
        saved = [(variable, variable.value) for variable in variables]
    try:
        yield
    finally:
        for variable, value in saved:
            variable.assign(value)
