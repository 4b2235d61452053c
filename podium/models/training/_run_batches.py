"""The walk of `evaluate`, `predict` and `predict_iter`: once through the data, execution by
execution, and who listens is told.

`fit` has its own in `_model.py`: it goes through many epochs and may be stopped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from typing import Any

from podium.callbacks import CallbackList, ProgbarLogger
from podium.data import DataHandler
from podium.execution.internal import Pace, steps_in
from podium.models.predict._output_collector import batches_of, joined
from podium.models.training._run_guard import conducting

_END = object()


def walk(
    kind: str, data: DataHandler, listeners: CallbackList, run: Callable, pace: Pace
) -> Generator[Any, None, None]:
    """Run a step on all of the data, and yield what each execution returned.

    The caller holds `data`, `pace` and `listeners.ensure_end(kind)` open, and tells of the beginning
    and the end.

    Args:
        kind: "test" or "predict".
        data: What to walk through.
        listeners: Who is told of each batch.
        run: Takes an iterator, and runs the step on what is next in it.
        pace: Sets how many steps an execution takes.
    """
    begin, end = (
        getattr(listeners, f"on_{kind}_batch_begin"),
        getattr(listeners, f"on_{kind}_batch_end"),
    )
    for _, iterator in data.enumerate_epochs():
        values = _END
        with data.catch_stop_iteration():
            for step in data.steps():
                begin(step)
                values = run(iterator)
                if not pace.settled:
                    pace.after(values)
                end_step = data.record_steps(steps_in(values))
                end(end_step, values if kind == "test" else _outputs_for(listeners, values))
                yield values
        if values is _END:
            doing = "evaluate" if kind == "test" else "predict"
            raise ValueError(
                "The dataset must contain at least one batch of samples; there was none to "
                f"{doing}."
            )


def _outputs_for(listeners: CallbackList, values: Any) -> dict[str, Any]:
    """Return the logs of an execution of `predict`: its outputs, unless nobody would look at
    them.
    """
    wanted = listeners.implements("on_predict_batch_end") and any(
        type(one) is not ProgbarLogger for one in listeners
    )
    return {"outputs": joined(values)} if wanted else {}


def batchwise(
    model: Any, data: DataHandler, listeners: CallbackList, run: Callable, pace: Pace
) -> Iterator[Any]:
    """Return a generator of the outputs of each batch; whatever it holds ends when it is closed or
    dropped, begun or not.

    The model is held only while a batch is computed. In between the caller may do with it what he
    likes.
    """
    batches = _batches(model, data, listeners, run, pace)
    next(batches)
    return batches


def _batches(
    model: Any, data: DataHandler, listeners: CallbackList, run: Callable, pace: Pace
) -> Iterator[Any]:
    executions = walk("predict", data, listeners, run, pace)
    with data, pace, listeners.ensure_end("predict"), contextlib.closing(executions):
        yield  # to be inside of all this from the start
        listeners.on_predict_begin()
        while True:
            with conducting(model, "predict_iter"):
                values = next(executions, _END)
            if values is _END:
                break
            yield from batches_of(values)
            del values  # not kept while the next ones are computed
        listeners.on_predict_end()
