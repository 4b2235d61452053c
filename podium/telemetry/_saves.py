"""Measures what is saved during a run: seconds and bytes."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator

from podium.telemetry._durations import clock
from podium.telemetry._recorder import Recorder, Section, active
from podium.telemetry._records import Save


@contextlib.contextmanager
def measure_save(path: str) -> Iterator[None]:
    """A context in which this thread writes a file or directory. One inside another one, such as
    the weights of a model, is part of it; nothing is recorded if it fails.
    """
    recorder = active.recorder
    if recorder is None or recorder.in_save:
        yield
        return
    recorder.in_save = True
    try:
        with Section(recorder, "saving") as section:
            yield
    finally:
        recorder.in_save = False
    recorder.add_save(Save(path, _saved_bytes(path), section.elapsed / 1e9, in_background=False))


class BackgroundSave:
    """A context for another thread that writes what this thread has asked for.

    Args:
        path: The file or directory.
    """

    def __init__(self, path: str):
        self._recorder: Recorder | None = active.recorder
        self._path = path
        self._start = 0

    def __enter__(self) -> None:
        self._start = clock.ns()

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if self._recorder is not None and error_type is None:
            seconds = (clock.ns() - self._start) / 1e9
            save = Save(self._path, _saved_bytes(self._path), seconds, in_background=True)
            self._recorder.add_save(save)


def _saved_bytes(path: str) -> int:
    """Return the size of a file, of the files in a directory, or of those of a TensorFlow
    checkpoint, whose names begin with `path`.
    """
    if os.path.isdir(path):
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    else:
        paths = [path] if os.path.exists(path) else glob.glob(f"{glob.escape(path)}.*")
    total = 0
    for name in paths:
        with contextlib.suppress(OSError):  # deleted meanwhile
            total += os.path.getsize(name)
    return total
