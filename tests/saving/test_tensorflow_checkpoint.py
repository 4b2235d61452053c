"""Weights in TensorFlow's checkpoints and SavedModels, as tf_keras wrote them and as we do."""

import os
import pathlib
import sys

import numpy as np
import pytest

import podium
from podium.saving.formats._tensorflow_checkpoint import write_checkpoint
from podium.saving.io._errors import InvalidFileError
from podium.saving.tensorflow_files._checkpoint_state import read_state, write_state
from podium.saving.tensorflow_files._object_graph import read_object_graph
from podium.saving.tensorflow_files._tensor_bundle import TensorBundle
from podium.saving.tensorflow_files._tensor_bundle_writer import write_bundle

ORACLE = pathlib.Path(__file__).parent.parent / "oracle"
FILES = ORACLE / "fixtures" / "tensorflow_files"
sys.path.insert(0, str(ORACLE))

from tensorflow_file_models import functional, subclassed  # noqa: E402

MAKE = {
    "functional": functional,
    "wrapped": functional,
    "saved": functional,
    "subclassed": subclassed,
}


@pytest.mark.parametrize("name", list(MAKE))
def test_loaded_weights_reproduce_tf_keras_outputs(name):
    model, x = MAKE[name](podium)
    report = model.load_weights(FILES / name)
    assert len(report.loaded) == len(model.weights) and not report.problems
    expected = np.load(FILES / "outputs.npz")[
        "subclassed" if name == "subclassed" else "functional"
    ]
    np.testing.assert_allclose(model(x).numpy(), expected, rtol=1e-5, atol=1e-5)


def test_mismatches_are_listed_and_weights_are_unchanged():
    L = podium.layers
    model = podium.Sequential([podium.Input((5, 3)), L.LSTM(4, name="lstm"), L.Dense(7, name="d")])
    before = model.get_weights()
    with pytest.raises(
        ValueError, match=r"functional' does not fit.*'d/kernel' \(4, 7\) \(not in the checkpoint\)"
    ):
        model.load_weights(FILES / "functional")
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    with pytest.raises(ValueError, match="Leave `by_name` out"):
        model.load_weights(FILES / "functional", by_name=True)
    own, _ = subclassed(podium)
    with pytest.warns(UserWarning, match=r"left as they were.*not in the checkpoint"):
        report = own.load_weights(FILES / "functional", skip_mismatch=True)
    assert report.loaded == [] and report.missing and report.unexpected


def test_corrupt_checkpoint_raises(tmp_path):
    for suffix in (".index", ".data-00000-of-00001"):
        (tmp_path / f"w{suffix}").write_bytes((FILES / f"functional{suffix}").read_bytes())
    content = bytearray((tmp_path / "w.index").read_bytes())
    content[40] ^= 255
    (tmp_path / "w.index").write_bytes(content)
    model, _ = functional(podium)
    with pytest.raises(ValueError, match=r"w' is damaged: a block of its index"):
        model.load_weights(tmp_path / "w")


def optimizer_state(model):
    return {v.path.partition("/")[2]: v.numpy() for v in model.optimizer.variables}


def test_optimizer_of_tf_keras_is_restored():
    model, _ = subclassed(podium)
    model.compile("adam", "mse")
    model.load_weights(FILES / "subclassed").assert_consumed()
    bundle = TensorBundle(str(FILES / "subclassed"))
    nodes = read_object_graph(bundle)
    stored = {
        node.full_names["VARIABLE_VALUE"]: bundle.read(node.value_key)
        for node in nodes
        if node.value_key
    }
    assert int(model.optimizer.iterations.numpy()) == stored["iteration"] == 1
    slots = [name for name in stored if name.startswith(("Adam/m/", "Adam/v/"))]
    loaded = [value for name, value in optimizer_state(model).items() if name.endswith("ty")]
    loaded += [value for name, value in optimizer_state(model).items() if name.endswith("momentum")]
    assert len(slots) == len(loaded) == 2 * len(model.trainable_variables)
    assert sorted(value.sum() for value in loaded) == sorted(stored[name].sum() for name in slots)


def test_optimizer_that_does_not_fit_is_left_as_it_was(tmp_path):
    model, _ = subclassed(podium)
    model.compile("rmsprop", "mse")
    with pytest.warns(
        UserWarning, match=r"'rm_sprop.*was not restored: the checkpoint has no slot"
    ):
        report = model.load_weights(FILES / "subclassed")
    assert len(report.loaded) == len(model.weights)
    slots = [value for name, value in optimizer_state(model).items() if name.endswith("velocity")]
    assert len(slots) == len(model.trainable_variables) and not any(map(np.any, slots))


@pytest.mark.parametrize("make", [functional, subclassed])
def test_written_checkpoint_restores_weights_and_optimizer(tmp_path, make):
    model, _ = make(podium)
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    rng = np.random.default_rng(0)
    for variable in [*model.weights, *model.optimizer.variables]:
        variable.assign(rng.uniform(1, 9, variable.shape).astype(variable.dtype))
    model.save_weights(tmp_path / "new" / "ckpt")
    assert sorted(os.listdir(tmp_path / "new")) == [
        "checkpoint",
        "ckpt.data-00000-of-00001",
        "ckpt.index",
    ]
    other, _ = make(podium)
    other.compile("adam", "mse")
    other.load_weights(tmp_path / "new" / "ckpt").assert_consumed()
    assert all(map(np.array_equal, model.get_weights(), other.get_weights()))
    ours, theirs = model.optimizer.variables, other.optimizer.variables
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(ours, theirs, strict=True))


def test_written_names_are_those_of_tf_keras(tmp_path):
    for name, make in (("functional", functional), ("subclassed", subclassed)):
        model, _ = make(podium)
        if name == "subclassed":
            model.compile("adam", "mse")
            model.optimizer.build(model.trainable_variables)
        model.save_weights(tmp_path / name)
        ours, theirs = TensorBundle(str(tmp_path / name)), TensorBundle(str(FILES / name))
        assert {key: (t.shape, t.dtype) for key, t in ours.tensors.items()} == {
            key: (t.shape, t.dtype) for key, t in theirs.tensors.items()
        }


def test_save_format_selects_the_format(tmp_path):
    model, _ = subclassed(podium)
    model.save_weights(tmp_path / "w.bin", save_format="tf")
    model.save_weights(tmp_path / "plain", save_format="h5")
    assert (tmp_path / "w.bin.index").exists() and (tmp_path / "plain").exists()
    with pytest.raises(FileExistsError, match=r"w.bin', the name of an existing checkpoint"):
        model.save_weights(tmp_path / "w.bin", overwrite=False)
    for name in ("w.bin", "plain"):
        assert model.load_weights(tmp_path / name).assert_existing_objects_matched().loaded


def test_checkpoint_by_names_of_variables_is_loaded(tmp_path):
    def build(name, units=2):
        layers = [podium.Input((3,)), podium.layers.Dense(units, name=name)]
        return podium.Sequential(layers)

    values = {
        "scope/dense/kernel": np.ones((3, 2), "float32"),
        "dense/bias": np.full(2, 5, "float32"),
        "dense/bias/Adam": np.zeros(2, "float32"),
    }
    write_bundle("test", str(tmp_path / "v1"), values)
    model = build("dense")
    report = model.load_weights(tmp_path / "v1")
    assert report.unexpected == ["'dense/bias/Adam' (2,) (not in the model)"]
    assert model.get_weights()[0].sum() == 6 and model.get_weights()[1].sum() == 10
    with pytest.raises(ValueError, match=r"'other/kernel' \(3, 2\) \(not in the checkpoint\)"):
        build("other").load_weights(tmp_path / "v1")
    with pytest.raises(ValueError, match=r"'dense/bias' has shape \(4,\), and 'dense/bias' in the"):
        build("dense", 4).load_weights(tmp_path / "v1")


def test_model_is_found_in_a_checkpoint_of_several_objects(tmp_path):
    """As in TensorFlow's guide: `tf.train.Checkpoint(step=step, optimizer=adam, net=model)`."""

    def build():
        return podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])

    model, other, restored = build(), build(), build()
    objects = {"step": podium.Variable(5), "optimizer": podium.optimizers.Adam(), "net": model}
    objects["optimizer"].build(model.trainable_variables)
    write_checkpoint("test", str(tmp_path / "ck"), objects, model.weights)
    assert restored.load_weights(tmp_path / "ck").unexpected == []
    np.testing.assert_array_equal(restored.get_weights()[0], model.get_weights()[0])
    write_checkpoint("test", str(tmp_path / "two"), {"a": model, "b": other}, model.weights)
    with pytest.raises(ValueError, match=r"kernel' \(3, 2\) \(not in the checkpoint\)"):
        restored.load_weights(tmp_path / "two")


def test_report_has_the_assertions_of_a_tensorflow_status():
    report = podium.saving.LoadReport([], ["'a' (2,)"], ["'b' (3,)"], [])
    assert report.expect_partial() is report
    with pytest.raises(AssertionError, match=r"Not everything was loaded: 'a' \(2,\); 'b' \(3,\)"):
        report.assert_consumed()
    with pytest.raises(AssertionError, match=r"These were not loaded: 'a' \(2,\)\."):
        report.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="Nothing was loaded: no weight"):
        report.assert_nontrivial_match()


def test_state_file_names_checkpoints_inside_its_directory(tmp_path):
    write_state("test", str(tmp_path / 'ä "b"'), [str(tmp_path / "old"), str(tmp_path / 'ä "b"')])
    assert read_state("test", str(tmp_path)) == [str(tmp_path / "old"), str(tmp_path / 'ä "b"')]
    for stored in ("../../outside/w", "/outside/w", "./w"):
        (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "{stored}"\n')
        assert read_state("test", str(tmp_path)) == [str(tmp_path / "w")]
    for content in ("", "model_checkpoint_path: w", 'model_checkpoint_path: ""', "\0" * 9):
        (tmp_path / "checkpoint").write_text(content)
        with pytest.raises(InvalidFileError, match="does not name a checkpoint"):
            read_state("test", str(tmp_path))
