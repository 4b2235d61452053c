"""undo_on_error: a block changes all of its Variables, or none."""

import numpy as np
import pytest

import podium
from podium.core.internal import context, undo_on_error


class Failure(Exception):
    pass


def fail_after(work, error=Failure, **options):
    with pytest.raises(error), undo_on_error(**options):
        work()
        raise error


def test_values_are_restored_after_every_kind_of_write():
    variable = podium.Variable([1.0, 2.0])
    for write in (
        lambda: variable.assign([5.0, 5.0]),
        lambda: variable.assign_add([1.0, 1.0]),
        lambda: variable.scatter_add([0], [1.0]),
        variable.clear,
        lambda: (variable.assign([5.0, 5.0]), variable.clear(), variable.assign([7.0, 7.0])),
    ):
        fail_after(write)
        np.testing.assert_array_equal(variable, [1.0, 2.0])


@pytest.mark.parametrize("error", [Failure, KeyboardInterrupt, SystemExit])
def test_any_exception_restores(error):
    variable = podium.Variable(1.0)
    fail_after(lambda: variable.assign(2.0), error)
    assert float(variable) == 1.0
    assert context.undo is None


def test_success_keeps_what_was_written():
    variable = podium.Variable(1.0)
    with undo_on_error():
        variable.assign(2.0)
    assert float(variable) == 2.0


def test_keep_on_keeps_what_was_written():
    variable = podium.Variable(1.0)
    fail_after(lambda: variable.assign(2.0), StopIteration, keep_on=(StopIteration,))
    assert float(variable) == 2.0


def test_inner_block_that_succeeds_belongs_to_the_outer_one():
    first, second = podium.Variable(1.0), podium.Variable(1.0)

    def work():
        first.assign(2.0)
        with undo_on_error():
            first.assign(3.0)
            second.assign(3.0)

    fail_after(work)
    assert (float(first), float(second)) == (1.0, 1.0)


def test_inner_block_that_fails_is_undone_alone():
    first, second = podium.Variable(1.0), podium.Variable(1.0)
    with undo_on_error():
        first.assign(2.0)
        fail_after(lambda: (first.assign(3.0), second.assign(3.0)))
        assert (float(first), float(second)) == (2.0, 1.0)
    assert (float(first), float(second)) == (2.0, 1.0)


def test_compiled_functions_inside_are_undone_and_may_donate_again():
    variable = podium.Variable(np.ones(1000, "float32"))

    @podium.function
    def double():
        variable.assign(variable * 2.0)

    double()
    double()

    def work():
        variable.assign_add(np.ones(1000, "float32"))
        double()
        double()

    for _ in range(2):
        fail_after(work)
        np.testing.assert_array_equal(variable, np.full(1000, 4.0))
    double()
    np.testing.assert_array_equal(variable, np.full(1000, 8.0))


def test_value_that_an_outer_block_remembers_is_not_donated():
    variable = podium.Variable(np.ones(8, "float32"))

    @podium.function
    def double():
        variable.assign(variable * 2.0)

    double()

    def work():
        fail_after(double)
        double()

    fail_after(work)
    np.testing.assert_array_equal(variable, np.full(8, 2.0))


def test_new_variable_remains_with_its_initial_value():
    created = []

    def work():
        created.append(podium.Variable(1.0))
        created[0].assign(5.0)

    fail_after(work)
    assert float(created[0]) == 1.0


def test_taped_writes_are_undone_and_leave_no_gradient_source():
    variable, source = podium.Variable(1.0), podium.Variable(3.0)

    def work():
        with podium.GradientTape():
            variable.assign(source * 2.0)

    fail_after(work)
    with podium.GradientTape() as tape:
        result = variable * 1.0
    assert float(variable) == 1.0
    assert tape.gradient(result, source) is None


def test_function_run_eagerly_is_undone_like_a_compiled_one():
    variable = podium.Variable(1.0)

    @podium.function
    def step():
        variable.assign_add(1.0)
        raise Failure

    for eagerly in (True, False):
        podium.core.run_functions_eagerly(eagerly)
        try:
            with pytest.raises(Failure):
                step()
        finally:
            podium.core.run_functions_eagerly(False)
        assert float(variable) == 1.0


def test_seeds_are_restored():
    generator = podium.random.SeedGenerator(3)
    before = generator.state.numpy()
    fail_after(lambda: podium.random.normal((2,), seed=generator))
    np.testing.assert_array_equal(generator.state, before)
