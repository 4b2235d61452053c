"""Streams inside compiled functions: the number of elements read, and the end of a stream."""

import numpy as np
import pytest

import podium
from podium.core import OutOfRange, Stream


class Countdown(Stream):
    """Yields (start - 1, ..., 0), each as a pair of an array and a dictionary."""

    def __init__(self, start):
        super().__init__()
        self.left = start

    def read_next(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return np.full((2,), self.left, "float32"), {"y": np.float32(self.left)}


def make_sum(steps):
    total = podium.Variable(0.0)
    runs = []

    @podium.function
    def add(numbers):
        for _ in range(steps):
            runs.append(1)
            _, extra = next(numbers)
            total.assign_add(extra["y"])
        return total

    return add, total, runs


def test_function_reads_the_elements_that_it_needs():
    add, total, _ = make_sum(3)
    numbers = Countdown(8)
    add(numbers)
    assert numbers.left == 5
    assert float(total) == 7 + 6 + 5
    add(numbers)
    assert float(total) == sum(range(2, 8))
    assert add.trace_count == 1


def test_python_function_does_not_run_in_later_calls():
    add, _, runs = make_sum(2)
    numbers = Countdown(20)
    add(numbers)
    num_runs = len(runs)
    add(numbers)
    add(numbers)
    assert len(runs) == num_runs


def test_remaining_elements_are_used_before_the_end_is_raised():
    add, total, _ = make_sum(3)
    numbers = Countdown(8)
    add(numbers)
    add(numbers)
    with pytest.raises(OutOfRange, match="no more elements"):
        add(numbers)
    assert float(total) == sum(range(8))


def test_stream_that_ends_in_the_first_call_is_used_up():
    add, total, _ = make_sum(3)
    with pytest.raises(OutOfRange):
        add(Countdown(2))
    assert float(total) == 1.0


def test_another_stream_uses_the_same_program():
    add, total, _ = make_sum(2)
    add(Countdown(4))
    add(Countdown(6))
    assert float(total) == 3 + 2 + 5 + 4
    assert add.trace_count == 1


def test_stream_and_other_arguments_can_be_mixed():
    @podium.function
    def scaled(factor, numbers, shift=0.0):
        value, _ = next(numbers)
        return value * factor + shift

    numbers = Countdown(4)
    np.testing.assert_array_equal(scaled(np.float32(2.0), numbers, shift=1.0), [7.0, 7.0])
    np.testing.assert_array_equal(scaled(np.float32(2.0), numbers, shift=1.0), [5.0, 5.0])


def test_two_streams_are_read_independently():
    @podium.function
    def add(first, second):
        return next(first)[0] + next(second)[0] + next(second)[0]

    first, second = Countdown(5), Countdown(10)
    np.testing.assert_array_equal(add(first, second), [4.0 + 9 + 8] * 2)
    np.testing.assert_array_equal(add(first, second), [3.0 + 7 + 6] * 2)
    assert (first.left, second.left) == (3, 6)


def test_reading_a_stream_that_is_not_an_argument_raises():
    numbers = Countdown(3)

    @podium.function
    def wrong():
        return next(numbers)

    with pytest.raises(RuntimeError, match="is not one of its arguments"):
        wrong()


def test_end_of_stream_ends_a_loop():
    assert [float(extra["y"]) for _, extra in Countdown(3)] == [2.0, 1.0, 0.0]


def test_unread_element_is_next():
    numbers = Countdown(3)
    first = numbers.next_arrays()
    numbers.unread([first])
    assert float(next(numbers)[1]["y"]) == 2.0


def test_function_inside_a_function_reads_the_same_stream():
    inner = podium.function(lambda numbers: next(numbers)[0])
    outer = podium.function(lambda numbers: inner(numbers) + inner(numbers))
    np.testing.assert_array_equal(outer(Countdown(5)), [7.0, 7.0])
