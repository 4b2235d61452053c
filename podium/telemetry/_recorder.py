"""Recorder: the measurements of one run while it lasts, in constant memory.

Every nanosecond of a run belongs to exactly one section. A section that is entered inside another
one interrupts it: saving inside a callback is saving. So the sections add up to the time of the
run, and a separate stopwatch agrees with them; what no section covers is "other".

The current recorder of a thread is `active.recorder`. `Execution.run` receives it as an argument
instead: a step that a callback runs by itself is not one of the run's.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import jax

from podium.core.internal import override, register_thread_local, restore_on_error
from podium.telemetry._durations import clock
from podium.telemetry._memory import MemoryGauge
from podium.telemetry._records import CallbackTime, Compilation, Save
from podium.telemetry._timeline import Timeline

SECTIONS = (
    "setup",
    "compiling",
    "data",
    "steps",
    "callbacks",
    "logging",
    "saving",
    "synchronizing",
    "validation",
    "other",
)
_MAX_RECORDS = 100  # compilations and saves that are listed; all are counted


class _Active(threading.local):
    """The recorder of the run that a thread is in."""

    recorder: Recorder | None = None


active = register_thread_local(_Active())


class Recorder:
    """Measures one `fit`, `evaluate` or `predict`, or all validations of a `fit`.

    Args:
        kind: "fit", "evaluate", "predict", "predict_iter" or "validation".

    Attributes:
        kind: The same.
        started_at: When it was created, in seconds since 1970.
        ns: Nanoseconds by section, without those of the sections inside it.
        measured: Nanoseconds in all sections together.
        timeline: The executions.
        stop_reason: Why the run has ended; None while it runs.
        epochs: The number of epochs that were begun.
        first_epoch: The index of the first of them.
        first_step: The number of steps that earlier processes of a resumed run have run.
        knows_samples: Whether samples could be counted in every execution.
        last_step: How many steps the previous `fit` of the model had run when an error ended it.
        repeated_steps: How many steps had been run before, and were lost when the run was resumed.
        output_bytes: The size of the outputs of `predict`.
        memory: The memory of `predict`; None for other kinds.
        validation: The recorder of the validations; None before the first one.
        replicas: The number of replicas.
        measure_collectives: Measures the seconds that the collectives of a step take; None where
            that is not possible, for the reason in `unmeasured`.
        unmeasured: Why collectives cannot be measured.
        in_save: Whether something is being saved by the thread of the run.
    """

    def __init__(self, kind: str):
        self.kind = kind
        self.started_at = time.time()
        self.ns = dict.fromkeys(SECTIONS, 0)
        self.measured = 0
        self.timeline = Timeline()
        self.stop_reason: str | None = None
        self.epochs = self.first_epoch = self.first_step = self.repeated_steps = 0
        self.last_step = 0
        self.knows_samples = True
        self.output_bytes: int | None = None
        self.memory = MemoryGauge() if kind.startswith("predict") else None
        self.validation: Recorder | None = None
        self.replicas = 1
        self.measure_collectives: Callable[[], float] | None = None
        self.unmeasured = ""
        self.compilations: deque[Compilation] = deque(maxlen=_MAX_RECORDS)
        self.saves: deque[Save] = deque(maxlen=_MAX_RECORDS)
        self.totals: Counter[str] = Counter()  # of compilations and saves
        self._callbacks: dict[int, tuple[Any, CallbackTime]] = {}  # by id of the callback
        self._wall = 0
        self._began: int | None = None  # while it runs
        self._measured_before = 0
        self.in_save = False
        self._in_compilation = False
        self._lock = threading.Lock()  # checkpoints are saved on a thread

    # --- time

    def begin(self) -> None:
        """Start the clock, or continue."""
        self._began, self._measured_before = clock.ns(), self.measured

    def end(self) -> None:
        """Stop the clock."""
        if self._began is not None:
            self._wall += clock.ns() - self._began
            self._began = None

    def end_setup(self) -> None:
        """Record that the loop begins: all time since `begin` was preparation."""
        if self._began is not None:
            elapsed = clock.ns() - self._began
            self.add("setup", elapsed - (self.measured - self._measured_before))

    def resume(self, num_steps: int) -> None:
        """Record that a run is resumed that has run this many steps."""
        self.first_step = num_steps
        self.repeated_steps = max(0, self.last_step - num_steps)

    def begin_epoch(self, epoch: int) -> None:
        """Record that an epoch begins."""
        if not self.epochs:
            self.first_epoch = epoch
        self.epochs += 1

    @property
    def wall(self) -> int:
        """Nanoseconds of the run so far."""
        return self._wall + (0 if self._began is None else clock.ns() - self._began)

    def add(self, section: str, nanoseconds: int) -> None:
        """Add time to a section."""
        self.ns[section] += nanoseconds
        self.measured += nanoseconds

    def add_callback(self, callback: Any, start: int, measured: int) -> None:
        """Add a call of a callback, which ends now.

        Args:
            callback: The callback.
            start: When it began.
            measured: The value of `measured` then.
        """
        elapsed = clock.ns() - start
        entry = self._callbacks.get(id(callback))
        if entry is None:
            section = "logging" if getattr(callback, "is_logger", False) else "callbacks"
            entry = callback, CallbackTime(type(callback).__name__, section)
            self._callbacks[id(callback)] = entry
        times = entry[1]
        own = elapsed - (self.measured - measured)
        times.calls += 1
        times.seconds += elapsed / 1e9
        times.own_seconds += own / 1e9
        self.add(times.section, own)

    def add_execution(
        self,
        results: Sequence[jax.Array],
        start: int,
        measured: int,
        steps: int | None,
        batch_size: int,
        ended_before: bool,
        is_first: bool,
    ) -> None:
        """Add an execution that was started, and the time of the host until now.

        Args:
            results: Arrays that it computes.
            start: When the host began with it.
            measured: The value of `measured` then.
            steps: The number of its steps; None for a single one.
            batch_size: The number of samples of a step.
            ended_before: Whether the head of the timeline was computed at `start`.
            is_first: Whether it compiled its program, and was started after that.
        """
        steps = steps or 1
        now = clock.ns()
        self.timeline.add(
            results, now if is_first else start, steps, steps * batch_size, ended_before, is_first
        )
        self.add("steps", clock.ns() - start - (self.measured - measured))

    def add_eager_execution(self, start: int, measured: int, steps: int, samples: int) -> None:
        """Add an execution that has run as plain Python; see `add_execution`."""
        self.timeline.add_ended(start, steps, samples)
        self.add("steps", clock.ns() - start - (self.measured - measured))

    @property
    def callbacks(self) -> list[CallbackTime]:
        """The times of all callbacks; a second one of a class gets a number."""
        counts: Counter[str] = Counter()
        times = []
        for _, entry in self._callbacks.values():
            counts[entry.name] += 1
            number = counts[entry.name]
            times.append(entry.copy(entry.name if number == 1 else f"{entry.name}_{number}"))
        return times

    # --- what happened

    def record_compilation(self, name: str, cause: str = "") -> MeasuredCompilation:
        """Return a context in which a program is compiled; its `cause` may be set later."""
        return MeasuredCompilation(self, name, cause)

    def add_compilation(self, name: str, cause: str, seconds: float) -> None:
        """Add a compilation."""
        self.compilations.append(Compilation(name, cause, seconds))
        self.totals["compilations"] += 1

    def add_save(self, save: Save) -> None:
        """Add something that was saved, perhaps on another thread."""
        with self._lock:
            self.saves.append(save)
            self.totals["saves"] += 1
            self.totals["saved_bytes"] += save.num_bytes

    def export_while_running(self, export: Callable[[], int | None], due: int) -> None:
        """Let a function be called after an execution when it is due.

        Args:
            export: The function; it returns when it is due again, on the clock.
            due: When it is due for the first time.
        """

        def call() -> None:
            next_call = export()
            self.timeline.next_call = sys.maxsize if next_call is None else next_call

        self.timeline.next_call, self.timeline.call = due, call

    def record_validation(self) -> Recording:
        """Return a context for a validation, whose time is a section of this run."""
        if self.validation is None:
            self.validation = Recorder("validation")
        return Recording(self.validation, outer=self)


class Section:
    """A context whose time belongs to a section of a recorder, except for sections inside it.

    Args:
        recorder: The recorder; nothing is measured without one.
        name: The section.
    """

    __slots__ = ("_measured", "_name", "_recorder", "_start", "elapsed")

    def __init__(self, recorder: Recorder | None, name: str):
        self._recorder = recorder
        self._name = name
        self._start = self._measured = self.elapsed = 0

    def __enter__(self) -> Section:
        if self._recorder is not None:
            self._start, self._measured = clock.ns(), self._recorder.measured
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        recorder = self._recorder
        if recorder is not None:
            self.elapsed = clock.ns() - self._start
            recorder.add(self._name, self.elapsed - (recorder.measured - self._measured))


class DeviceWait(Section):
    """A context in which the host waits for values of the device: part of the steps."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(active.recorder, "steps")

    def __enter__(self) -> Section:
        if self._recorder is not None:
            self._recorder.timeline.look(has_waited=False)
        return super().__enter__()

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(error_type, error, traceback)
        if self._recorder is not None:
            self._recorder.timeline.look(has_waited=True)


class MeasuredCompilation(Section):
    """A context in which a program is compiled. One inside another one is part of it.

    Attributes:
        cause: Why it is compiled.
    """

    __slots__ = ("_is_inner", "_program", "cause")

    def __init__(self, recorder: Recorder | None, program: str, cause: str):
        super().__init__(recorder, "compiling")
        self._program = program
        self.cause = cause
        self._is_inner = recorder is not None and recorder._in_compilation

    def __enter__(self) -> Section:
        if self._recorder is not None:
            self._recorder._in_compilation = True
        return super().__enter__()

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(error_type, error, traceback)
        if self._recorder is not None and not self._is_inner:
            self._recorder._in_compilation = False
        if self._recorder is not None and not self._is_inner and error_type is None:
            self._recorder.add_compilation(self._program, self.cause, self.elapsed / 1e9)


class Recording:
    """A context in which a recorder is the thread's current one, and its clock runs.

    Args:
        recorder: The recorder.
        outer: The recorder of the run around it, which counts the time as validation.
    """

    def __init__(self, recorder: Recorder, outer: Recorder | None = None):
        self._recorder = recorder
        self._outer = Section(outer, "validation")
        self._overrides = (override(active, recorder=recorder), override(recorder=recorder))

    def __enter__(self) -> Recorder:
        self._outer.__enter__()
        self._recorder.begin()
        with restore_on_error():  # an interrupt here leaves no recorder behind
            for fields in self._overrides:
                fields.__enter__()
        return self._recorder

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for fields in self._overrides:
            fields.__exit__()
        self._recorder.end()
        self._outer.__exit__(error_type, error, traceback)


def measure(section: str) -> Section:
    """Return a context whose time belongs to a section of the thread's current run, if any."""
    return Section(active.recorder, section)


def measure_compilation(name: str, cause: str = "") -> MeasuredCompilation:
    """Return a context in which a program is compiled, for the thread's current run, if any."""
    return MeasuredCompilation(active.recorder, name, cause)
