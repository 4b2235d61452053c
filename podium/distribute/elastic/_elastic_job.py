"""ElasticJob: forms a group of workers, and forms it again when one is lost, or when there is
capacity for more.

It decides when the job continues and when it ends. Ray places and supervises the processes; the
script saves checkpoints, and resumes from them (`callbacks.BackupAndRestore`).
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from collections.abc import Sequence
from typing import Any

from podium.distribute._heartbeat import LOST_PEER
from podium.distribute._ray import connect_to_ray, import_ray
from podium.distribute.elastic._capacity import count_free_workers
from podium.distribute.elastic._options import ElasticOptions
from podium.distribute.elastic._worker_group import Event, WorkerEnd, WorkerGroup, write_line
from podium.distribute.launcher._signals import announce_signal, receive_signals, report
from podium.distribute.launcher._worker_connections import AGREE_SECONDS, find_safepoint_to_stop_at

_SETTLE_SECONDS = 2.0  # for which capacity below the maximum must be unchanged
_PLACE_SECONDS = 10.0  # for Ray to place a group for which there is capacity
_CAUSE_SECONDS = 5.0  # for the others to end, after one has
_KILL_SECONDS = 5.0
_GROWTH_SECONDS = 1.0  # between looks for more capacity
_POLL_SECONDS = 0.2


def launch_on_ray(command: list[str], options: ElasticOptions) -> int:
    """Run a script on a Ray cluster until it ends, and return the exit status.

    Args:
        command: The script and its arguments.
        options: The number of workers, and what each needs.

    Returns:
        0 when all workers have; the status of a worker whose script has failed by itself; that of
        the last loss when there were too many without a new checkpoint; 75 when there were too few
        workers, or when all have saved after a signal; 128 plus the signal's number otherwise.

    Raises:
        ImportError: Ray is not installed.
    """
    ray = import_ray("Elastic jobs run", options.address)
    num_cpus = math.ceil(options.max_workers * options.resources.get("CPU", 0.0))
    with connect_to_ray(num_cpus, options.address), receive_signals() as received:
        return ElasticJob(ray, command, options, received).run()


class ElasticJob:
    """One run of a script, on groups of workers that follow each other.

    Args:
        ray: The module, connected to a cluster.
        command: The script and its arguments.
        options: The number of workers, and what each needs.
        received: The signals that this process has received.
    """

    def __init__(
        self, ray: Any, command: Sequence[str], options: ElasticOptions, received: list[int]
    ):
        self._ray = ray
        self._command = command
        self._options = options
        self._received = received
        self._folder = os.getcwd()
        self._chief_node = ""
        self._positions: dict[str, int] = {}  # of the newest checkpoints, by where they are
        self._num_restarts = 0  # without a new checkpoint
        # The number of safepoints of each worker that has connected, if it has reported one.
        self._safepoints: dict[int, int | None] = {}
        self._grows = False  # whether the group was asked to stop at its next checkpoint

    def run(self) -> int:
        """Run until the script ends, and return the exit status."""
        while True:
            formed = self._form_group()
            if isinstance(formed, int):
                return formed
            with contextlib.closing(formed) as group:
                ends = self._supervise(group)
            status = self._find_status(ends, group)
            if status is not None:
                return status

    # --- forming a group

    def _form_group(self) -> WorkerGroup | int:
        """Return a group whose scripts have been started, or the exit status of the job."""
        while True:
            num_workers = self._wait_for_capacity()
            if self._received:
                return 128 + self._received[0]
            if num_workers is None:
                return LOST_PEER
            bundles = self._place(num_workers)
            if bundles is None:
                continue
            try:
                return self._start_group(bundles, num_workers)
            except FileNotFoundError as error:
                report(f"{error}")
                return 1
            except (TimeoutError, self._ray.exceptions.RayActorError) as error:
                lines = str(error).strip().splitlines()
                end = WorkerEnd(None, f"could not be started ({lines[0]})")
                if not self._may_restart("a worker", end):
                    return end.exit_status

    def _start_group(self, bundles: Any, num_workers: int) -> WorkerGroup:
        here = self._ray.get_runtime_context().get_node_id()
        nodes = [self._chief_node, here]  # worker 0 stays where its checkpoints may be
        group = WorkerGroup(self._ray, bundles, num_workers, self._options, nodes)
        try:
            group.start(self._command, self._folder)
        except BaseException:
            group.close()
            raise
        self._grows = False
        self._safepoints = {}
        chief = group.locations[0]
        self._chief_node = chief.node
        report(
            f"started {_quantity(num_workers, 'worker')} on {_quantity(len(group.nodes), 'node')}; "
            f"worker 0, the chief, is on {chief.machine} ({chief.host})."
        )
        return group

    def _wait_for_capacity(self) -> int | None:
        """Return for how many workers there is capacity when that is enough and does not change;
        None after the time for that, or a signal.
        """
        options = self._options
        began = stable_since = time.monotonic()
        previous = -1
        demand = None  # also makes an autoscaler add nodes
        try:
            while not self._received:
                now = time.monotonic()
                count = min(options.max_workers, self._count_free())
                if demand is not None and demand.wait(0):
                    return min(options.max_workers, options.min_workers + count)
                if count != previous:
                    previous, stable_since = count, now
                is_stable = now - stable_since >= _SETTLE_SECONDS
                if count == options.max_workers or (count >= options.min_workers and is_stable):
                    return count
                if demand is None and now - began > _SETTLE_SECONDS and count < options.min_workers:
                    demand = self._reserve(options.min_workers)
                    self._report_waiting(count)
                if options.wait is not None and now - began > options.wait:
                    report(
                        f"gave up after {options.wait:g} seconds (--wait). Start the job again: it "
                        "continues from its last checkpoint."
                    )
                    return None
                time.sleep(_POLL_SECONDS)
            return None
        finally:
            if demand is not None:
                self._ray.util.remove_placement_group(demand)

    def _report_waiting(self, count: int) -> None:
        needs = ", ".join(f"{name}: {n:g}" for name, n in self._options.resources.items())
        limit = self._options.wait
        report(
            f"waits for nodes: there is capacity for {_quantity(count, 'worker')}, and at least "
            f"{self._options.min_workers} are needed (each with {needs})"
            + ("." if limit is None else f", for {limit:g} seconds at most.")
        )

    def _count_free(self, used_nodes: Sequence[str] = ()) -> int:
        """Return how many more workers fit on the cluster."""
        options = self._options
        return count_free_workers(self._ray, options.resources, options.one_per_node, used_nodes)

    def _reserve(self, num_workers: int) -> Any:
        """Ask Ray for resources for workers, on different nodes if possible."""
        return self._ray.util.placement_group(
            [dict(self._options.resources)] * num_workers,
            strategy="STRICT_SPREAD" if self._options.one_per_node else "SPREAD",
        )

    def _place(self, num_workers: int) -> Any | None:
        """Return a placement group, or None if the capacity has changed meanwhile."""
        bundles = self._reserve(num_workers)
        deadline = time.monotonic() + _PLACE_SECONDS
        while not self._received and time.monotonic() < deadline:
            if bundles.wait(_POLL_SECONDS):
                return bundles
        self._ray.util.remove_placement_group(bundles)
        return None

    # --- while a group runs

    def _supervise(self, group: WorkerGroup) -> dict[int, WorkerEnd]:
        """Show the output of workers until all have ended, or one has failed; end the others.

        Returns:
            How workers have ended that this has not ended, in this order.
        """
        deadline = math.inf
        next_look = time.monotonic() + _GROWTH_SECONDS
        num_looks = 0
        while group.running and time.monotonic() < deadline:
            if self._received:
                self._stop_after_signal(group)
                break
            self._receive(group, _POLL_SECONDS)
            if deadline == math.inf and any(end.status != 0 for end in group.ends.values()):
                deadline = time.monotonic() + _CAUSE_SECONDS
            if time.monotonic() > next_look and not group.ends:
                num_looks = num_looks + 1 if self._can_grow(group) else 0
                next_look = time.monotonic() + _GROWTH_SECONDS
                if num_looks == 2:
                    self._ask_to_stop(group)
        ends = dict(group.ends)
        group.send_signal(signal.SIGKILL)
        self._wait_for_end(group, _KILL_SECONDS)
        return ends

    def _receive(self, group: WorkerGroup, seconds: float) -> None:
        """Show what workers have written, and record the checkpoints of the chief."""
        for event in group.events(seconds):
            if event.kind == "report":
                self._record(event)
            else:
                write_line(event)

    def _record(self, event: Event) -> None:
        """Record what a worker has reported: a checkpoint, or the safepoints that it has passed."""
        command, _, text = event.text.partition(" ")
        if command == "connected":
            self._safepoints[event.worker] = None
        elif command == "safepoint":
            self._safepoints[event.worker] = int(text)
        elif event.worker == 0:
            self._record_checkpoint(text)

    def _record_checkpoint(self, text: str) -> None:
        """Allow restarts again if the run has never been so far."""
        position, _, path = text.partition(" ")
        if int(position) > self._positions.get(path, -1):
            self._positions[path] = int(position)
            self._num_restarts = 0

    def _can_grow(self, group: WorkerGroup) -> bool:
        return (
            not self._grows
            and len(group.locations) < self._options.max_workers
            and self._count_free(sorted(group.nodes)) > 0
        )

    def _ask_to_stop(self, group: WorkerGroup) -> None:
        """Have the group save its next checkpoint and exit, to be formed again with more."""
        self._grows = True
        group.send("grow")
        report("there is capacity for more workers; the group stops at its next checkpoint.")

    def _stop_after_signal(self, group: WorkerGroup) -> None:
        """Pass a signal on to the workers, and wait for them; not after another signal."""
        num_received = len(self._received)
        number = announce_signal(self._received[0], self._options.grace)
        if not self._stop_at_safepoint(group):
            group.send_signal(number)
        self._wait_for_end(group, self._options.grace, num_received)

    def _stop_at_safepoint(self, group: WorkerGroup) -> bool:
        """Have all workers stop at the same safepoint of `BackupAndRestore`; return whether that is
        possible.
        """
        if set(self._safepoints) != set(range(len(group.locations))):
            return False
        group.send("pause")
        deadline = time.monotonic() + AGREE_SECONDS
        while time.monotonic() < deadline and None in self._safepoints.values():
            self._receive(group, _POLL_SECONDS)
        stop = find_safepoint_to_stop_at(self._safepoints.values())
        group.send("continue" if stop is None else f"stop {stop}")
        return stop is not None

    def _wait_for_end(
        self, group: WorkerGroup, seconds: float, num_received: float = math.inf
    ) -> None:
        deadline = time.monotonic() + seconds
        while group.running and time.monotonic() < deadline:
            self._receive(group, _POLL_SECONDS)
            if len(self._received) > num_received:
                return

    # --- after a group has ended

    def _find_status(self, ends: dict[int, WorkerEnd], group: WorkerGroup) -> int | None:
        """Return the exit status of the job, or None if it continues with another group."""
        statuses = [end.status for end in ends.values()]
        has_saved = len(ends) == len(group.locations) and set(statuses) == {LOST_PEER}
        if self._received:
            return LOST_PEER if has_saved else 128 + self._received[0]
        failed = {worker: end for worker, end in ends.items() if end.status != 0}
        if not failed:
            return 0
        for worker, end in failed.items():
            if end.is_own_error:
                report(f"worker {worker} {end.reason}; the job ends.")
                return end.exit_status
        if self._grows and has_saved:
            return None
        worker, end = _find_cause(failed, ends, group)
        return None if self._may_restart(f"worker {worker}", end) else end.exit_status

    def _may_restart(self, worker: str, end: WorkerEnd) -> bool:
        """Report a loss, and return whether the group is formed again."""
        self._num_restarts += 1
        limit = self._options.max_restarts
        if self._num_restarts <= limit:
            report(f"{worker} {end.reason}; the group is formed again.")
            return True
        report(
            f"{worker} {end.reason}; the job ends, since the group was formed again "
            f"{_quantity(limit, 'time')} without a new checkpoint (--max-restarts). Started again, "
            "it continues from its last checkpoint."
        )
        return False


def _find_cause(
    failed: dict[int, WorkerEnd], ends: dict[int, WorkerEnd], group: WorkerGroup
) -> tuple[int, WorkerEnd]:
    """Return the worker because of which the others have ended, and how it has ended."""
    for worker, end in failed.items():
        if not end.is_consequence:
            return worker, end
    for worker, location in enumerate(group.locations):
        if worker not in ends:  # Ray needs more time to know that a node is gone
            where = f"on {location.machine} ({location.host})"
            return worker, WorkerEnd(None, f"{where} does not respond")
    return next(iter(failed.items()))


def _quantity(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
