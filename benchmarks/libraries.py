"""The compared libraries: their virtual environments, and the processes that measure them.

Each environment is in `.benchmark-envs/<name>`, created when first needed; Podium and JAX run in
the current environment.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

BENCHMARKS_DIR = pathlib.Path(__file__).resolve().parent
ENVIRONMENTS_DIR = BENCHMARKS_DIR.parent / ".benchmark-envs"


@dataclasses.dataclass(frozen=True)
class Library:
    """A compared library.

    Attributes:
        name: Its name in the tables.
        kind: Its name in the arguments of the worker.
        packages: The packages to install; empty for those of the current environment.
        backend: The backend of Keras 3.
    """

    name: str
    kind: str
    packages: tuple[str, ...] = ()
    backend: str = ""

    @property
    def python(self) -> str:
        """The interpreter that runs it."""
        return (
            str(ENVIRONMENTS_DIR / self.name / "bin" / "python")
            if self.packages
            else sys.executable
        )

    @property
    def is_keras(self) -> bool:
        """Whether it is Keras 3 or tf_keras."""
        return self.kind in ("keras", "tf_keras")

    @property
    def fuses_steps(self) -> bool:
        """Whether it supports a `steps_per_execution` above 1; Keras on torch does not."""
        return self.is_keras and self.backend != "torch"

    def install(self) -> str | None:
        """Create its environment if it does not exist; return the reason of a failure, or None."""
        done = ENVIRONMENTS_DIR / self.name / ".installed"
        if not self.packages or done.exists():
            return None
        print(f"installing {' '.join(self.packages)} in .benchmark-envs/{self.name}", flush=True)
        for command in (
            [sys.executable, "-m", "venv", str(ENVIRONMENTS_DIR / self.name)],
            [self.python, "-m", "pip", "install", "--quiet", *self.packages],
        ):
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode:
                return (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        done.touch()
        return None


INSTALLED_LIBRARIES = (
    Library("podium", "podium"),
    Library("jax-loop", "jax-loop"),
    Library("jax-scan", "jax-scan"),
)
OTHER_LIBRARIES = (
    Library("keras-jax", "keras", ("keras==3.15.1", "jax==0.10.2"), "jax"),
    Library("keras-tensorflow", "keras", ("keras==3.15.1", "tensorflow-cpu"), "tensorflow"),
    Library("keras-torch", "keras", ("keras==3.15.1", "torch==2.13.0"), "torch"),
    Library("tf-keras", "tf_keras", ("tf_keras", "tensorflow-cpu")),
    Library("lightning", "lightning", ("lightning==2.6.6", "torch==2.13.0")),
)


class WorkerError(Exception):
    """A worker raised an error or ended."""


def environment_with_bytecode() -> dict[str, str]:
    """Return the environment variables without `PYTHONDONTWRITEBYTECODE`.

    Python then compiles the modules of Podium once, as those of installed packages.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Worker:
    """A process that measures one library on one workload.

    Args:
        library: The library.
        workload: The name of the workload.
        k: Keras's `steps_per_execution`, or None for its default.
        cache: The directory of Podium's compilation cache.
    """

    def __init__(self, library: Library, workload: str, k: int | None = None, cache: str = "off"):
        environment = {
            **environment_with_bytecode(),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "PODIUM_CACHE_DIR": cache,
            "PYTHONHASHSEED": "0",
        }
        if library.backend:
            environment["KERAS_BACKEND"] = library.backend
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the process
        command = [
            library.python,
            str(BENCHMARKS_DIR / "worker.py"),
            library.kind,
            workload,
            *([str(k)] if k else []),
        ]
        self._process = subprocess.Popen(
            command,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )
        self._send({"do": "import"})
        self._imported = False

    def request(self, do: str, **arguments: Any) -> dict:
        """Send a request and wait for the response.

        Raises:
            WorkerError: The worker raised an error, or ended.
        """
        if not self._imported:
            self._receive()
            self._imported = True
        self._send({"do": do, **arguments})
        return self._receive()

    def _send(self, request: dict) -> None:
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the reason is read together with the response

    def _receive(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            self._stderr.seek(0)
            last_line = (self._stderr.read().strip().splitlines() or ["no message"])[-1]
            raise WorkerError(
                f"the process ended with status {self._process.wait()}: {last_line[:200]}"
            )
        response = json.loads(line)
        if "error" in response:
            raise WorkerError(response["error"])
        return response

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._stderr.close()
