"""Requirements 69-72: weights in HDF5 files, TensorFlow's checkpoints and SavedModels."""

import importlib.util
import os
import pathlib
import shutil

import h5py
import numpy as np
import pytest
from tensorflow_file_models import functional

import podium
from podium.compat import keras
from podium.compat.keras.engine import training

from .helpers import FIXTURES, flat_weights, make_network, make_samples

X, Y = make_samples()
FILES = FIXTURES / "tensorflow_files"  # written by tf_keras


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x):
        return self.dense(x)


def make_stack(*names, seed=0):
    """Return a Sequential model of Dense layers with the given names."""
    podium.utils.set_random_seed(seed)
    layers = [keras.layers.Dense(3, name=name, bias_initializer="normal") for name in names]
    return keras.Sequential([keras.Input((3,)), *layers])


def test_requirement_69_weights_and_models_are_saved_and_loaded(tmp_path):
    """`save`, `save_weights` and `load_weights` write and read HDF5, TensorFlow's checkpoints and
    SavedModels.
    """
    model = make_network()
    model.compile("adam", "mse")
    model.fit(X, Y, verbose=0)
    outputs = model.predict(X, verbose=0)
    for name in ("w.h5", "w.weights.h5", "w.hdf5", "checkpoint"):
        model.save_weights(tmp_path / name)
        loaded = make_network(seed=9)
        loaded.load_weights(tmp_path / name)
        np.testing.assert_array_equal(loaded.predict(X, verbose=0), outputs)
    assert (tmp_path / "checkpoint.index").is_file()
    assert h5py.is_hdf5(tmp_path / "w.hdf5") and not h5py.is_hdf5(tmp_path / "checkpoint.index")
    for name in ("model.keras", "model.h5"):
        model.save(tmp_path / name)
        whole = keras.models.load_model(tmp_path / name)
        np.testing.assert_array_equal(whole.predict(X, verbose=0), outputs)
        assert int(whole.optimizer.iterations) == 1

    # Written by tf_keras: a checkpoint, and the variables of a SavedModel.
    with np.load(FILES / "outputs.npz") as recorded:
        expected = recorded["functional"]
    keras_model, x = functional(keras)
    random_weights = keras_model.get_weights()
    for name in ("functional", "saved"):
        keras_model.set_weights(random_weights)
        keras_model.load_weights(FILES / name)
        restored = keras_model.predict(x, verbose=0)
        np.testing.assert_allclose(restored, expected, rtol=1e-4, atol=1e-5)
    if importlib.util.find_spec("tensorflow") is None:
        with pytest.raises(ImportError, match=r"tensorflow.*is not installed"):
            model.save(tmp_path / "saved_model", save_format="tf")
        assert not (tmp_path / "saved_model").exists()


def test_requirement_70_the_format_of_a_path_is_detected(tmp_path):
    """`_detect_save_format` decides by HDF5's suffixes, a readable checkpoint, a SavedModel, whose
    variables it redirects to, and else HDF5; it accepts path-like objects.
    """
    detect = training._detect_save_format
    for name in ("w.h5", "w.keras", "w.hdf5"):
        for path in (str(tmp_path / name), tmp_path / name):
            assert detect(path) == (str(tmp_path / name), "h5")
    make_network().save_weights(tmp_path / "checkpoint")
    assert detect(tmp_path / "checkpoint") == (str(tmp_path / "checkpoint"), "tf")
    assert detect(os.fspath(FILES / "functional")) == (str(FILES / "functional"), "tf")
    variables = os.path.join(FILES, "saved", "variables", "variables")
    assert detect(FILES / "saved") == (variables, "tf")
    assert detect(tmp_path / "anything") == (str(tmp_path / "anything"), "h5")
    shutil.copytree(FILES / "saved", tmp_path / "damaged")
    (tmp_path / "damaged" / "variables" / "variables.index").unlink()
    with pytest.raises(ValueError, match="Unable to load weights"):
        detect(tmp_path / "damaged")

    class OwnPath(os.PathLike):
        def __fspath__(self):
            return str(tmp_path / "checkpoint")

    assert detect(OwnPath())[1] == "tf"
    model = make_network(seed=4)
    model.load_weights(OwnPath())
    np.testing.assert_array_equal(flat_weights(model), flat_weights(make_network()))
    model.save_weights(pathlib.Path(tmp_path) / "own.h5")
    assert (tmp_path / "own.h5").is_file()


def test_requirement_71_hdf5_is_flat_and_checkpoints_follow_the_objects(tmp_path):
    """HDF5 holds a flat ordered list of weights, which load in order, or by name into other
    topologies; a checkpoint holds a graph of objects, and must fit.
    """
    source = make_stack("a", "b", seed=1)
    source.save_weights(tmp_path / "w.h5")
    source.save_weights(tmp_path / "w")
    with h5py.File(tmp_path / "w.h5") as file:
        names = [name.decode() for name in file.attrs["layer_names"]]
        weight_names = [name.decode() for name in file["a"].attrs["weight_names"]]
    assert names == ["a", "b"] and weight_names == ["a/kernel:0", "a/bias:0"]

    renamed = make_stack("c", "d", seed=2)  # in order, whatever the names
    renamed.load_weights(tmp_path / "w.h5")
    np.testing.assert_array_equal(flat_weights(renamed), flat_weights(source))

    other = make_stack("b", "new", "a", seed=3)
    new = other.get_layer("new").get_weights()
    with pytest.raises(ValueError, match=r"the file has 2 layers.*has 3"):
        other.load_weights(tmp_path / "w.h5")
    with pytest.warns(UserWarning, match="layer 'new' .not in the file"):
        other.load_weights(tmp_path / "w.h5", by_name=True)
    for name in ("a", "b"):
        np.testing.assert_array_equal(
            other.get_layer(name).kernel, source.get_layer(name).kernel.numpy()
        )
    np.testing.assert_array_equal(other.get_layer("new").get_weights()[0], new[0])

    before = flat_weights(other)
    with pytest.raises(ValueError, match="does not fit"):
        other.load_weights(tmp_path / "w")
    np.testing.assert_array_equal(flat_weights(other), before)
    same = make_stack("x", "y", seed=5)  # the objects have the same places
    same.load_weights(tmp_path / "w")
    np.testing.assert_array_equal(flat_weights(same), flat_weights(source))


def test_requirement_72_loads_that_cannot_work_are_refused_first(tmp_path):
    """HDF5 into a subclassed model that is not built is a ValueError, and combinations of arguments
    and formats that cannot work are refused before anything changes.
    """
    built = Subclassed()
    built(np.ones((1, 3), "float32"))
    built.save_weights(tmp_path / "w.h5")
    built.save_weights(tmp_path / "w")
    with pytest.raises(ValueError, match=r"Subclassed.*is not built.*Call it on a batch first"):
        Subclassed().load_weights(tmp_path / "w.h5")
    with pytest.raises(ValueError, match=r"Subclassed.*is not built"):
        Subclassed().save_weights(tmp_path / "unbuilt.h5")
    assert not (tmp_path / "unbuilt.h5").exists()
    before = flat_weights(built)
    with pytest.raises(ValueError, match="by_name"):
        built.load_weights(tmp_path / "w", by_name=True)
    with pytest.raises(ValueError, match=r"save_format='tf'; the name is one of an HDF5 file"):
        built.save_weights(tmp_path / "other.h5", save_format="tf")
    with pytest.raises(FileNotFoundError, match=r"missing\.h5"):
        built.load_weights(tmp_path / "missing.h5")
    np.testing.assert_array_equal(flat_weights(built), before)
