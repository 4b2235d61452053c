"""Weights in HDF5: loaded equals saved, and nothing changes unless everything fits."""

import os
import pathlib

import h5py
import numpy as np
import pytest
from small_models import Subclassed, randomized, same, sequential

import podium
from podium import layers
from podium.saving.formats._weights_file import read_weights, write_weights

FIXTURES = pathlib.Path(__file__).parent.parent / "oracle" / "fixtures"


@pytest.mark.parametrize("name", ["w.keras", "w.h5", "w.weights.h5", "w.HDF5"])
def test_weights_are_written_to_exactly_the_given_path(tmp_path, name):
    model, other = randomized(sequential()), sequential()
    write_weights(model, tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    read_weights(other, str(tmp_path / name))
    assert same(model.get_weights(), other.get_weights())


def test_layout_is_that_of_keras_2(tmp_path):
    model = Subclassed()
    model(np.ones((1, 3), "float32"))
    write_weights(model, tmp_path / "w.h5")
    with h5py.File(tmp_path / "w.h5") as file:
        assert list(file.attrs["layer_names"]) == [b"dense", b"norm"]
        assert file.attrs["keras_version"].startswith("2.") and file.attrs["backend"] == "jax"
        names = [name.decode().split("/")[-1] for name in file["norm"].attrs["weight_names"]]
        assert names == ["gamma:0", "beta:0", "moving_mean:0", "moving_variance:0"]
        own = file["top_level_model_weights"]
        assert own[own.attrs["weight_names"][0]].shape == (2,)
        assert file["dense"][file["dense"].attrs["weight_names"][0]].shape == (3, 2)


def test_subclassed_model_with_direct_weights_is_restored(tmp_path):
    model, other = Subclassed(), Subclassed()
    for one in (model, other):
        one(np.ones((1, 3), "float32"))
    write_weights(randomized(model), tmp_path / "w.h5")
    read_weights(other, tmp_path / "w.h5")
    assert same(model.get_weights(), other.get_weights())


def test_frozen_weights_keep_their_positions(tmp_path):
    model, other = randomized(sequential()), sequential()
    model.layers[0].trainable = False
    write_weights(model, tmp_path / "w.h5")
    read_weights(other, tmp_path / "w.h5")
    assert same(model.get_weights(), other.get_weights())


def test_unusual_dtypes_are_restored_bit_by_bit(tmp_path):
    class Holder(podium.Model):
        def __init__(self):
            super().__init__()
            for dtype in ("bfloat16", "float16", "int32", "bool", "float8_e4m3fn"):
                setattr(
                    self, dtype, self.add_weight((2,), "zeros", dtype, trainable=False, name="same")
                )
            self.built = True

    model, other = Holder(), Holder()
    for variable, values in zip(
        model.weights, ([0.1, -3.0], [0.1, 2.0], [7, -1], [True, False], [0.5, 2.0]), strict=True
    ):
        variable.assign(np.array(values))
    write_weights(model, tmp_path / "w.h5")
    read_weights(other, tmp_path / "w.h5")
    for one, another in zip(model.get_weights(), other.get_weights(), strict=True):
        assert one.dtype == another.dtype and one.tobytes() == another.tobytes()


def test_long_lists_of_names_are_split(tmp_path, monkeypatch):
    monkeypatch.setattr("podium.saving.formats._hdf5._ATTRIBUTE_BYTES", 10)
    model, other = randomized(sequential()), sequential()
    write_weights(model, tmp_path / "w.h5")
    with h5py.File(tmp_path / "w.h5") as file:
        assert "weight_names1" in file["a"].attrs
    read_weights(other, tmp_path / "w.h5")
    assert same(model.get_weights(), other.get_weights())


def test_file_of_keras_2_predicts_the_same():
    layers = podium.layers
    inner = podium.Sequential(
        [
            podium.Input((4,)),
            layers.BatchNormalization(name="first"),
            layers.Dense(4, activation="tanh", name="middle"),
            layers.BatchNormalization(name="second"),
        ],
        name="inner",
    )
    x = podium.Input((5, 3), name="x")
    model = podium.Model(x, layers.Dense(2, name="out")(inner(layers.LSTM(4, name="lstm")(x))))
    recorded = np.load(FIXTURES / "weights_file.npz")
    read_weights(model, FIXTURES / "weights_file.h5")
    np.testing.assert_allclose(model(recorded["x"]).numpy(), recorded["y"], rtol=1e-5, atol=1e-6)


def test_weights_of_a_keras_2_model_file_are_found(tmp_path):
    model, other = randomized(sequential()), sequential()
    write_weights(model, tmp_path / "w.h5")
    with h5py.File(tmp_path / "w.h5") as old, h5py.File(tmp_path / "model.h5", "w") as new:
        new.copy(old, "model_weights")
    read_weights(other, tmp_path / "model.h5")
    assert same(model.get_weights(), other.get_weights())


# --- writing fails


def test_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "w.h5"
    model = sequential()
    write_weights(model, path)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_weights(randomized(model), path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["w.h5"]


def test_write_preserves_file_mode_and_follows_links(tmp_path):
    path = tmp_path / "w.h5"
    write_weights(sequential(), path)
    path.chmod(0o640)
    (tmp_path / "latest.h5").symlink_to(path)
    before = path.read_bytes()
    write_weights(randomized(sequential()), tmp_path / "latest.h5")
    assert (tmp_path / "latest.h5").is_symlink() and path.read_bytes() != before
    assert path.stat().st_mode & 0o777 == 0o640


def test_write_errors_state_the_reason(tmp_path):
    model = sequential()
    with pytest.raises(FileNotFoundError, match=r"directory '.*missing' does not exist"):
        write_weights(model, tmp_path / "missing" / "w.h5")
    with pytest.raises(IsADirectoryError, match="beginning of the names of a checkpoint's files"):
        write_weights(model, tmp_path)
    with pytest.raises(IsADirectoryError, match="name of a file was expected"):
        write_weights(model, tmp_path, save_format="h5")
    with pytest.raises(ValueError, match=r"w.h5' and save_format='tf'; the name is one of an HDF5"):
        write_weights(model, tmp_path / "w.h5", save_format="tf")
    with pytest.raises(ValueError, match="was given options=1, which are for writing from"):
        write_weights(model, tmp_path / "w", options=1)
    with pytest.raises(
        ValueError, match=r"\(Subclassed\), which is not built.*Call it on a batch first"
    ):
        write_weights(Subclassed(), tmp_path / "w.h5")
    (tmp_path / "w.h5").write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=False"):
        write_weights(model, tmp_path / "w.h5", overwrite=False)


# --- mismatches


def assert_rejected(model, path, error, match, **kwargs):
    before = model.get_weights()
    with pytest.raises(error, match=match):
        read_weights(model, path, **kwargs)
    assert same(before, model.get_weights())


def test_different_shapes_are_named_and_nothing_changes(tmp_path):
    path = tmp_path / "w.h5"
    write_weights(randomized(sequential()), path)
    match = (
        r"w.h5' does not fit.*nothing was loaded: layer 'b': 'b/kernel' has shape \(4, 5\), and "
        r"'b/kernel:0' in the file"
    )
    assert_rejected(sequential(width=5), path, ValueError, match + r" has \(4, 4\)")
    assert_rejected(
        podium.Sequential([podium.Input((3,)), podium.layers.Dense(4)]),
        path,
        ValueError,
        "the file has 2 layers.*has 1",
    )
    no_bias = podium.Sequential(
        [podium.Input((3,)), podium.layers.Dense(4, use_bias=False), podium.layers.Dense(4)]
    )
    assert_rejected(no_bias, path, ValueError, "has 1 weights, and 2 in the file")


def test_skip_mismatch_loads_what_fits_and_lists_the_others(tmp_path):
    model, other = randomized(sequential()), randomized(sequential(width=5), seed=2)
    write_weights(model, tmp_path / "w.h5")
    before = other.get_weights()
    with pytest.warns(
        UserWarning, match=r"took 2 weights.*left as they were: layer 'b': 'b/kernel'"
    ):
        read_weights(other, tmp_path / "w.h5", skip_mismatch=True)
    assert same(other.get_weights(), model.get_weights()[:2] + before[2:])


def test_by_name_loads_matching_layers_and_lists_the_others(tmp_path):
    model, other = randomized(sequential()), randomized(sequential(name="head"), seed=2)
    write_weights(model, tmp_path / "w.h5")
    before = other.get_weights()
    with pytest.warns(UserWarning, match=r"took 2 weights.*layer 'head' \(not in the file\)"):
        read_weights(other, tmp_path / "w.h5", by_name=True)
    assert same(other.get_weights(), model.get_weights()[:2] + before[2:])


def test_unbuilt_model_is_rejected(tmp_path):
    write_weights(sequential(), tmp_path / "w.h5")
    with pytest.raises(
        ValueError,
        match=r"load_weights was called on .*which is not built.*Call it on a batch first",
    ):
        read_weights(Subclassed(), tmp_path / "w.h5")


def test_floats_are_not_loaded_into_ints(tmp_path):
    class Counter(podium.Model):
        def __init__(self, dtype):
            super().__init__()
            self.count = self.add_weight((), "zeros", dtype, name="count")
            self.built = True

    write_weights(Counter("float32"), tmp_path / "w.h5")
    assert_rejected(
        Counter("int32"),
        tmp_path / "w.h5",
        ValueError,
        "nothing was loaded.*has dtype int32, and .* in the file has dtype float32",
    )


# --- invalid files


def test_missing_corrupt_and_unknown_files_are_named(tmp_path):
    model = sequential()
    path = tmp_path / "w.h5"
    assert_rejected(model, path, FileNotFoundError, "w.h5'; there is no such file")
    (tmp_path / "w.index").write_text("")
    assert_rejected(model, tmp_path / "w", ValueError, "w' is damaged: its index does not end like")
    assert_rejected(model, tmp_path, ValueError, "is a directory")
    write_weights(model, path)
    content = path.read_bytes()
    for damaged in (b"", b"garbage" * 100, content[:100], content[: len(content) // 2]):
        path.write_bytes(damaged)
        assert_rejected(
            model,
            path,
            OSError,
            "w.h5' cannot be read: it is damaged .corrupt or truncated., or not an HDF5 file",
        )
    with h5py.File(path, "w") as file:
        file.create_group("layers")
    assert_rejected(
        model,
        path,
        ValueError,
        "layer 'a' .layers/dense. has 2 weights .* and 0 were found.*2 missing",
    )


def test_pipe_is_rejected_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "w.h5")
    assert_rejected(sequential(), tmp_path / "w.h5", ValueError, "a device or a pipe")
    with pytest.raises(ValueError, match="a device or a pipe"):
        write_weights(sequential(), tmp_path / "w.h5")


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("soft", "link to elsewhere"),
        ("external link", "link to elsewhere"),
        ("group", "link to elsewhere"),
        ("external storage", "kept in another file"),
        ("virtual", "kept in another file"),
        ("strings", "numbers were expected"),
        ("missing", "lists 'a/kernel:0' and has no such member"),
        ("subgroup", "holds no numbers"),
    ],
)
def test_data_outside_of_the_file_is_rejected(tmp_path, kind, match):
    path, other = tmp_path / "w.h5", tmp_path / "other.h5"
    write_weights(sequential(), path)
    write_weights(sequential(), other)
    (tmp_path / "raw").write_bytes(bytes(48))
    with h5py.File(path, "a") as file:
        if kind == "group":
            del file["a"]
            file["a"] = h5py.ExternalLink(str(other), "/a")
        else:
            group = file["a/a"]
            del group["kernel:0"]
            if kind == "soft":
                group["kernel:0"] = h5py.SoftLink("/b/b/kernel:0")
            elif kind == "external link":
                group["kernel:0"] = h5py.ExternalLink(str(other), "/a/a/kernel:0")
            elif kind == "external storage":
                group.create_dataset(
                    "kernel:0", (3, 4), "f4", external=[(str(tmp_path / "raw"), 0, 48)]
                )
            elif kind == "virtual":
                layout = h5py.VirtualLayout((3, 4), "f4")
                layout[:] = h5py.VirtualSource(str(other), "/a/a/kernel:0", (3, 4))
                group.create_virtual_dataset("kernel:0", layout)
            elif kind == "strings":
                group.create_dataset("kernel:0", data=[["x"] * 4] * 3, dtype=h5py.string_dtype())
            elif kind == "subgroup":
                group.create_group("kernel:0")
    assert_rejected(sequential(), path, ValueError, match)


class Twins(podium.Model):
    """Two layers of one name, which Keras 3 accepts in a subclassed model."""

    def __init__(self):
        super().__init__(name="twins")
        self.first = layers.Dense(2, name="dense")
        self.second = layers.Dense(2, name="dense")

    def call(self, x):
        return self.second(self.first(x))


@pytest.mark.parametrize("name", ["a.weights.h5", "a.safetensors", "a"])
def test_layers_of_one_name_are_distinguished_by_their_attributes(tmp_path, name):
    models = [Twins(), Twins()]
    for model in models:
        model(np.ones((1, 2)))
    models[0].save_weights(tmp_path / name)
    models[1].load_weights(tmp_path / name)
    for loaded, saved in zip(models[1].get_weights(), models[0].get_weights(), strict=True):
        np.testing.assert_array_equal(loaded, saved)


def test_the_layout_of_keras_2_needs_unique_names(tmp_path):
    model = Twins()
    model(np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"2 layers named 'dense'.*ends in `.weights.h5`"):
        model.save_weights(tmp_path / "a.h5")
    assert not list(tmp_path.iterdir())
