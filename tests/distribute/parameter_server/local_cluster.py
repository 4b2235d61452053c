"""Workers and parameter servers in this process: tests delay and lose them at chosen moments."""

import asyncio
import threading

import numpy as np

import podium
from podium.distribute.coordinator import ClusterCoordinator
from podium.distribute.parameter_server._messages import ServerLostError, WorkerLostError
from podium.distribute.parameter_server._server import ParameterServer
from podium.distribute.parameter_server._worker import Worker


class LocalServers:
    """Servers whose methods run in the event loop of a thread."""

    def __init__(self, num_servers):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.servers = [ParameterServer() for _ in range(num_servers)]
        self.is_lost = False
        self.before_stage = lambda step, attempt: None
        self.after_stage = lambda step, attempt: None

    def call(self, method, arguments):
        return [future.result() for future in self.send(method, arguments)]

    def send(self, method, arguments):
        if self.is_lost:
            raise ServerLostError("server 0 is lost")
        return [
            asyncio.run_coroutine_threadsafe(getattr(server, method)(*args), self._loop)
            for server, args in zip(self.servers, arguments, strict=False)
        ]

    def pull(self, keys, min_version):
        return self.call("pull", [(names, min_version) for names in keys])

    def stage(self, step, attempt, changes):
        self.before_stage(step, attempt)
        self.call("stage", [(step, attempt, values) for values in changes])
        self.after_stage(step, attempt)

    def close(self):
        asyncio.run_coroutine_threadsafe(_wait_for_other_tasks(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _wait_for_other_tasks():
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


class LocalCluster:
    """What `RayCluster` is, without processes."""

    def __init__(self, num_workers, num_servers=1):
        self.num_workers, self.num_servers = num_workers, num_servers
        self.remote = LocalServers(num_servers)
        self.workers = [self._make_worker(index) for index in range(num_workers)]
        self.before_run = lambda index, task: None
        self.after_close = lambda: None
        self.num_restarts = 0

    def _make_worker(self, index):
        return Worker(index, self.num_workers, self.remote)

    def call_worker(self, index, method, *args):
        if method == "run":
            self.before_run(index, args[0])
        return getattr(self.workers[index], method)(*args)

    def restart_worker(self, index):
        self.num_restarts += 1
        self.workers[index] = self._make_worker(index)

    def call_servers(self, method, arguments):
        return self.remote.call(method, arguments)

    def send_to_servers(self, method, *args):
        self.remote.send(method, [args] * self.num_servers)

    def end_workers(self):
        self.after_close()

    def close(self):
        self.remote.close()


class LocalStrategy(podium.distribute.ParameterServerStrategy):
    """A ParameterServerStrategy without processes."""

    def _start_cluster(self, address, worker_options):
        return LocalCluster(self.num_workers, self.num_servers)


def lose(index):
    raise WorkerLostError(f"worker {index} is lost")


def coordinator_of(strategy):
    return ClusterCoordinator(strategy)


def applied_steps(strategy):
    """Return how many steps each server has applied, and that nothing is left staged."""
    statuses = strategy._cluster.call_servers("status", [()] * strategy.num_servers)
    assert all(status["staged"] == 0 for status in statuses)
    return [status["applied"] for status in statuses]


def batches(num_batches=40, batch_size=10, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(num_batches * batch_size, 8)).astype("float32")
    y = x[:, :1] - x[:, 1:2]
    return [
        (x[start : start + batch_size], y[start : start + batch_size])
        for start in range(0, len(x), batch_size)
    ]
