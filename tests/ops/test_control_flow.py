"""Loops and branches: the functions inside see Tensors, and gradients reach what they read from
outside.
"""

import numpy as np
import pytest

import podium
from podium import ops


def test_functions_receive_tensors_and_use_operators():
    seen = []

    def body(carry, x):
        seen.extend([type(carry), type(x)])
        return carry + x, ops.square(x)

    total, squares = ops.scan(body, 0.0, ops.array([1.0, 2.0]))
    assert float(total) == 3.0 and squares.numpy().tolist() == [1.0, 4.0]
    assert set(seen) == {podium.Tensor}


@pytest.mark.parametrize(
    ("run", "gradient"),
    [
        (lambda w: ops.cond(w > 1.0, lambda: w * 3.0, lambda: w), 3.0),
        (lambda w: ops.switch(1, [lambda x: x, lambda x: x * w], ops.array(5.0)), 5.0),
        (lambda w: ops.scan(lambda c, x: (c * w + x, c), 0.0, ops.array([1.0, 1.0]))[0], 1.0),
        (lambda w: ops.fori_loop(0, 3, lambda i, x: x * w, ops.array(1.0)), 12.0),
        (lambda w: ops.sum(ops.map(lambda x: x * w, ops.array([1.0, 2.0]))), 3.0),
        (lambda w: ops.sum(ops.vectorized_map(lambda x: x * w, ops.array([1.0, 2.0]))), 3.0),
        (
            lambda w: ops.sum(
                ops.associative_scan(lambda a, b: a * b * w, ops.array([1.0, 1.0, 1.0]))
            ),
            1.0 + 2 * 2.0,
        ),
        (lambda w: ops.sum(ops.vectorize(lambda x: x * w)(ops.array([1.0, 2.0]))), 3.0),
    ],
)
def test_gradients_reach_variables_read_by_closure(run, gradient):
    w = podium.Variable(2.0)
    with podium.GradientTape() as tape:
        y = run(w)
    assert float(tape.gradient(y, w)) == pytest.approx(gradient)


def test_gradients_reach_arguments():
    x = podium.Variable([1.0, 2.0, 3.0])
    with podium.GradientTape() as tape:
        total, _ = ops.scan(lambda c, x: (c + x * x, None), 0.0, x)
    assert tape.gradient(total, x).numpy().tolist() == [2.0, 4.0, 6.0]


def test_loops_work_inside_a_function():
    @podium.function
    def doubled_until(x, limit):
        return ops.while_loop(lambda x: x < limit, lambda x: x * 2, x)

    assert int(doubled_until(ops.array(3), ops.array(20))) == 24


def test_while_loop_keeps_the_structure_of_its_variables():
    i, x = ops.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), [0, np.ones(2, "float32")]
    )
    assert int(i) == 3 and x.numpy().tolist() == [8.0, 8.0]
    assert int(ops.while_loop(lambda i: i < 100, lambda i: i + 1, 0, maximum_iterations=5)) == 5


def test_scan_without_xs_runs_length_steps():
    total, outputs = ops.scan(lambda c, _: (c + 1, c), 0, length=3)
    assert int(total) == 3 and outputs.numpy().tolist() == [0, 1, 2]


def test_scan_accepts_structures_and_reverse():
    xs = {"a": np.array([1.0, 2.0], "float32"), "b": np.array([10.0, 20.0], "float32")}
    carry, outputs = ops.scan(
        lambda c, x: ((c[0] + x["a"], c[1] * x["b"]), x["a"]), (0.0, 1.0), xs, reverse=True
    )
    assert [float(c) for c in carry] == [3.0, 200.0] and outputs.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ops.cond(True, 1.0, lambda: 2.0),
            TypeError,
            "`true_fn` must be a function.*lambda",
        ),
        (lambda: ops.scan(lambda c, x: (c, x), 0.0, ops.ones(2), unroll=0), ValueError, "unroll=0"),
        (lambda: ops.vectorize(3), ValueError, "pyfunc"),
    ],
)
def test_errors_state_the_argument_and_the_expected_value(call, error, message):
    with pytest.raises(error, match=message):
        call()
