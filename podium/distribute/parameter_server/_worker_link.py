"""WorkerLink: a worker as the scheduler calls it. Calls, and the processes that run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from podium._typing import Tree
from podium.distribute.parameter_server._messages import Completed, Outcome, Task
from podium.distribute.parameter_server._remote_value import PerWorkerIterator, RemoteValue
from podium.distribute.parameter_server._scheduled_function import ScheduledFunction


class Cluster(Protocol):
    """The processes that run calls and store values."""

    num_workers: int
    num_servers: int

    def call_worker(self, index: int, method: str, *args: Any) -> Any:
        """Call a method of a worker and wait for its result."""
        ...

    def restart_worker(self, index: int) -> None:
        """Start a replacement for a worker that was lost."""
        ...

    def call_servers(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of each server with its arguments, and return the results."""
        ...

    def send_to_servers(self, method: str, *args: Any) -> None:
        """Call a method of all servers without waiting; they may receive calls in any order."""
        ...


class Call:
    """A scheduled call, from `schedule` to its end.

    Attributes:
        step: Its number, in the order of `schedule`.
        function: What it calls.
        iterators: The iterators among its arguments.
        arrays: The arrays among its arguments.
        elements: What this process has read from the streams among its arguments.
        result: What `schedule` has returned.
        attempt: How many workers were lost while they ran it.
        outputs: What it has computed, once its changes are staged.
    """

    def __init__(
        self,
        step: int,
        function: ScheduledFunction,
        iterators: tuple[PerWorkerIterator, ...],
        arrays: tuple[NDArray[Any], ...],
        elements: tuple[tuple[Tree, ...], ...],
        result: RemoteValue,
    ):
        self.step, self.function, self.iterators = step, function, iterators
        self.arrays, self.elements, self.result = arrays, elements, result
        self.attempt = 0
        self.outputs: list[NDArray[Any]] | None = None


class WorkerLink:
    """A worker, and what it has received.

    Args:
        index: The index of the worker.
        cluster: The processes.
        datasets: What `Worker.add_dataset` takes, by the names of datasets.
    """

    def __init__(self, index: int, cluster: Cluster, datasets: dict[str, Any]):
        self._index = index
        self._cluster = cluster
        self._datasets = datasets
        self._sent: set[str] = set()  # the names of datasets, iterators and programs
        # How many elements completed calls have read from its iterators: a replacement reads on.
        self._num_read: dict[str, int] = {}

    def run(self, call: Call, min_version: int) -> Outcome:
        """Run a call.

        Args:
            call: The call.
            min_version: How many calls must have been applied before it reads the Variables.

        Raises:
            WorkerLostError: The worker has ended.
            ServerLostError: A server has ended.
            Exception: What the call has raised.
        """
        for iterator in call.iterators:
            self._send_iterator(iterator)
        for number, program in enumerate(call.function.programs):
            self._send(f"{call.function.name}/{number}", "add_program", call.function.name, program)
        names = tuple(iterator.name for iterator in call.iterators)
        task = Task(
            call.step,
            call.attempt,
            call.function.name,
            names,
            call.arrays,
            min_version,
            call.elements,
        )
        outcome: Outcome = self._cluster.call_worker(self._index, "run", task)
        if isinstance(outcome, Completed):
            for name, count in zip(names, outcome.num_elements, strict=True):
                self._num_read[name] = self._num_read.get(name, 0) + count
        return outcome

    def replace(self) -> None:
        """Start a replacement for the worker, which was lost."""
        self._sent.clear()
        self._cluster.restart_worker(self._index)

    def _send_iterator(self, iterator: PerWorkerIterator) -> None:
        name, dataset = iterator.name, iterator.dataset
        self._send(dataset, "add_dataset", dataset, self._datasets[dataset])
        self._send(name, "add_iterator", name, dataset, self._num_read.get(name, 0))

    def _send(self, name: str, method: str, *args: Any) -> None:
        """Call a method of the worker, unless that was done before."""
        if name not in self._sent:
            self._cluster.call_worker(self._index, method, *args)
            self._sent.add(name)
