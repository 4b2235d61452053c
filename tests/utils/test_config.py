"""`utils.Config`, Keras 2's configs, and the inputs of symbolic values."""

import numpy as np
import pytest

import podium
from podium.compat import keras


def test_config_is_a_dictionary_with_attributes():
    config = keras.utils.Config(b=1, a=2)
    config.c = 3
    config["d"] = 4
    config.update(e=5)
    assert (config.a, config["c"], config.get("z", 0), len(config)) == (2, 3, 0, 5)
    assert list(config) == ["a", "b", "c", "d", "e"]
    assert config.pop("e") == 5
    del config["d"]
    assert config.as_dict() == {"b": 1, "a": 2, "c": 3}
    assert "c" in config and repr(config) == "<Config {'b': 1, 'a': 2, 'c': 3}>"


def test_config_names_the_nearest_entry():
    with pytest.raises(AttributeError, match=r"no entry 'momentun'\. Did you mean 'momentum'"):
        _ = keras.utils.Config(momentum=0.9).momentun


def test_frozen_config_does_not_change():
    config = keras.utils.Config(a=1)
    config.freeze()
    for change in (
        lambda: config.update(a=2),
        lambda: config.pop("a"),
        lambda: config.__setitem__("a", 2),
        lambda: config.__delitem__("a"),
    ):
        with pytest.raises(ValueError, match="a Config that is frozen"):
            change()
    config.unfreeze()
    config.a = 2
    assert config.a == 2 and not config.frozen


def test_config_keeps_its_methods():
    with pytest.raises(AttributeError, match=r"config.keys was set, which is a method"):
        keras.utils.Config().keys = 1


def test_legacy_configs_round_trip():
    layer = podium.layers.Dropout(0.5)
    config = keras.legacy.saving.serialize_keras_object(layer)
    assert keras.utils.legacy.deserialize_keras_object(config).rate == 0.5
    assert keras.legacy.saving.deserialize_keras_object("one", {"one": np.ones}) is np.ones
    with pytest.raises(ValueError, match="Unknown shape 'circle'"):
        keras.legacy.saving.deserialize_keras_object("circle", printable_module_name="shape")
    with pytest.raises(ValueError, match="it is not a function"):
        keras.legacy.saving.serialize_keras_object(3)


def test_device_places_values():
    with keras.device("cpu:1"):
        assert podium.ops.ones(2).value.device.id == 1
    with pytest.raises(ValueError, match="this machine has no such device"):
        keras.device("gpu:7")
