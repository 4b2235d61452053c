"""Scheduler: the queue of calls, a thread for each worker, and the commits.

Invariant: the changes of a call are applied once, or not at all if it fails. Why it holds: only
this process commits, after a worker has staged all changes of a call on all servers; a call of a
lost worker runs again as another attempt; and servers ignore a second commit of a call. Guarded by
tests/distribute/parameter_server/test_exactly_once.py.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from podium._typing import Tree
from podium.core import OutOfRange, warn_user
from podium.distribute.parameter_server._messages import (
    DataEnded,
    MissingProgram,
    ServerLostError,
    WorkerLostError,
)
from podium.distribute.parameter_server._remote_value import PerWorkerIterator, RemoteValue
from podium.distribute.parameter_server._scheduled_function import ScheduledFunction
from podium.distribute.parameter_server._server import Ledger
from podium.distribute.parameter_server._worker_link import Call, Cluster, WorkerLink

_MAX_ATTEMPTS = 10  # of one call: each has cost a worker

_DATA_ENDED = (
    "A call reads {needed} elements, and its worker's dataset has {left} left. Repeat it: "
    "`dataset.repeat()`."
)
_UNUSED = (
    "The datasets of the workers have ended with {unused} elements left, fewer than the {needed} "
    "that a call reads: they are not used. Repeat the dataset, `dataset.repeat()`, or choose "
    "multiples of that number."
)


class Scheduler:
    """Runs calls on workers.

    Functions are traced by the threads of the caller, in `add`, `wait` and `wait_for`: the threads
    of the workers trace nothing.

    Args:
        cluster: The processes.
        datasets: What `Worker.add_dataset` takes, by the names of datasets.
        staleness: How many rounds of one call per worker a call may begin before all calls of an
            earlier round are applied. 0 means synchronous rounds: the calls of a round start from
            the same values, and are applied together. None means no bound.

    Attributes:
        lost_server: The error of a server that was lost, and with it the values of Variables.
        num_lost_workers: How many workers were lost while they ran a call.
        bytes_pulled: The bytes that workers have received from servers.
        bytes_pushed: The bytes that workers have sent to servers.
        rows_pulled: The rows that workers have received of Variables that are moved by rows.
    """

    def __init__(self, cluster: Cluster, datasets: dict[str, Any], staleness: int | None = None):
        self._cluster = cluster
        self._staleness = staleness
        self._changed = threading.Condition()
        self._queue: deque[Call] = deque()
        self._num_running = 0
        self._untraced: deque[tuple[Call, MissingProgram]] = deque()
        self._staged: dict[int, Call] = {}  # by step, until they are committed
        self._ledger = Ledger()
        # How many elements workers have left, by the iterators that have too few.
        self._workers_without_data: dict[tuple[PerWorkerIterator, ...], dict[int, int]] = {}
        self._warnings: list[str] = []  # until the caller's thread gives them
        self._num_scheduled = 0
        self._num_cancelled = 0  # the first calls, of which one has raised: an error is raised once
        self._commits_partial_rounds = False
        self._num_flushed = 0  # how many calls the servers are known to have applied
        self._error: BaseException | None = None  # of a call, until it is raised
        self.lost_server: ServerLostError | None = None
        self._is_closed = False
        self.bytes_pulled = self.bytes_pushed = self.rows_pulled = self.num_lost_workers = 0
        self._workers = [WorkerLink(i, cluster, datasets) for i in range(cluster.num_workers)]
        self._threads = [
            threading.Thread(
                target=self._run_worker, args=(i,), name=f"podium-worker-{i}", daemon=True
            )
            for i in range(cluster.num_workers)
        ]
        for thread in self._threads:
            thread.start()

    # --- for the threads of the caller

    def add(
        self,
        function: ScheduledFunction,
        iterators: tuple[PerWorkerIterator, ...],
        arrays: tuple[NDArray[Any], ...],
        elements: tuple[tuple[Tree, ...], ...] = (),
    ) -> RemoteValue:
        """Schedule a call; `elements` were read from the streams among its arguments.

        Raises:
            Exception: What an earlier call has raised; calls that had not begun are cancelled.
        """
        self.raise_error()
        self._trace_pending()
        function.upload()
        result = RemoteValue(self.wait_for)
        with self._changed:
            # If a call has raised meanwhile, this one is not added: it would raise as well, and end
            # the calls that the caller schedules after the error.
            error, self._error = self._error, None
            if error is None:
                self._commits_partial_rounds = False
                step = self._num_scheduled
                self._queue.append(Call(step, function, iterators, arrays, elements, result))
                self._num_scheduled += 1
                self._changed.notify_all()
                return result
        raise error

    def wait_for_program(self, function: ScheduledFunction, result: RemoteValue) -> None:
        """Wait until a worker has asked for the program of a function, and trace it."""
        self._wait_until(lambda: bool(function.programs) or result.has_ended, ends_round=False)

    def wait_for_queue(self, max_calls: int) -> None:
        """Wait until at most this number of calls wait for a worker."""
        self._wait_until(lambda: len(self._queue) <= max_calls, ends_round=False)

    def serve(self) -> None:
        """Do what the workers wait for, without waiting for them."""
        with self._changed:
            self._commits_partial_rounds = True
            self._commit_round()
        self._trace_pending()

    def wait(self) -> None:
        """Wait until all calls have ended and their changes are applied; `raise_error` raises what
        they have raised.
        """
        self._wait_until(lambda: self.is_idle)
        if self.lost_server is None and self._num_flushed < self._ledger.count:
            self._num_flushed = self._ledger.count
            self._cluster.call_servers(
                "pull", [([], self._num_flushed)] * self._cluster.num_servers
            )

    def wait_for(self, result: RemoteValue) -> None:
        """Wait until a call has ended."""
        self._wait_until(lambda: result.has_ended)

    @property
    def is_idle(self) -> bool:
        """Whether all calls have ended."""
        return self._ledger.count == self._num_scheduled

    def raise_error(self) -> None:
        """Raise what a call has raised, once."""
        if self.lost_server is not None:
            raise self.lost_server
        with self._changed:
            error, self._error = self._error, None
            messages, self._warnings = self._warnings, []
        for message in messages:
            warn_user(message)
        if error is not None:
            raise error

    def close(self) -> None:
        """Cancel all calls; the threads end with the calls that run."""
        with self._changed:
            self._is_closed = True
            self._cancel(RuntimeError("The strategy was closed before the call was run."))
            self._changed.notify_all()

    def join_threads(self) -> None:
        """Wait until the threads have ended, after `close`."""
        for thread in self._threads:
            thread.join()

    def _wait_until(self, is_over: Callable[[], bool], ends_round: bool = True) -> None:
        while True:
            with self._changed:
                self._commits_partial_rounds = ends_round
                self._commit_round()
                self._changed.wait_for(
                    lambda: is_over() or self._untraced or self.lost_server or self._is_closed
                )
                if is_over() or self.lost_server is not None or self._is_closed:
                    return
            self._trace_pending()

    def _trace_pending(self) -> None:
        """Trace functions for elements of new shapes that workers have read."""
        while self._untraced:
            call, missing = self._untraced.popleft()
            try:
                call.function.trace(missing.elements)
            except BaseException as error:
                with self._changed:
                    self._fail(call, error)
                    self._changed.notify_all()
                if not isinstance(error, Exception):
                    raise
                continue
            with self._changed:
                self._queue.appendleft(call)
                self._changed.notify_all()

    # --- for the threads of the workers

    def _run_worker(self, index: int) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self._next_call(index))
                if self._is_closed:
                    return
                call = self._next_call(index)
                assert call is not None
                self._queue.remove(call)
                self._num_running += 1
                version = self._ledger.count
            try:
                self._run(index, call, version)
            finally:
                with self._changed:
                    self._num_running -= 1
                    self._changed.notify_all()

    def _next_call(self, index: int) -> Call | None:
        """Return the next call for a worker, if it may begin. In synchronous rounds each worker has
        one call of each, so that a run repeats, whichever workers are lost.
        """
        if not self._queue:
            return None
        num_workers = self._cluster.num_workers
        # If no worker has data for a call, each of them finds that out.
        possible = (
            call
            for call in self._queue
            if index not in (left := self._workers_without_data.get(call.iterators, {}))
            or len(left) == num_workers
        )
        if self._staleness == 0:
            possible = (call for call in self._queue if call.step % num_workers == index)
        call = next(possible, None)
        if self._staleness is None or call is None:
            return call
        first_round = call.step // num_workers - self._staleness
        return call if self._ledger.next_missing >= first_round * num_workers else None

    def _run(self, index: int, call: Call, version: int) -> None:
        """Run a call on a worker, and commit it."""
        try:
            outcome = self._workers[index].run(call, version)
        except WorkerLostError as error:
            self._replace(index, call, error)
        except ServerLostError as error:
            with self._changed:
                self.lost_server = self.lost_server or error
                self._fail(call, error)
        except Exception as error:
            with self._changed:
                self._fail(call, error)
        else:
            with self._changed:
                if isinstance(outcome, MissingProgram):
                    self._untraced.append((call, outcome))
                    return
                if isinstance(outcome, DataEnded):
                    left = self._workers_without_data.setdefault(call.iterators, {})
                    left[index] = outcome.left
                    # Another worker may have data; in synchronous rounds each call has its worker.
                    if self._staleness != 0 and len(left) < self._cluster.num_workers:
                        self._queue.appendleft(call)
                        return
                    if unused := sum(left.values()):
                        self._warnings.append(_UNUSED.format(unused=unused, needed=outcome.needed))
                    self._fail(call, OutOfRange(_DATA_ENDED.format(**outcome._asdict())))
                    return
                self.bytes_pulled += outcome.bytes_pulled
                self.bytes_pushed += outcome.bytes_pushed
                self.rows_pulled += outcome.rows_pulled
                call.outputs = outcome.outputs
                self._staged[call.step] = call
                if self._staleness == 0:
                    self._commit_round()
                else:
                    self._commit(call)

    def _replace(self, index: int, call: Call, error: WorkerLostError) -> None:
        """Start a replacement for a lost worker; its call runs again, on any worker."""
        with self._changed:
            if self._is_closed:
                return
            self.num_lost_workers += 1
            call.attempt += 1
            if call.attempt >= _MAX_ATTEMPTS:
                self._fail(call, error)
            else:
                self._queue.appendleft(call)
            self._changed.notify_all()
        self._workers[index].replace()

    # --- commits; the caller holds the lock

    def _commit(self, call: Call) -> None:
        """Apply the changes of a call, of which it has none if it failed."""
        self._staged.pop(call.step, None)
        if self.lost_server is None:
            self._cluster.send_to_servers("commit", call.step, call.attempt)
        self._ledger.add(call.step)
        if call.outputs is not None:
            call.result._end(call.function.result(call.outputs))
        self._changed.notify_all()

    def _commit_round(self) -> None:
        """Commit the calls of the present round, if all of them are staged."""
        if self._staleness != 0:
            return
        num_workers = self._cluster.num_workers
        first = self._ledger.next_missing
        end = (first // num_workers + 1) * num_workers
        if self._commits_partial_rounds:
            end = min(end, self._num_scheduled)
        missing = [s for s in range(first, end) if s not in self._ledger and s not in self._staged]
        if not missing:
            for step in range(first, end):
                if step in self._staged:
                    self._commit(self._staged[step])

    def _fail(self, call: Call, error: BaseException) -> None:
        """End a call that has raised, and cancel those that have not begun."""
        if call.step >= self._num_cancelled:  # not one that ran beside a call that has raised
            self._error = self._error or error
            self._num_cancelled = self._num_scheduled
        call.result._end(error=error)
        call.outputs = None
        self._commit(call)
        self._cancel(error)

    def _cancel(self, error: BaseException) -> None:
        waiting = [*self._queue, *(call for call, _ in self._untraced)]
        self._queue.clear()
        self._untraced.clear()
        for call in waiting:
            call.result._end(error=error)
            call.outputs = None
            self._commit(call)
