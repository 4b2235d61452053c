"""CustomExecution: a function of the user's own, with the interface of an `Execution`.

`make_train_function` and its siblings may return any function of an iterator. The loops run it like
an `Execution`; what it returns is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax

from podium._typing import Tree
from podium.core import Function, Stream, Variable
from podium.core.internal import undo_on_error, unwrap_result
from podium.execution._execution import Execution
from podium.telemetry.internal import Recorder, Section, clock


class CustomExecution:
    """Runs a function that reads its own batches.

    Args:
        function: A function of an iterator of batches.
        finish: Called with what it returned and the number of steps; returns the logs.
    """

    runs_eagerly = True  # as far as is known: it cannot be compiled ahead, nor be fused

    def __init__(
        self,
        function: Callable[[Iterator[Tree]], Any],
        finish: Callable[[Any, int], Any] | None = None,
    ):
        self._function = function
        self._finish = finish

    @property
    def variables(self) -> list[Variable]:
        """No Variables: those that the function uses are not known."""
        return []

    def begin_run(self) -> None:
        """Do nothing: steps are not counted."""

    def for_run(self, on_result_spec: Callable[[Tree], None] | None = None) -> CustomExecution:
        """Return itself; `on_result_spec` is never called."""
        return self

    def run(
        self,
        iterator: Iterator[Tree],
        steps: int | None = None,
        max_steps: int = 1,
        recorder: Recorder | None = None,
    ) -> Any:
        """Call the function. It decides itself how many batches it reads: code written for Keras 2
        reads `model._steps_per_execution`, which is set to `steps`. If it raises, no Variable
        changes, unless it reads past the end of the data: the steps before that are completed.
        """
        values = self._measure_run(iterator, steps or 1, recorder)
        return values if self._finish is None else self._finish(values, steps or 1)

    def _measure_run(self, iterator: Iterator[Tree], steps: int, recorder: Recorder | None) -> Any:
        """Call the function, and measure it."""
        if recorder is None:
            return self._run(iterator)
        timeline = recorder.timeline
        timeline.look(has_waited=False)
        rows_before, start = _rows_returned(iterator), clock.ns()
        count = recorder.totals["compilations"]
        with Section(recorder, "steps"):
            values = self._run(iterator)
        is_first = recorder.totals["compilations"] > count
        leaves = jax.tree.leaves(unwrap_result(values))
        arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
        rows = _rows_returned(iterator)
        if rows is None or rows_before is None:
            recorder.knows_samples = False
            rows = rows_before = 0
        timeline.add(
            arrays, start, steps, rows - rows_before, ended_before=False, is_first=is_first
        )
        return values

    def _run(self, iterator: Iterator[Tree]) -> Any:
        if isinstance(self._function, Function):  # a transaction itself
            return self._function(iterator)
        with undo_on_error(keep_on=(StopIteration,)):
            return self._function(iterator)

    def warm_up(self, batch: Tree, steps: int | None = None) -> None:
        """Do nothing: the function reads an iterator, not a batch."""


def _rows_returned(iterator: object) -> int | None:
    return iterator.rows_returned() if isinstance(iterator, Stream) else None


def to_execution(
    function: Callable[[Iterator[Tree]], Any], finish: Callable[[Any, int], Any] | None = None
) -> Execution | CustomExecution:
    """Return an execution as it is, and any other function as a `CustomExecution` with `finish`."""
    if isinstance(function, (Execution, CustomExecution)):
        return function
    return CustomExecution(function, finish)


def run_once(function: Callable[[Iterator[Tree]], Any], iterator: Iterator[Tree]) -> Any:
    """Call what `make_train_function` or one of its siblings returned; see `CustomExecution.run`
    for what an exception changes.
    """
    return (
        function(iterator)
        if isinstance(function, (Execution, CustomExecution))
        else to_execution(function).run(iterator)
    )
