"""Quantiles of durations, in constant memory."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from podium.telemetry._durations import Histogram


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=200), st.sampled_from([0.5, 0.95]))
def test_quantiles_are_those_of_the_values_to_one_percent(values, fraction):
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    exact = np.quantile(values, fraction, method="lower")
    assert abs(histogram.quantile(fraction) - exact) <= 0.01 * exact
    assert (histogram.count, histogram.total, histogram.max) == (
        len(values),
        sum(values),
        max(values),
    )


def test_a_count_is_as_many_values():
    once, often = Histogram(), Histogram()
    once.add(5_000, 3)
    for _ in range(3):
        often.add(5_000)
    assert vars(once) == vars(often)


def test_memory_does_not_grow_with_the_number_of_values():
    histogram = Histogram()
    for value in range(1, 10**6, 7):
        histogram.add(value)
    assert len(histogram._buckets) < 64 * 20
