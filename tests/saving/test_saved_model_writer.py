"""What Podium does around TensorFlow when it writes a SavedModel. A script stands in for TensorFlow
here; tests/sources has tests with the real one.
"""

import json
import os
import sys

import numpy as np
import pytest

import podium
from podium.saving.formats import _saved_model_writer
from podium.saving.io._replace_directory import replace_directory
from podium.saving.tensorflow_files import _tensorflow_process

STAND_IN = """
import os, shutil, sys

folder = sys.argv[1]
os.makedirs(os.path.join(folder, "model", "variables"))
for name in os.listdir(folder):
    if name.startswith("weights."):
        target = os.path.join(folder, "model", "variables", "variables." + name[8:])
        shutil.copy(os.path.join(folder, name), target)
shutil.copy(os.path.join(folder, "request.json"), os.path.join(folder, "model", "saved_model.pb"))
"""


def make_model(optimizer="adam"):
    L = podium.layers
    a, b = podium.Input((3,), name="a"), podium.Input((3,), name="b")
    dense = L.Dense(3, name="dense")
    model = podium.Model({"a": a, "b": b}, [L.Dense(2, name="out")(dense(a) + dense(b))])
    model.compile(optimizer, "mse")
    return model


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Replace TensorFlow by a script; return the directory to save to."""

    def use(script=STAND_IN):
        path = tmp_path / "stand_in.py"
        path.write_text(script)
        monkeypatch.setattr(_tensorflow_process, "__file__", str(path))

    monkeypatch.setattr(_saved_model_writer, "_has_tensorflow", lambda: True)
    use()
    return use


def test_missing_tensorflow_is_an_error_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(
        ImportError,
        match=r"save_format='tf'\) needs the package 'tensorflow', which is not installed: `pip "
        r"install tensorflow`.*model.keras.*save_weights",
    ):
        make_model().save(tmp_path / "parent" / "m", save_format="tf")
    assert os.listdir(tmp_path) == []


def test_saved_model_is_rebuilt_with_weights_and_optimizer(tmp_path, stand_in):
    model = make_model()
    x = {name: np.ones((4, 3), "float32") for name in ("a", "b")}
    y = np.zeros((4, 2), "float32")
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "m", save_format="tf")
    assert sorted(os.listdir(tmp_path)) == ["m", "stand_in.py"]
    same = podium.models.load_model(tmp_path / "m")
    for each in (model, same):
        each.fit(x, y, verbose=0)
    for left, right in zip(model.get_weights(), same.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)
    other = make_model()
    assert not other.load_weights(tmp_path / "m").problems
    np.testing.assert_array_equal(
        other.get_weights()[0], podium.models.load_model(tmp_path / "m").get_weights()[0]
    )


def test_inputs_and_outputs_have_the_names_of_layers(tmp_path, stand_in):
    make_model().save(tmp_path / "m", save_format="tf", include_optimizer=False)
    request = json.loads((tmp_path / "m" / "saved_model.pb").read_text())
    assert [spec["name"] for spec in request["inputs"]] == ["a", "b"]
    assert request["inputs"][0]["shape"] == [None, 3] and request["output_names"] == ["out"]
    assert request["input_structure"] == ["dict", [["a", 0], ["b", 1]]]
    assert {node["name"] for node in request["nodes"] if node["key"]} == {
        "dense/kernel", "dense/bias", "out/kernel", "out/bias",
    }  # fmt: skip
    assert podium.models.load_model(tmp_path / "m").optimizer is None


def test_failed_save_leaves_the_old_model(tmp_path, stand_in):
    model = make_model()
    model.save(tmp_path / "m", save_format="tf")
    before = podium.models.load_model(tmp_path / "m").get_weights()
    stand_in("import sys; sys.exit('no memory left')")
    with pytest.raises(RuntimeError, match=r"save could not write the SavedModel(?s:.)*no memory"):
        make_model().save(tmp_path / "m", save_format="tf")
    assert sorted(os.listdir(tmp_path)) == ["m", "stand_in.py"]
    for left, right in zip(
        before, podium.models.load_model(tmp_path / "m").get_weights(), strict=True
    ):
        np.testing.assert_array_equal(left, right)


def test_changed_config_is_found_by_its_digest(tmp_path, stand_in):
    make_model().save(tmp_path / "m", save_format="tf")
    config = tmp_path / "m" / "assets.extra" / "podium" / "config.json"
    config.write_text(config.read_text().replace('"linear"', '"sigmoid"'))
    with pytest.raises(ValueError, match=r"m' is corrupt: its 'config.json' does not fit the"):
        podium.models.load_model(tmp_path / "m")


def test_state_of_an_optimizer_without_names_is_not_written_with_a_warning(tmp_path, stand_in):
    model = make_model("nadam")
    with pytest.warns(UserWarning, match="state of the optimizer, Nadam, is not written"):
        model.save(tmp_path / "m", save_format="tf")
    assert type(podium.models.load_model(tmp_path / "m").optimizer) is podium.optimizers.Nadam


def test_subclassed_model_needs_a_signature_for_its_dtype(tmp_path, stand_in):
    class Own(podium.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.table = podium.layers.Embedding(5, 2)

        def call(self, x):
            return self.table(x)

    model = Own()
    model(np.zeros((2, 3), "int32"))
    model.save(tmp_path / "m", save_format="tf", signatures=[podium.TensorSpec((None, 3), "int32")])
    request = json.loads((tmp_path / "m" / "saved_model.pb").read_text())
    assert request["inputs"] == [{"shape": [None, 3], "dtype": "int32", "name": "input_1"}]
    same = podium.models.load_model(tmp_path / "m", custom_objects={"Own": Own})
    np.testing.assert_array_equal(same.get_weights()[0], model.get_weights()[0])


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m.safetensors"])
def test_names_of_other_formats_are_rejected(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name}' and save_format='tf'; .*is a directory"):
        make_model().save(tmp_path / name, save_format="tf")


def test_directories_of_others_are_not_replaced(tmp_path, stand_in):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("x")
    with pytest.raises(FileExistsError, match=r"mine', a directory with other files \('diary.txt"):
        make_model().save(tmp_path / "mine", save_format="tf")
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileExistsError, match=r"file', which is a file; the name of a directory"):
        make_model().save(tmp_path / "file", save_format="tf")
    (tmp_path / "m").mkdir()
    with pytest.raises(FileExistsError, match="m', which exists, and overwrite=False"):
        make_model().save(tmp_path / "m", save_format="tf", overwrite=False)


def test_old_directory_of_a_killed_replacement_gets_its_name_back(tmp_path):
    killed = tmp_path / f".m.{'0' * 16}.tmp"
    (killed / "old").mkdir(parents=True)
    (killed / "old" / "saved_model.pb").write_text("old")
    with (
        pytest.raises(RuntimeError, match="interrupted"),
        replace_directory("save", str(tmp_path / "m"), ["saved_model.pb"], True),
    ):
        raise RuntimeError("interrupted")
    assert os.listdir(tmp_path) == ["m"]
    assert (tmp_path / "m" / "saved_model.pb").read_text() == "old"
    with replace_directory("save", str(tmp_path / "m"), ["saved_model.pb"], True) as folder:
        os.mkdir(os.path.join(folder, "model"))
    assert os.listdir(tmp_path) == ["m"] and os.listdir(tmp_path / "m") == []
