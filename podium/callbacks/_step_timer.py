"""StepTimer: how long steps take, and how much of the time goes by between them."""

from __future__ import annotations

import time
from typing import Any

import jax
import numpy as np

from podium.callbacks._callback import Callback
from podium.callbacks._console import write_stdout
from podium.callbacks._step_logs import StepLogs


class StepTimer(Callback):
    """Measures the steps of `fit`: median and tail of their latency, samples a second, and the time
    between steps.

    It waits for every step to finish, so a run with it is a little slower than one without: steps
    no longer overlap with the fetching of data. What happens between two steps (data, other
    callbacks, logging) is timed apart: if that share is large, log less often, fuse steps
    (`steps_per_execution`) or make the data cheaper.

    Args:
        batch_size: Samples per step, for `samples_per_second`; without it only steps are counted.
        warmup: Executions at the start that are left out: the first ones compile.
        verbose: Whether to print a line at the end of `fit`.

    Attributes:
        step_seconds: The duration of each step that was measured.
        between_seconds: The time between the end of an execution and the beginning of the next.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> timer = podium.callbacks.StepTimer(batch_size=8)
        >>> _ = model.fit(np.ones((80, 2)), np.ones((80, 1)), batch_size=8, callbacks=timer, verbose=0)
        >>> figures = timer.summary()
        >>> figures["steps"], figures["median_ms"] <= figures["p99_ms"], figures["samples_per_second"] > 0
        (8, True, True)
    """

    def __init__(self, batch_size: int | None = None, warmup: int = 2, verbose: bool = False):
        super().__init__()
        self.batch_size = batch_size
        self.warmup = warmup
        self.verbose = verbose
        self.step_seconds: list[float] = []
        self.between_seconds: list[float] = []
        self._left_out = 0
        self._began = 0.0
        self._ended: float | None = None

    def get_state(self) -> None:
        """Remember nothing: times of one process say nothing about another."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Forget an earlier `fit`."""
        self.step_seconds, self.between_seconds = [], []
        self._left_out, self._ended = 0, None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Leave validation and the callbacks at the end of an epoch out of the time between
        steps.
        """
        self._ended = None

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Start the clock."""
        self._began = time.perf_counter()
        if self._ended is not None and self._left_out == self.warmup:
            self.between_seconds.append(self._began - self._ended)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Wait for the step, and stop the clock."""
        steps = logs.count if isinstance(logs, StepLogs) else 1
        if isinstance(logs, StepLogs):
            jax.block_until_ready(logs.arrays)
        self._ended = time.perf_counter()
        if self._left_out < self.warmup:
            self._left_out += 1
        else:
            self.step_seconds += [(self._ended - self._began) / steps] * steps

    def on_train_end(self, logs: Any = None) -> None:
        """Print the figures, if asked for."""
        if self.verbose and self.step_seconds:
            figures = ", ".join(f"{name} {value:.4g}" for name, value in self.summary().items())
            write_stdout(f"Steps: {figures}\n")

    def summary(self) -> dict[str, float]:
        """Return the figures: latencies in milliseconds, rates per second, the share of time
        between steps.
        """
        if not self.step_seconds:
            return {"steps": 0}
        latencies = np.asarray(self.step_seconds) * 1000
        inside, between = float(np.sum(self.step_seconds)), float(np.sum(self.between_seconds))
        figures = {
            "steps": len(latencies),
            "median_ms": float(np.median(latencies)),
            "p95_ms": float(np.percentile(latencies, 95)),
            "p99_ms": float(np.percentile(latencies, 99)),
            "steps_per_second": len(latencies) / (inside + between),
            "share_between_steps": between / (inside + between),
        }
        if self.batch_size is not None:
            figures["samples_per_second"] = figures["steps_per_second"] * self.batch_size
        return figures
