"""Exporters: functions that receive the telemetry of every run, the list of them, and the one that
appends to a file of JSON lines. `_prometheus.py` has another.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Protocol

from podium._typing import PathLike
from podium.core import warn_user
from podium.core.internal import check_number
from podium.telemetry._durations import clock
from podium.telemetry._recorder import Recorder, Section
from podium.telemetry._telemetry import Telemetry, make_telemetry


class Exporter(Protocol):
    """A function of a `Telemetry`, for `add_exporter`.

    Example:
        >>> def print_goodput(telemetry):
        ...     print(telemetry.kind, telemetry.goodput > 0)
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> outputs = model.predict(np.ones((640, 2)), verbose=0)
        >>> print_goodput(model.telemetry)
        predict True
    """

    def __call__(self, telemetry: Telemetry, /) -> object:
        """Receive the measurements of a run."""


class _Registered:
    """An exporter that was added."""

    def __init__(self, exporter: Exporter, seconds: float | None):
        self.exporter = exporter
        self.interval = None if seconds is None else int(seconds * 1e9)
        self.has_failed = False
        self.next = 0  # when it is called again during a run

    def export(self, telemetry: Telemetry) -> None:
        """Call the exporter. An error is a warning, once: training continues."""
        try:
            self.exporter(telemetry)
        except Exception as error:
            if not self.has_failed:
                self.has_failed = True
                warn_user(
                    f"The telemetry exporter {self.exporter!r} failed "
                    f"({type(error).__name__}: {error}). Training continues; further failures of "
                    "it are not shown."
                )


_registered: list[_Registered] = []
_lock = threading.Lock()


def add_exporter(exporter: Exporter, seconds: float | None = None) -> None:
    """Let an exporter receive the telemetry of every `fit`, `evaluate` and `predict` of this
    process.

    It is called when a run ends, also with an error. If it fails there is one warning, and nothing
    else changes.

    Args:
        exporter: A function of a `Telemetry`, such as a `JsonLinesExporter`.
        seconds: Call it also while a run lasts, after an execution when this number of seconds has
            passed since the last call; its time is that of "logging". None for the end only.

    Example:
        >>> steps = []
        >>> def export(telemetry):
        ...     steps.append((telemetry.kind, telemetry.steps))
        >>> podium.telemetry.add_exporter(export)
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> outputs = model.predict(np.ones((64, 2)), verbose=0)
        >>> podium.telemetry.remove_exporter(export)
        >>> steps
        [('predict', 2)]
    """
    if not callable(exporter):
        raise TypeError(
            f"add_exporter was given {exporter!r}; a function of a Telemetry was expected, such as "
            "`JsonLinesExporter('telemetry.jsonl')`."
        )
    if seconds is not None and not check_number("seconds", seconds) > 0:
        raise ValueError(f"add_exporter was given seconds={seconds!r}; a number above 0 or None.")
    with _lock:
        _registered.append(_Registered(exporter, seconds))


def remove_exporter(exporter: Exporter) -> None:
    """Remove an exporter that `add_exporter` has added.

    Raises:
        ValueError: It was not added.

    Example:
        >>> podium.telemetry.remove_exporter(print)
        Traceback (most recent call last):
        ValueError: remove_exporter was given <built-in function print>, which was not added.
    """
    with _lock:
        for registered in _registered:
            if registered.exporter == exporter:
                _registered.remove(registered)
                return
    raise ValueError(f"remove_exporter was given {exporter!r}, which was not added.")


def export_ended(telemetry: Telemetry) -> None:
    """Call all exporters at the end of a run."""
    for registered in list(_registered):
        registered.export(telemetry)


def next_export() -> int | None:
    """Return when the next exporter is due during a run, on the clock; None for none."""
    return min((each.next for each in _registered if each.interval is not None), default=None)


def export_due(recorder: Recorder) -> None:
    """Call the exporters that are due during a run."""
    with Section(recorder, "logging"):
        now = clock.ns()
        for registered in list(_registered):
            if registered.interval is not None and now >= registered.next:
                registered.next = now + registered.interval
                registered.export(make_telemetry(recorder))


class JsonLinesExporter:
    """Appends the telemetry of each run to a file, as one line of JSON.

    Args:
        path: The file; it is created with its directory when the first run ends.

    Example:
        >>> import json, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "telemetry.jsonl")
        >>> exporter = podium.telemetry.JsonLinesExporter(path)
        >>> podium.telemetry.add_exporter(exporter)
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> outputs = model.predict(np.ones((64, 2)), verbose=0)
        >>> podium.telemetry.remove_exporter(exporter)
        >>> [json.loads(line)["samples"] for line in path.read_text().splitlines()]
        [64]
    """

    def __init__(self, path: PathLike):
        self.path = os.fspath(path)

    def __call__(self, telemetry: Telemetry) -> None:
        """Append a line. It is written in one call, so that several processes may share a file."""
        folder = os.path.dirname(self.path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        line = json.dumps(telemetry.as_dict()) + "\n"
        with open(self.path, "ab", buffering=0) as file:
            file.write(line.encode())

    def __repr__(self) -> str:
        return f"JsonLinesExporter({self.path!r})"
