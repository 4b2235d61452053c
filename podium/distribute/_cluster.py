"""Cluster: which workers there are and which one this is, from arguments or from what started the process."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

_SLURM_PORTS = (20_000, 20_000)  # a job's port: the first, and how many to choose from by the job's number


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The workers of a job.

    Attributes:
        coordinator: The address "host:port" of worker 0, where the workers find each other.
        num_workers: How many there are.
        worker: The number of this one.
        source: Where this was learnt.

    Example:
        >>> podium.distribute.Cluster("10.0.0.1:1234", 2, 0, "arguments").is_chief
        True
    """

    coordinator: str
    num_workers: int
    worker: int
    source: str

    @property
    def is_chief(self) -> bool:
        """Whether this is the worker that logs and saves."""
        return self.worker == 0

    @property
    def host(self) -> str:
        """The host of worker 0."""
        return self.coordinator.rpartition(":")[0].strip("[]")


def find_cluster(
    environment: Mapping[str, str], coordinator: str | None = None, num_workers: int | None = None, worker: int | None = None
) -> Cluster:
    """Return the cluster from arguments, or else from `TF_CONFIG`, Slurm's or Open MPI's environment.

    Raises:
        ValueError: Nothing says which workers there are, or what says it is incomplete.

    Example:
        >>> podium.distribute.find_cluster({"SLURM_NTASKS": "4", "SLURM_PROCID": "2", "SLURM_JOB_ID": "77",
        ...                                 "SLURM_STEP_NODELIST": "node[003-004]"})
        Cluster(coordinator='node003:20077', num_workers=4, worker=2, source='Slurm')
    """
    given = (coordinator, num_workers, worker)
    if any(value is not None for value in given):
        if any(value is None for value in given):
            raise ValueError(
                f"coordinator={coordinator!r}, num_workers={num_workers!r}, worker={worker!r} were given; give all three, or "
                "none and let the environment say."
            )
        return _checked(Cluster(str(coordinator), int(num_workers or 0), int(worker or 0), "arguments"))
    for find in (_from_tf_config, _from_slurm, _from_open_mpi):
        found = find(environment)
        if found is not None:
            return _checked(found)
    raise ValueError(
        "Nothing says which workers there are: there is no TF_CONFIG, and no environment of Slurm (srun) or Open MPI (mpirun). "
        "Start the script with `podium launch --workers 2 script.py`, or give coordinator='host:port', num_workers= and worker=."
    )


def _checked(cluster: Cluster) -> Cluster:
    if not re.fullmatch(r".+:\d+", cluster.coordinator):
        raise ValueError(
            f"The coordinator's address {cluster.coordinator!r} (from {cluster.source}) is none: 'host:port' was expected."
        )
    if not 0 <= cluster.worker < cluster.num_workers:
        raise ValueError(
            f"worker={cluster.worker} of num_workers={cluster.num_workers} (from {cluster.source}): workers are counted from 0."
        )
    return cluster


def _from_tf_config(environment: Mapping[str, str]) -> Cluster | None:
    text = environment.get("TF_CONFIG")
    if not text:
        return None
    try:
        config: Any = json.loads(text)
        tasks = config["cluster"]
        task = config["task"]
        kind, index = task["type"], int(task["index"])
        chiefs, workers = list(tasks.get("chief", [])), list(tasks.get("worker", []))
        number = {"chief": index, "worker": len(chiefs) + index}[kind]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"TF_CONFIG={text!r} cannot be read ({type(error).__name__}: {error}); expected was "
            '\'{"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}}\'.'
        ) from None
    addresses = chiefs + workers
    if not addresses:
        raise ValueError(f"TF_CONFIG={text!r} names no worker.")
    return Cluster(addresses[0], len(addresses), number, "TF_CONFIG")


def _from_slurm(environment: Mapping[str, str]) -> Cluster | None:
    if "SLURM_PROCID" not in environment or "SLURM_NTASKS" not in environment:
        return None
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST") or "localhost"
    first, count = _SLURM_PORTS
    port = first + int(environment.get("SLURM_JOB_ID", "0")) % count
    return Cluster(f"{first_node(nodes)}:{port}", int(environment["SLURM_NTASKS"]), int(environment["SLURM_PROCID"]), "Slurm")


def first_node(nodes: str) -> str:
    """Return the first name of Slurm's short form of many, such as "gpu[01-04,7],cpu3"."""
    found = re.match(r"([^,\[]+)(?:\[([^\]]+)\])?([^,]*)", nodes)
    assert found is not None
    stem, numbers, rest = found.groups()
    return stem + ("" if numbers is None else re.split(r"[,-]", numbers)[0]) + rest


def _from_open_mpi(environment: Mapping[str, str]) -> Cluster | None:
    if "OMPI_COMM_WORLD_RANK" not in environment:
        return None
    uri = (
        environment.get("OMPI_MCA_orte_hnp_uri")
        or environment.get("PMIX_SERVER_URI2")
        or environment.get("PMIX_SERVER_URI21")
        or ""
    )
    found = re.search(r"tcp4?://([^,:;]+)", uri)
    job = re.search(r"(\d+)", uri)
    first, count = _SLURM_PORTS
    host = environment.get("PODIUM_COORDINATOR_HOST") or (found[1] if found else "localhost")
    port = first + (int(job[1]) if job else 0) % count
    rank, size = int(environment["OMPI_COMM_WORLD_RANK"]), int(environment["OMPI_COMM_WORLD_SIZE"])
    return Cluster(f"{host}:{port}", size, rank, "Open MPI")
