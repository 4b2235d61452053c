"""Streams inside compiled functions: how many elements are read, and what happens at the end."""

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


def summing(steps):
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


def test_function_reads_as_many_elements_as_its_body_asks_for():
    add, total, _ = summing(3)
    numbers = Countdown(8)
    add(numbers)
    assert numbers.left == 5
    assert float(total) == 7 + 6 + 5
    add(numbers)
    assert float(total) == sum(range(2, 8))
    assert add.trace_count == 1


def test_body_is_not_run_for_later_calls():
    add, _, runs = summing(2)
    numbers = Countdown(20)
    add(numbers)
    before = len(runs)
    add(numbers)
    add(numbers)
    assert len(runs) == before


def test_elements_left_at_the_end_are_used_before_the_end_is_met():
    add, total, _ = summing(3)
    numbers = Countdown(8)
    add(numbers)
    add(numbers)
    with pytest.raises(OutOfRange, match="no more elements"):
        add(numbers)
    assert float(total) == sum(range(8))


def test_end_in_the_first_call_uses_what_there_is():
    add, total, _ = summing(3)
    with pytest.raises(OutOfRange):
        add(Countdown(2))
    assert float(total) == 1.0


def test_a_new_stream_needs_no_new_program():
    add, total, _ = summing(2)
    add(Countdown(4))
    add(Countdown(6))
    assert float(total) == 3 + 2 + 5 + 4
    assert add.trace_count == 1


def test_other_arguments_stand_beside_a_stream():
    @podium.function
    def scaled(factor, numbers, shift=0.0):
        value, _ = next(numbers)
        return value * factor + shift

    numbers = Countdown(4)
    np.testing.assert_array_equal(scaled(np.float32(2.0), numbers, shift=1.0), [7.0, 7.0])
    np.testing.assert_array_equal(scaled(np.float32(2.0), numbers, shift=1.0), [5.0, 5.0])


def test_two_streams_are_read_each_on_its_own():
    @podium.function
    def add(first, second):
        return next(first)[0] + next(second)[0] + next(second)[0]

    first, second = Countdown(5), Countdown(10)
    np.testing.assert_array_equal(add(first, second), [4.0 + 9 + 8] * 2)
    np.testing.assert_array_equal(add(first, second), [3.0 + 7 + 6] * 2)
    assert (first.left, second.left) == (3, 6)


def test_stream_from_outside_is_refused_inside_a_function():
    numbers = Countdown(3)

    @podium.function
    def wrong():
        return next(numbers)

    with pytest.raises(RuntimeError, match="is not one of its arguments"):
        wrong()


def test_end_of_stream_ends_a_loop():
    assert [float(extra["y"]) for _, extra in Countdown(3)] == [2.0, 1.0, 0.0]


def test_element_given_back_comes_next():
    numbers = Countdown(3)
    first = numbers.next_arrays()
    numbers.unread([first])
    assert float(next(numbers)[1]["y"]) == 2.0


def test_function_inside_a_function_reads_the_same_stream():
    inner = podium.function(lambda numbers: next(numbers)[0])
    outer = podium.function(lambda numbers: inner(numbers) + inner(numbers))
    np.testing.assert_array_equal(outer(Countdown(5)), [7.0, 7.0])
