"""ParameterServerStrategy: Variables on servers, steps on workers, in processes that Ray runs."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from podium.core import Variable, warn_user
from podium.core.internal import check_bool, check_int
from podium.distribute._strategy import Strategy
from podium.distribute.cluster_resolver import ClusterResolver, ClusterSpec
from podium.distribute.parameter_server._coordinator import ClusterCoordinator
from podium.distribute.parameter_server._partitioners import Partitioner
from podium.distribute.parameter_server._ray_cluster import RayCluster
from podium.distribute.parameter_server._remote_variables import RemoteVariables
from podium.distribute.parameter_server._scheduler import Scheduler

_LARGE_TABLE = 1 << 20  # bytes: moving less is not worth a warning


class ParameterServerStrategy(Strategy):
    """Trains on workers that pull Variables from parameter servers and push what steps change.

    Args:
        cluster_resolver: A description of a cluster, of which only the numbers of "worker" and
            "ps" tasks are used: Ray places and starts the processes.
        variable_partitioner: Splits Variables into shards on several servers.
        num_workers: The number of workers; by default that of `cluster_resolver`, or 2.
        num_servers: The number of parameter servers; by default that of `cluster_resolver`, or 1.
        address: The address of a running Ray cluster, or "auto" for that of this machine; by
            default that of the environment variable `RAY_ADDRESS`, or else a local one is started.
        staleness: How many rounds of one step per worker a step may begin before all steps of an
            earlier round are applied; 0 for synchronous rounds, None for no bound.
        worker_options: Options of Ray for the workers, such as `{"num_gpus": 1}`.
        lazy_embedding_updates: Whether rows of an embedding table (and of its slots) that a call
            does not look up stay as they are, although dense training would change them, as Adam
            and momentum do. Tables are then moved by rows with any optimizer, and the results are
            those of lazy updates. By default results are those of dense training.

    Raises:
        ImportError: Ray is not installed: `pip install podium[ray]`.

    Example:
        >>> strategy = podium.distribute.ParameterServerStrategy(num_workers=1)
        >>> coordinator = podium.distribute.coordinator.ClusterCoordinator(strategy)
        >>> with strategy.scope():
        ...     total = podium.Variable(0.0)
        >>> add = podium.function(lambda x: total.assign_add(x))
        >>> results = [coordinator.schedule(add, args=(np.float32(x),)) for x in (1, 2, 3)]
        >>> coordinator.join()
        >>> float(total), coordinator.fetch(results[0]).shape
        (6.0, ())
        >>> strategy.close()
    """

    _should_use_with_coordinator = True

    def __init__(
        self,
        cluster_resolver: ClusterResolver | None = None,
        variable_partitioner: Partitioner | None = None,
        *,
        num_workers: int | None = None,
        num_servers: int | None = None,
        address: str | None = None,
        staleness: int | None = None,
        worker_options: dict[str, Any] | None = None,
        lazy_embedding_updates: bool = False,
    ):
        self.lazy_embedding_updates = check_bool("lazy_embedding_updates", lazy_embedding_updates)
        self._warned_of: set[str] = set()  # paths of Variables
        self.staleness = None if staleness is None else check_int("staleness", staleness, 0)
        spec = None if cluster_resolver is None else cluster_resolver.cluster_spec()
        self.num_workers = check_int("num_workers", num_workers or _num_tasks(spec, "worker", 2))
        self.num_servers = check_int("num_servers", num_servers or _num_tasks(spec, "ps", 1))
        self.cluster_resolver = cluster_resolver
        self.before_wait: Callable[[], object] | None = None  # schedules what is still to be run
        self._coordinator: ClusterCoordinator | None = None
        self._scheduler: Scheduler | None = None
        self._cluster = self._start_cluster(address, worker_options)
        self._remote = RemoteVariables(
            self.num_servers, self._cluster.call_servers, self.wait, variable_partitioner
        )
        self._schedulers: list[Scheduler] = []
        self._close = weakref.finalize(self, _end_processes, self._cluster, self._schedulers)

    def _start_cluster(
        self, address: str | None, worker_options: dict[str, Any] | None
    ) -> RayCluster:
        address = address or os.environ.get("RAY_ADDRESS") or None
        return RayCluster(self.num_workers, self.num_servers, address, worker_options)

    def _make_scheduler(self, datasets: dict[str, Any]) -> Scheduler:
        self._scheduler = Scheduler(self._cluster, datasets, self.staleness)
        self._schedulers.append(self._scheduler)
        return self._scheduler

    def wait(self) -> None:
        """Wait until no scheduled step runs: the Variables have the values of all of them."""
        if self.before_wait is not None:
            self.before_wait()
        if self._scheduler is not None:
            self._scheduler.wait()

    def warn_of_whole_table(self, table: Variable, reason: str) -> None:
        """Warn, once, that a large table is moved as a whole.

        Args:
            table: The table.
            reason: Why.
        """
        size = math.prod(table.shape) * np.dtype(table._dtype).itemsize
        if size < _LARGE_TABLE or table.path in self._warned_of:
            return
        self._warned_of.add(table.path)
        warn_user(
            f"All {table.shape[0]:,} rows of the table {table.path!r} ({size / 1e6:,.0f} MB) are "
            "pulled by every step, not only those that its batch looks up: "
            f"{reason}. SGD without momentum and Adagrad change only the rows of the batch; "
            "`ParameterServerStrategy(lazy_embedding_updates=True)` keeps the other rows as they "
            "are, which gives other results than dense training."
        )

    def close(self) -> None:
        """End all processes; Variables keep their values."""
        if self._close.alive and self._scheduler is not None:
            self.wait()
            if self._scheduler.lost_server is None:
                self._remote.take_back_all()
        self._close()

    def __repr__(self) -> str:
        return (
            f"<podium.distribute.ParameterServerStrategy, {self.num_workers} workers, "
            f"{self.num_servers} servers>"
        )


def _end_processes(cluster: RayCluster, schedulers: list[Scheduler]) -> None:
    for scheduler in schedulers:
        scheduler.close()
    cluster.end_workers()  # threads that wait for them continue
    for scheduler in schedulers:
        scheduler.join_threads()
    cluster.close()


def _num_tasks(spec: ClusterSpec | None, job: str, default: int) -> int:
    return spec.num_tasks(job) if spec is not None and job in spec.jobs else default
