"""What a run's telemetry lists: compilations, saves, the times of callbacks, latencies."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Compilation:
    """A program that was compiled while the run waited.

    Attributes:
        name: The function, such as "train_step", and how many of its steps the program fuses.
        cause: The shapes that it was compiled for, or what had changed since the previous batch.
        seconds: How long tracing and compiling took, with the start of the first execution.

    Example:
        >>> podium.telemetry.Compilation("train_step", "x: float32[32, 8]", 0.5).seconds
        0.5
    """

    name: str
    cause: str
    seconds: float


@dataclasses.dataclass(frozen=True)
class Save:
    """Something that was saved during the run.

    Attributes:
        path: The file or directory.
        num_bytes: Its size.
        seconds: How long writing took.
        in_background: Whether a thread wrote it while the run continued; what the run itself spent
            on it is in the section "saving" either way.

    Example:
        >>> podium.telemetry.Save("model.keras", 2_000_000, 0.5, False).num_bytes
        2000000
    """

    path: str
    num_bytes: int
    seconds: float
    in_background: bool


@dataclasses.dataclass
class CallbackTime:
    """The time that a callback took.

    Attributes:
        name: Its class; a second callback of a class gets a number.
        section: "callbacks", or "logging" for one with `is_logger = True`.
        calls: How many hooks were called.
        seconds: The time inside them.
        own_seconds: The same without saving, compiling and waiting for values of the device.

    Example:
        >>> podium.telemetry.CallbackTime("EarlyStopping", "callbacks", 3, 0.5, 0.25).calls
        3
    """

    name: str
    section: str
    calls: int = 0
    seconds: float = 0.0
    own_seconds: float = 0.0

    def copy(self, name: str) -> CallbackTime:
        """Return a copy with another name."""
        return dataclasses.replace(self, name=name)


@dataclasses.dataclass(frozen=True)
class Latency:
    """The distribution of durations, in seconds.

    Attributes:
        count: How many there were.
        mean: Their mean.
        p50: The median.
        p95: What 95% of them do not exceed.
        p99: What 99% of them do not exceed.
        max: The longest one.
        is_lower_bound: Whether no end was seen, so that they took at least this long: the device
            was idle while the loop waited for something else.

    Example:
        >>> latency = podium.telemetry.Latency(100, 0.002, 0.002, 0.003, 0.004, 0.01, False)
        >>> latency.p99
        0.004
    """

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: float
    is_lower_bound: bool


@dataclasses.dataclass(frozen=True)
class PredictMemory:
    """The memory of a `predict`.

    Attributes:
        output_bytes: The size of the outputs that were collected.
        peak_growth_bytes: By how much the resident memory of the process grew, at its peak: exact
            if that was a new peak of the process, otherwise the largest of samples every 10 ms.
            None where the system does not say.

    Example:
        >>> podium.telemetry.PredictMemory(4000, 8192).output_bytes
        4000
    """

    output_bytes: int | None
    peak_growth_bytes: int | None


@dataclasses.dataclass(frozen=True)
class Synchronization:
    """What synchronizing replicas costs.

    Attributes:
        replicas: The number of replicas.
        host_seconds: The time that the run waited for other workers between steps.
        seconds_per_step: What the collectives of a step take, as `measure_synchronization`
            measured it; None before, and where it cannot be measured.
        reason: Why `seconds_per_step` is None.

    Example:
        >>> podium.telemetry.Synchronization(1, 0.0, 0.0, "").seconds_per_step
        0.0
    """

    replicas: int
    host_seconds: float
    seconds_per_step: float | None
    reason: str
