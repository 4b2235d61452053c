"""The functions that an `Execution` runs for each batch, and the counters of steps.

The functions run a step of a model, count it and reduce its logs. What happens with a batch is in
`Model.train_step` and its siblings; how steps are compiled and fused is in `podium/execution`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from podium._typing import Tree
from podium.core import map_structure
from podium.metrics import mark_results
from podium.models.predict._output_collector import number_to_tensor
from podium.models.training._running_logs import RunningLogs
from podium.models.training._step_counter import StepCounter


class Counters:
    """Counts the completed steps of the current `fit`, `evaluate` or `predict`.

    A counter is created when it is first needed: most models inside a model are never run alone.
    """

    def __init__(self) -> None:
        self._counters: dict[str, StepCounter] = {}

    def get(self, kind: str) -> StepCounter:
        """Return the counter of "train", "test" or "predict" steps."""
        if kind not in self._counters:
            self._counters[kind] = StepCounter(f"{kind}_counter")
        return self._counters[kind]


def make_logged_step(
    step: Callable[[Tree], Mapping[str, Any]],
    counter: StepCounter,
    running: RunningLogs,
    scale_tapes: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Callable[[Tree], dict[str, Any]]:
    """Return a function that runs a train or test step on a batch, counts it and reduces its logs.

    Args:
        step: `model.train_step` or `model.test_step`.
        counter: Counts the completed steps of the run.
        running: The values of the epoch so far.
        scale_tapes: Returns a context for the step, in which tapes scale losses.
    """

    def run_step(data: Tree) -> dict[str, Any]:
        __tracebackhide__ = True
        with mark_results() as results, scale_tapes():
            logs = step(data)
        counter.assign_add(1)
        return running.collect(logs, results, data)

    run_step.__name__ = getattr(step, "__name__", "step")
    return run_step


def make_predict_step(step: Callable[[Tree], Tree], counter: StepCounter) -> Callable[[Tree], Tree]:
    """Return a function that runs a predict step on a batch and counts it.

    Args:
        step: `model.predict_step`.
        counter: Counts the completed steps of the run.
    """

    def run_step(data: Tree) -> Tree:
        __tracebackhide__ = True
        outputs = step(data)
        counter.assign_add(1)
        return map_structure(number_to_tensor, outputs)

    run_step.__name__ = getattr(step, "__name__", "step")
    return run_step
