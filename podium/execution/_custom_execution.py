"""CustomExecution: a function of the user's own, with the interface of an `Execution`.

`make_train_function` and its siblings may return any function of an iterator. The loops run it like
an `Execution`; what it returns is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from podium._typing import Tree
from podium.core import Function, Variable
from podium.core.internal import undo_on_error
from podium.execution._execution import Execution


class CustomExecution:
    """Runs a function that reads its own batches.

    Args:
        function: A function of an iterator of batches.
    """

    runs_eagerly = True  # as far as is known: it cannot be compiled ahead, nor be fused

    def __init__(self, function: Callable[[Iterator[Tree]], Any]):
        self._function = function

    @property
    def variables(self) -> list[Variable]:
        """No Variables: those that the function uses are not known."""
        return []

    def begin_run(self) -> None:
        """Do nothing: steps are not counted."""

    def for_run(self, on_result_spec: Callable[[Tree], None] | None = None) -> CustomExecution:
        """Return itself; `on_result_spec` is never called."""
        return self

    def run(self, iterator: Iterator[Tree], steps: int | None = None, max_steps: int = 1) -> Any:
        """Call the function. It decides itself how many batches it reads: code written for Keras 2
        reads `model._steps_per_execution`, which is set to `steps`. If it raises, no Variable
        changes, unless it reads past the end of the data: the steps before that are completed.
        """
        if isinstance(self._function, Function):  # a transaction itself
            return self._function(iterator)
        with undo_on_error(keep_on=(StopIteration,)):
            return self._function(iterator)

    def warm_up(self, batch: Tree, steps: int | None = None) -> None:
        """Do nothing: the function reads an iterator, not a batch."""


def to_execution(function: Callable[[Iterator[Tree]], Any]) -> Execution | CustomExecution:
    """Return an `Execution` as it is, and any other function as a `CustomExecution`."""
    return function if isinstance(function, Execution) else CustomExecution(function)


def run_once(function: Callable[[Iterator[Tree]], Any], iterator: Iterator[Tree]) -> Any:
    """Call what `make_train_function` or one of its siblings returned; see `CustomExecution.run`
    for what an exception changes.
    """
    return (
        function(iterator)
        if isinstance(function, Execution)
        else to_execution(function).run(iterator)
    )
