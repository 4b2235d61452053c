"""Durations: the clock that measures them, and their distribution in constant memory.

The clock is monotonic, in nanoseconds or seconds since an arbitrary moment; all measurements use
it. The distribution has logarithmic buckets.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_SUB_BITS = 6  # 64 buckets for each power of two: a quantile is off by at most 0.8%
_SUB_BUCKETS = 1 << _SUB_BITS


class _Clock:
    """Functions that return the time; attributes, so that tests can replace them."""

    def __init__(self) -> None:
        self.ns: Callable[[], int] = time.perf_counter_ns
        self.seconds: Callable[[], float] = time.perf_counter


clock = _Clock()


class Histogram:
    """The distribution of durations in nanoseconds. A million values take as much memory as a
    thousand.
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = 0  # nanoseconds
        self.max = 0
        self._buckets: dict[int, int] = {}

    def add(self, duration: int, count: int = 1) -> None:
        """Add a duration, several times if `count` says so."""
        shift = duration.bit_length() - _SUB_BITS - 1
        # Below 128 ns there is a bucket for each nanosecond.
        bucket = duration if shift <= 0 else shift * _SUB_BUCKETS + (duration >> shift)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + count
        self.count += count
        self.total += duration * count
        if duration > self.max:
            self.max = duration

    def quantile(self, fraction: float) -> float:
        """Return the duration that this fraction of the values does not exceed, in nanoseconds."""
        rank = fraction * (self.count - 1)
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen > rank:
                return min(_middle(bucket), float(self.max))
        return 0.0


def _middle(bucket: int) -> float:
    """Return the duration in the middle of a bucket."""
    if bucket < 2 * _SUB_BUCKETS:
        return float(bucket)
    shift, sub = bucket // _SUB_BUCKETS - 1, bucket % _SUB_BUCKETS
    return ((_SUB_BUCKETS + sub + 0.5) * 2.0**shift) - 0.5
