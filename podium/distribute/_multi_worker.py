"""MultiWorkerMirroredStrategy: one process on each of several machines, training together over
JAX's distributed runtime.
"""

from __future__ import annotations

import os
import secrets
import threading
import zlib
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from podium.core import seed_count, set_random_seed
from podium.distribute._cluster import Cluster, find_cluster
from podium.distribute._devices import allow_for_collectives
from podium.distribute._heartbeat import Watch, end_process
from podium.distribute._layout import Layout, make_mesh
from podium.distribute._mesh_strategy import MeshStrategy

_NEVER = (
    7 * 86_400
    # seconds; JAX's own heartbeats would abort a job that was suspended as a whole, which ours do
    # not
)
_joined: dict[str, Any] = {}  # the cluster that this process belongs to: JAX joins one, once


class MultiWorkerMirroredStrategy(MeshStrategy):
    """Trains on the devices of several processes, usually one on each machine; every device has all
    Variables.

    Every worker runs the same script on the same data, and takes its part of each batch. Make the
    strategy first, before anything is computed. `fit`, `evaluate` and `predict` give every worker
    the same results, those of one process. Worker 0 is the chief: it shows progress, saves, and
    calls callbacks; those that change the model's state run everywhere (`Callback.every_worker`).

    When a worker is lost the others stop: at once if it was killed, within `heartbeat` seconds if
    its machine is gone. They end with status 75 and an error that names it. Start the whole job
    again; it goes on from its last checkpoint.

    Args:
        coordinator: The address "host:port" of worker 0, if the environment does not say. The
            environment is looked at for `TF_CONFIG` (which `podium launch` sets), then for Slurm's
            and Open MPI's names.
        num_workers: How many workers there are.
        worker: The number of this one, from 0.
        heartbeat: After so many seconds without a sign of life a worker counts as lost. By default
            what `PODIUM_HEARTBEAT` in the environment says, or 30.
        initialization_timeout: How many seconds to wait for the others at the start.

    Raises:
        ValueError: The cluster is not known.
        RuntimeError: JAX has computed something before, or the process belongs to another cluster.

    Example:
        >>> import socket
        >>> podium.distribute.find_cluster({}, "10.0.0.1:9000", num_workers=2, worker=1)  # what the arguments mean
        Cluster(coordinator='10.0.0.1:9000', num_workers=2, worker=1, source='arguments')
    """

    def __init__(
        self,
        coordinator: str | None = None,
        num_workers: int | None = None,
        worker: int | None = None,
        heartbeat: float | None = None,
        initialization_timeout: int = 300,
        cluster_resolver: Any = None,
        communication_options: Any = None,
    ):
        self.cluster = find_cluster(os.environ, coordinator, num_workers, worker)
        seconds = float(
            os.environ.get("PODIUM_HEARTBEAT", "30") if heartbeat is None else heartbeat
        )
        if not seconds > 0:
            raise ValueError(
                f"heartbeat={seconds} was given; a number of seconds above 0 was expected."
            )
        _join(self.cluster, seconds, initialization_timeout)
        devices = jax.devices()
        super().__init__(Layout(make_mesh(devices, (len(devices),), ("data",)), ("data",)))
        if (
            not seed_count()
        ):  # nobody has chosen a seed: the chief's, so that all workers begin with the same weights
            set_random_seed(int(self.agreed(np.uint32(secrets.randbits(31)), how="chief")))

    @property
    def is_chief(self) -> bool:
        """Whether this worker logs and saves."""
        return self.cluster.is_chief

    def agreed(self, value: Any, how: str = "any") -> Any:
        """Return one value for all workers: the chief's, or whether any has a true one. All workers
        must ask.

        Args:
            value: This worker's value: a number or an array.
            how: "any" or "chief".
        """
        from jax.experimental import multihost_utils

        if self.cluster.num_workers == 1:
            return value
        if how == "chief":
            return multihost_utils.broadcast_one_to_all(np.asarray(value))
        return bool(np.any(multihost_utils.process_allgather(np.asarray(bool(value)))))

    def check_equal(self, variables: Iterable[Any]) -> None:
        """Check that all workers have the same values; they may have been made or loaded from
        different things.

        Raises:
            ValueError: They have not; the first Variable and the workers are named.
        """
        from jax.experimental import multihost_utils

        found = list(variables)
        if self.cluster.num_workers == 1 or not found:
            return
        sums = np.array(
            [zlib.crc32(np.ascontiguousarray(v.numpy()).tobytes()) for v in found], np.uint32
        )
        of_all = np.asarray(
            multihost_utils.process_allgather(np.append(sums, np.uint32(len(sums))))
        )
        for worker, theirs in enumerate(of_all):
            if not np.array_equal(theirs, of_all[0]):
                place = int(np.argmax(theirs != of_all[0]))
                name = repr(found[place].path) if place < len(found) else "some"
                raise ValueError(
                    f"Worker {worker} and worker 0 have different values of Variable {name}. "
                    "Workers must begin with the same weights: call `podium.utils.set_random_seed` "
                    "with the same seed everywhere after making the strategy, and load the same "
                    "files."
                )

    def before_run(self, model: Any, what: str) -> None:
        """See to it that all workers start a `fit` from the same state."""
        if what == "fit":
            self.check_equal(model.variables)


def _join(cluster: Cluster, heartbeat: float, timeout: int) -> None:
    """Join the cluster, once in a process."""
    if _joined:
        if _joined["cluster"] != cluster:
            raise RuntimeError(
                f"This process belongs to {_joined['cluster']} already, and cannot join {cluster}."
            )
        return
    allow_for_collectives()
    if cluster.num_workers > 1:
        os.environ.setdefault("PJRT_NPROC", str(max(8, os.cpu_count() or 1)))
    jax.config.update("jax_enable_preemption_service", False)  # it would swallow SIGTERM
    jax.config.update(
        "jax_enable_recoverability", True
    )  # ours to say who was lost, before JAX aborts
    loopback = cluster.host in ("localhost", "127.0.0.1", "::1")
    try:
        jax.distributed.initialize(
            cluster.coordinator,
            cluster.num_workers,
            cluster.worker,
            cluster_detection_method="deactivate",
            initialization_timeout=timeout,
            heartbeat_timeout_seconds=_NEVER,
            shutdown_timeout_seconds=max(10, int(2 * heartbeat)),
            coordinator_bind_address=cluster.coordinator if loopback else None,
        )
    except RuntimeError as error:
        if "before" not in str(error):
            raise
        raise RuntimeError(
            "MultiWorkerMirroredStrategy was made after something had been computed. Make it "
            "first, right after the imports: before models, Variables and `set_random_seed`."
        ) from error
    _joined["cluster"] = cluster
    if cluster.num_workers > 1:
        _joined["watch"] = _watched(cluster, heartbeat, timeout, loopback)


def _watched(cluster: Cluster, heartbeat: float, timeout: int, loopback: bool) -> Watch:
    from jax.experimental import multihost_utils

    watch = Watch(cluster.worker, cluster.num_workers, heartbeat)
    late = f"podium: the workers have not all met within {timeout} seconds (initialization_timeout). Worker {cluster.worker} stops."
    guard = threading.Timer(
        timeout, end_process, [late]
    )  # one may be lost before the watch has begun
    guard.daemon = True
    guard.start()
    mine = np.zeros(3, np.uint32)
    if cluster.is_chief:
        mine[:] = (
            watch.listen(cluster.host if loopback else ""),
            secrets.randbits(32),
            secrets.randbits(32),
        )
    port, *token = np.asarray(multihost_utils.broadcast_one_to_all(mine)).tolist()
    watch.meet(cluster.host, int(port), "-".join(map(str, token)))
    guard.cancel()
    return watch
