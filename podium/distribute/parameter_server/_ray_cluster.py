"""RayCluster: the processes of parameter-server training, placed and supervised by Ray.

A local Ray cluster is started unless one is running or its address was given. The processes end
with the cluster, with this process at the latest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from podium.distribute._ray import connect_to_ray, import_ray
from podium.distribute.parameter_server._messages import (
    SERVER_LOST,
    Changes,
    Keys,
    ServerLostError,
    WorkerLostError,
)
from podium.distribute.parameter_server._server import ParameterServer
from podium.distribute.parameter_server._worker import Worker


class RayCluster:
    """Workers and parameter servers as Ray actors.

    Args:
        num_workers: The number of workers.
        num_servers: The number of parameter servers.
        address: The address of a Ray cluster; by default the one that this process is connected
            to, or a new local one.
        worker_options: Further options of Ray for the workers, such as `{"num_gpus": 1}`.
    """

    def __init__(
        self,
        num_workers: int,
        num_servers: int,
        address: str | None = None,
        worker_options: dict[str, Any] | None = None,
    ):
        self.num_workers, self.num_servers = num_workers, num_servers
        self._exits = contextlib.ExitStack()
        ray = import_ray(address=address)
        if not ray.is_initialized():
            self._exits.enter_context(connect_to_ray(num_workers, address))
        self._worker_options = {"num_cpus": 1, **(worker_options or {})}
        server_class = ray.remote(num_cpus=0, max_restarts=0)(ParameterServer)
        self._servers = [server_class.remote() for _ in range(num_servers)]
        self._exits.callback(self._kill, self._servers)
        self._calls = RemoteServers(self._servers)
        self._workers: list[Any] = [self._make_worker(index) for index in range(num_workers)]
        self._exits.callback(self.end_workers)

    def _make_worker(self, index: int) -> Any:
        worker_class = import_ray().remote(max_restarts=0, **self._worker_options)(Worker)
        return worker_class.remote(index, self.num_workers, self._calls)

    # --- workers

    def call_worker(self, index: int, method: str, *args: Any) -> Any:
        """Call a method of a worker and wait for its result.

        Raises:
            WorkerLostError: The worker's process has ended.
            ServerLostError: A server's process has ended.
            Exception: What the worker has raised, with its traceback.
        """
        ray = import_ray()
        try:
            return ray.get(getattr(self._workers[index], method).remote(*args))
        except ray.exceptions.RayActorError as error:
            raise WorkerLostError(f"Worker {index} has ended: {error}") from error
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, ServerLostError):
                raise error.cause from None
            raise

    def restart_worker(self, index: int) -> None:
        """Start a replacement for a worker that was lost."""
        self._kill([self._workers[index]])
        self._workers[index] = self._make_worker(index)

    def end_workers(self) -> None:
        """End the processes of the workers."""
        self._kill(self._workers)

    def worker_pid(self, index: int, timeout: float | None = None) -> int | None:
        """Return the id of a worker's process; None if it does not run, or does not answer."""
        ray = import_ray()
        try:
            return int(ray.get(self._workers[index].pid.remote(), timeout=timeout))
        except (ray.exceptions.RayActorError, ray.exceptions.GetTimeoutError):
            return None

    # --- servers

    def server_pid(self, index: int) -> int:
        """Return the id of a server's process."""
        return int(import_ray().get(self._servers[index].pid.remote()))

    def call_servers(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of each server with its arguments, and return the results."""
        return self._calls.call(method, arguments)

    def send_to_servers(self, method: str, *args: Any) -> None:
        """Call a method of all servers without waiting; they may receive calls in any order."""
        for server in self._servers:
            getattr(server, method).remote(*args)

    def close(self) -> None:
        """End all processes, and the local cluster if it was started for them."""
        self._exits.close()

    @staticmethod
    def _kill(actors: Sequence[Any]) -> None:
        ray = import_ray()
        for actor in actors:
            with contextlib.suppress(ray.exceptions.RayError, ValueError):
                ray.kill(actor)


class RemoteServers:
    """Calls of the parameter servers, from the coordinator or from a worker.

    Args:
        servers: The handles of the actors.
    """

    def __init__(self, servers: Sequence[Any]):
        self._servers = servers

    def call(
        self,
        method: str,
        arguments: Sequence[tuple[Any, ...]],
        is_needed: Callable[[tuple[Any, ...]], bool] = lambda _: True,
    ) -> list[Any]:
        """Call a method of each server, and wait for the results; None where it is not needed."""
        ray = import_ray()
        calls = [
            getattr(server, method).remote(*args) if is_needed(args) else None
            for server, args in zip(self._servers, arguments, strict=False)
        ]
        results = []
        for index, call in enumerate(calls):
            try:
                results.append(None if call is None else ray.get(call))
            except ray.exceptions.RayActorError as error:
                raise ServerLostError(
                    SERVER_LOST.format(server=index, count=len(self._servers), reason="")
                ) from error
        return results

    def pull(self, keys: Sequence[Keys], min_version: int) -> list[list[NDArray[Any]]]:
        """Return values, or rows of them, for each server."""
        arguments = [(names, min_version) for names in keys]
        return [values or [] for values in self.call("pull", arguments, lambda args: bool(args[0]))]

    def stage(self, step: int, attempt: int, changes: Sequence[Changes]) -> None:
        """Stage the changes of a step on each server, and wait until that is done."""
        arguments = [(step, attempt, values) for values in changes]
        self.call("stage", arguments, lambda args: bool(args[2]))
