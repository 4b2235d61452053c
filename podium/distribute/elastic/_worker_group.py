"""WorkerGroup: the workers of an elastic job from one start to the next, as actors that Ray has
placed.

It reports what happens to them, and ends them. When to form a group again is the decision of
`_elastic_job.py`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from podium.distribute._cluster import join_address
from podium.distribute._heartbeat import LOST_PEER
from podium.distribute.elastic import _worker_process
from podium.distribute.elastic._options import ElasticOptions

_START_SECONDS = 120.0  # for Ray to start the actors, and for these to start the script
_POLL_SECONDS = 2.0  # how long a call waits for output
_UNAVAILABLE_SECONDS = 30.0  # after which an actor that cannot be reached counts as lost
_KILL_SECONDS = 5.0


class WorkerLocation(NamedTuple):
    """Where a worker runs.

    Attributes:
        node: The ID of the node of Ray.
        machine: The name of its machine.
        host: Its address.
        port: A port that was not in use.
    """

    node: str
    machine: str
    host: str
    port: int


@dataclasses.dataclass
class WorkerEnd:
    """How a worker has ended.

    Attributes:
        status: The status of its process, negative for a signal; None if the process of Ray that
            runs it, or its node, was lost.
        reason: A description.
    """

    status: int | None
    reason: str

    @property
    def is_own_error(self) -> bool:
        """Whether the script has failed by itself, so that it would fail again."""
        return self.status is not None and self.status > 0 and self.status != LOST_PEER

    @property
    def is_consequence(self) -> bool:
        """Whether the worker has probably ended because of another one: JAX aborts the process of
        a worker that has lost its connection.
        """
        return self.status in (LOST_PEER, -signal.SIGABRT)

    @property
    def exit_status(self) -> int:
        """The status for the launcher: 128 plus the number of a signal, as shells have it."""
        if self.status is None:
            return LOST_PEER
        return 128 - self.status if self.status < 0 else self.status


class Event(NamedTuple):
    """What a worker has done: "out" and "err" are lines, "report" is a message to the launcher."""

    worker: int
    kind: str
    text: str


class WorkerGroup:
    """Workers in the bundles of a placement group.

    Args:
        ray: The module.
        bundles: The placement group; the workers release it when they are closed.
        num_workers: Their number.
        options: What each needs.
        preferred_nodes: Where worker 0 is to run if possible, best first.

    Raises:
        TimeoutError: Ray has not started the actors in time.
        ray.exceptions.RayActorError: One was lost.
    """

    def __init__(
        self,
        ray: Any,
        bundles: Any,
        num_workers: int,
        options: ElasticOptions,
        preferred_nodes: Sequence[str] = (),
    ):
        self._ray = ray
        self._bundles = bundles
        self._options = options
        # The module is sent as it is; see there.
        ray.cloudpickle.register_pickle_by_value(_worker_process)
        self._actors = [self._make_actor(index) for index in range(num_workers)]
        self._received = [0] * num_workers
        self._polls: dict[Any, int] = {}  # the running calls, with the worker
        self._unavailable_since: dict[int, float] = {}
        self.ends: dict[int, WorkerEnd] = {}
        try:
            self.locations = self._find_locations(preferred_nodes)
        except BaseException:
            self.close()
            raise

    def _make_actor(self, bundle: int) -> Any:
        resources = dict(self._options.resources)
        strategy = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            self._bundles, bundle
        )
        actor_class = self._ray.remote(
            num_cpus=resources.pop("CPU", 0),
            num_gpus=resources.pop("GPU", 0),
            resources=resources,
            max_restarts=0,
            max_concurrency=4,  # calls are answered while `poll` waits
            scheduling_strategy=strategy,
        )(_worker_process.WorkerProcess)
        return actor_class.remote()

    def _find_locations(self, preferred_nodes: Sequence[str]) -> list[WorkerLocation]:
        """Wait until all actors run, and number them: worker 0 is on a preferred node."""
        found = self._call_all("locate", [()] * len(self._actors))
        rank = {node: index for index, node in reversed(list(enumerate(preferred_nodes)))}
        order = sorted(
            range(len(found)), key=lambda index: rank.get(found[index][0], len(preferred_nodes))
        )
        self._actors = [self._actors[index] for index in order]
        return [WorkerLocation(*found[index]) for index in order]

    def _call_all(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        calls = [
            getattr(actor, method).remote(*args)
            for actor, args in zip(self._actors, arguments, strict=True)
        ]
        try:
            return list(self._ray.get(calls, timeout=_START_SECONDS))
        except self._ray.exceptions.GetTimeoutError as error:
            raise TimeoutError(
                f"Ray has not started the workers within {_START_SECONDS:g} seconds"
            ) from error

    # --- running

    @property
    def nodes(self) -> set[str]:
        """The IDs of the nodes on which workers run."""
        return {location.node for location in self.locations}

    @property
    def running(self) -> list[int]:
        """The workers that have not ended."""
        return [index for index in range(len(self._actors)) if index not in self.ends]

    def start(self, command: Sequence[str], folder: str) -> None:
        """Start the script of each worker.

        Raises:
            FileNotFoundError: The folder does not exist on a node.
        """
        addresses = [join_address(location.host, location.port) for location in self.locations]
        arguments = [
            (command, folder, self._environment(addresses, index))
            for index in range(len(self._actors))
        ]
        try:
            self._call_all("start", arguments)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, FileNotFoundError):
                raise error.cause from None
            raise
        for index in range(len(self._actors)):
            self._poll(index)

    def _environment(self, addresses: list[str], index: int) -> Mapping[str, str]:
        task = {"type": "worker", "index": index}
        variables = {
            **self._options.environment,
            "TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": task}),
            "PYTHONUNBUFFERED": "1",
            "PODIUM_HEARTBEAT": str(self._options.heartbeat),
        }
        if self._options.devices is not None:
            flag = f"--xla_force_host_platform_device_count={self._options.devices}"
            variables["XLA_FLAGS"] = f"{variables.get('XLA_FLAGS', '')} {flag}".strip()
        return variables

    def events(self, seconds: float) -> Iterator[Event]:
        """Iterate over what has happened since the last call; wait for something for some seconds.

        Workers that have ended are added to `ends`.
        """
        ready, _ = self._ray.wait(
            list(self._polls), num_returns=max(1, len(self._polls)), timeout=0
        )
        if not ready and self._polls:
            ready, _ = self._ray.wait(list(self._polls), num_returns=1, timeout=seconds)
        elif not self._polls:
            time.sleep(seconds)
        for call in ready:
            index = self._polls.pop(call)
            for kind, text in self._receive(index, call):
                self._received[index] += 1
                if kind == "end":
                    self.ends[index] = _describe_end(int(text))
                else:
                    yield Event(index, kind, text)
            if index not in self.ends:
                self._poll(index)

    def _poll(self, index: int) -> None:
        call = self._actors[index].poll.remote(self._received[index], _POLL_SECONDS)
        self._polls[call] = index

    def _receive(self, index: int, call: Any) -> list[tuple[str, str]]:
        """Return what a worker has sent, and notice its loss."""
        try:
            lines: list[tuple[str, str]] = self._ray.get(call)
        except self._ray.exceptions.ActorUnavailableError as error:
            since = self._unavailable_since.setdefault(index, time.monotonic())
            if time.monotonic() - since > _UNAVAILABLE_SECONDS:
                self.ends[index] = self._describe_loss(index, error)
            return []
        except self._ray.exceptions.RayError as error:
            self.ends[index] = self._describe_loss(index, error)
            return []
        self._unavailable_since.pop(index, None)
        return lines

    def _describe_loss(self, index: int, error: Exception) -> WorkerEnd:
        """Describe the loss of the process of Ray, or of the node."""
        location = self.locations[index]
        alive = {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}
        lost = "its process of Ray was killed" if location.node in alive else "the node was lost"
        reason = str(error).strip().splitlines()[-1].strip()
        return WorkerEnd(
            None, f"on {location.machine} ({location.host}) was lost: {lost} ({reason})"
        )

    def send(self, message: str) -> None:
        """Send a message to the scripts."""
        for index in self.running:
            self._actors[index].send.remote(message)

    def send_signal(self, number: int) -> None:
        """Send a signal to the scripts that run."""
        for index in self.running:
            self._actors[index].send_signal.remote(number)

    def close(self) -> None:
        """End the scripts and the actors that still run, and release what they have reserved."""
        calls = [self._actors[index].send_signal.remote(signal.SIGKILL) for index in self.running]
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.wait(calls, num_returns=len(calls), timeout=_KILL_SECONDS) if calls else None
        for actor in self._actors:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.util.remove_placement_group(self._bundles)


def write_line(event: Event) -> None:
    """Write a line of a worker, with its index, to the same stream of this process."""
    stream = sys.stdout if event.kind == "out" else sys.stderr
    stream.write(f"[{event.worker}] {event.text}\n")
    stream.flush()


def _describe_end(status: int) -> WorkerEnd:
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return WorkerEnd(status, how)
