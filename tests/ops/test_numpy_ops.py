"""Behaviour of the NumPy-like operations that values alone do not show: inputs, tapes, graphs,
errors.
"""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import ops


def test_operations_accept_lists_scalars_arrays_tensors_and_variables():
    for value in (
        [1.0, 2.0],
        np.array([1.0, 2.0]),
        jnp.array([1.0, 2.0]),
        podium.Variable([1.0, 2.0]),
    ):
        result = ops.add(value, 1)
        assert isinstance(result, podium.Tensor)
        assert result.numpy().tolist() == [2.0, 3.0]
    assert float(ops.add(1, 2.5)) == 3.5
    assert ops.stack([ops.ones(2), [3.0, 4.0], np.zeros(2)]).shape == (3, 2)


def test_python_scalars_are_weakly_typed():
    half = ops.ones(2, dtype="bfloat16")
    assert ops.add(half, 2.5).dtype == jnp.bfloat16
    assert ops.add(ops.ones(2, dtype="int8"), 2).dtype == jnp.int8
    assert ops.add(ops.ones(2, dtype="int32"), half).dtype == jnp.bfloat16


def test_operations_are_recorded_on_a_tape():
    x = podium.Variable([[1.0, 2.0], [3.0, 4.0]])
    with podium.GradientTape() as tape:
        y = ops.sum(ops.square(ops.matmul(x, [[1.0], [1.0]])))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), [[6.0, 6.0], [14.0, 14.0]])


def test_gradients_reach_every_element_of_a_list():
    a, b = podium.Variable([1.0, 2.0]), podium.Variable([3.0])
    with podium.GradientTape() as tape:
        y = ops.sum(ops.concatenate([a, b, [5.0]]) ** 2)
    assert [g.numpy().tolist() for g in tape.gradient(y, [a, b])] == [[2.0, 4.0], [6.0]]


def test_gradients_reach_each_of_several_results():
    x = podium.Variable([3.0, 1.0, 2.0])
    with podium.GradientTape() as tape:
        values, positions = ops.top_k(x, 2)
        y = ops.sum(values * np.array([10.0, 1.0], "float32"))
    assert positions.numpy().tolist() == [0, 2]
    assert tape.gradient(y, x).numpy().tolist() == [10.0, 0.0, 1.0]


def test_divide_no_nan_has_no_nan_gradient_at_zero():
    x = podium.Variable([0.0, 2.0])
    with podium.GradientTape() as tape:
        y = ops.sum(ops.divide_no_nan([1.0, 1.0], x))
    assert tape.gradient(y, x).numpy().tolist() == [0.0, -0.25]


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (lambda x: ops.reshape(x, (-1, 2, 3)), (None, 2, 3)),
        (lambda x: ops.concatenate([x, x], axis=1), (None, 12)),
        (lambda x: ops.mean(x, axis=0), (6,)),
        (lambda x: ops.split(x, 2, axis=1)[0], (None, 3)),
        (lambda x: ops.rearrange(x, "b (h w) -> b w h", h=2), (None, 3, 2)),
        (lambda x: ops.einsum("bi,ij->bj", x, np.ones((6, 4), "float32")), (None, 4)),
        (lambda x: ops.one_hot(ops.argmax(x, axis=-1), 6), (None, 6)),
        (lambda x: ops.where(x > 0, x, 0.0), (None, 6)),
        (lambda x: ops.softmax(ops.layer_normalization(x)), (None, 6)),
    ],
)
def test_symbolic_inputs_keep_an_unknown_batch_size(build, shape):
    assert build(podium.KerasTensor((None, 6))).shape == shape


def test_compiled_equals_eager():
    def f(x):
        return ops.cumsum(ops.sort(x, axis=-1), axis=-1) / ops.max(x)

    x = np.array([[3.0, 1.0, 2.0]], "float32")
    np.testing.assert_allclose(podium.function(f)(x).numpy(), f(x).numpy(), rtol=1e-6)


def test_operations_have_signatures_and_docstrings():
    signature = "(x: 'TensorLike', axis: 'Axis' = None, keepdims: 'bool' = False) -> 'Tensor'"
    assert str(inspect.signature(ops.sum)) == signature
    assert (ops.sum.__name__, ops.sum.__module__) == ("sum", "podium.ops")
    assert "Args:" in ops.sum.__doc__


def test_source_of_every_operation_can_be_opened():
    assert inspect.getsource(ops.sin).startswith("@operation(_sin)\ndef sin(x: TensorLike)")
    for package in (ops, ops.image, ops.linalg, ops.nn, ops.numpy):
        for name, function in inspect.getmembers(package, inspect.isfunction):
            assert f"def {name}(" in inspect.getsource(function)


def test_lift_makes_an_operation_of_a_jax_function():
    x = podium.Variable(2.0)
    with podium.GradientTape() as tape:
        y = ops.lift(jnp.exp2)(x)
    np.testing.assert_allclose(float(tape.gradient(y, x)), 4 * np.log(2), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ops.matmul(np.ones((2, 3)), np.ones((4, 5))),
            ValueError,
            r"ops.matmul\(x1=float32\[2,3\], x2=float32\[4,5\]\).*3 and 4",
        ),
        (
            lambda: ops.add(np.ones(2), np.ones(3)),
            ValueError,
            r"ops.add\(x1=float32\[2\], x2=float32\[3\]\)",
        ),
        (
            lambda: ops.reshape(np.ones(6), (4, -1)),
            ValueError,
            r"shape \(6,\) cannot take the shape \(4, -1\)",
        ),
        (lambda: ops.reshape(np.ones(6), (-1, -1)), ValueError, "at most one"),
        (
            lambda: ops.concatenate([np.ones((2, 3)), np.ones((2, 4))]),
            ValueError,
            r"\(2, 3\), \(2, 4\).*ops.stack",
        ),
        (lambda: ops.stack([np.ones(2), np.ones(3)]), ValueError, "same shape"),
        (lambda: ops.split(np.ones(5), 2), ValueError, "does not divide into 2"),
        (
            lambda: ops.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((4, 5))),
            ValueError,
            r"ops.einsum.*ij: \(2, 3\), jk: \(4, 5\)",
        ),
        (lambda: ops.einsum("ij,jk->ik", np.ones((2, 3))), ValueError, "names 2 operands, and 1"),
        (lambda: ops.where([True], 1.0), ValueError, "both"),
        (
            lambda: ops.pad([1, 2], 1, mode="edge", constant_values=3),
            ValueError,
            "mode='constant' only",
        ),
        (lambda: ops.searchsorted(np.ones((2, 2)), 1.0), ValueError, "1D"),
        (lambda: ops.ldexp([1.0], [2.0]), TypeError, "integer dtype"),
        (lambda: ops.solve(np.ones((2, 3)), np.ones(2)), ValueError, "must be square"),
        (lambda: ops.cholesky(-np.eye(2)), ValueError, "positive definite"),
        (lambda: ops.qr(np.eye(2), mode="complet"), ValueError, "Did you mean 'complete'"),
        (lambda: ops.cast([1.0], "flaot32"), ValueError, "Did you mean 'float32'"),
        (
            lambda: ops.rearrange(np.ones((2, 4)), "a (b c) -> a b c"),
            ValueError,
            "Pass all but one",
        ),
        (
            lambda: ops.scatter_update(np.ones(3), [[0]], [1.0], reduction="sum"),
            ValueError,
            "Choices: None, 'add'",
        ),
        (lambda: ops.add(np.array(["a"]), 1), TypeError, "strings"),
        (lambda: ops.stft(np.ones(16, "float32"), 8, 4, 4), ValueError, "fft_length"),
        (lambda: ops.fft(np.ones(4)), ValueError, "pair of tensors"),
        (lambda: ops.segment_sum(np.ones(3), [0, 1]), ValueError, "one entry for each row"),
        (lambda: ops.sum(), TypeError, r"sum\(\) missing"),
    ],
)
def test_errors_state_the_argument_and_the_expected_value(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_saturate_cast_keeps_values_in_range():
    assert ops.saturate_cast([-1e9, 1e20], "int32").numpy().tolist() == [-1000000000, 2147483647]
    assert ops.saturate_cast([-3.0, 7.9], "uint8").numpy().tolist() == [0, 7]


def test_segment_sum_computes_the_number_of_segments_outside_a_trace_only():
    assert ops.segment_sum([1, 2, 3], [0, 2, 2]).numpy().tolist() == [1, 0, 5]
    with pytest.raises(ValueError, match="num_segments"):
        podium.function(lambda ids: ops.segment_sum([1, 2, 3], ids))(ops.array([0, 2, 2]))


def test_unstack_of_an_unknown_length_takes_the_number_of_slices():
    x = podium.Input((None,))
    model = podium.Model(x, ops.unstack(x, num=3, axis=1))
    assert [symbol.shape for symbol in model.outputs] == [(None,)] * 3
    outputs = model(np.arange(6.0, dtype="float32").reshape(2, 3))
    assert [output.numpy().tolist() for output in outputs] == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    copy = podium.Model.from_config(model.get_config())
    assert [symbol.shape for symbol in copy.outputs] == [(None,)] * 3
    with pytest.raises(ValueError, match="has 2 slices; num=3 was given"):
        model(np.ones((2, 2), "float32"))
    with pytest.raises(ValueError, match="Pass the number of slices"):
        ops.unstack(x, axis=1)


@pytest.mark.parametrize(
    "x", [np.ones((2, 3)), podium.KerasTensor((2, 3))], ids=["array", "symbol"]
)
def test_unstack_refuses_an_axis_that_does_not_exist(x):
    with pytest.raises(
        ValueError, match=r"axis=5 was given for shape \(2, 3\); an int from -2 to 1"
    ):
        ops.unstack(x, axis=5)
