"""Tensor: operators, conversions and errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import ops

OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "operand", ["numpy", "jax", "scalar", "tensor", "variable", "numpy scalar"]
)
@pytest.mark.parametrize("kind", [podium.Tensor, podium.Variable])
def test_operators_return_tensors_in_both_orders(operator, operand, kind):
    left, right = np.array([1.5, 2.0, 3.0], "float32"), np.array([2.0, 2.0, 0.5], "float32")
    make = {
        "numpy": lambda v: v,
        "jax": jnp.asarray,
        "scalar": lambda v: float(v[0]),
        "tensor": podium.Tensor,
        "variable": podium.Variable,
        "numpy scalar": lambda v: v[0],
    }[operand]
    as_numpy = (lambda v: v[0]) if "scalar" in operand else (lambda v: v)
    for result, expected in (
        (OPERATORS[operator](kind(left), make(right)), OPERATORS[operator](left, as_numpy(right))),
        (OPERATORS[operator](make(left), kind(right)), OPERATORS[operator](as_numpy(left), right)),
    ):
        assert isinstance(result, podium.Tensor)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


def test_matmul_works_with_numpy_and_jax_on_either_side():
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.arange(6, dtype="float32").reshape(3, 2)
    for left, right in (
        (podium.Tensor(a), b),
        (a, podium.Tensor(b)),
        (jnp.asarray(a), podium.Variable(b)),
    ):
        result = left @ right
        assert isinstance(result, podium.Tensor)
        np.testing.assert_array_equal(result.numpy(), a @ b)


def test_mixed_dtypes_are_promoted_as_in_numpy():
    integers, floats = (
        podium.Tensor(np.arange(3, dtype="int32")),
        podium.Tensor(np.ones(3, "float32")),
    )
    assert (integers + floats).dtype == np.float32
    assert (integers * 2).dtype == np.int32
    assert (integers / 2).dtype == np.float32


def test_numpy_functions_return_numpy_arrays():
    x = podium.Tensor(np.ones((1, 3), "float32"))
    assert type(np.squeeze(x)) is np.ndarray
    assert type(np.asarray(x)) is np.ndarray
    assert np.random.default_rng(0).choice(2, p=np.squeeze(podium.Tensor([0.5, 0.5]))) in (0, 1)
    methods = {name for name in dir(np.ndarray) if not name.startswith("_")} & set(
        dir(podium.Tensor)
    )
    assert methods <= {"shape", "dtype", "ndim", "device"}


def test_tensor_converts_to_numbers_and_sequences():
    scalar, vector = podium.Tensor(2.5), podium.Tensor([1, 2, 3])
    assert (float(scalar), int(vector[1]), bool(vector[0]), len(vector)) == (2.5, 2, True, 3)
    assert [int(v) for v in vector] == [1, 2, 3]
    assert "abcde"[vector[1]] == "c"
    assert f"{scalar:.2f}" == "2.50"
    with pytest.raises(TypeError, match="no len"):
        len(scalar)


def test_indexing_accepts_slices_tensors_and_none():
    x = podium.Tensor(np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(
        x[1:, None, ::2].numpy(), np.arange(12.0).reshape(3, 4)[1:, None, ::2]
    )
    np.testing.assert_array_equal(
        x[podium.Tensor([2, 0])].numpy(), np.arange(12.0).reshape(3, 4)[[2, 0]]
    )
    np.testing.assert_array_equal(x[: podium.Tensor(2)].numpy(), np.arange(12.0).reshape(3, 4)[:2])


def test_raw_jax_accepts_tensors_when_no_tape_is_open():
    x, v = podium.Tensor([1.0, 2.0]), podium.Variable([3.0, 4.0])
    assert float(jnp.sum(x)) == 3.0 and float(jnp.dot(x, v)) == 11.0
    assert isinstance(jax.nn.relu(x), jax.Array)
    assert isinstance(jax.tree.map(lambda leaf: leaf * 2, {"x": x})["x"], podium.Tensor)
    assert float(jax.jit(lambda t: jnp.sum(t * 2))(x)) == 6.0


def test_comparison_with_none_and_strings_is_identity():
    x = podium.Tensor([1.0])
    assert (x == None) is False and (x != None) is True and (x == "a") is False  # noqa: E711


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array(["a", "b"]), "array of strings"),
        (np.array([None, 1], dtype=object), "Python objects"),
        ([[1, 2], [3]], "same length"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "dates or times"),
        (["text"], "array of strings"),
    ],
)
def test_arrays_of_objects_raise(value, message):
    with pytest.raises((TypeError, ValueError), match=message):
        podium.convert_to_tensor(value)
    if isinstance(value, np.ndarray):
        with pytest.raises(TypeError, match=message):
            ops.add(value, 1.0)


def test_integers_beyond_32_bits_raise():
    with pytest.raises(OverflowError, match="beyond 32 bits"):
        podium.convert_to_tensor(np.array([2**40]))


def test_numpy_memory_is_copied():
    source = np.zeros(1024, "float32")
    tensor = podium.convert_to_tensor(source)
    variable = podium.Variable(source)
    source[:] = 1
    assert float(ops.sum(tensor)) == 0 and float(ops.sum(variable)) == 0


def test_reading_a_tensor_inside_a_compiled_function_raises():
    @podium.function
    def branch(x):
        return x if x > 0 else -x

    with pytest.raises(TypeError, match=r"bool\(\) was called.*ops.where"):
        branch(podium.Tensor(1.0))


def test_list_of_tensors_converts_to_one_tensor():
    x = podium.Variable(2.0)
    with podium.GradientTape() as tape:
        y = podium.convert_to_tensor([x, x * x, 1.0])
    assert y.shape == (3,) and float(tape.gradient(y, x)) == 5.0


def test_arrays_in_the_other_byte_order_are_converted():
    array = np.arange(4, dtype=">f4")
    for converted in (
        podium.convert_to_tensor(array),
        podium.Tensor(array),
        podium.ops.add(array, np.zeros(4, ">f4")),
        podium.function(lambda x: x)(array),
        podium.Variable(array).read_value(),
    ):
        assert converted.numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(OverflowError, match="beyond 32 bits"):
        podium.convert_to_tensor(np.array([2**40], ">i8"))


@pytest.mark.parametrize("make", [podium.Tensor, podium.Variable])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_an_array_of_one_number_converts_to_it(make, shape):
    value = make(np.full(shape, 2.5, "float32"))
    assert float(value) == 2.5 and int(value) == 2


def test_an_array_of_several_numbers_does_not_convert_to_one():
    with pytest.raises(TypeError, match="Only scalar arrays can be converted"):
        float(podium.Tensor([1.0, 2.0]))
