"""A process that runs one library on one workload; it keeps the compiled model and measures it.

The protocol is JSON lines: `{"do": "open"}` builds the model and times the first run, `{"do":
"measure", "seconds": 0.5}` repeats runs for about that time, `{"do": "memory"}` returns the peak
memory. Started by `run.py`: worker.py kind workload [steps_per_execution].
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

WARM_UP_RUNS = 12
START_TIME = time.perf_counter()  # when Python has started


def import_keras(kind: str) -> tuple[Any, Any]:
    """Import a library with the Keras API, and TensorFlow or its names if they work with it."""
    if kind == "podium":
        import podium
        import podium.compat.tensorflow as tf

        return podium, tf
    if kind == "tf_keras":
        import tensorflow
        import tf_keras

        return tf_keras, tensorflow
    import keras

    if keras.backend.backend() != "tensorflow":
        return keras, None
    import tensorflow

    return keras, tensorflow


def make_builder(kind: str, name: str, k: int | None) -> Callable[[], Callable[[], Any]]:
    """Import the library, and return a function that builds the model and returns a function that
    runs it once.
    """
    from workloads import WORKLOADS

    workload = WORKLOADS[name]
    if kind in ("jax-loop", "jax-scan"):
        from jax_workloads import make_trainer

        return lambda: make_trainer(name, kind == "jax-scan").run
    if kind == "lightning":
        from lightning_workloads import LightningTrainer

        return lambda: LightningTrainer(name).run
    keras, tf = import_keras(kind)
    data = workload.data()
    options = {} if k is None else {"steps_per_execution": k}

    def build() -> Callable[[], Any]:
        model = workload.build(keras, tf, **options)
        return lambda: workload.run(model, data)

    return build


def peak_memory_mib() -> float:
    """Return the peak memory of this process in MiB."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


class Measurement:
    """Builds and runs a workload; each public method handles one kind of request."""

    def __init__(self, kind: str, name: str, k: int | None):
        from workloads import WORKLOADS

        self.steps = WORKLOADS[name].steps
        self.build = make_builder(kind, name, k)
        self.import_seconds = time.perf_counter() - START_TIME
        self.run: Callable[[], Any] = lambda: None

    def open(self, warm: float = 0.0) -> dict:
        """Build the model and run it once, timed; then repeat until the times are stable.

        It repeats for `warm` seconds and `WARM_UP_RUNS` runs, at most five times `warm` seconds.
        """
        start = time.perf_counter()
        self.run = self.build()
        self.run()
        first = time.perf_counter() - start
        start, count, elapsed = time.perf_counter(), 0, 0.0
        while elapsed < (5 * warm if count < WARM_UP_RUNS else warm):
            self.run()
            count, elapsed = count + 1, time.perf_counter() - start
        return {"import": self.import_seconds, "first": first}

    def measure(self, seconds: float) -> dict:
        """Return seconds per step, the mean of as many runs as `seconds` allows."""
        start, count = time.perf_counter(), 0
        while True:
            self.run()
            count += 1
            elapsed = time.perf_counter() - start
            if elapsed + elapsed / count > seconds:
                return {"step": elapsed / count / self.steps}

    def memory(self) -> dict:
        """Return the peak memory so far, in MiB."""
        return {"peak": peak_memory_mib()}


def main() -> None:
    """Respond to each request, a line of JSON; what libraries print is discarded."""
    responses = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    kind, name, *options = sys.argv[1:]
    measurement = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "import":
                measurement = Measurement(kind, name, int(options[0]) if options else None)
                response: dict = {}
            else:
                response = getattr(measurement, request.pop("do"))(**request)
        except Exception as error:
            reason = str(error).strip() or repr(error)
            response = {"error": f"{type(error).__name__}: {reason.splitlines()[0][:200]}"}
        responses.write(json.dumps(response) + "\n")


if __name__ == "__main__":
    main()
