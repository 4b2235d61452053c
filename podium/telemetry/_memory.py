"""The memory of this process: resident bytes now, and their peak."""

from __future__ import annotations

import os
import sys

from podium.telemetry._durations import clock

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

_INTERVAL = 10_000_000  # nanoseconds between two samples, each of which takes some microseconds


def resident_bytes() -> int | None:
    """Return the resident memory of this process, or None where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None  # not Linux


def peak_resident_bytes() -> int | None:
    """Return the largest resident memory that this process has ever had."""
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class MemoryGauge:
    """The growth of resident memory during a run, sampled at most every 10 ms.

    Where the run sets a new peak of the process, the peak is exact; otherwise it is the largest
    sample.
    """

    def __init__(self) -> None:
        self._first = resident_bytes()
        self._peak_before = peak_resident_bytes()
        self._largest = self._first
        self._next_sample = 0

    def sample(self) -> None:
        """Sample the memory, unless that was done just now."""
        now = clock.ns()
        if now >= self._next_sample and self._largest is not None:
            self._next_sample = now + _INTERVAL
            self._largest = max(self._largest, resident_bytes() or 0)

    def growth(self) -> int | None:
        """Return by how many bytes the memory has grown, at its peak; None if unknown."""
        if self._first is None or self._largest is None:
            return None
        peak, before = peak_resident_bytes(), self._peak_before
        has_new_peak = peak is not None and before is not None and peak > before
        largest = max(self._largest, resident_bytes() or 0, peak if has_new_peak and peak else 0)
        return largest - self._first
