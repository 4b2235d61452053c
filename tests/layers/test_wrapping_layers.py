"""JaxLayer, and what needs no other library of the layers that wrap modules of one.

`tests/sources/test_wrapped_modules.py` has the tests with Flax, Equinox and TensorFlow.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import layers
from podium.compat import keras

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


@podium.saving.register_keras_serializable("tests")
def apply_mlp(params, inputs):
    """Two dense layers."""
    hidden = jnp.tanh(inputs @ params["first"]["kernel"] + params["first"]["bias"])
    return hidden @ params["second"]


@podium.saving.register_keras_serializable("tests")
def init_mlp(rng, inputs):
    """Parameters of `apply_mlp`."""
    first, second = jax.random.split(rng)
    return {
        "first": {"kernel": jax.random.normal(first, (inputs.shape[-1], 4)), "bias": jnp.zeros(4)},
        "second": jax.random.normal(second, (4, 2)),
    }


def count_calls(params, state, rng, inputs, training):
    """Scales inputs, adds noise in training, and counts."""
    noise = jax.random.normal(rng, inputs.shape) if training else 0.0
    state = {"calls": state["calls"] + 1, "key": jax.random.split(state["key"])[0]}
    return inputs * params["scale"] + noise, state


def make_counter(**options):
    params = {"scale": np.float32(2.0), "name": None}
    return layers.JaxLayer(
        count_calls, params=params, state={"calls": 0, "key": jax.random.key(3)}, **options
    )


def test_keras_has_the_names():
    for name in ("JaxLayer", "FlaxLayer", "TorchModuleWrapper", "TFSMLayer"):
        assert getattr(keras.layers, name) is getattr(layers, name)


def test_a_function_has_weights_and_gradients():
    layer = layers.JaxLayer(apply_mlp, init_mlp)
    assert layer.params is None
    y = layer(X)
    values = podium.core.map_structure(lambda variable: variable.numpy(), layer.params)
    np.testing.assert_allclose(y, apply_mlp(values, X), rtol=1e-5, atol=1e-6)
    assert [weight.name for weight in layer.weights] == ["first_bias", "first_kernel", "second"]
    with podium.GradientTape() as tape:
        loss = podium.ops.sum(layer(X) ** 2)
    gradients = tape.gradient(loss, layer.trainable_variables)
    expected = jax.grad(lambda params: jnp.sum(apply_mlp(params, X) ** 2))(values)
    for left, right in zip(gradients, jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5)


def test_state_is_kept_and_keys_are_drawn_in_training():
    layer = make_counter(seed=1)
    assert len(layer.trainable_variables) == 1
    np.testing.assert_allclose(layer(X), 2 * X, rtol=1e-6)
    noisy = [layer(X, training=True).numpy() for _ in range(2)]
    assert np.abs(noisy[0] - noisy[1]).max() > 0.1
    assert int(layer.state["calls"]) == 3
    same = make_counter(seed=1)
    np.testing.assert_array_equal(same(X, training=True), noisy[0])


def test_models_with_it_train_and_are_saved(tmp_path):
    model = podium.Sequential(
        [podium.Input((3,)), layers.JaxLayer(apply_mlp, init_mlp), make_counter(seed=2)]
    )
    model.compile("adam", "mse")
    history = model.fit(X, np.ones((8, 2), "float32"), epochs=3, batch_size=4, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert int(model.layers[1].state["calls"]) == 6
    small = podium.Sequential([podium.Input((3,)), model.layers[0]])
    small.save(tmp_path / "model.keras")
    again = podium.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(small.predict(X, verbose=0), again.predict(X, verbose=0))


def test_inputs_of_integers_and_structures_initialize_with_their_dtypes():
    seen = []

    def init(inputs):
        seen.append(jax.tree.map(lambda x: (x.shape, x.dtype.name), inputs))
        return {"table": jnp.ones((5, 2))}

    def apply(params, inputs):
        return params["table"][inputs["index"]] * inputs["scale"]

    inputs = {"index": podium.Input((), dtype="int32"), "scale": podium.Input((2,))}
    model = podium.Model(inputs, layers.JaxLayer(apply, init)(inputs))
    assert seen == [{"index": ((1,), "int32"), "scale": ((1, 2), "float32")}]
    values = {"index": np.array([1, 4]), "scale": np.full((2, 2), 3.0, "float32")}
    np.testing.assert_array_equal(model.predict(values, verbose=0), values["scale"])


def test_mixed_precision_casts_the_weights():
    layer = layers.JaxLayer(apply_mlp, init_mlp, dtype="mixed_bfloat16")
    assert layer(X).dtype == "bfloat16" and layer.weights[0].dtype == "float32"


def test_wrong_functions_raise():
    with pytest.raises(ValueError, match=r"call_fn whose arguments are.*with 'weights'"):
        layers.JaxLayer(lambda weights, inputs: inputs)
    with pytest.raises(ValueError, match="with no 'inputs'"):
        layers.JaxLayer(lambda params: params)
    with pytest.raises(ValueError, match="neither `params` nor `state` nor an `init_fn`"):
        layers.JaxLayer(apply_mlp)
    layer = layers.JaxLayer(lambda state, inputs: (inputs, {"other": inputs}), state={"a": 1})
    with pytest.raises(ValueError, match="a state of the structure"):
        layer(X)
    config = layers.JaxLayer(lambda inputs: inputs).get_config()
    with pytest.raises(ValueError, match="which is not registered"):
        layers.JaxLayer.from_config(config)


def test_other_objects_are_refused_with_a_reason(tmp_path, monkeypatch):
    with pytest.raises(NotImplementedError, match="outside of XLA"):
        layers.TorchModuleWrapper(object())
    with pytest.raises(TypeError, match=r"pip install flax"):
        layers.FlaxLayer(layers.Dense(2))
    with pytest.raises(TypeError, match=r"pip install equinox"):
        layers.EquinoxLayer(layers.Dense(2))
    with pytest.raises(FileNotFoundError, match="not a SavedModel"):
        layers.TFSMLayer(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match="TFSMLayer needs the package 'tensorflow'"):
        layers.TFSMLayer(tmp_path)
    with pytest.raises(ValueError, match="since its program would run"):
        layers.TFSMLayer.from_config({"filepath": str(tmp_path)})
