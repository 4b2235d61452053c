"""run_batches: the loop of `evaluate`, `predict` and `predict_iter`, once over the data.

`fit` has its own loop in `_model.py`: it runs many epochs and may be stopped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import Any

from podium._typing import Tree
from podium.callbacks import CallbackList, ProgbarLogger
from podium.data import DataHandler
from podium.execution import Execution
from podium.execution.internal import CustomExecution, StepsAutotuner, count_steps
from podium.models.predict._output_collector import batches_of, joined
from podium.models.training._run_guard import conducting

_END = object()


def run_batches(
    kind: str,
    data: DataHandler,
    callbacks: CallbackList,
    execution: Execution | CustomExecution,
    autotuner: StepsAutotuner,
) -> Generator[Any, None, None]:
    """Run a step on all of the data, and yield what each execution returned.

    The caller keeps `data`, `autotuner` and `callbacks.ensure_end(kind)` open, and calls the callbacks
    at the beginning and the end.

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
    for _, iterator in data.enumerate_epochs():
        values = _END
        with data.catch_stop_iteration():
            for step in data.steps():
                on_batch_begin(step)
                values = execution.run(iterator, data.execution_steps, data.steps_per_execution)
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
    wanted = callbacks.implements("on_predict_batch_end") and any(
        type(callback) is not ProgbarLogger for callback in callbacks
    )
    return {"outputs": joined(values)} if wanted else {}


def iterate_outputs(
    model: Any,
    data: DataHandler,
    callbacks: CallbackList,
    execution: Execution | CustomExecution,
    autotuner: StepsAutotuner,
) -> Iterator[Tree]:
    """Return a generator of the outputs of each batch. When it is closed or dropped, started or
    not, the data are closed too.

    The model is held only while a batch is computed. In between the caller may use it.
    """
    outputs = _outputs(model, data, callbacks, execution, autotuner)
    next(outputs)  # enters the contexts, so that they are exited in any case
    return outputs


def _outputs(
    model: Any,
    data: DataHandler,
    callbacks: CallbackList,
    execution: Execution | CustomExecution,
    autotuner: StepsAutotuner,
) -> Iterator[Tree]:
    executions = run_batches("predict", data, callbacks, execution, autotuner)
    with data, autotuner, callbacks.ensure_end("predict"), contextlib.closing(executions):
        yield
        callbacks.on_predict_begin()
        while True:
            with conducting(model, "predict_iter"):
                values = next(executions, _END)
            if values is _END:
                break
            yield from batches_of(values)
            del values  # not kept while the next ones are computed
        callbacks.on_predict_end()
