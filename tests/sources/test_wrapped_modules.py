"""Layers around modules of Flax and Equinox, and SavedModels run by TensorFlow, with the real
packages; skipped if they are not installed (`make test-sources` installs them).
"""

import importlib
import importlib.metadata

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import layers

X = np.random.default_rng(0).normal(size=(16, 3)).astype("float32")
Y = X.sum(1, keepdims=True)


def fit(layer, epochs=15):
    """Train a layer with one unit; return its model and losses."""
    model = podium.Sequential([podium.Input((3,)), layer])
    model.compile(podium.optimizers.Adam(0.03), "mse")
    return model, model.fit(X, Y, epochs=epochs, verbose=0).history["loss"]


def import_package(name):
    return pytest.importorskip(name, reason=f"{name} is not installed; see `make test-sources`")


@pytest.fixture(scope="module")
def linen_class():
    nn = import_package("flax.linen")

    @podium.saving.register_keras_serializable("tests")
    class Net(nn.Module):
        width: int = 8

        @nn.compact
        def __call__(self, inputs, training):
            x = nn.Dense(self.width)(inputs)
            x = nn.BatchNorm(use_running_average=not training)(x)
            x = nn.Dropout(0.5, deterministic=not training)(x)
            return nn.Dense(1)(x)

        @nn.compact
        def double(self, inputs):
            return 2 * nn.Dense(1)(inputs)

        def get_config(self):
            return {"width": self.width}

        @classmethod
        def from_config(cls, config):
            return cls(**config)

    return Net


def test_linen_module_trains_with_statistics_and_dropout(linen_class):
    layer = layers.FlaxLayer(linen_class(), seed=1)
    model, losses = fit(layer)
    assert losses[-1] < losses[0] and len(layer.trainable_variables) == 6
    values = podium.core.map_structure(lambda v: v.numpy(), {**layer.params, **layer.state})
    assert np.abs(values["batch_stats"]["BatchNorm_0"]["mean"]).max() > 0
    expected = linen_class().apply(values, X, False)
    np.testing.assert_allclose(model.predict(X, verbose=0), expected, rtol=1e-5, atol=1e-5)
    draws = [layer(X, training=True).numpy() for _ in range(2)]
    assert np.abs(draws[0] - draws[1]).max() > 0.1


def test_linen_variables_methods_and_saving(linen_class, tmp_path):
    module = linen_class(width=4)
    variables = module.init(jax.random.key(0), X, False)
    layer = layers.FlaxLayer(module, variables=variables)
    np.testing.assert_allclose(layer(X), module.apply(variables, X, False), rtol=1e-6)
    for method in ("double", linen_class.double, module.double):
        doubled = layers.FlaxLayer(module, method=method)
        values = (doubled(X).numpy(), doubled.params["params"]["Dense_0"]["kernel"].numpy())
        np.testing.assert_allclose(values[0], 2 * X @ values[1], rtol=1e-5)
    model = podium.Sequential([podium.Input((3,)), layers.FlaxLayer(module, method=module.double)])
    model.save(tmp_path / "model.keras")
    again = podium.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(model.predict(X, verbose=0), again.predict(X, verbose=0))


def test_nnx_module_trains_with_statistics_and_random_streams():
    nnx = import_package("flax.nnx")

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(3, 8, rngs=rngs)
            self.norm = nnx.BatchNorm(8, rngs=rngs)
            self.dropout = nnx.Dropout(0.5, rngs=rngs)
            self.last = nnx.Linear(8, 1, rngs=rngs)

        def __call__(self, inputs):
            return self.last(self.dropout(self.norm(self.first(inputs))))

    module = Net(nnx.Rngs(0))
    kernel = np.asarray(module.first.kernel[...])
    layer = layers.FlaxLayer(module)
    model, losses = fit(layer)
    assert losses[-1] < losses[0] and len(layer.trainable_variables) == 6
    np.testing.assert_array_equal(module.first.kernel[...], kernel)  # the module is unchanged
    before = layer(X).numpy()
    np.testing.assert_array_equal(layer(X), before)
    draws = [layer(X, training=True).numpy() for _ in range(2)]
    assert np.abs(draws[0] - draws[1]).max() > 0.1
    assert np.abs(layer(X).numpy() - before).max() > 0  # the statistics have moved
    with pytest.raises(TypeError, match="has no `get_config`"):
        model.get_config()


def test_equinox_module_is_mapped_over_the_batch():
    eqx = import_package("equinox")

    class Net(eqx.Module):
        first: eqx.nn.Linear
        dropout: eqx.nn.Dropout
        last: eqx.nn.Linear

        def __init__(self, key):
            first, last = jax.random.split(key)
            self.first = eqx.nn.Linear(3, 8, key=first)
            self.dropout = eqx.nn.Dropout(0.3)
            self.last = eqx.nn.Linear(8, 1, key=last)

        def __call__(self, x, *, key=None):
            return self.last(self.dropout(jax.nn.tanh(self.first(x)), key=key))

    module = Net(jax.random.key(0))
    layer = layers.EquinoxLayer(module, seed=1)
    expected = jax.vmap(eqx.nn.inference_mode(module))(jnp.asarray(X))
    np.testing.assert_allclose(layer(X), expected, rtol=1e-5)
    dropped = layer(np.ones((64, 3), "float32"), training=True).numpy()
    assert len(np.unique(dropped)) > 8  # each sample has a key of its own
    _, losses = fit(layers.EquinoxLayer(module))
    assert losses[-1] < losses[0]


def test_equinox_module_with_a_state():
    eqx = import_package("equinox")

    class Net(eqx.Module):
        norm: eqx.nn.BatchNorm
        last: eqx.nn.Linear

        def __init__(self, key):
            self.norm = eqx.nn.BatchNorm(3, "batch", mode="batch")
            self.last = eqx.nn.Linear(3, 1, key=key)

        def __call__(self, x, state):
            x, state = self.norm(x, state)
            return self.last(x), state

    module, state = eqx.nn.make_with_state(Net)(jax.random.key(0))
    layer = layers.EquinoxLayer(module, state)
    with jax.numpy_dtype_promotion("standard"):  # which Equinox needs
        model, losses = fit(layer)
        assert losses[-1] < losses[0] and len(layer.trainable_variables) == 4
        before = layer(X).numpy()
        np.testing.assert_allclose(model.predict(X, verbose=0), before, rtol=1e-5, atol=1e-6)
        layer(X + 3, training=True)
        assert np.abs(layer(X).numpy() - before).max() > 1e-3


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    try:
        importlib.metadata.version("tensorflow-cpu")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("TensorFlow is not installed; `make test-sources` installs it")
    model = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4, activation="tanh"), layers.Dense(2)]
    )
    path = tmp_path_factory.mktemp("saved") / "model"
    archive = podium.saving.ExportArchive()
    archive.track_and_add_endpoint("serve", model, [podium.TensorSpec((None, 3))])
    archive.add_endpoint(
        "parts",
        lambda inputs: {"sum": inputs["a"] + inputs["b"]},
        [{"a": podium.TensorSpec((None, 3)), "b": podium.TensorSpec((None, 3))}],
    )
    archive.write_out(path, verbose=False)
    return model, path


@pytest.mark.parametrize("endpoint", ["serve", "serving_default"])
def test_saved_model_runs_eagerly_in_models_and_below_trained_layers(exported, endpoint):
    model, path = exported
    layer = layers.TFSMLayer(path, call_endpoint=endpoint, call_training_endpoint="serve")

    def first(outputs):
        return outputs["output_0"] if isinstance(outputs, dict) else outputs

    np.testing.assert_allclose(first(layer(X)), model(X), rtol=1e-5, atol=1e-6)
    inputs = podium.Input((3,))
    features = first(layers.TFSMLayer(path, call_endpoint=endpoint)(inputs))
    assert features.shape == (None, 2)
    head = podium.Model(inputs, layers.Dense(1)(features))
    head.compile(podium.optimizers.Adam(0.1), "mse")
    losses = head.fit(X, Y, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0] and len(head.trainable_variables) == 2


def test_saved_model_takes_structures_and_has_no_gradient(exported):
    layer = layers.TFSMLayer(exported[1], call_endpoint="parts")
    outputs = layer({"a": X, "b": 2 * X})
    np.testing.assert_allclose(outputs["sum"], 3 * X, rtol=1e-6)
    serve = layers.TFSMLayer(exported[1])
    x = podium.Variable(X)
    with (
        pytest.raises(TypeError, match="A gradient through a TFSMLayer"),
        podium.GradientTape() as t,
    ):
        t.gradient(podium.ops.sum(serve(x)), x)
    with pytest.raises(
        ValueError, match=r"the endpoint 'other'; the SavedModel has the signatures"
    ):
        layers.TFSMLayer(exported[1], call_endpoint="other")


def test_saved_model_in_a_config_is_not_loaded(exported, tmp_path):
    layer = layers.TFSMLayer(exported[1])
    model = podium.Sequential([podium.Input((3,)), layer])
    model.save(tmp_path / "model.keras")
    with pytest.raises(ValueError, match="since its program would run"):
        podium.saving.load_model(tmp_path / "model.keras")
    again = layers.TFSMLayer.from_config(layer.get_config(), safe_mode=False)
    np.testing.assert_allclose(again(X), layer(X), rtol=1e-6)
