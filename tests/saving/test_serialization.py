"""Configs of models: clones, JSON, scopes of custom objects, shared layers and nested models."""

import json
import subprocess
import sys

import numpy as np
import pytest

import podium

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")


@podium.saving.register_keras_serializable("descriptions")
class Doubled(podium.layers.Layer):
    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner

    def call(self, inputs):
        return self.inner(inputs) * 2

    def get_config(self):
        return {**super().get_config(), "inner": podium.saving.serialize_keras_object(self.inner)}

    @classmethod
    def from_config(cls, config):
        return cls(podium.saving.deserialize_keras_object(config.pop("inner")), **config)


def make_complex_model():
    """Return a graph with a shared layer, a nested model that is called twice, and a layer that
    contains a layer.
    """
    L = podium.layers
    inner = podium.Sequential(
        [podium.Input((4,)), L.Dense(4, activation="tanh", name="i")], name="inner"
    )
    shared = L.Dense(4, name="shared")
    a, b = podium.Input((4,), name="a"), podium.Input((4,), name="b")
    joined = L.Concatenate()([shared(inner(a)), shared(inner(shared(b)))])
    return podium.Model([a, b], {"out": Doubled(L.Dense(2), name="doubled")(joined), "sum": a + b})


@pytest.mark.parametrize("way", ["config", "json", "clone", "file"])
def test_complex_graph_survives_serialization(tmp_path, way):
    model = make_complex_model()
    if way == "config":
        other = podium.Model.from_config(model.get_config())
    elif way == "json":
        other = podium.models.model_from_json(model.to_json())
    elif way == "clone":
        other = podium.models.clone_model(model)
    else:
        model.save(tmp_path / "m.keras")
        other = podium.models.load_model(tmp_path / "m.keras")
    assert [w.shape for w in other.weights] == [w.shape for w in model.weights] and len(
        model.weights
    ) == 6
    assert not {id(w) for w in other.weights} & {id(w) for w in model.weights}
    other.set_weights(model.get_weights())
    found, wanted = other([X, X + 1]), model([X, X + 1])
    for name in ("out", "sum"):
        np.testing.assert_array_equal(found[name].numpy(), wanted[name].numpy())
    assert json.loads(other.to_json()) == json.loads(model.to_json())


def test_custom_objects_are_found_only_in_their_scope():
    class Plus(podium.layers.Layer):
        def call(self, inputs):
            return inputs + 1

    def own(x):
        return x * 3

    text = podium.Sequential(
        [podium.Input((4,)), Plus(name="p"), podium.layers.Dense(2, activation=own)]
    ).to_json()
    with podium.saving.custom_object_scope({"Plus": Plus, "own": own}):
        inside = podium.models.model_from_json(text)
    handed = podium.models.model_from_json(text, custom_objects={"Plus": Plus, "own": own})
    for model in (inside, handed):
        assert type(model.layers[0]) is Plus and model.layers[1].activation is own
    with pytest.raises(ValueError, match=r"'Plus'.*not registered"):
        podium.models.model_from_json(text)


def test_failing_layer_leaves_all_weights_unchanged(tmp_path):
    class Own(podium.layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight((2,), "ones", name="w")

        def call(self, inputs):
            return inputs * self.w[0]

        def save_own_variables(self, store):
            store["w"] = self.w.numpy()

        def load_own_variables(self, store):
            self.w.assign(store["w"] + 1)
            raise KeyError("something is missing")

    def make():
        return podium.Sequential([podium.Input((4,)), podium.layers.Dense(3), Own()])

    make().save_weights(tmp_path / "w.weights.h5")
    model = make()
    before = model.get_weights()
    with pytest.raises(KeyError, match="something is missing"):
        model.load_weights(tmp_path / "w.weights.h5")
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))


def test_model_is_loaded_before_its_package_is_imported(tmp_path):
    path = tmp_path / "model.keras"
    podium.Sequential([podium.Input((4,)), podium.layers.Dense(2)]).save(path)
    program = (
        "import sys; from podium.saving import load_model; "
        "assert 'podium.models' not in sys.modules; "
        f"print(type(load_model({str(path)!r})).__name__)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.strip() == "Sequential", result.stderr


def test_tuples_of_a_config_stay_tuples():
    layer = podium.layers.MultiHeadAttention(2, 4, attention_axes=(2, 3))
    config = podium.saving.serialize_keras_object(layer)
    assert config["config"]["attention_axes"] == (2, 3)
    assert podium.saving.deserialize_keras_object(config).get_config() == layer.get_config()
    assert podium.saving.deserialize_keras_object([(1, "relu"), [2]]) == [(1, "relu"), [2]]


def test_seed_generators_can_be_serialized():
    generator = podium.random.SeedGenerator(7)
    config = podium.saving.serialize_keras_object(generator)
    assert (config["module"], config["class_name"]) == ("keras.random", "SeedGenerator")
    copy = podium.saving.deserialize_keras_object(config)
    draws = [podium.random.uniform((2,), seed=seed).numpy() for seed in (generator, copy)]
    np.testing.assert_array_equal(*draws)
