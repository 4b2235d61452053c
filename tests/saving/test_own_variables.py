"""`save_own_variables` and `load_own_variables` of layers: alone, together, and `super()`."""

import numpy as np
import pytest

import podium
from podium import layers


class OnlySaves(layers.Dense):
    def save_own_variables(self, store):
        super().save_own_variables(store)
        store["0"] = store["0"] * 2


class OnlyLoads(layers.Dense):
    def load_own_variables(self, store):
        super().load_own_variables({name: np.array(value) + 1 for name, value in store.items()})


class SavesMore(layers.Dense):
    def save_own_variables(self, store):
        super().save_own_variables(store)
        store["more"] = 7.0

    def load_own_variables(self, store):
        self.more = float(np.array(store["more"]))
        super().load_own_variables({name: store[name] for name in ("0", "1")})


def make(layer_class):
    return podium.Sequential([podium.Input((2,)), layer_class(1, kernel_initializer="ones")])


@pytest.mark.parametrize("suffix", ["w.weights.h5", "w.safetensors"])
@pytest.mark.parametrize(
    ("layer_class", "kernel", "bias"), [(OnlySaves, 2, 0), (OnlyLoads, 2, 1), (SavesMore, 1, 0)]
)
def test_files_use_overridden_methods(tmp_path, suffix, layer_class, kernel, bias):
    make(layer_class).save_weights(tmp_path / suffix)
    model = make(layer_class)
    model.load_weights(tmp_path / suffix)
    layer = model.layers[-1]
    assert layer.kernel.numpy().tolist() == [[kernel]] * 2
    assert layer.bias.numpy().tolist() == [bias]
    assert getattr(layer, "more", 7.0) == 7.0


def test_whole_models_call_what_is_overridden(tmp_path):
    class Raises(layers.Layer):
        def call(self, x):
            return x

        def save_own_variables(self, store):
            raise ValueError("called")

    with pytest.raises(ValueError, match="called"):
        podium.Sequential([podium.Input((2,)), Raises()]).save(tmp_path / "model.keras")


def test_stored_weights_that_do_not_match_are_refused():
    layer = layers.Dense(1)
    layer.build((None, 2))
    with pytest.raises(ValueError, match=r"given the keys \['0'\]; \['0', '1'\] were expected"):
        layer.load_own_variables({"0": np.ones((2, 1))})
