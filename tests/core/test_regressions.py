"""Regression tests of the core, one for each fixed bug."""

import copy
import dataclasses
import gc
import pickle
import threading

import jax
import numpy as np
import pytest

import podium
from podium import ops
from podium.core.compile._program import Program


def aligned_ones(count):
    """Return ones at an aligned address, which JAX would use without a copy."""
    memory = np.zeros(count * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + count * 4].view(np.float32)
    array[:] = 1
    return array


# --- memory shared with the caller


def test_assign_copies_a_numpy_array():
    source, variable = aligned_ones(1024), podium.Variable(np.zeros(1024, "float32"))
    variable.assign(source)
    source[:] = 5
    assert variable.numpy()[0] == 1


def test_convert_to_tensor_with_a_dtype_copies_a_numpy_array():
    source = aligned_ones(1024)
    tensor = podium.convert_to_tensor(source, dtype="float32")
    source[:] = 5
    assert tensor.numpy()[0] == 1


def test_graph_copies_a_numpy_constant():
    constant = np.ones(3, "float32")
    x = podium.Input((3,))
    model = podium.Model(x, x * constant)
    constant[:] = 7
    np.testing.assert_array_equal(model(np.ones((2, 3), "float32")), np.ones((2, 3)))


# --- order of dictionaries


def test_function_keeps_the_order_of_dictionary_keys():
    seen = []

    @podium.function
    def first(values):
        seen.append(list(values))
        return {"loss": next(iter(values.values())), "accuracy": 1.0}

    result = first({"b": podium.Tensor(1.0), "a": podium.Tensor(2.0)})
    assert set(map(tuple, seen)) == {("b", "a")}
    assert list(result) == ["loss", "accuracy"] and float(result["loss"]) == 1.0


def test_function_accepts_dictionaries_with_keys_of_several_types():
    assert (
        float(
            podium.function(lambda d: d[1] + d["a"])(
                {1: podium.Tensor(1.0), "a": podium.Tensor(2.0)}
            )
        )
        == 3.0
    )


def test_gradients_have_the_order_of_a_dictionary_of_sources():
    x, y = podium.Variable(1.0), podium.Variable(2.0)
    with podium.GradientTape() as tape:
        z = 3.0 * x + 5.0 * y
    gradients = tape.gradient(z, {"x": x, "a": y})
    assert {name: float(value) for name, value in gradients.items()} == {"x": 3.0, "a": 5.0}
    assert list(gradients) == ["x", "a"]


# --- methods and static arguments of functions


def test_methods_of_equal_instances_are_distinct():
    @dataclasses.dataclass(frozen=True)
    class Step:
        factor: int

        @podium.function
        def run(self, x):
            return x * self.factor, id(self)

    first, second = Step(2), Step(2)
    assert first.run(podium.Tensor(1.0))[1] == id(first)
    assert second.run(podium.Tensor(1.0))[1] == id(second)


def test_unhashable_and_slotted_instances_have_compiled_methods():
    @dataclasses.dataclass
    class Unhashable:
        factor: float

        @podium.function
        def run(self, x):
            return x * self.factor

    class Slotted:
        __slots__ = ("factor",)

        @podium.function
        def run(self, x):
            return x * self.factor

    slotted = Slotted()
    slotted.factor = 3.0
    assert float(Unhashable(2.0).run(podium.Tensor(1.0))) == 2.0
    assert float(slotted.run(podium.Tensor(1.0))) == 3.0


def test_bound_method_keeps_its_instance_alive():
    class Counter:
        def __init__(self):
            self.count = podium.Variable(1.0)

        @podium.function
        def add(self, x):
            return self.count.assign_add(x)

    add = Counter().add
    assert [float(add(podium.Tensor(2.0))), float(add(podium.Tensor(2.0)))] == [3.0, 5.0]
    assert add.trace_count == 1


def test_function_compiles_a_staticmethod():
    class Math:
        @podium.function
        @staticmethod
        def double(x):
            return 2 * x

    assert float(Math().double(podium.Tensor(1.0))) == 2.0


def test_generator_as_argument_raises():
    total = podium.function(lambda values: sum(values))
    with pytest.raises(TypeError, match=r"generator.*read only once"):
        total(podium.Tensor(float(i)) for i in range(3))


def test_zero_and_minus_zero_are_different_static_arguments():
    angle = podium.function(lambda x, y: ops.arctan2(y, x))
    assert float(angle(0.0, podium.Tensor(0.0))) == 0.0
    assert float(angle(-0.0, podium.Tensor(0.0))) == pytest.approx(np.pi)
    angle(float("nan"), podium.Tensor(0.0)), angle(float("nan"), podium.Tensor(0.0))
    assert angle.trace_count == 3


def test_concurrent_first_calls_compile_one_program():
    model = podium.Sequential([podium.layers.Dense(4), podium.layers.Dense(1)])
    predict = podium.function(lambda x: model(x))
    threads = [
        threading.Thread(target=predict, args=(np.ones((2, 3), "float32"),)) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(model.weights) == 4 and predict.trace_count == 1


# --- tapes


def test_complex_gradients_have_the_convention_of_tensorflow():
    z = podium.Variable(np.array([1 + 2j], "complex64"))
    with podium.GradientTape(persistent=True) as tape:
        square, size = z * z, ops.real(z * ops.conj(z))
    np.testing.assert_allclose(tape.gradient(size, z), [2 + 4j])
    np.testing.assert_allclose(tape.gradient(square, z), [2 - 4j])
    np.testing.assert_allclose(
        tape.gradient(square, z, output_gradients=podium.Tensor(np.array([1j], "complex64"))),
        [4 + 2j],
    )


def test_output_gradients_with_a_constant_target():
    x, constant = podium.Variable(1.0), podium.Tensor(3.0)
    with podium.GradientTape() as tape:
        y = 2.0 * x
    seeds = [podium.Tensor(7.0), podium.Tensor(5.0)]
    assert float(tape.gradient([constant, y], x, output_gradients=seeds)) == 10.0


def test_jacobian_with_respect_to_the_target_is_the_identity():
    x = podium.Variable(np.ones((2, 3), "float32"))
    with podium.GradientTape(persistent=True) as tape:
        y = 2.0 * x
    np.testing.assert_array_equal(tape.jacobian(y, y), np.eye(6).reshape(2, 3, 2, 3))
    by_x, by_y = tape.batch_jacobian(y, x), tape.batch_jacobian(y, y)
    np.testing.assert_array_equal(by_x, 2 * np.asarray(by_y))


# --- Variables


def test_assigning_integers_beyond_32_bits_raises():
    count = podium.Variable(np.zeros(2, "int32"), trainable=False)
    with pytest.raises(OverflowError, match="beyond 32 bits"):
        count.assign(np.array([2**40, 1]))
    with pytest.raises(OverflowError, match="beyond 32 bits"):
        podium.function(lambda x: x)(np.array([2**40]))
    assert count.numpy().tolist() == [0, 0]


def test_copies_of_a_variable_in_a_store_are_independent():
    variable = podium.Variable([1.0, 2.0])
    step = podium.function(lambda: variable.assign_add([1.0, 1.0]))
    step()
    copied, pickled = copy.copy(variable), pickle.loads(pickle.dumps(variable))
    step()
    assert copied.numpy().tolist() == pickled.numpy().tolist() == [2.0, 3.0]
    copied.assign([0.0, 0.0])
    assert variable.numpy().tolist() == [3.0, 4.0]


def test_reflected_operators_accept_ints():
    value = podium.Variable([1, 2])
    assert [part.numpy().tolist() for part in divmod(5, value)] == [[5, 2], [0, 1]]
    assert (1 << value).numpy().tolist() == [2, 4] and (8 >> value).numpy().tolist() == [4, 2]


def test_custom_gradient_that_reads_a_variable_by_closure_raises():
    x, hidden = podium.Variable(2.0), podium.Variable(3.0)

    @podium.custom_gradient
    def scaled(x):
        return x * hidden, lambda upstream: upstream * hidden

    assert float(scaled(x)) == 6.0
    with podium.GradientTape(), pytest.raises(TypeError, match="by closure"):
        scaled(x)


def test_returning_an_unregistered_container_raises():
    @dataclasses.dataclass
    class Output:
        logits: object

    with pytest.raises(TypeError, match="Register the class"):
        podium.function(lambda x: Output(2 * x))(podium.Tensor(1.0))


# --- arrays that are referenced elsewhere are never donated


@pytest.fixture
def tripled():
    """Return a Variable of twos, and a compiled step that triples it in place."""
    variable = podium.Variable(np.full(4, 2 / 3, "float32"))

    @podium.function
    def step():
        variable.assign(3.0 * variable)

    step()
    return variable, step


def test_recorded_values_survive_steps_that_donate_variables(tripled):
    variable, step = tripled
    with podium.GradientTape(persistent=True) as outer:
        with podium.GradientTape(persistent=True) as tape:
            y = variable * variable * variable
        slope = tape.gradient(y, variable)
    step(), step()
    np.testing.assert_allclose(tape.gradient(y, variable), np.full(4, 12.0), rtol=1e-6)
    np.testing.assert_allclose(outer.gradient(slope, variable), np.full(4, 12.0), rtol=1e-6)
    np.testing.assert_allclose(tape.jacobian(y, variable), 12 * np.eye(4), rtol=1e-6)


def test_outputs_of_a_layer_survive_steps_that_donate_its_weights():
    class Weight(podium.layers.Layer):
        def __init__(self, read):
            super().__init__()
            self.weight = self.add_weight(shape=(4,), initializer="ones", name="weight")
            self.read = read

        def call(self, inputs):
            return self.read(self.weight)

    for read in (
        lambda w: w,
        podium.stop_gradient,
        ops.convert_to_tensor,
        lambda w: ops.reshape(w, (4,)),
    ):
        layer = Weight(read)
        weight = layer.weight
        step = podium.function(lambda weight=weight: (weight.assign(3.0 * weight), None)[1])
        step()
        outputs = [
            layer(podium.Tensor(1.0)),
            layer(podium.Tensor(1.0)),
            podium.stop_gradient(weight),
        ]
        step(), step()
        assert [float(value[0]) for value in outputs] == [3.0, 3.0, 3.0]


def test_collecting_a_program_during_a_step_of_another_keeps_the_state():
    count = podium.Variable(0, trainable=False)

    def make_program():
        program = Program(lambda: count.assign_add(1), [], jax.tree.structure(((), {})))
        program.discover([])
        program.run([])
        return program

    old, new = make_program(), make_program()
    # Two programs with the same Variables share one store.
    assert count.store is new._store is old._store
    jitted, references = new._jitted, [old]
    del old

    def collect_and_call(*args):
        result = jitted(*args)  # donates the array of `count`
        references.clear()
        gc.collect()
        return result

    new._jitted = collect_and_call
    new.run([])
    assert int(count) == 3
    new.run([])
    assert int(count) == 4
