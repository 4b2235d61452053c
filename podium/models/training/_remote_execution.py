"""RemoteExecution: runs the steps of `fit` on the workers of a ParameterServerStrategy.

This process reads the batches, in the order and with the positions of any `fit`, and sends each
execution to a worker with its batches; with a function that makes the dataset the workers read
their own.

Invariant: the logs of an epoch are those of all its steps. Each execution is scheduled only when
the next one begins or its values are read; reading them waits for all earlier ones first, so the
metrics that the last execution of an epoch returns include every step. Guarded by
tests/distribute/parameter_server/test_fit_on_workers.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from podium._typing import Tree
from podium.core import Selection, Stream, Tensor, Variable, map_structure
from podium.core.internal import unwrap_result
from podium.distribute import ParameterServerStrategy, Strategy
from podium.distribute.coordinator import (
    ClusterCoordinator,
    PerWorkerIterator,
    RemoteValue,
)
from podium.execution import Execution, StepValues
from podium.execution.internal import CustomExecution, IteratorStream
from podium.telemetry.internal import Recorder, Section

_CALLS_PER_WORKER = 4  # that may wait for a worker: their batches are in memory


class RemoteExecution(CustomExecution):
    """Runs a step on workers, with the interface of an `Execution`.

    Args:
        step: A function of one batch.
        strategy: The strategy.
        finish: Converts the values of an execution to what a call returns.

    Attributes:
        worker_iterator: What the workers read their batches from; None if this process reads them.
    """

    runs_eagerly = False

    def __init__(
        self,
        step: Callable[[Tree], Tree],
        strategy: ParameterServerStrategy,
        finish: Callable[[StepValues], Any],
    ):
        super().__init__(step)
        self._step = step
        self._finish_values = finish
        self._coordinator = ClusterCoordinator(strategy)
        self._limit = _CALLS_PER_WORKER * strategy.num_workers
        self._deferred: RemoteStepValues | None = None
        self.worker_iterator: PerWorkerIterator | None = None
        strategy.before_wait = self._schedule_deferred

    @property
    def variables(self) -> list[Variable]:
        """The Variables that the step uses, as far as it has been traced."""
        functions = (self._run_batches, self._run_elements)
        used = [each for fn in functions for each in self._coordinator.variables_of(fn)]
        return list({id(variable): variable for variable in used}.values())

    @property
    def trace_count(self) -> int:
        """1 when the step has been traced, and 0 before."""
        return int(bool(self.variables))

    def __call__(self, iterator: Iterator[Tree]) -> Any:
        """Run the step on the next batch, and return its logs."""
        return self._finish_values(self.run(iterator))

    def run(
        self,
        iterator: Iterator[Tree],
        steps: int | None = None,
        max_steps: int = 1,
        recorder: Recorder | None = None,
    ) -> RemoteStepValues:
        """Read the next batches for an execution, and schedule the previous one.

        Raises:
            StopIteration: The iterator has no more batches.
            Exception: What an earlier execution has raised on its worker.
        """
        stream = iterator if isinstance(iterator, Stream) else IteratorStream(iterator)
        batches = Stream.next_batches(stream, steps or 1)
        fn: Callable[..., list[Tree]] = self._run_batches
        args: tuple[Any, ...] = ([_to_arrays(batch) for batch in batches],)
        if self.worker_iterator is not None:
            fn, args = self._run_elements, (self.worker_iterator, len(batches))
        self._schedule_deferred()
        with Section(recorder, "steps"):
            self._coordinator.limit_waiting(self._limit)
        self._deferred = RemoteStepValues(self, fn, args, len(batches))
        if recorder is not None:
            recorder.timeline.executions += 1
            recorder.timeline.steps += len(batches)
            recorder.knows_samples = False
        return self._deferred

    def warm_up(self, batch: Tree, steps: int | None = None) -> None:
        """Trace the step for batches like this one; no step runs."""
        if self.worker_iterator is None:
            arrays = _to_arrays(batch)
            self._coordinator.trace(self._run_batches, ([arrays] * (steps or 1),))

    def schedule(self, values: RemoteStepValues) -> RemoteValue:
        """Schedule an execution, after all earlier ones have ended."""
        if values is self._deferred:
            self._deferred = None
            self._coordinator.join()
        return self._coordinator.schedule(values.fn, values.args)

    def _schedule_deferred(self) -> None:
        values, self._deferred = self._deferred, None
        if values is not None:
            values.remote = self._coordinator.schedule(values.fn, values.args)

    def _run_batches(self, batches: list[Tree]) -> list[Tree]:
        return [self._step(batch) for batch in batches]

    def _run_elements(self, iterator: Iterator[Tree], steps: int) -> list[Tree]:
        return [self._step(next(iterator)) for _ in range(steps)]


class ScheduledExecution(CustomExecution):
    """Runs a function of the user's own that schedules steps on workers, and reads their results
    when they are needed. Those of an execution are the results of its last step.

    Args:
        execution: The user's function.
        strategy: The strategy.
        worker_iterator: What the workers read their batches from; None if this process reads them.
    """

    def __init__(
        self,
        execution: CustomExecution,
        strategy: ParameterServerStrategy,
        worker_iterator: PerWorkerIterator | None,
    ):
        super().__init__(execution._function)
        self._collect = execution._finish
        self._coordinator = ClusterCoordinator(strategy)
        self._limit = _CALLS_PER_WORKER * strategy.num_workers
        self._worker_iterator = worker_iterator

    def run(
        self,
        iterator: Iterator[Tree],
        steps: int | None = None,
        max_steps: int = 1,
        recorder: Recorder | None = None,
    ) -> Any:
        """Call the function; if it has scheduled a call, its results are read later."""
        source: Any = iterator if self._worker_iterator is None else self._worker_iterator
        values = super().run(source, steps, max_steps, recorder)
        if not isinstance(values, RemoteValue):
            return values if self._collect is None else self._collect(values, steps or 1)
        self._coordinator.limit_waiting(self._limit)
        return ScheduledStepValues(values, self._read, steps or 1)

    def _read(self, value: RemoteValue, steps: int) -> dict[str, Any]:
        """Return the logs of a call, when all earlier ones have ended."""
        self._coordinator.join()
        logs: Any = value.get()
        if self._collect is not None:
            logs = self._collect(logs, steps)
        running = getattr(logs, "running", logs)
        return {"batch": dict(logs), "running": dict(running), "epoch_names": ()}


class ScheduledStepValues(StepValues):
    """The results of a call that a function of the user's own has scheduled.

    Args:
        value: What `schedule` has returned.
        read: Waits for the call, and returns its logs.
        count: The number of steps.
    """

    __slots__ = ("_read", "_value")

    def __init__(
        self,
        value: RemoteValue,
        read: Callable[[RemoteValue, int], dict[str, Any]],
        count: int,
    ):
        super().__init__(None, [], count)
        self._value, self._read = value, read

    def is_ready(self) -> bool:
        """Return whether the worker has computed them."""
        return self._value.has_ended

    @property
    def arrays(self) -> list[Any]:
        """What to wait for."""
        return [self]

    def block_until_ready(self) -> ScheduledStepValues:
        """Wait until the worker has computed them."""
        self._result(0)
        return self

    def _result(self, index: int) -> Tree:
        if self._results is None:
            self._results = [unwrap_result(self._read(self._value, self.count))] * self.count
        return self._results[index]

    def blocks(self) -> list[tuple[Tree, int | None]]:
        """Return the results, each of a single step."""
        return [(result, None) for result in self.each()]


def find_coordinator(strategy: Strategy) -> ClusterCoordinator | None:
    """Return the coordinator of a strategy; None if it has none."""
    return ClusterCoordinator(strategy) if isinstance(strategy, ParameterServerStrategy) else None


def run_on_workers(
    execution: Execution | CustomExecution,
    strategy: Strategy,
    worker_iterator: PerWorkerIterator | None,
) -> Execution | CustomExecution:
    """Return an execution whose steps run on the workers of a strategy, if it has any.

    Args:
        execution: What runs the steps.
        strategy: The strategy.
        worker_iterator: What the workers read their batches from; None if this process reads them.
    """
    if isinstance(execution, RemoteExecution):
        execution.worker_iterator = worker_iterator
    elif isinstance(strategy, ParameterServerStrategy) and isinstance(execution, CustomExecution):
        return ScheduledExecution(execution, strategy, worker_iterator)
    return execution


class RemoteStepValues(StepValues):
    """The results of an execution on a worker, which are waited for when they are read.

    Args:
        execution: The execution.
        fn: The function that is scheduled.
        args: Its arguments.
        count: The number of its steps.
    """

    __slots__ = ("_execution", "args", "fn", "remote")

    def __init__(
        self,
        execution: RemoteExecution,
        fn: Callable[..., list[Tree]],
        args: tuple[Any, ...],
        count: int,
    ):
        super().__init__(None, [], count)
        self._execution = execution
        self.fn, self.args = fn, args
        self.remote: RemoteValue | None = None

    def is_ready(self) -> bool:
        """Return whether the worker has computed them."""
        return self.remote is not None and self.remote.has_ended

    @property
    def arrays(self) -> list[Any]:
        """What to wait for."""
        return [self]

    def block_until_ready(self) -> RemoteStepValues:
        """Wait until the worker has computed them."""
        self._result(0)
        return self

    def _result(self, index: int) -> Tree:
        if self._results is None:
            if self.remote is None:
                self.remote = self._execution.schedule(self)
            self._results = [unwrap_result(result) for result in self.remote.get()]
        return self._results[index]

    def blocks(self) -> list[tuple[Tree, int | None]]:
        """Return the results, each of a single step."""
        return [(result, None) for result in self.each()]


def reads_on_workers(strategy: Strategy, x: Any) -> bool:
    """Return whether `x` makes the dataset of each worker."""
    is_function = callable(x) and not hasattr(x, "__iter__") and not hasattr(x, "__getitem__")
    return isinstance(strategy, ParameterServerStrategy) and is_function


def worker_data(
    strategy: Strategy, dataset_fn: Callable[..., Any], steps_per_epoch: int | None
) -> tuple[Iterator[Any], PerWorkerIterator]:
    """Return endless placeholders for batches that the workers read, and the workers' iterator.

    Args:
        strategy: The strategy.
        dataset_fn: Makes the dataset of a worker.
        steps_per_epoch: The argument of `fit`.

    Raises:
        ValueError: The number of steps is not given.
    """
    if steps_per_epoch is None:
        raise ValueError(
            "`fit` was given a function that makes the dataset on each worker, whose size is not "
            "known here. Set steps_per_epoch=."
        )
    assert isinstance(strategy, ParameterServerStrategy)
    dataset = ClusterCoordinator(strategy).create_per_worker_dataset(dataset_fn)
    return itertools.repeat(np.zeros((1, 1), "float32")), iter(dataset)


def _to_arrays(batch: Tree) -> Tree:
    """Return a batch with NumPy arrays, which are sent to a worker."""
    batch = batch.batch() if type(batch) is Selection else batch
    return map_structure(
        lambda leaf: np.asarray(leaf._value if isinstance(leaf, Tensor) else leaf), batch
    )
