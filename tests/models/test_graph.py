"""Functional graphs: inputs, outputs, sharing, nesting, operations, and wrong connections."""

import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import layers, ops

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.normal(size=shape).astype("float32")


def test_several_inputs_and_outputs_in_dictionaries():
    a, b = podium.Input((3,), name="a"), podium.Input((2,), name="b")
    joined = layers.Dense(4)(a) + ops.sum(b, axis=-1, keepdims=True)
    model = podium.Model({"a": a, "b": b}, {"sum": joined, "rest": [a * 2, b]})
    x, y = draw(5, 3), draw(5, 2)
    result = model({"b": y, "a": x})
    assert set(result) == {"sum", "rest"} and result["sum"].shape == (5, 4)
    np.testing.assert_allclose(result["rest"][0].numpy(), x * 2)
    assert model.input_names == ["a", "b"] and model.input_shape == [(None, 3), (None, 2)]
    with pytest.raises(
        ValueError, match=r"needs the input 'a' and was given the keys \['A', 'b'\].*Did you mean"
    ):
        model({"A": x, "b": y})


def test_lists_of_inputs_may_be_passed_by_name():
    a, b = podium.Input((3,), name="a"), podium.Input((3,), name="b")
    model = podium.Model([a, b], a - b)
    x, y = draw(2, 3), draw(2, 3)
    np.testing.assert_array_equal(model({"b": y, "a": x}).numpy(), model([x, y]).numpy())
    with pytest.raises(
        ValueError, match=r"takes 2 inputs \('a' \(None, 3\), 'b' \(None, 3\)\) and was given 1"
    ):
        model(x)


def test_shared_layers_are_counted_once():
    shared = layers.Dense(4)
    a, b = podium.Input((3,)), podium.Input((3,))
    model = podium.Model([a, b], shared(a) + shared(b))
    assert len(model.weights) == 2
    x, y = draw(2, 3), draw(2, 3)
    with podium.GradientTape() as tape:
        out = model([x, y])
    np.testing.assert_allclose(
        tape.gradient(out, shared.kernel).numpy(), (x + y).sum(0)[:, None] * np.ones(4), rtol=1e-5
    )


def test_models_nest_and_are_called_like_layers():
    inner = podium.Sequential([podium.Input((3,)), layers.Dense(4)], name="inner")
    x = podium.Input((3,))
    outer = podium.Model(x, layers.Dense(1)(inner(x) * inner(x + 1)))
    assert outer(draw(2, 3)).shape == (2, 1) and len(outer.weights) == 4
    assert outer.get_layer("inner") is inner


def test_raw_operations_and_operators_on_symbolic_values():
    x = podium.Input((4, 4, 3))
    y = ops.reshape(ops.relu(x[:, 1:3] - 0.5) / 2, (-1, 24))
    z = ops.concatenate([y, -y], axis=1) @ np.ones((48, 2), "float32")
    model = podium.Model(x, [z, y**2, 1 - y, abs(y), ops.mean(y, axis=-1) > 0])
    data = draw(5, 4, 4, 3)
    plain = np.maximum(data[:, 1:3] - 0.5, 0).reshape(5, 24) / 2
    out = model(data)
    np.testing.assert_allclose(
        out[0].numpy(), np.concatenate([plain, -plain], 1) @ np.ones((48, 2)), atol=1e-5
    )
    np.testing.assert_allclose(out[1].numpy(), plain**2, rtol=1e-6)
    np.testing.assert_allclose(out[2].numpy(), 1 - plain, rtol=1e-6)
    assert out[4].dtype == bool
    assert z.shape == (None, 2) and y.shape == (None, 24)


def test_models_of_intermediate_outputs_share_weights():
    x = podium.Input((3,))
    h = layers.Dense(4, name="features")(x)
    model = podium.Model(x, layers.Dense(2)(h))
    features = podium.Model(model.input, model.get_layer("features").output)
    data = draw(2, 3)
    np.testing.assert_array_equal(features(data).numpy(), model.layers[1](data).numpy())
    tail = podium.Model(h, model.output)
    np.testing.assert_allclose(tail(features(data)).numpy(), model(data).numpy(), rtol=1e-6)


def test_unused_branches_are_left_out():
    x = podium.Input((3,))
    used, unused = layers.Dense(2), layers.Dense(2)
    y = used(x)
    unused(x)
    model = podium.Model(x, y)
    assert model.layers[-1] is used and len(model.weights) == 2


def test_wrong_connections_raise():
    a, b = podium.Input((3,), name="a"), podium.Input((3,), name="b")
    with pytest.raises(
        ValueError,
        match=r"depends on 'b' \(shape \(None, 3\)\), which is none of the model's inputs \('a'\)",
    ):
        podium.Model(a, layers.Dense(1)(a + b))
    with pytest.raises(ValueError, match=r"given no `outputs`"):
        podium.Model(inputs=a)
    with pytest.raises(ValueError, match=r"inputs=.*symbolic values were expected"):
        podium.Model(np.ones(3), layers.Dense(1)(a))
    with pytest.raises(ValueError, match="same input more than once"):
        podium.Model([a, a], a * 2)
    with pytest.raises(ValueError, match=r"two layers named 'twin' \(Dense and Dense\)"):
        podium.Model(a, layers.Dense(1, name="twin")(layers.Dense(1, name="twin")(a)))
    with pytest.raises(
        ValueError, match=r"shape \(2, 4\) for 'a', which was declared as Input\(shape=\(3,\)\)"
    ):
        podium.Model(a, a * 2)(draw(2, 4))
    with pytest.raises(TypeError, match=r"numpy\(\) was requested from .*symbolic value"):
        a.numpy()
    with pytest.raises(TypeError, match=r"JAX function.*podium\.ops"):
        jnp.sum(a)


def test_last_axis_of_size_one_is_added_or_removed():
    x = podium.Input((1,))
    model = podium.Model(x, x * 2)
    assert model(np.ones(4, "float32")).shape == (4, 1)
    y = podium.Input((3,))
    assert podium.Model(y, y * 2)(np.ones((4, 3, 1), "float32")).shape == (4, 3)


def test_input_accepts_an_int_and_raises_for_invalid_shapes():
    assert podium.Input(3).shape == (None, 3) and podium.Input(batch_shape=(2, 3)).shape == (2, 3)
    assert podium.Input((None, 3), batch_size=4, dtype="int32").dtype == np.int32
    for wrong, words in (
        (None, "needs a shape"),
        (("a",), "a tuple of ints and None"),
        ((-1,), "negative"),
    ):
        with pytest.raises(ValueError, match=words):
            podium.Input(wrong)


def test_training_reaches_layers_in_graphs():
    x = podium.Input((100,))
    model = podium.Model(x, layers.Dropout(0.5)(x))
    data = np.ones((2, 100), "float32")
    assert float(ops.min(model(data))) == 1.0 and float(ops.min(model(data, training=True))) == 0.0


def test_a_graph_in_a_function_is_one_program():
    x = podium.Input((3,))
    model = podium.Model(x, layers.Dense(2)(layers.Dense(4, activation="relu")(x)))
    compiled = podium.function(lambda data: model(data))
    data = draw(5, 3)
    np.testing.assert_allclose(compiled(data).numpy(), model(data).numpy(), rtol=1e-6)
    assert compiled.trace_count == 1


def test_subclass_of_model_created_from_inputs_and_outputs():
    class Custom(podium.Model):
        def train_step(self, data):
            return data

    x = podium.Input((3,))
    model = Custom(x, layers.Dense(1)(x))
    assert model(draw(2, 3)).shape == (2, 1) and model.train_step(1) == 1
    named = Custom(inputs=x, outputs=layers.Dense(1)(x), name="named")
    assert named.name == "named"


def test_a_subclass_without_call_may_contain_models():
    class Gan(podium.Model):
        def __init__(self, parts):
            super().__init__()
            self.parts = parts

    gan = Gan([podium.Sequential([podium.Input((3,)), layers.Dense(1)])])
    assert len(gan.trainable_weights) == 2 and gan.layers == gan.parts
    with pytest.raises(NotImplementedError, match="Gan has no `call` method"):
        gan(draw(2, 3))


def test_subclassed_models_build_from_a_shape():
    class Net(podium.Model):
        def __init__(self):
            super().__init__()
            self.a, self.b = layers.Dense(4), layers.Dense(1)

        def call(self, x):
            return self.b(self.a(x))

    model = Net()
    model.build((None, 3))
    assert [w.path for w in model.weights] == [
        "net/dense/kernel",
        "net/dense/bias",
        "net/dense_1/kernel",
        "net/dense_1/bias",
    ]
    assert model.count_params() == 21


def test_unknown_layer_names_list_the_choices():
    model = podium.Sequential([podium.Input((3,)), layers.Dense(1, name="head")])
    with pytest.raises(ValueError, match=r"'haed'. Did you mean 'head'\?"):
        model.get_layer("haed")
    with pytest.raises(ValueError, match="index=7"):
        model.get_layer(index=7)
    with pytest.raises(ValueError, match="a name or an index"):
        model.get_layer()
