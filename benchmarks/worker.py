"""A process that runs one library on one workload; it keeps the compiled model and measures it.

The protocol is JSON lines: `{"do": "open"}` builds the model and times the first run, `{"do":
"measure", "seconds": 0.5}` repeats runs for about that time, `{"do": "memory"}` returns the peak
memory. Started by `run.py`: worker.py kind workload [k].
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

SETTLED = 12  # runs
IMPORTED = time.perf_counter()  # when Python has started


def library(kind: str) -> tuple[Any, Any]:
    """Import Keras in one of its forms, and TensorFlow's names if it has them."""
    if kind == "podium":
        import podium
        import podium.compat.tensorflow as names

        return podium, names
    if kind == "tf_keras":
        import tensorflow
        import tf_keras

        return tf_keras, tensorflow
    import keras

    if keras.backend.backend() != "tensorflow":
        return keras, None
    import tensorflow

    return keras, tensorflow


def prepared(kind: str, name: str, number: int | None) -> Callable[[], Callable[[], Any]]:
    """Import what is needed, and return what builds the model and returns what runs it once."""
    from workloads import WORKLOADS

    workload = WORKLOADS[name]
    if kind in ("jax-loop", "jax-scan"):
        from twins_jax import by_hand

        return lambda: by_hand(name, kind == "jax-scan").run
    if kind == "lightning":
        from twins_lightning import ByLightning

        return lambda: ByLightning(name).run
    keras, names = library(kind)
    data = workload.data()
    options = {} if number is None else {"steps_per_execution": number}

    def build() -> Callable[[], Any]:
        model = workload.build(keras, names, **options)
        return lambda: workload.run(model, data)

    return build


def peak_megabytes() -> float:
    """Return the most memory this process has held."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


class Bench:
    """Answers requests."""

    def __init__(self, kind: str, name: str, number: int | None):
        from workloads import WORKLOADS

        self.steps = WORKLOADS[name].steps
        self.build = prepared(kind, name, number)
        self.import_seconds = time.perf_counter() - IMPORTED
        self.run: Callable[[], Any] = lambda: None

    def open(self, warm: float = 0.0) -> dict:
        """Build the model and run it once, timed; then repeat until the times are stable.

        That is for `warm` seconds, and for `SETTLED` runs unless they take five times as long.
        """
        start = time.perf_counter()
        self.run = self.build()
        self.run()
        first = time.perf_counter() - start
        begun, count, passed = time.perf_counter(), 0, 0.0
        while passed < (5 * warm if count < SETTLED else warm):
            self.run()
            count, passed = count + 1, time.perf_counter() - begun
        return {"import": self.import_seconds, "first": first}

    def measure(self, seconds: float) -> dict:
        """Return seconds for a step, the mean of as many runs as fit."""
        start, count = time.perf_counter(), 0
        while True:
            self.run()
            count += 1
            passed = time.perf_counter() - start
            if passed + passed / count > seconds:
                return {"step": passed / count / self.steps}

    def memory(self) -> dict:
        """Return the largest memory so far, in MiB."""
        return {"peak": peak_megabytes()}


def main() -> None:
    """Answer one line of JSON after the other; libraries may print what they like, it goes
    nowhere.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    kind, name, *number = sys.argv[1:]
    bench = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "import":
                bench = Bench(kind, name, int(number[0]) if number else None)
                answer: dict = {}
            else:
                answer = getattr(bench, request.pop("do"))(**request)
        except Exception as error:
            reason = str(error).strip() or repr(error)
            answer = {"error": f"{type(error).__name__}: {reason.splitlines()[0][:200]}"}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
