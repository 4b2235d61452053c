"""Cluster: the workers of a job and the index of this one, from arguments or from the environment
variables of the launcher.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
from collections.abc import Mapping
from typing import Any

# The port of a job is chosen from these, below the ephemeral ports of the system.
_PORTS = range(20_000, 32_000)


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The workers of a job.

    Attributes:
        coordinator: The address "host:port" of worker 0, where the workers find each other.
        num_workers: The number of workers.
        worker: The index of this one.
        source: Where the information comes from.
        spans_machines: Whether the workers are on several machines; None if that is not known.

    Example:
        >>> podium.distribute.Cluster("10.0.0.1:1234", 2, 0, "arguments").is_chief
        True
    """

    coordinator: str
    num_workers: int
    worker: int
    source: str
    spans_machines: bool | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def is_chief(self) -> bool:
        """Whether this is the worker that logs and saves."""
        return self.worker == 0

    @property
    def host(self) -> str:
        """The host of worker 0."""
        return self.coordinator.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port of worker 0."""
        return int(self.coordinator.rpartition(":")[2])


def find_cluster(
    environment: Mapping[str, str],
    coordinator: str | None = None,
    num_workers: int | None = None,
    worker: int | None = None,
) -> Cluster:
    """Return the cluster from arguments, or else from `TF_CONFIG`, Open MPI's or Slurm's
    environment variables.

    Under `mpirun` in an allocation of Slurm both have set theirs; those of Open MPI are used.

    Raises:
        ValueError: No workers are named, or the information is incomplete.

    Example:
        >>> environment = {"SLURM_NTASKS": "4", "SLURM_PROCID": "2", "SLURM_JOB_ID": "77"}
        >>> environment["SLURM_STEP_NODELIST"] = "node[003-004]"
        >>> podium.distribute.find_cluster(environment)
        Cluster(coordinator='node003:20077', num_workers=4, worker=2, source='Slurm')
    """
    arguments = (coordinator, num_workers, worker)
    if any(value is not None for value in arguments):
        if any(value is None for value in arguments):
            raise ValueError(
                f"coordinator={coordinator!r}, num_workers={num_workers!r}, worker={worker!r} were "
                "given; give all three, or none to use the environment."
            )
        return _validate(
            Cluster(str(coordinator), int(num_workers or 0), int(worker or 0), "arguments")
        )
    for find in (_from_tf_config, _from_open_mpi, _from_slurm):
        cluster = find(environment)
        if cluster is not None:
            return _validate(cluster)
    raise ValueError(
        "The workers are not known: there is no TF_CONFIG, and no environment of Open MPI "
        "(mpirun) or Slurm (srun). Start the script with `podium launch --workers 2 "
        "script.py`, or give coordinator='host:port', num_workers= and worker=."
    )


def _validate(cluster: Cluster) -> Cluster:
    if not re.fullmatch(r".+:\d+", cluster.coordinator):
        raise ValueError(
            f"The coordinator's address {cluster.coordinator!r} (from {cluster.source}) is not "
            "valid: 'host:port' was expected."
        )
    if not 0 <= cluster.worker < cluster.num_workers:
        raise ValueError(
            f"worker={cluster.worker} of num_workers={cluster.num_workers} (from "
            f"{cluster.source}): workers are counted from 0."
        )
    return cluster


def _from_tf_config(environment: Mapping[str, str]) -> Cluster | None:
    text = environment.get("TF_CONFIG")
    if not text:
        return None
    try:
        config: Any = json.loads(text)
        addresses, task = config["cluster"], config["task"]
        task_type, task_index = task["type"], int(task["index"])
        chiefs, workers = list(addresses.get("chief", [])), list(addresses.get("worker", []))
        worker = {"chief": task_index, "worker": len(chiefs) + task_index}[task_type]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"TF_CONFIG={text!r} cannot be read ({type(error).__name__}: {error}); "
            '\'{"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": '
            "0}}' was expected."
        ) from None
    hosts = chiefs + workers
    if not hosts:
        raise ValueError(f"TF_CONFIG={text!r} names no worker.")
    names = {str(address).rpartition(":")[0].strip("[]") for address in hosts}
    spans_machines = sum(not is_loopback_name(name) for name in names) > 1
    return Cluster(hosts[0], len(hosts), worker, "TF_CONFIG", spans_machines)


def _from_open_mpi(environment: Mapping[str, str]) -> Cluster | None:
    if "OMPI_COMM_WORLD_RANK" not in environment or "OMPI_COMM_WORLD_SIZE" not in environment:
        return None
    rank, size = int(environment["OMPI_COMM_WORLD_RANK"]), int(environment["OMPI_COMM_WORLD_SIZE"])
    # Where mpirun runs: up to version 4 "id.0;tcp://address,...:port", from version 5
    # "prterun-host-process@1".
    launcher, namespace = (
        environment.get("OMPI_MCA_orte_hnp_uri", ""),
        environment.get("PMIX_NAMESPACE", ""),
    )
    host = environment.get("PODIUM_COORDINATOR_HOST")
    local_size = environment.get("OMPI_COMM_WORLD_LOCAL_SIZE")
    spans_machines = None if local_size is None else local_size != str(size)
    if host is None and spans_machines is False:
        host = "127.0.0.1"
    if host is None:
        match = re.search(r"tcp://([^,:]+)|tcp6://\[([^,\]]+)", launcher) or re.match(
            r"prterun-(.+)-\d+@\d+$", namespace
        )
        host = next((name for name in match.groups() if name), None) if match else None
    if host is None:
        raise ValueError(
            f"Open MPI's environment has {size} workers on several machines and does not name the "
            "host of worker 0. Name it: mpirun -x PODIUM_COORDINATOR_HOST=host ..., with the name "
            "of the first machine."
        )
    job = (
        re.match(r"(\d+)\.", launcher)
        or re.search(r"-(\d+)@\d+$", namespace)
        or re.match(r"(\d+)$", namespace)
    )
    job_id = 0 if job is None else int(job[1])
    address = _address(host, job_id // 4096 if launcher else job_id)
    return Cluster(address, size, rank, "Open MPI", spans_machines)


def _from_slurm(environment: Mapping[str, str]) -> Cluster | None:
    tasks = environment.get("SLURM_STEP_NUM_TASKS") or environment.get("SLURM_NTASKS")
    if "SLURM_PROCID" not in environment or tasks is None:
        return None
    if (
        int(tasks) > 1
        and "SLURM_STEP_ID" not in environment
        and "SLURM_STEP_NODELIST" not in environment
    ):
        raise ValueError(
            f"This is a batch script of Slurm, which runs once, not one of the {tasks} tasks of "
            "its job. Start the tasks with srun: `srun python train.py`."
        )
    nodes = (
        environment.get("SLURM_STEP_NODELIST")
        or environment.get("SLURM_JOB_NODELIST")
        or "localhost"
    )
    job, step = (
        int(environment.get("SLURM_JOB_ID", "0")),
        int(environment.get("SLURM_STEP_ID", "0")),
    )
    return Cluster(
        _address(first_node_name(nodes), job + 1009 * step),
        int(tasks),
        int(environment["SLURM_PROCID"]),
        "Slurm",
        spans_machines=re.search(r"[,\[]", nodes) is not None,
    )


def is_loopback_name(host: str) -> bool:
    """Return whether a host is this machine on every machine: "localhost", or an address such as
    127.0.0.1.
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def first_node_name(nodes: str) -> str:
    """Return the first name of a node list of Slurm, such as "gpu[01-04,7],cpu3"."""
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])*", nodes)
    assert first is not None
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first[0])


def _address(host: str, job: int) -> str:
    """Return the address of a coordinator: all workers of a job use the same port, and different
    jobs usually different ones.
    """
    return join_address(host, _PORTS[job % len(_PORTS)])


def join_address(host: str, port: int) -> str:
    """Return "host:port", with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
