"""MultiWorkerMirroredStrategy: one process on each of several machines, which train together over
JAX's distributed runtime.
"""

from __future__ import annotations

import math
import os
import secrets
import threading
import zlib
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from podium.core import Variable, seed_count, set_random_seed
from podium.distribute._addresses import check_gloo_address, choose_bind_host
from podium.distribute._cluster import Cluster, find_cluster, join_address
from podium.distribute._devices import reserve_cpu_threads
from podium.distribute._heartbeat import Heartbeat, end_process
from podium.distribute._layout import Layout, make_mesh
from podium.distribute._mesh_strategy import MeshStrategy
from podium.distribute.elastic._member import exit_on_errors
from podium.distribute.launcher._launcher_connection import connect_to_launcher
from podium.telemetry.internal import measure

# JAX's own heartbeats would abort a job that was suspended as a whole, which ours do not. Under
# `podium launch --ray`, which starts an aborted job again, they are used instead of ours.
_NO_JAX_HEARTBEAT = 7 * 86_400
_ELASTIC_SHUTDOWN_SECONDS = 600  # for which workers that have ended wait for the chief to save
_joined: dict[str, Any] = {}  # the cluster of this process, which can join only one


class MultiWorkerMirroredStrategy(MeshStrategy):
    """Trains on the devices of several processes, usually one on each machine; every device has all
    Variables.

    Every worker runs the same script on the same data, and computes its part of each batch. Make
    the strategy first, before anything is computed. `fit`, `evaluate` and `predict` return the same
    results on every worker, those of one process. Worker 0 is the chief: it shows progress, saves,
    and calls callbacks; those that change the model's state run on all workers
    (`Callback.every_worker`).

    When a worker is lost the others stop: at once if it was killed, within `heartbeat` seconds if
    its machine is gone. They end with status 75 and an error that names it. Start the job again; it
    continues from its last checkpoint. `podium launch --ray` does that by itself.

    Args:
        coordinator: The address "host:port" of worker 0. By default the cluster is found in
            `TF_CONFIG` (which `podium launch` sets), or in the environment variables of Open MPI
            and Slurm.
        num_workers: The number of workers.
        worker: The index of this one, from 0.
        heartbeat: The number of seconds of silence after which a worker counts as lost. By default
            the environment variable `PODIUM_HEARTBEAT`, or 30.
        initialization_timeout: How many seconds to wait for the others at the start.
        cluster_resolver: Accepted for TensorFlow's signature.
        communication_options: Accepted for TensorFlow's signature.
        bind_host: The host or address to which worker 0 binds. By default the environment
            variable `PODIUM_BIND_HOST`, or the host of `coordinator`. "0.0.0.0" binds to all
            interfaces. JAX's coordinator is not authenticated: bind to a private network.

    Raises:
        ValueError: The cluster is not known, or its machines cannot reach each other.
        RuntimeError: JAX has computed something before, or the process belongs to another cluster.

    Example:
        >>> podium.distribute.find_cluster({}, "10.0.0.1:9000", num_workers=2, worker=1)
        Cluster(coordinator='10.0.0.1:9000', num_workers=2, worker=1, source='arguments')
    """

    def __init__(
        self,
        coordinator: str | None = None,
        num_workers: int | None = None,
        worker: int | None = None,
        heartbeat: float | None = None,
        initialization_timeout: int = 300,
        cluster_resolver: object = None,
        communication_options: object = None,
        bind_host: str | None = None,
    ):
        self.cluster = find_cluster(os.environ, coordinator, num_workers, worker)
        seconds = float(
            os.environ.get("PODIUM_HEARTBEAT", "30") if heartbeat is None else heartbeat
        )
        if not seconds > 0:
            raise ValueError(
                f"heartbeat={seconds} was given; a number of seconds above 0 was expected."
            )
        bind_host = bind_host or os.environ.get("PODIUM_BIND_HOST")
        _join(self.cluster, seconds, initialization_timeout, bind_host)
        devices = jax.devices()
        super().__init__(Layout(make_mesh(devices, (len(devices),), ("data",)), ("data",)))
        # Without a seed from the user, all workers use the chief's, to start with equal weights.
        if not seed_count():
            set_random_seed(
                int(self.reduce_across_workers(np.uint32(secrets.randbits(31)), how="chief"))
            )

    @property
    def is_chief(self) -> bool:
        """Whether this worker logs and saves."""
        return self.cluster.is_chief

    def reduce_across_workers(self, value: Any, how: str = "any") -> Any:
        """Return one value for all workers: the chief's, or whether any worker's is true. All
        workers must call it.

        Args:
            value: This worker's value: a number or an array.
            how: "any" or "chief".
        """
        from jax.experimental import multihost_utils

        if self.cluster.num_workers == 1:
            return value
        with measure("synchronizing"):
            if how == "chief":
                return multihost_utils.broadcast_one_to_all(np.asarray(value))
            return bool(np.any(multihost_utils.process_allgather(np.asarray(bool(value)))))

    def check_equal(self, variables: Iterable[Variable]) -> None:
        """Check that all workers have the same values of Variables.

        Raises:
            ValueError: They differ; the message names the first Variable and the workers.
        """
        from jax.experimental import multihost_utils

        variables = list(variables)
        if self.cluster.num_workers == 1 or not variables:
            return
        checksums = np.array(
            [zlib.crc32(np.ascontiguousarray(v.numpy()).tobytes()) for v in variables], np.uint32
        )
        with measure("synchronizing"):
            all_checksums = np.asarray(
                multihost_utils.process_allgather(np.append(checksums, np.uint32(len(checksums))))
            )
        for worker, row in enumerate(all_checksums):
            if not np.array_equal(row, all_checksums[0]):
                index = int(np.argmax(row != all_checksums[0]))
                name = repr(variables[index].path) if index < len(variables) else "some"
                raise ValueError(
                    f"Worker {worker} and worker 0 have different values of Variable {name}. "
                    "Workers must start with the same weights: call `podium.utils.set_random_seed` "
                    "with the same seed on all of them after making the strategy, and load the "
                    "same files."
                )

    def on_run_begin(self, model: Any, what: str) -> None:
        """Check that all workers start a `fit` from the same state."""
        if what == "fit":
            self.check_equal(model.variables)


def _join(cluster: Cluster, heartbeat: float, timeout: int, bind_host: str | None) -> None:
    """Join the cluster, once in a process."""
    if _joined:
        if _joined["cluster"] != cluster:
            raise RuntimeError(
                f"This process belongs to {_joined['cluster']} already, and cannot join {cluster}."
            )
        return
    if cluster.is_chief:
        bind_host = choose_bind_host(cluster, bind_host)
    launcher = connect_to_launcher()
    is_elastic = launcher is not None and launcher.is_elastic
    reserve_cpu_threads()
    if cluster.num_workers > 1:
        os.environ.setdefault("PJRT_NPROC", str(max(8, os.cpu_count() or 1)))
    jax.config.update("jax_enable_preemption_service", False)  # it would intercept SIGTERM
    # Lets us report which worker was lost before JAX aborts.
    jax.config.update("jax_enable_recoverability", not is_elastic)
    shutdown_timeout = max(10, int(2 * heartbeat))
    try:
        jax.distributed.initialize(
            cluster.coordinator,
            cluster.num_workers,
            cluster.worker,
            cluster_detection_method="deactivate",
            initialization_timeout=timeout,
            heartbeat_timeout_seconds=math.ceil(heartbeat) if is_elastic else _NO_JAX_HEARTBEAT,
            shutdown_timeout_seconds=_ELASTIC_SHUTDOWN_SECONDS if is_elastic else shutdown_timeout,
            coordinator_bind_address=join_address(bind_host or cluster.host, cluster.port),
        )
    except RuntimeError as error:
        if "before" not in str(error):
            raise
        raise RuntimeError(
            "MultiWorkerMirroredStrategy was made after JAX had been used. Make it "
            "first, right after the imports: before models, Variables and `set_random_seed`."
        ) from error
    _joined["cluster"] = cluster
    if cluster.num_workers > 1:
        if jax.default_backend() == "cpu":
            check_gloo_address(cluster)
        if is_elastic:
            exit_on_errors(cluster.worker)
        else:
            host = bind_host or cluster.host
            _joined["heartbeat"] = _start_heartbeat(cluster, heartbeat, timeout, host)


def _start_heartbeat(cluster: Cluster, seconds: float, timeout: int, bind_host: str) -> Heartbeat:
    """Connect all workers, and monitor them."""
    from jax.experimental import multihost_utils

    heartbeat = Heartbeat(cluster.worker, cluster.num_workers, seconds)
    message = (
        f"podium: the workers have not all connected within {timeout} seconds "
        f"(initialization_timeout). Worker {cluster.worker} stops."
    )
    # A worker may be lost before the heartbeats have started.
    timer = threading.Timer(timeout, end_process, [message])
    timer.daemon = True
    timer.start()
    port_and_token = np.zeros(3, np.uint32)
    if cluster.is_chief:
        port_and_token[:] = (
            heartbeat.listen(bind_host),
            secrets.randbits(32),
            secrets.randbits(32),
        )
    port, *token = np.asarray(multihost_utils.broadcast_one_to_all(port_and_token)).tolist()
    heartbeat.connect(cluster.host, int(port), "-".join(map(str, token)))
    timer.cancel()
    return heartbeat
