"""The compared libraries: their virtual environments, and the processes that measure them.

Each environment is in `.peers/<name>`, created when first needed; Podium and JAX run in the current
environment.
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

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parent / ".peers"


@dataclasses.dataclass(frozen=True)
class Peer:
    """A library.

    Attributes:
        name: What the tables call it.
        kind: What the worker calls it.
        packages: What to install; nothing for those of our own environment.
        backend: Keras 3's.
    """

    name: str
    kind: str
    packages: tuple[str, ...] = ()
    backend: str = ""

    @property
    def python(self) -> str:
        """The interpreter that runs it."""
        return str(PEERS / self.name / "bin" / "python") if self.packages else sys.executable

    @property
    def keras(self) -> bool:
        """Whether it is one of Keras's forms."""
        return self.kind in ("keras", "tf_keras")

    @property
    def fuses(self) -> bool:
        """Whether it takes a `steps_per_execution` that is worth trying; Keras on torch takes none
        but 1.
        """
        return self.keras and self.backend != "torch"

    def install(self) -> str | None:
        """Make its environment if there is none; return why that failed, if it did."""
        done = PEERS / self.name / ".installed"
        if not self.packages or done.exists():
            return None
        print(f"installing {' '.join(self.packages)} in .peers/{self.name}", flush=True)
        for command in (
            [sys.executable, "-m", "venv", str(PEERS / self.name)],
            [self.python, "-m", "pip", "install", "--quiet", *self.packages],
        ):
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode:
                return (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        done.touch()
        return None


OWN = (Peer("podium", "podium"), Peer("jax-loop", "jax-loop"), Peer("jax-scan", "jax-scan"))
OTHERS = (
    Peer("keras-jax", "keras", ("keras==3.15.1", "jax==0.10.2"), "jax"),
    Peer("keras-tensorflow", "keras", ("keras==3.15.1", "tensorflow-cpu"), "tensorflow"),
    Peer("keras-torch", "keras", ("keras==3.15.1", "torch==2.13.0"), "torch"),
    Peer("tf-keras", "tf_keras", ("tf_keras", "tensorflow-cpu")),
    Peer("lightning", "lightning", ("lightning==2.6.6", "torch==2.13.0")),
)


class Failed(Exception):
    """A worker could not do what it was asked."""


class Worker:
    """A process that measures one library on one workload.

    Args:
        peer: The library.
        workload: The name of the workload.
        number: Keras's `steps_per_execution`, or None for its default.
        cache: The folder that Podium keeps compiled programs in.
    """

    def __init__(self, peer: Peer, workload: str, number: int | None = None, cache: str = "off"):
        self.peer, self.number = peer, number
        # Podium's modules are compiled by Python once, as those of the installed peers are.
        usual = {
            name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
        }
        environment = {
            **usual,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "PODIUM_CACHE_DIR": cache,
            "PYTHONHASHSEED": "0",
        }
        if peer.backend:
            environment["KERAS_BACKEND"] = peer.backend
        self._noise = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the process
        command = [
            peer.python,
            str(HERE / "worker.py"),
            peer.kind,
            workload,
            *([str(number)] if number else []),
        ]
        self._process = subprocess.Popen(
            command,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._noise,
        )
        self._send({"do": "import"})
        self._imported = False

    def ask(self, do: str, **arguments: Any) -> dict:
        """Send a request and wait for the answer.

        Raises:
            Failed: The worker raised an error, or died.
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
            pass  # the reason is found when the answer is read

    def _receive(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            self._noise.seek(0)
            last = (self._noise.read().strip().splitlines() or ["no message"])[-1]
            raise Failed(f"the process ended with status {self._process.wait()}: {last[:200]}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._noise.close()
