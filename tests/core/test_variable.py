"""Variable: assignment, scatter updates, donation and errors."""

import jax
import numpy as np
import pytest

import podium
from podium import ops


def test_assignments_change_the_value_and_return_it():
    v = podium.Variable([1.0, 2.0])
    assert v.assign([3.0, 4.0]).numpy().tolist() == [3.0, 4.0]
    assert v.assign_add(1.0).numpy().tolist() == [4.0, 5.0]
    assert v.assign_sub([1.0, 2.0]).numpy().tolist() == [3.0, 3.0]
    assert v.numpy().tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("scatter_update", [10, 1, 20]),
        ("scatter_add", [10, 1, 22]),
        ("scatter_sub", [-10, 1, -18]),
        ("scatter_mul", [0, 1, 40]),
        ("scatter_div", [0, 1, 0.1]),
        ("scatter_min", [0, 1, 2]),
        ("scatter_max", [10, 1, 20]),
    ],
)
def test_scatter_updates_rows(method, expected):
    v = podium.Variable([0.0, 1.0, 2.0])
    getattr(v, method)([0, 2], [10.0, 20.0])
    np.testing.assert_allclose(v.numpy(), expected)


def test_scatter_nd_updates_single_entries():
    v = podium.Variable(np.zeros((2, 2), "float32"))
    v.scatter_nd_update([[0, 1], [1, 0]], [1.0, 2.0])
    v.scatter_nd_add([[0, 1]], [5.0])
    v.scatter_nd_sub([[1, 0]], [1.0])
    assert v.numpy().tolist() == [[0.0, 6.0], [1.0, 0.0]]
    with pytest.raises(IndexError, match=r"shape \(2, 2\)"):
        v.scatter_nd_add([[0, 2]], [1.0])


def test_repeated_indices_add_up():
    v = podium.Variable([0.0, 0.0])
    v.scatter_add([1, 1, 1], [1.0, 2.0, 3.0])
    assert v.numpy().tolist() == [0.0, 6.0]


def test_wrong_shape_raises_with_the_name_and_both_shapes():
    with podium.name_scope("encoder"):
        v = podium.Variable(np.zeros((2, 3), "float32"), name="kernel")
    with pytest.raises(ValueError, match=r"'encoder/kernel' has shape \(2, 3\).*shape \(3, 2\)"):
        v.assign(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"shape \(4,\)"):
        v.assign_add(np.zeros(4))
    assert v.numpy().tolist() == np.zeros((2, 3)).tolist()


def test_narrowing_assignment_raises_and_widening_keeps_the_dtype():
    integer, real = podium.Variable(1), podium.Variable(1.0)
    with pytest.raises(TypeError, match=r"holds int32 and was assigned float.*ops.cast"):
        integer.assign(2.5)
    with pytest.raises(TypeError, match="holds float32 and was assigned complex"):
        real.assign(np.complex64(1j))
    real.assign(np.float64(2.5))
    real.assign(3)
    assert real.numpy().dtype == np.float32 and float(real) == 3.0
    with pytest.raises(TypeError, match="array of strings"):
        real.assign("text")


def test_initializer_may_be_a_callable():
    assert podium.Variable(lambda: np.ones(3)).shape == (3,)
    created = podium.Variable(
        lambda shape, dtype: np.full(shape, 7, dtype), shape=(2, 2), dtype="int32"
    )
    assert created.numpy().tolist() == [[7, 7], [7, 7]] and created.dtype == np.int32
    with pytest.raises(ValueError, match=r"shape=\(3,\) and an initial value of shape \(2,\)"):
        podium.Variable([1.0, 2.0], shape=(3,))
    with pytest.raises(ValueError, match="the string 'zeros'"):
        podium.Variable("zeros")


def test_name_scopes_prefix_the_path():
    with podium.name_scope("a"), podium.name_scope("b"):
        v = podium.Variable(0.0, name="c")
    assert (v.name, v.path) == ("c", "a/b/c")
    with pytest.raises(ValueError, match="without '/'"):
        podium.Variable(0.0, name="x/y")


def test_array_read_from_a_variable_survives_later_steps():
    v = podium.Variable(np.ones(1000, "float32"))
    array, tensor, assigned = (
        v.value,
        podium.convert_to_tensor(v),
        podium.Tensor(np.full(1000, 2.0, "float32")),
    )

    @podium.function
    def step():
        v.assign_add(ops.ones(1000))

    step()
    v.assign(assigned)
    step()
    step()
    assert (
        float(array.sum()) == 1000
        and float(ops.sum(tensor)) == 1000
        and float(ops.sum(assigned)) == 2000
    )
    assert float(ops.sum(v)) == 4000


def test_results_of_a_function_survive_later_steps():
    v = podium.Variable(np.ones(1000, "float32"))

    @podium.function
    def step():
        return v.assign_add(ops.ones(1000)), v.value

    first = step()
    step()
    assert [float(ops.sum(t)) for t in first] == [2000.0, 2000.0]


def test_assigning_a_tracer_of_jax_jit_raises():
    v = podium.Variable(1.0, name="v")
    with pytest.raises(podium.core.LeakedValueError, match="'v' was assigned a value of a trace"):
        jax.jit(lambda x: v.assign(x).value)(2.0)
    assert float(v) == 1.0


def test_deepcopy_is_independent_of_the_original():
    import copy

    v = podium.Variable([1.0, 2.0], name="v")
    w = copy.deepcopy(v)
    w.assign_add(1.0)
    assert v.numpy().tolist() == [1.0, 2.0] and w.path == "v"


def test_clear_sets_zeros_on_the_host_and_steps_continue_from_them():
    total = podium.Variable([1.0, 2.0], trainable=False)
    kept = total.value
    add = podium.function(lambda x: total.assign_add(x))
    add(np.ones(2, "float32"))
    total.clear()
    assert isinstance(total.store.values[total.slot], np.ndarray)
    assert add(np.ones(2, "float32")).numpy().tolist() == [1.0, 1.0]
    total.clear()
    assert total.numpy().tolist() == [0.0, 0.0] and isinstance(total.value, jax.Array)
    assert np.asarray(kept).tolist() == [1.0, 2.0]


def test_cleared_variable_may_be_read_inside_a_trace():
    total = podium.Variable(3.0)
    total.clear()
    assert float(podium.function(lambda x: total + x)(np.float32(2.0))) == 2.0
    assert float(total) == 0.0


def test_clear_works_inside_a_compiled_function_and_under_a_tape():
    total = podium.Variable(3.0)

    @podium.function
    def reset(x):
        total.clear()
        return total.assign_add(x)

    assert float(reset(np.float32(2.0))) == 2.0 and float(total) == 2.0
    with podium.GradientTape() as tape:
        total.clear()
        result = total * 2.0
    assert float(result) == 0.0 and float(tape.gradient(result, total)) == 2.0


def test_name_of_an_initializer_with_a_shape():
    variable = podium.Variable("ones", shape=(2, 1), dtype="float16")
    assert variable.numpy().tolist() == [[1.0], [1.0]] and variable.dtype == "float16"
    with pytest.raises(ValueError, match=r"Unknown initializer 'onez'\. Did you mean 'one'"):
        podium.Variable("onez", shape=(2,))
