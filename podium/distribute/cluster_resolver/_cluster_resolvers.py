"""Cluster resolvers: TensorFlow's descriptions of a cluster, for scripts that have them.

Ray places and starts the processes of parameter-server training, so only the numbers of tasks
count here; addresses are kept for `cluster_spec()`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any


class ClusterSpec:
    """The addresses of a cluster's tasks by job name.

    Args:
        cluster: The addresses by job name, a list or a dictionary by index for each; or another
            ClusterSpec.

    Example:
        >>> spec = podium.distribute.cluster_resolver.ClusterSpec(
        ...     {"worker": ["a:1", "b:1"], "ps": ["c:1"]}
        ... )
        >>> spec.jobs, spec.num_tasks("worker"), spec.task_address("ps", 0)
        (['ps', 'worker'], 2, 'c:1')
    """

    def __init__(self, cluster: Mapping[str, Any] | ClusterSpec):
        jobs = cluster.as_dict() if isinstance(cluster, ClusterSpec) else cluster
        if not isinstance(jobs, Mapping):
            raise TypeError(
                f"ClusterSpec was given {cluster!r}; a dictionary from job names to lists of "
                'addresses was expected, such as {"worker": ["10.0.0.1:2222"]}.'
            )
        self._jobs = {
            str(name): list(tasks.values() if isinstance(tasks, Mapping) else tasks)
            for name, tasks in jobs.items()
        }

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs, sorted."""
        return sorted(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Return the number of tasks of a job."""
        return len(self._tasks(job_name))

    def job_tasks(self, job_name: str) -> list[str]:
        """Return the addresses of a job's tasks."""
        return list(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task."""
        return str(self._tasks(job_name)[task_index])

    def as_dict(self) -> dict[str, list[str]]:
        """Return the addresses by job name."""
        return {name: list(tasks) for name, tasks in self._jobs.items()}

    def _tasks(self, job_name: str) -> Sequence[str]:
        if job_name not in self._jobs:
            raise ValueError(f"Job {job_name!r} was asked for; the cluster has {self.jobs}.")
        return self._jobs[job_name]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __repr__(self) -> str:
        return f"ClusterSpec({self._jobs})"


class ClusterResolver:
    """Describes a cluster: its tasks, and which of them this process is.

    `SimpleClusterResolver` is given the description; `TFConfigClusterResolver` reads it from the
    environment.

    Args:
        cluster_spec: The cluster.
        task_type: The job of this process, such as "worker" or "chief".
        task_id: Its index.
        rpc_layer: Accepted for TensorFlow's signature.

    Example:
        >>> resolver = podium.distribute.cluster_resolver.ClusterResolver({"worker": ["a:1"]})
        >>> resolver.cluster_spec().num_tasks("worker")
        1
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec | Mapping[str, Any],
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ):
        self._cluster_spec = ClusterSpec(cluster_spec)
        self.task_type = task_type
        self.task_id = task_id
        self.rpc_layer = rpc_layer
        self.environment = ""

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster."""
        return self._cluster_spec

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the address of a task, by default of this one; "" if that is not known."""
        job, index = task_type or self.task_type, self.task_id if task_id is None else task_id
        if job is None or index is None or job not in self._cluster_spec.jobs:
            return ""
        return self._cluster_spec.task_address(job, index)

    def num_accelerators(self, *args: Any, **kwargs: Any) -> dict[str, int]:
        """Return no accelerators: which devices a worker has is Ray's to say."""
        return {}

    def __repr__(self) -> str:
        name = f"podium.distribute.cluster_resolver.{type(self).__name__}"
        return f"<{name} {self._cluster_spec.as_dict()}>"


class SimpleClusterResolver(ClusterResolver):
    """A cluster that the caller describes.

    Args:
        cluster_spec: The cluster.
        master: Accepted for TensorFlow's signature.
        task_type: The job of this process.
        task_id: Its index.
        environment: A name for the environment.
        num_accelerators: Accepted for TensorFlow's signature.
        rpc_layer: Accepted for TensorFlow's signature.

    Example:
        >>> resolver = podium.distribute.cluster_resolver.SimpleClusterResolver(
        ...     podium.distribute.cluster_resolver.ClusterSpec({"worker": ["a:1"], "ps": ["b:1"]})
        ... )
        >>> resolver.cluster_spec().jobs
        ['ps', 'worker']
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec | Mapping[str, Any],
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Mapping[str, int] | None = None,
        rpc_layer: str | None = None,
    ):
        super().__init__(cluster_spec, task_type, task_id, rpc_layer)
        self.environment = environment


class TFConfigClusterResolver(ClusterResolver):
    """The cluster that the environment variable `TF_CONFIG` describes.

    Args:
        task_type: The job of this process; by default the one in `TF_CONFIG`.
        task_id: Its index; by default the one in `TF_CONFIG`.
        rpc_layer: Accepted for TensorFlow's signature.
        environment: Accepted for TensorFlow's signature.

    Raises:
        ValueError: `TF_CONFIG` is not JSON.

    Example:
        >>> import json, os
        >>> os.environ["TF_CONFIG"] = json.dumps(
        ...     {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}
        ... )
        >>> resolver = podium.distribute.cluster_resolver.TFConfigClusterResolver()
        >>> resolver.task_type, resolver.task_id, resolver.master()
        ('worker', 0, 'a:1')
        >>> del os.environ["TF_CONFIG"]
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ):
        text = os.environ.get("TF_CONFIG", "{}")
        try:
            config = json.loads(text)
            cluster, task = config.get("cluster", {}), config.get("task", {})
        except (ValueError, AttributeError) as error:
            raise ValueError(
                f"The environment variable TF_CONFIG is {text[:200]!r}; JSON was expected, such as "
                '{"cluster": {"worker": ["10.0.0.1:2222"]}, '
                '"task": {"type": "worker", "index": 0}}.'
            ) from error
        index = task.get("index") if task_id is None else task_id
        super().__init__(
            cluster, task_type or task.get("type"), None if index is None else int(index), rpc_layer
        )
