"""A Ray cluster of several nodes on this machine, and `podium launch --ray` as a process there."""

import contextlib
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from podium.distribute._ray import import_ray

ROOT = pathlib.Path(__file__).parents[3]
NODE_OPTIONS = {
    "num_cpus": 1,
    "node_ip_address": "127.0.0.1",
    "include_dashboard": False,
    "object_store_memory": 80 << 20,
}


class RayNodes:
    """A cluster whose head runs no workers. Token authentication is on, as for clusters that Podium
    starts; this process and those that it starts have the token.
    """

    def __init__(self, num_nodes):
        import_ray()
        from ray.cluster_utils import Cluster

        self._cluster = Cluster()
        self._head = self._add(num_cpus=0)
        self._nodes = [self.add() for _ in range(num_nodes)]
        self.address = self._cluster.address

    def _add(self, **options):
        return self._cluster.add_node(**{**NODE_OPTIONS, **options})

    def add(self):
        """Add a node that has capacity for one worker."""
        return self._add()

    def kill(self, raylet):
        """Kill all processes of the node with this raylet's process ID, by SIGKILL."""
        for node in list(self._cluster.worker_nodes):
            if node.all_processes["raylet"][0].process.pid == raylet:
                processes = descendants(raylet)
                self._cluster.remove_node(node, allow_graceful=False)
                for pid in processes:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                return
        raise ValueError(f"There is no node with the raylet {raylet}.")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._cluster.shutdown()
        # The folder of this test's cluster alone; see `mark_processes`.
        shutil.rmtree(os.path.join(tempfile.gettempdir(), "ray"), ignore_errors=True)


def descendants(pid):
    """Return the processes that a process has started, and those that these have started."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found, level = [], {pid}
    while level:
        level = {child for child, parent in parents.items() if parent in level}
        found += level
    return found


class Job:
    """`podium launch --ray` in a process, with its output so far as `lines`."""

    def __init__(self, *arguments, cwd=None, **environment):
        self.lines = []
        self._new_lines = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "podium", "launch", "--ray", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._new_lines.put(line.rstrip("\n"))
        self._new_lines.put(None)

    def wait_for(self, pattern, seconds=120):
        """Return the match of a pattern in a line that follows those that were waited for."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._new_lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, f"no line with {pattern!r} in:\n" + "\n".join(self.lines)
            self.lines.append(line)
            match = re.search(pattern, line)
            if match is not None:
                return match

    def wait_for_workers(self, num_workers):
        """Return the raylets of the workers of a new group, by their index."""
        raylets = {}
        while len(raylets) < num_workers:
            match = self.wait_for(r"\[(\d)\] process \d+ raylet (\d+) workers (\d)")
            assert int(match[3]) == num_workers, "\n".join(self.lines)
            raylets[int(match[1])] = int(match[2])
        return raylets

    def wait(self, seconds=120):
        """Return the exit status, when all output has been read."""
        with contextlib.suppress(AssertionError):
            self.wait_for(r"(?!)", seconds)
        return self.process.wait(timeout=30)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self._reader.join(30)
        self.process.stdout.close()
