"""KerasFileEditor: reading, comparing, editing and saving weights of files."""

import os
import zipfile
from pathlib import Path

import h5py
import ml_dtypes
import numpy as np
import pytest

import podium
from podium import layers
from podium.compat import keras
from podium.saving import KerasFileEditor

SAVED_BY_KERAS = sorted((Path(__file__).parents[1] / "oracle/fixtures/saving").glob("*.keras"))


def make_model(*names):
    """Dense layers of width 3, a first one and the named ones."""
    return podium.Sequential(
        [podium.Input((2,)), layers.Dense(3, name="first")]
        + [layers.Dense(3, name=name) for name in names]
    )


@pytest.fixture
def saved(tmp_path):
    """A function that saves a model and opens the file."""

    def save(model, name="model.weights.h5"):
        path = tmp_path / name
        (model.save if name.endswith(".keras") else model.save_weights)(path)
        return KerasFileEditor(path)

    return save


def test_weights_are_nested_dictionaries(saved, capsys):
    model = make_model("second")
    editor = saved(model)
    assert keras.saving.KerasFileEditor is KerasFileEditor
    assert list(editor.weights_dict) == ["layers"]
    for layer, name in zip(model.layers, ("dense", "dense_1"), strict=True):
        stored = editor.weights_dict["layers"][name]
        for key, weight in zip(("0", "1"), layer.weights, strict=True):
            np.testing.assert_array_equal(stored[key], weight)
        assert editor.object_metadata[f"layers/{name}"] == {"name": layer.name}
    editor.summary()
    printed = capsys.readouterr().out
    assert "model.weights.h5" in printed and "dense_1 ('second')" in printed
    assert "0: shape=(2, 3), dtype=float32" in printed


def test_whole_models_have_a_config_and_the_state_of_the_optimizer(saved, capsys):
    model = make_model()
    model.compile("adam", "mse")
    model.fit(np.ones((4, 2)), np.ones((4, 3)), verbose=0)
    editor = saved(model, "model.keras")
    assert editor.config["class_name"] == "Sequential"
    assert "Saved with Keras 3.15.1" in capsys.readouterr().out
    assert len(editor.weights_dict["optimizer"]) == 6
    assert editor.compare(model)["status"] == "success"
    assert editor.compare(make_model()) == {"status": "success", "error_count": 0, "match_count": 2}


def test_a_file_is_adapted_to_another_model(saved, tmp_path, capsys):
    old, new = make_model("second"), make_model("between", "second")
    editor = saved(old)
    assert editor.compare(old) == {"status": "success", "error_count": 0, "match_count": 4}
    assert editor.compare(new) == {"status": "error", "error_count": 1, "match_count": 4}
    assert "Object layers/dense_2 with ['0', '1'] is in the reference" in capsys.readouterr().out
    editor.rename_object("dense_1", "dense_2")
    editor.add_object("layers/dense_1", weights={"0": np.eye(3, dtype="float32")})
    assert editor.compare(new)["error_count"] == 1
    editor.add_weights("dense_1", {"1": np.zeros(7)})
    assert editor.compare(new)["error_count"] == 1
    assert "has shape (7,) in the file and (3,)" in capsys.readouterr().out
    editor.delete_weight("layers/dense_1", "1")
    editor.add_weights("layers/dense_1", {"1": np.zeros(3)})
    assert editor.compare(new) == {"status": "success", "error_count": 0, "match_count": 6}
    editor.resave_weights(tmp_path / "new.weights.h5")
    new.load_weights(tmp_path / "new.weights.h5")
    np.testing.assert_array_equal(new.layers[1].kernel, np.eye(3))
    for layer, other in ((0, 0), (2, 1)):
        np.testing.assert_array_equal(new.layers[layer].kernel, old.layers[other].kernel)
    editor.delete_object("layers/dense")
    assert editor.compare(new)["match_count"] == 4


def test_nested_objects_root_weights_and_extended_dtypes_survive(tmp_path):
    class Outer(layers.Layer):
        def __init__(self):
            super().__init__(name="outer")
            self.scale = self.add_weight(shape=(2,), initializer="ones")
            self.inner = layers.Dense(2)

        def call(self, inputs):
            return self.inner(inputs * self.scale)

    model = podium.Sequential([podium.Input((2,)), Outer()])
    model.save_weights(tmp_path / "a.weights.h5")
    editor = KerasFileEditor(tmp_path / "a.weights.h5")
    assert list(editor.weights_dict["layers"]["outer"]) == ["inner", "0"]
    editor.add_object("small", {"0": np.ones(3, ml_dtypes.bfloat16), "deep": {"0": [1, 2]}})
    editor.weights_dict["0"] = np.float32(4.0) * np.ones(())
    editor.save(tmp_path / "b.weights.h5")
    again = KerasFileEditor(tmp_path / "b.weights.h5").weights_dict
    np.testing.assert_array_equal(again["layers"]["outer"]["0"], [1, 1])
    np.testing.assert_array_equal(again["small"]["deep"]["0"], [1, 2])
    assert again["small"]["0"].dtype == ml_dtypes.bfloat16 and float(again["0"]) == 4.0


@pytest.mark.parametrize("path", SAVED_BY_KERAS, ids=lambda path: path.name)
def test_files_of_keras_are_read(path):
    editor = KerasFileEditor(path)
    count = []
    with (
        zipfile.ZipFile(path) as archive,
        archive.open("model.weights.h5") as file,
        h5py.File(file) as weights,
    ):
        weights.visititems(lambda _, item: count.append(isinstance(item, h5py.Dataset)))

    def leaves(group):
        return sum(leaves(v) if isinstance(v, dict) else 1 for v in group.values())

    assert editor.metadata["keras_version"] and leaves(editor.weights_dict) == sum(count)


def test_names_must_be_unique_known_and_free(saved):
    editor = saved(make_model("second"))
    with pytest.raises(ValueError, match="the name of 2 objects"):
        editor.delete_object("0")
    for path in ("nothing", "layers/nothing", "layers/dense/0/deep"):
        with pytest.raises(ValueError, match="the file has no such object"):
            editor.delete_object(path)
    with pytest.raises(ValueError, match="there already is 'dense_1'"):
        editor.rename_object("dense", "dense_1")
    with pytest.raises(ValueError, match="a name without '/' was expected"):
        editor.rename_object("dense", "layers/dense_7")
    with pytest.raises(ValueError, match="'layers/dense', which exists"):
        editor.add_object("layers/dense", {})
    with pytest.raises(ValueError, match="no such object"):
        editor.add_object("nowhere/dense", {})
    with pytest.raises(ValueError, match=r"weight_name='7'; 'dense' has \['0', '1'\]"):
        editor.delete_weight("dense", "7")
    with pytest.raises(ValueError, match="a dictionary was expected"):
        editor.add_weights("dense", [np.ones(2)])
    with pytest.raises(ValueError, match="an array of numbers was expected"):
        editor.add_weights("dense", {"2": ["text"]})
    with pytest.raises(ValueError, match=r"ends in \.weights\.h5"):
        editor.save("model.h5")


def test_other_and_hostile_files_are_rejected(saved, tmp_path):
    model = make_model()
    model.save_weights(tmp_path / "w.h5")
    model.save_weights(tmp_path / "w.safetensors")
    for name, match in (("w.h5", "has Keras 2's layout"), ("w.safetensors", "safetensors file")):
        with pytest.raises(ValueError, match=match):
            KerasFileEditor(tmp_path / name)
    (tmp_path / "empty.keras").write_bytes(b"")
    with pytest.raises(OSError, match="damaged"):
        KerasFileEditor(tmp_path / "empty.keras")
    with h5py.File(tmp_path / "link.weights.h5", "w") as file:
        file.create_group("layers/dense")["vars"] = h5py.ExternalLink(tmp_path / "w.h5", "/")
    with pytest.raises(ValueError, match="External or soft"):
        KerasFileEditor(tmp_path / "link.weights.h5")
    with h5py.File(tmp_path / "bomb.weights.h5", "w") as file:
        group = file.create_group("layers/dense/vars")
        for number in range(300):
            group.create_dataset(str(number), (1 << 18,), "f4", chunks=(1 << 18,), compression=9)
    with pytest.raises(ValueError, match="size"):
        KerasFileEditor(tmp_path / "bomb.weights.h5")
    saved(model)
    content = bytearray((tmp_path / "model.weights.h5").read_bytes())
    value = np.asarray(model.layers[0].kernel).tobytes()
    content[content.index(value)] ^= 1
    (tmp_path / "flipped.weights.h5").write_bytes(content)
    with pytest.raises((ValueError, OSError), match="corrupt"):
        KerasFileEditor(tmp_path / "flipped.weights.h5")


def test_saving_replaces_a_file_completely_or_not_at_all(saved, tmp_path, monkeypatch):
    editor = saved(make_model())
    before = (tmp_path / "model.weights.h5").read_bytes()

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="could not write the file"):
        editor.save(tmp_path / "model.weights.h5")
    assert (tmp_path / "model.weights.h5").read_bytes() == before
