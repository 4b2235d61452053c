"""Cluster resolvers of job systems: the tasks of a Slurm step, the pods of a Kubernetes cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from podium.core.internal import check_int
from podium.distribute.cluster_resolver._cluster_resolvers import ClusterResolver


class SlurmClusterResolver(ClusterResolver):
    """The tasks of a Slurm step, which the environment variables of `srun` describe.

    Tasks are numbered through the nodes; the first ones are those of the first job, and so on.

    Args:
        jobs: The number of tasks of each job, such as `{"worker": 3, "ps": 1}`; by default all
            are workers.
        port_base: The port of the first task of each node; the others have the following ones.
        gpus_per_node: Accepted for TensorFlow's signature: which devices a worker has is Ray's to
            say.
        gpus_per_task: Accepted for TensorFlow's signature.
        tasks_per_node: The number of tasks of each node; by default that of the step.
        auto_set_gpu: Accepted for TensorFlow's signature.
        rpc_layer: Accepted for TensorFlow's signature.

    Raises:
        RuntimeError: This process was not started by `srun`.
        ValueError: The jobs have more tasks than the step.

    Example:
        >>> import os
        >>> step = {"SLURM_STEP_NUM_TASKS": "3", "SLURM_PROCID": "2"}
        >>> step |= {"SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_TASKS_PER_NODE": "2,1"}
        >>> os.environ.update(step)
        >>> resolver = podium.distribute.cluster_resolver.SlurmClusterResolver(
        ...     {"worker": 2, "ps": 1}
        ... )
        >>> resolver.cluster_spec().as_dict()
        {'worker': ['n1:8888', 'n1:8889'], 'ps': ['n2:8888']}
        >>> resolver.task_type, resolver.task_id
        ('ps', 0)
        >>> for name in step:
        ...     del os.environ[name]
    """

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
    ):
        count, rank = (_environment_int(n) for n in ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"))
        nodes = list(_node_names(os.environ.get("SLURM_STEP_NODELIST", "")))
        tasks = list(_tasks_per_node(tasks_per_node, len(nodes)))
        hosts = [
            f"{node}:{port_base + index}"
            for node, num_tasks in zip(nodes, tasks, strict=False)
            for index in range(num_tasks)
        ]
        jobs = {"worker": count} if jobs is None else dict(jobs)
        if sum(jobs.values()) > min(count, len(hosts)):
            raise ValueError(
                f"SlurmClusterResolver was given jobs={jobs}, which are {sum(jobs.values())} "
                f"tasks; the step has {min(count, len(hosts))}. Start more with `srun --ntasks`."
            )
        cluster: dict[str, list[str]] = {}
        task: tuple[str | None, int | None] = (None, None)
        first = 0
        for job, num_tasks in jobs.items():
            cluster[job] = hosts[first : first + num_tasks]
            if first <= rank < first + num_tasks:
                task = job, rank - first
            first += num_tasks
        super().__init__(cluster, *task, rpc_layer)


class KubernetesClusterResolver(ClusterResolver):
    """The pods of a Kubernetes cluster that have the labels of jobs.

    To run workers on Kubernetes, use a Ray cluster (KubeRay) instead; this is for scripts that
    have it.

    Args:
        job_to_label_mapping: For each job the selectors of its pods; by default
            `{"worker": ["job-name=tensorflow"]}`.
        tf_server_port: The port of the addresses.
        rpc_layer: Accepted for TensorFlow's signature.
        override_client: A client with `list_pod_for_all_namespaces`; by default that of the
            package `kubernetes`.

    Raises:
        ImportError: The package `kubernetes` is not installed.
        RuntimeError: A pod is not running.

    Example:
        >>> from types import SimpleNamespace
        >>> pod = SimpleNamespace(
        ...     metadata=SimpleNamespace(name="a"),
        ...     status=SimpleNamespace(phase="Running", host_ip="10.0.0.1"),
        ... )
        >>> client = SimpleNamespace(
        ...     list_pod_for_all_namespaces=lambda label_selector: SimpleNamespace(items=[pod])
        ... )
        >>> podium.distribute.cluster_resolver.KubernetesClusterResolver(
        ...     override_client=client
        ... ).cluster_spec().as_dict()
        {'worker': ['10.0.0.1:8470']}
    """

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, list[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str = "grpc",
        override_client: Any = None,
    ):
        port = check_int("tf_server_port", tf_server_port)
        client = _kubernetes_client() if override_client is None else override_client
        cluster = {}
        for job, selectors in (job_to_label_mapping or {"worker": ["job-name=tensorflow"]}).items():
            pods = [
                pod
                for selector in selectors
                for pod in client.list_pod_for_all_namespaces(label_selector=selector).items
            ]
            for pod in pods:
                if pod.status.phase != "Running":
                    raise RuntimeError(
                        f"The pod {pod.metadata.name!r} of the job {job!r} is {pod.status.phase}; "
                        "running pods were expected. Wait until all are."
                    )
            cluster[job] = [
                f"{pod.status.host_ip}:{port}"
                for pod in sorted(pods, key=lambda pod: str(pod.metadata.name))
            ]
        super().__init__(cluster, rpc_layer=rpc_layer)


def _environment_int(name: str) -> int:
    value = os.environ.get(name, "")
    if not value.isdigit():
        raise RuntimeError(
            f"SlurmClusterResolver found {name}={value!r}; a number was expected. Start the "
            "program with `srun`."
        )
    return int(value)


def _node_names(nodes: str) -> Iterator[str]:
    """Yield the names of a node list of Slurm, such as "gpu[01-04,7],cpu3"."""
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", nodes):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if match is None:
            yield part
            continue
        prefix, ranges, rest = match.groups()
        for each in ranges.split(","):
            first, _, last = each.partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield from _node_names(f"{prefix}{number:0{len(first)}d}{rest}")


def _tasks_per_node(given: int | None, num_nodes: int) -> Iterator[int]:
    """Yield the number of tasks of each node: Slurm writes "2(x3),1" for 2, 2, 2, 1."""
    if given is not None:
        yield from [check_int("tasks_per_node", given)] * num_nodes
        return
    for part in os.environ.get("SLURM_STEP_TASKS_PER_NODE", "").split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if match is not None:
            yield from [int(match[1])] * int(match[2] or 1)


def _kubernetes_client() -> Any:
    try:
        from kubernetes import client, config
    except ImportError as error:
        raise ImportError(
            "KubernetesClusterResolver needs the package kubernetes: `pip install kubernetes`."
        ) from error
    config.load_kube_config()
    return client.CoreV1Api()
