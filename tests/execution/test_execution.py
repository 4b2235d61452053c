"""Executions: eager, compiled and fused steps are equal; one program serves all group lengths."""

import numpy as np
import pytest

import podium
from podium.execution import Execution


def batches(sizes=(4, 4, 4, 4, 4, 4, 4, 2)):
    rng = np.random.default_rng(0)
    return [
        (rng.normal(size=(size, 3)).astype("float32"), rng.normal(size=(size, 1)).astype("float32"))
        for size in sizes
    ]


def linear_step():
    weight = podium.Variable(np.ones((3, 1), "float32"))
    noise = podium.random.SeedGenerator(1)
    runs = []

    def step(data):
        runs.append(1)
        x, y = data
        with podium.GradientTape() as tape:
            x = x + 0.1 * podium.random.normal(podium.ops.shape(x), seed=noise)
            loss = podium.ops.mean((podium.ops.matmul(x, weight) - y) ** 2)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return {"loss": loss}

    return step, weight, runs


def run_all(execution, source):
    losses = []
    iterator = iter(source)
    while True:
        try:
            losses += [float(one["loss"]) for one in execution(iterator).each()]
        except StopIteration:
            return losses


@pytest.mark.parametrize("fused", [1, 2, 3, 8, 16])
def test_fused_steps_equal_single_steps_bit_for_bit(fused):
    step, weight, _ = linear_step()
    expected = run_all(Execution(step), batches())
    final = weight.numpy()
    step, weight, _ = linear_step()
    assert run_all(Execution(step, fused), batches()) == expected
    np.testing.assert_array_equal(weight.numpy(), final)


def test_eager_equals_compiled():
    step, weight, _ = linear_step()
    compiled = run_all(Execution(step), batches())
    final = weight.numpy()
    step, weight, runs = linear_step()
    eager = run_all(Execution(step, 3, run_eagerly=True), batches())
    np.testing.assert_allclose(eager, compiled, rtol=2e-6)
    np.testing.assert_allclose(weight.numpy(), final, rtol=2e-6)
    assert len(runs) == 8


def test_one_program_per_shape():
    step, _, runs = linear_step()
    execution = Execution(step)
    run_all(execution, batches() + batches())
    assert execution.trace_count == 2
    assert len(runs) == 4  # twice per program: to find the Variables, and to trace


def test_short_group_needs_no_other_program():
    step, _, _ = linear_step()
    execution = Execution(step, 3)
    run_all(execution, batches([4] * 7))
    assert execution.trace_count == 1


def test_values_of_a_group_are_read_lazily_and_step_by_step():
    step, _, _ = linear_step()
    values = Execution(step, 3)(iter(batches()))
    assert values.count == 3
    assert float(values.last["loss"]) == float(values.each()[2]["loss"])
    assert values.last["loss"].shape == ()


def test_failing_step_leaves_the_variables_of_the_last_completed_one():
    weight = podium.Variable(1.0)

    def step(x):
        weight.assign_add(podium.ops.sum(x))
        if x.shape[0] == 2:
            raise ValueError("two")
        return {}

    execution = Execution(step)
    iterator = iter([np.ones(3, "float32"), np.ones(2, "float32")])
    execution(iterator)
    with pytest.raises(ValueError, match="two"):
        execution(iterator)
    assert float(weight) == 4.0


def test_batches_of_strings_raise():
    with pytest.raises(TypeError, match="strings"):
        Execution(lambda x: {})(iter([np.array(["a", "b"])]))


def test_caller_may_reuse_its_buffer():
    seen = podium.Variable(np.zeros(64, "float32"))

    def step(x):
        seen.assign_add(x)
        return {}

    execution = Execution(step)
    buffer = np.ones(64, "float32")
    for _ in range(20):
        execution(iter([buffer]))
        buffer[:] = 1.0
        buffer[:] = 5.0
        buffer[:] = 1.0
    np.testing.assert_array_equal(seen.numpy(), np.full(64, 20.0, "float32"))


@pytest.mark.parametrize("run_eagerly", [False, True])
@pytest.mark.parametrize("fused", [1, 3])
def test_the_end_of_the_data_is_an_out_of_range_error(fused, run_eagerly):
    execution = Execution(lambda data: data, fused, run_eagerly=run_eagerly)
    iterator = iter([np.ones((2, 1), "float32")] * 3)
    for _ in range(3 // fused):
        execution(iterator)
    with pytest.raises(podium.core.OutOfRange, match="The iterator has no more batches"):
        execution(iterator)
