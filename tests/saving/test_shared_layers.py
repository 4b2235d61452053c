"""A layer that models inside a model share stays one layer in every format."""

import copy
import json
import zipfile

import numpy as np
import pytest
from test_saved_model_writer import stand_in  # noqa: F401

import podium

L = podium.layers
X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


def _inner(layer, name):
    inputs = podium.Input((3,))
    return podium.Model(inputs, layer(inputs), name=name)


def after_inner():
    shared, inputs = L.Dense(3, name="shared"), podium.Input((3,))
    return podium.Model(inputs, shared(_inner(shared, "inner")(inputs)))


def before_inner():
    shared, inputs = L.Dense(3, name="shared"), podium.Input((3,))
    inner = podium.Sequential([podium.Input((3,)), shared], name="inner")
    return podium.Model(inputs, inner(shared(inputs)))


def two_inner():
    shared, inputs = L.Dense(3, name="shared"), podium.Input((3,))
    first = podium.Sequential([podium.Input((3,)), shared], name="first")
    return podium.Model(inputs, first(inputs) + _inner(shared, "second")(inputs))


def sequential():
    shared = L.Dense(3, name="shared")
    models = [podium.Sequential([podium.Input((3,)), shared], name=name) for name in "ab"]
    return podium.Sequential([podium.Input((3,)), *models])


def in_a_wrapper():
    shared, inputs = L.Dense(3, name="shared"), podium.Input((3,))
    steps = L.Reshape((1, 3))(inputs)
    return podium.Model(inputs, shared(L.TimeDistributed(shared)(steps)))


def shared_model():
    shared = podium.Sequential([podium.Input((3,)), L.Dense(3, name="d")], name="shared")
    inputs = podium.Input((3,))
    return podium.Model(inputs, shared(_inner(shared, "inner")(inputs)))


MODELS = [after_inner, before_inner, two_inner, sequential, in_a_wrapper, shared_model]


def save_and_load(model, path):
    model.save(path)
    return podium.models.load_model(path)


def save_as_saved_model(model, path):
    model.save(path, save_format="tf")
    return podium.models.load_model(path)


COPIES = {
    "keras": lambda model, path: save_and_load(model, path.with_suffix(".keras")),
    "h5": lambda model, path: save_and_load(model, path.with_suffix(".h5")),
    "saved model": save_as_saved_model,
    "json": lambda model, path: podium.models.model_from_json(model.to_json()),
    "config": lambda model, path: type(model).from_config(model.get_config()),
    "config by json": lambda model, path: type(model).from_config(
        json.loads(json.dumps(model.get_config()))
    ),
    "object": lambda model, path: podium.saving.deserialize_keras_object(
        podium.saving.serialize_keras_object(model)
    ),
    "clone": lambda model, path: podium.models.clone_model(model),
}


@pytest.mark.parametrize("make_model", MODELS)
@pytest.mark.parametrize("kind", COPIES)
def test_copy_has_one_layer(kind, make_model, tmp_path, stand_in):  # noqa: F811
    model = make_model()
    same = COPIES[kind](model, tmp_path / "m")
    assert len(same.weights) == len(model.weights) == 2
    if kind in ("keras", "h5", "saved model"):
        np.testing.assert_array_equal(same.get_weights()[0], model.get_weights()[0])
    weights = [np.full((3, 3), 0.5, "float32"), np.arange(3, dtype="float32")]
    for each in (model, same):  # all uses of the layer change together
        each.set_weights(weights)
    np.testing.assert_array_equal(same(X), model(X))


@pytest.mark.parametrize("kind", ["keras", "h5", "saved model"])
def test_training_after_loading_moves_all_uses_together(kind, tmp_path, stand_in):  # noqa: F811
    model = after_inner()
    model.compile(podium.optimizers.SGD(0.1, momentum=0.9), "mse")
    model.fit(X, -X, verbose=0)
    same = COPIES[kind](model, tmp_path / "m")
    for each in (model, same):
        each.fit(X, -X, epochs=2, verbose=0)
    for left, right in zip(model.get_weights(), same.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)
    assert same.get_layer("inner").get_layer("shared") is same.get_layer("shared")


def test_numbers_are_in_the_configs_of_shared_layers_alone():
    def numbers(model):
        found = []

        def collect(item):
            if "shared_object_id" in item:
                found.append((item["class_name"], item["shared_object_id"]))
            return item

        json.loads(model.to_json(), object_hook=collect)
        return found

    model = after_inner()
    assert numbers(model) == [("Dense", 0), ("Dense", 0)]
    assert numbers(_inner(L.Dense(3), "inner")) == []
    assert model.to_json() == model.to_json()


def test_layers_of_equal_configs_that_are_not_shared_stay_apart(tmp_path):
    inputs = podium.Input((3,))
    models = [_inner(L.Dense(3, name="same"), name) for name in "ab"]
    shared = L.Dense(3, name="same")
    x = models[1](models[0](inputs)) + shared(_inner(shared, "c")(inputs))
    model = podium.Model(inputs, x)
    assert len(model.weights) == 6
    for kind in ("keras", "h5", "json", "clone"):
        assert len(COPIES[kind](model, tmp_path / "m").weights) == 6


def test_layers_of_two_models_are_not_shared_when_their_configs_are_joined():
    class Pair(podium.Model):
        def __init__(self, models, **kwargs):
            super().__init__(**kwargs)
            self.models = models

        def call(self, x):
            return self.models[0](x) + self.models[1](x)

        def get_config(self):
            return {"texts": [model.to_json() for model in self.models]}

        @classmethod
        def from_config(cls, config):
            return cls([podium.models.model_from_json(text) for text in config["texts"]])

    pair = Pair([after_inner(), after_inner()])
    pair(X)
    same = podium.saving.deserialize_keras_object(
        podium.saving.serialize_keras_object(pair), custom_objects={"Pair": Pair}
    )
    same(X)
    assert len(same.weights) == len(pair.weights) == 4


def _lose_first_number(config):
    """Delete the first number, as Keras 3 does when the layer is inside of another model."""
    pending = [config]
    while pending:
        item = pending.pop(0)
        if isinstance(item, dict):
            if item.pop("shared_object_id", None) is not None:
                return
            pending = [*item.values(), *pending]
        elif isinstance(item, list):
            pending = [*item, *pending]


@pytest.mark.parametrize("make_model", [after_inner, two_inner, sequential, in_a_wrapper])
def test_number_that_keras_loses_is_added(make_model, tmp_path):
    model = make_model()
    model.save(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    _lose_first_number(config)
    members["config.json"] = json.dumps(config).encode()
    members["metadata.json"] = b"{}"
    with zipfile.ZipFile(tmp_path / "keras.keras", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    same = podium.models.load_model(tmp_path / "keras.keras")
    assert len(same.weights) == 2
    np.testing.assert_array_equal(same(X), model(X))


def test_output_of_a_sequential_model_in_a_config_of_keras_2():
    inputs = podium.Input((3,), name="in")
    inner = podium.Sequential([podium.Input((3,)), L.Dense(2)], name="inner")
    model = podium.Model(inputs, inner(inputs))
    config = copy.deepcopy(model.get_config())
    config["layers"][1]["inbound_nodes"] = [[["in", 0, 0, {}]]]
    config["output_layers"] = [["inner", 1, 0]]  # the graph of a model is its first call
    assert podium.Model.from_config(config).output_shape == (None, 2)
