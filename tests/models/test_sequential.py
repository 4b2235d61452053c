"""Sequential: deferred and immediate building, add and pop, Keras 2's input_shape, errors."""

import numpy as np
import pytest

import podium
from podium import layers

X = np.ones((2, 3), "float32")


def test_without_an_input_the_first_call_builds():
    model = podium.Sequential([layers.Dense(4), layers.Dense(1)])
    assert not model.built and model.weights == []
    assert model(X).shape == (2, 1) and len(model.weights) == 4
    assert model(np.ones((5, 3), "float32")).shape == (5, 1)


def test_an_input_as_first_layer_builds_immediately():
    model = podium.Sequential([podium.Input((3,)), layers.Dense(4)])
    model.add(layers.Dense(2))
    assert model.output_shape == (None, 2) and len(model.layers) == 2
    assert model.pop().units == 2 and model.output_shape == (None, 4)
    model.pop()
    with pytest.raises(ValueError, match="no layers to remove"):
        model.pop(), model.pop()


def test_keras_2_input_shape_on_the_first_layer():
    model = podium.Sequential([layers.Dense(4, input_shape=(3,)), layers.Dense(1)])
    assert model.built and model.input_shape == (None, 3)
    assert podium.Sequential([layers.Dense(4, input_dim=3)]).input_shape == (None, 3)


def test_build_takes_a_shape():
    model = podium.Sequential([layers.Dense(4)])
    model.build((None, 3))
    assert model.count_params() == 16 and model.output_shape == (None, 4)


def test_invalid_layers_raise():
    shared = layers.Dense(1)
    model = podium.Sequential([shared])
    with pytest.raises(ValueError, match="is in Sequential model 'sequential' already"):
        model.add(shared)
    with pytest.raises(ValueError, match="has a layer named 'dense' already"):
        model.add(layers.Dense(1, name="dense"))
    with pytest.raises(ValueError, match="an Input can only come first"):
        model.add(podium.Input((3,)))
    with pytest.raises(TypeError, match=r"Lambda\(fn\)"):
        model.add(lambda x: x)
    with pytest.raises(TypeError, match="a layer was expected"):
        model.add(3)


def test_models_inside_sequential():
    inner = podium.Sequential([podium.Input((3,)), layers.Dense(4)])
    model = podium.Sequential([inner, layers.Dense(1)])
    assert model(X).shape == (2, 1) and len(model.weights) == 4


def test_gradients_with_respect_to_inner_outputs():
    model = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4, activation="tanh", name="h"), layers.Dense(1)]
    )
    both = podium.Model(model.inputs, [model.get_layer("h").output, model.output])
    with podium.GradientTape() as tape:
        h, y = both(X)
    np.testing.assert_allclose(
        tape.gradient(y, h).numpy(), np.tile(model.layers[1].kernel.numpy().T, (2, 1)), rtol=1e-6
    )


def test_summary_is_a_table_with_totals(capsys):
    model = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4), layers.BatchNormalization()], name="net"
    )
    lines = []
    model.summary(print_fn=lines.append, show_trainable=True)
    text = lines[0]
    for words in (
        'Model: "net"',
        "dense (Dense)",
        "(None, 4)",
        "Total params: 32",
        "Trainable params: 24",
        "Non-trainable params: 8",
    ):
        assert words in text
    model.summary()
    assert "batch_normalization" in capsys.readouterr().out
    unbuilt = podium.Sequential([layers.Dense(4)])
    unbuilt.summary(print_fn=lines.append)
    assert "unbuilt" in lines[-1]
    x = podium.Input((3,), name="x")
    a, b = layers.Dense(2, name="a")(x), layers.Dense(2, name="b")(x)
    podium.Model(x, layers.Dense(1, name="c")(a + b)).summary(print_fn=lines.append)
    assert "Connected to" in lines[-1]
    outer = podium.Sequential([podium.Input((3,)), model])
    outer.summary(print_fn=lines.append, expand_nested=True)
    assert "└ dense" in lines[-1]
    with pytest.raises(ValueError, match="layer in layer_range"):
        model.summary(layer_range=["nope", "dense"])


def test_configs_recreate_the_model():
    model = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4, activation="relu"), layers.Dense(1)], name="net"
    )
    again = podium.Sequential.from_config(model.get_config())
    assert again.name == "net" and again.output_shape == (None, 1)
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again(X).numpy(), model(X).numpy())
    lazy = podium.Sequential([layers.Dense(4)])
    lazy(X)
    assert podium.Sequential.from_config(lazy.get_config()).output_shape == (2, 4)
    with pytest.raises(
        ValueError,
        match=r"Unknown layer 'Dnese'. Did you mean 'Dense'.*register_keras_serializable",
    ):
        layers.deserialize({"class_name": "Dnese", "config": {}})


def test_a_model_that_is_built_between_compile_and_fit_checks_its_labels():
    model = podium.Sequential([layers.Dense(3, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    x = np.ones((4, 2), "float32")
    assert model.predict(x, verbose=0).shape == (4, 3)  # builds it
    with pytest.raises(ValueError, match="the output has 3 classes"):
        model.fit(x, np.full(4, 3), verbose=0)
    assert len(model.fit(x, np.zeros(4, "int32"), verbose=0).history["loss"]) == 1


def test_sequential_without_input_takes_batches_of_different_sizes():
    model = podium.Sequential([podium.layers.Reshape((-1, 8))])
    model.compile(loss="mse")
    batches = [(np.ones((1, n, 2)), np.zeros((1, n // 4, 8))) for n in (12, 20)]
    assert model.evaluate(iter(batches), steps=2, verbose=0) == 1.0
    assert model(np.ones((1, 24, 2), "float32")).shape == (1, 6, 8)
    narrow = podium.Sequential([podium.layers.Dense(2)])
    narrow(np.ones((1, 3), "float32"))
    with pytest.raises(ValueError, match="Layer 'dense"):
        narrow(np.ones((1, 4), "float32"))
