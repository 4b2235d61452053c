"""StepTimer: measures the latency of steps, and the time between them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium.callbacks._callback import Callback
from podium.callbacks._console import write_stdout
from podium.callbacks._step_logs import StepLogs
from podium.telemetry.internal import DeviceWait, clock


class StepTimer(Callback):
    """Measures the steps of `fit`: median and tail of their latency, samples per second, and the
    time between steps.

    It waits for every step to finish, so a run with it is a little slower than one without: steps
    no longer overlap with the fetching of data. The time between two steps (data, other callbacks,
    logging) is measured separately: if its share is large, log less often, fuse steps
    (`steps_per_execution`) or make the data cheaper. `history.telemetry` measures most of this in
    every run, without waiting.

    Args:
        batch_size: Samples per step, for `samples_per_second`; without it only steps are counted.
        warmup: Executions at the start that are not measured: the first ones compile.
        verbose: Whether to print a line at the end of `fit`.

    Attributes:
        step_seconds: The duration of each measured step.
        between_seconds: The time between the end of an execution and the beginning of the next.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> timer = podium.callbacks.StepTimer(batch_size=8)
        >>> x, y = np.ones((80, 2)), np.ones((80, 1))
        >>> _ = model.fit(x, y, batch_size=8, callbacks=timer, verbose=0)
        >>> summary = timer.summary()
        >>> summary["steps"], summary["median_ms"] <= summary["p99_ms"]
        (8, True)
        >>> summary["samples_per_second"] > 0
        True
    """

    def __init__(self, batch_size: int | None = None, warmup: int = 2, verbose: bool = False):
        super().__init__()
        self.batch_size = batch_size
        self.warmup = warmup
        self.verbose = verbose
        self.step_seconds: list[float] = []
        self.between_seconds: list[float] = []
        self._num_skipped = 0
        self._start = 0.0
        self._end: float | None = None

    def get_state(self) -> None:
        """Return no state: times of one process do not apply to another."""

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Reset the measurements."""
        self.step_seconds, self.between_seconds = [], []
        self._num_skipped, self._end = 0, None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Exclude validation and the callbacks at the end of an epoch from the time between
        steps.
        """
        self._end = None

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Start the clock."""
        self._start = clock.seconds()
        if self._end is not None and self._num_skipped == self.warmup:
            self.between_seconds.append(self._start - self._end)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Wait for the step, and stop the clock."""
        steps = logs.count if isinstance(logs, StepLogs) else 1
        if isinstance(logs, StepLogs):
            with DeviceWait():
                jax.block_until_ready(logs.arrays)
        self._end = clock.seconds()
        if self._num_skipped < self.warmup:
            self._num_skipped += 1
        else:
            self.step_seconds += [(self._end - self._start) / steps] * steps

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Print the summary if `verbose`."""
        if self.verbose and self.step_seconds:
            summary = ", ".join(f"{name} {value:.4g}" for name, value in self.summary().items())
            write_stdout(f"Steps: {summary}\n")

    def summary(self) -> dict[str, float]:
        """Return latencies in milliseconds, rates per second, and the share of time between
        steps.
        """
        if not self.step_seconds:
            return {"steps": 0}
        latencies = np.asarray(self.step_seconds) * 1000
        inside, between = float(np.sum(self.step_seconds)), float(np.sum(self.between_seconds))
        summary = {
            "steps": len(latencies),
            "median_ms": float(np.median(latencies)),
            "p95_ms": float(np.percentile(latencies, 95)),
            "p99_ms": float(np.percentile(latencies, 99)),
            "steps_per_second": len(latencies) / (inside + between),
            "share_between_steps": between / (inside + between),
        }
        if self.batch_size is not None:
            summary["samples_per_second"] = summary["steps_per_second"] * self.batch_size
        return summary
