"""Telemetry: what a `fit`, `evaluate` or `predict` measured of itself, as plain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from podium.telemetry._durations import Histogram
from podium.telemetry._recorder import Recorder
from podium.telemetry._records import (
    CallbackTime,
    Compilation,
    Latency,
    PredictMemory,
    Save,
    Synchronization,
)
from podium.telemetry._run_report import format_report

_NOT_MEASURED = "it is part of the steps' program; measure_synchronization() measures it alone"


@dataclasses.dataclass(frozen=True, repr=False)
class Telemetry:
    """The measurements of one `fit`, `evaluate` or `predict`: `history.telemetry` and
    `model.telemetry`.

    All times are seconds of one monotonic clock. The sections add up to `wall_seconds`. Measuring
    never waits for the device; docs/telemetry.md says how each value is measured.

    Attributes:
        kind: "fit", "evaluate", "predict", "predict_iter", or "validation" for all validations
            inside a `fit`.
        stop_reason: Why the run has ended: that of the History, "completed", or the name of an
            error; None while it runs.
        started_at: When it began, in seconds since 1970.
        wall_seconds: From the call to its return.
        executions: How many times a compiled program was started, or an eager step was run.
        steps: The number of their steps.
        samples: The number of samples in their batches; None if a function of your own read them.
        first_epoch: The index of the first epoch of this process: `initial_epoch`, or where the run
            was resumed.
        epochs: How many epochs were begun.
        first_step: The number of steps that earlier processes of a resumed run have run.
        repeated_steps: How many steps were run again, because they were lost when the run was
            interrupted; known if that happened in this process.
        execution_latency: How long an execution takes on the device, from its start or the end of
            the one before it to its own end, without compilation; None if there was none.
        step_latency: The same divided by the number of fused steps.
        busy_seconds: The time in which the device computed executions.
        sections: Where the loop spent the time: "setup" (arguments, data, callbacks before the
            first step), "compiling", "data" (waiting for batches), "steps" (starting them, and
            waiting for the device), "callbacks", "logging", "saving", "synchronizing" (waiting for
            other workers), "validation", "other" (the loop itself). The device may compute
            meanwhile.
        callbacks: The time in each callback.
        compilations: The latest 100 programs that were compiled.
        num_compilations: The number of all of them.
        saves: The latest 100 files and checkpoints that were saved.
        num_saves: The number of all of them.
        saved_bytes: Their size.
        validation: The measurements of the validations inside a `fit`.
        memory: The memory of a `predict`.
        synchronization: What synchronizing replicas costs.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> history = model.fit(np.ones((64, 2)), np.ones((64, 1)), batch_size=8, verbose=0)
        >>> telemetry = history.telemetry
        >>> telemetry.steps, telemetry.samples, telemetry.stop_reason
        (8, 64, 'epochs')
        >>> abs(sum(telemetry.sections.values()) - telemetry.wall_seconds) < 1e-6
        True
        >>> 0 <= telemetry.goodput <= 1 and telemetry.samples_per_second > 0
        True
        >>> "compiling" in telemetry.report()
        True
    """

    kind: str
    stop_reason: str | None
    started_at: float
    wall_seconds: float
    executions: int
    steps: int
    samples: int | None
    first_epoch: int
    epochs: int
    first_step: int
    repeated_steps: int
    execution_latency: Latency | None
    step_latency: Latency | None
    busy_seconds: float
    sections: dict[str, float]
    callbacks: list[CallbackTime]
    compilations: list[Compilation]
    num_compilations: int
    saves: list[Save]
    num_saves: int
    saved_bytes: int
    validation: Telemetry | None
    memory: PredictMemory | None
    synchronization: Synchronization
    _measure_collectives: Callable[[], float] | None = dataclasses.field(
        default=None, compare=False
    )

    @property
    def samples_per_second(self) -> float | None:
        """Samples per second of the whole run, with compilation and validation."""
        return _rate(self.samples, self.wall_seconds)

    @property
    def steady_samples_per_second(self) -> float | None:
        """Samples per second without setup, compilation and validation."""
        excluded = sum(self.sections[name] for name in ("setup", "compiling", "validation"))
        return _rate(self.samples, self.wall_seconds - excluded)

    @property
    def steps_per_second(self) -> float | None:
        """Steps per second of the whole run."""
        return _rate(self.steps, self.wall_seconds)

    @property
    def goodput(self) -> float:
        """The share of the time in which the device computed steps that count: not those that were
        run again after a restore, and nothing while it compiled, waited or failed.
        """
        if not self.steps or self.wall_seconds <= 0:
            return 0.0
        share = self.busy_seconds / self.wall_seconds
        return min(1.0, share) * (1 - min(self.repeated_steps, self.steps) / self.steps)

    def measure_synchronization(self) -> float:
        """Measure what the collectives of a training step take: the gradients of all trainable
        weights are summed over the replicas, some times, without the rest of a step.

        In a step they are part of one program, and may overlap with the computation, so a step
        takes at most this much longer. With several workers, all of them must call it.

        Returns:
            Seconds per step; 0 for one replica.

        Raises:
            RuntimeError: They cannot be measured; the message says why.

        Example:
            >>> with podium.distribute.MirroredStrategy(2).scope():
            ...     model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
            ...     model.compile("sgd", "mse")
            >>> history = model.fit(np.ones((8, 2)), np.ones((8, 1)), verbose=0)
            >>> history.telemetry.measure_synchronization() > 0
            True
        """
        if self.synchronization.replicas == 1:
            return 0.0
        if self._measure_collectives is None:
            raise RuntimeError(
                "The synchronization of replicas cannot be measured: "
                f"{self.synchronization.reason}. Measure the steps with one and with several "
                "replicas, and compare `step_latency`."
            )
        seconds = self._measure_collectives()
        measured = dataclasses.replace(self.synchronization, seconds_per_step=seconds, reason="")
        object.__setattr__(self, "synchronization", measured)
        return seconds

    def as_dict(self) -> dict[str, Any]:
        """Return all values as a dictionary of plain data, which `json.dumps` accepts.

        Example:
            >>> import json
            >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
            >>> model.compile("sgd", "mse")
            >>> _ = model.evaluate(np.ones((8, 2)), np.ones((8, 1)), verbose=0)
            >>> json.loads(json.dumps(model.telemetry.as_dict()))["kind"]
            'evaluate'
        """
        values: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            if field.name != "_measure_collectives":
                values[field.name] = _to_plain(getattr(self, field.name))
        derived = ("samples_per_second", "steady_samples_per_second", "steps_per_second", "goodput")
        return {**values, **{name: getattr(self, name) for name in derived}}

    def report(self, width: int | None = None) -> str:
        """Return one screen of text.

        Args:
            width: Its width in characters; by default that of the terminal, at most 80.
        """
        return format_report(self, width)

    def __repr__(self) -> str:
        rate = self.samples_per_second
        speed = "" if rate is None else f", {rate:.4g} samples/s"
        return (
            f"<podium.telemetry.Telemetry of {self.kind}: {self.steps} steps in "
            f"{self.wall_seconds:.3g} s{speed}, goodput {self.goodput:.0%}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the values; a copy cannot measure collectives."""
        return {**vars(self), "_measure_collectives": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def make_telemetry(recorder: Recorder) -> Telemetry:
    """Return the measurements of a run so far."""
    timeline = recorder.timeline
    executions, by_step = timeline.distributions
    is_lower_bound = timeline.is_lower_bound
    wall = recorder.wall
    sections = {name: nanoseconds / 1e9 for name, nanoseconds in recorder.ns.items()}
    sections["other"] = max(0, wall - recorder.measured) / 1e9
    is_measurable = recorder.measure_collectives is not None
    reason = _NOT_MEASURED if is_measurable else recorder.unmeasured
    memory = recorder.memory
    return Telemetry(
        kind=recorder.kind,
        stop_reason=recorder.stop_reason,
        started_at=recorder.started_at,
        wall_seconds=wall / 1e9,
        executions=timeline.executions,
        steps=timeline.steps,
        samples=timeline.samples if recorder.knows_samples else None,
        first_epoch=recorder.first_epoch,
        epochs=recorder.epochs,
        first_step=recorder.first_step,
        repeated_steps=recorder.repeated_steps,
        execution_latency=_to_latency(executions, is_lower_bound),
        step_latency=_to_latency(by_step, is_lower_bound),
        busy_seconds=timeline.busy / 1e9,
        sections=sections,
        callbacks=recorder.callbacks,
        compilations=list(recorder.compilations),
        num_compilations=recorder.totals["compilations"],
        saves=list(recorder.saves),
        num_saves=recorder.totals["saves"],
        saved_bytes=recorder.totals["saved_bytes"],
        validation=None if recorder.validation is None else make_telemetry(recorder.validation),
        memory=None if memory is None else PredictMemory(recorder.output_bytes, memory.growth()),
        synchronization=Synchronization(
            recorder.replicas,
            sections["synchronizing"],
            0.0 if recorder.replicas == 1 else None,
            "" if recorder.replicas == 1 else reason,
        ),
        _measure_collectives=recorder.measure_collectives,
    )


def _to_latency(histogram: Histogram, is_lower_bound: bool) -> Latency | None:
    if not histogram.count:
        return None
    p50, p95, p99 = (histogram.quantile(fraction) / 1e9 for fraction in (0.5, 0.95, 0.99))
    mean = histogram.total / histogram.count / 1e9
    return Latency(histogram.count, mean, p50, p95, p99, histogram.max / 1e9, is_lower_bound)


def _rate(count: int | None, seconds: float) -> float | None:
    return count / seconds if count is not None and seconds > 0 else None


def _to_plain(value: Any) -> Any:
    if isinstance(value, Telemetry):
        return value.as_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, list):
        return [_to_plain(item) for item in value]
    return value
