"""Whole models in files: loaded equals saved, also for Keras's files, and malicious files are
rejected.
"""

import base64
import importlib
import io
import json
import marshal
import os
import pathlib
import sys
import zipfile

import h5py
import numpy as np
import pytest

import podium
from podium.saving.io import _atomic_write

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "oracle"))
import saving_models

SAVED = pathlib.Path(__file__).parent.parent / "oracle" / "fixtures" / "saving"
X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


def small(compiled=True):
    model = podium.Sequential(
        [podium.Input((3,)), podium.layers.Dense(4, name="a"), podium.layers.Dense(2, name="b")]
    )
    if compiled:
        model.compile(podium.optimizers.Adam(0.01), "mse", metrics=["mae"])
        model.train_on_batch(X, np.ones((4, 2)))
    return model


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@podium.saving.register_keras_serializable("tests")
class Scaled(podium.Model):
    def __init__(self, units=2):
        super().__init__()
        self.units = units
        self.scale = self.add_weight((units,), "ones", name="scale")
        self.blocks = [podium.layers.Dense(units), podium.layers.Dense(units)]
        self.named = {"last": podium.layers.Dense(units)}

    def call(self, inputs):
        for layer in self.blocks:
            inputs = layer(inputs)
        return self.named["last"](inputs) * self.scale


@podium.saving.register_keras_serializable("tests")
def twice(x):
    return 2 * x


# --- Keras's files


@pytest.mark.parametrize("make", saving_models.RECORDED, ids=lambda make: make.__name__)
def test_files_of_keras_3_predict_the_same(make):
    stored = np.load(SAVED / "values.npz")
    kinds = {
        kind: [stored[n] for n in stored.files if n.startswith(f"{make.__name__}/{kind}/")]
        for kind in ("input", "output")
    }
    model = podium.saving.load_model(SAVED / f"{make.__name__}.keras")
    outputs = model(
        kinds["input"] if len(kinds["input"]) > 1 else kinds["input"][0], training=False
    )
    if isinstance(outputs, dict):
        outputs = [outputs[key] for key in sorted(outputs)]
    for ours, theirs in zip(
        outputs if isinstance(outputs, (list, tuple)) else [outputs], kinds["output"], strict=True
    ):
        np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-5)
    assert int(model.optimizer.iterations.numpy()) == 1 and model.optimizer.momentum == 0.5
    assert any(
        np.any(value) for value in model.optimizer.get_weights()[2:]
    )  # the momenta are restored


# --- saving and loading


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m.hdf5", "plain", "m-0.25", "m.ckpt"])
def test_loaded_model_continues_training_identically(tmp_path, name):
    model = small()
    model.save(tmp_path / name, save_format=None if "." in name else "keras")
    assert os.listdir(tmp_path) == [name]
    other = podium.models.load_model(str(tmp_path / name))
    assert same(model.get_weights(), other.get_weights()) and same(
        model.optimizer.get_weights(), other.optimizer.get_weights()
    )
    assert [layer.name for layer in other.layers] == ["a", "b"] and other.name == model.name
    if name == "m.keras":
        results = [
            one.train_on_batch(X, np.ones((4, 2)), return_dict=True) for one in (model, other)
        ]
        assert results[0] == results[1] and same(model.get_weights(), other.get_weights())


def test_name_without_extension_is_allowed_in_keras_2_scripts_only(tmp_path, monkeypatch):
    with pytest.raises(
        ValueError,
        match=r"'.*plain', a name without an extension; `.keras` was expected.*save_format='keras'",
    ):
        small().save(tmp_path / "plain")
    monkeypatch.setitem(
        sys.modules, "tensorflow", importlib.import_module("podium.compat.tensorflow")
    )
    small().save(tmp_path / "plain")
    assert (
        os.listdir(tmp_path) == ["plain"] and podium.models.load_model(tmp_path / "plain").compiled
    )


def test_format_is_detected_from_contents(tmp_path):
    model = small(compiled=False)
    model.save(tmp_path / "a.keras")
    os.rename(tmp_path / "a.keras", tmp_path / "b.h5")
    model.save(tmp_path / "c.bin", save_format="h5")
    for name in ("b.h5", "c.bin"):
        assert same(podium.models.load_model(tmp_path / name).get_weights(), model.get_weights())
    other = small(compiled=False)
    other.load_weights(tmp_path / "b.h5")
    assert same(other.get_weights(), model.get_weights())


@pytest.mark.parametrize("make", saving_models.MODELS, ids=lambda make: make.__name__)
def test_configs_rebuild_the_same_graph(make):
    model, _ = make(podium)
    other = podium.models.model_from_json(model.to_json())
    assert json.loads(other.to_json()) == json.loads(model.to_json())
    assert [layer.name for layer in other.layers] == [layer.name for layer in model.layers]
    shapes = [[w.shape for w in m.weights] for m in (other, model)]
    if make is saving_models.float8:  # as in Keras, `build` and `quantize` have different orders
        shapes = [sorted(listed) for listed in shapes]
    assert shapes[0] == shapes[1]


def test_layers_are_in_keras_order():
    names = [layer.name for layer in saving_models.branches(podium)[0].layers]
    assert names == ["x", "first", "second", "short", "third", "product", "last"]


def test_subclassed_models_are_loaded_by_registered_class(tmp_path):
    model = Scaled(3)
    model(X)
    model.save(tmp_path / "m.keras")
    other = podium.models.load_model(tmp_path / "m.keras")
    assert (
        type(other) is Scaled
        and other.units == 3
        and same(model.get_weights(), other.get_weights())
    )
    with (
        zipfile.ZipFile(tmp_path / "m.keras") as archive,
        h5py.File(archive.open("model.weights.h5")) as file,
    ):
        found = []
        file.visititems(
            lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None
        )
    assert (
        "blocks/dense_1/vars/0" in found and "vars/0" in found and "layers/dense_2/vars/0" in found
    )  # Keras's paths


def test_functional_subclass_keeps_its_class(tmp_path):
    class Own(podium.Model):
        pass

    x = podium.Input((3,))
    model = Own(x, podium.layers.Dense(2)(x))
    model.save(tmp_path / "m.keras")
    with pytest.raises(
        ValueError, match=r"the class 'Own' of module .* not registered.*custom_objects"
    ):
        podium.models.load_model(tmp_path / "m.keras")
    assert type(podium.models.load_model(tmp_path / "m.keras", custom_objects={"Own": Own})) is Own


def test_functions_are_found_by_name(tmp_path):
    def my_loss(y_true, y_pred):
        return podium.ops.mean(podium.ops.abs(y_true - y_pred))

    x = podium.Input((3,))
    model = podium.Model(
        x, podium.layers.Lambda(twice)(podium.layers.Dense(2, activation=twice)(x))
    )
    model.compile("sgd", my_loss)
    model.save(tmp_path / "m.keras")
    with pytest.raises(ValueError, match=r"'my_loss'.*compile=False"):
        podium.models.load_model(tmp_path / "m.keras")
    assert not podium.models.load_model(tmp_path / "m.keras", compile=False).compiled
    other = podium.models.load_model(tmp_path / "m.keras", custom_objects={"my_loss": my_loss})
    assert other.loss is my_loss
    np.testing.assert_array_equal(other(X).numpy(), model(X).numpy())


def test_lambda_is_passed_under_the_name_of_its_layer(tmp_path):
    model = podium.Sequential(
        [podium.Input((3,)), podium.layers.Lambda(lambda x: x + 1, name="plus")]
    )
    with pytest.warns(UserWarning, match="'plus' runs a `lambda`, which is not written"):
        model.save(tmp_path / "m.keras")
    with pytest.raises(
        ValueError, match=r"'plus' contains the code of a function.*not safe.*custom_objects"
    ):
        podium.models.load_model(tmp_path / "m.keras")
    other = podium.models.load_model(tmp_path / "m.keras", custom_objects={"plus": lambda x: x + 1})
    np.testing.assert_array_equal(other(X).numpy(), X + 1)


def test_compile_arguments_without_config_are_skipped_with_a_warning(tmp_path):
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
    model.compile("sgd", lambda y_true, y_pred: podium.ops.mean(y_pred))
    with pytest.warns(UserWarning, match="How model 'sequential' was compiled is not saved"):
        model.save(tmp_path / "m.keras")
    assert not podium.models.load_model(tmp_path / "m.keras").compiled


def test_saving_twice_gives_the_same_bytes(tmp_path):
    model = small()
    for name in ("a.keras", "b.keras"):
        model.save(tmp_path / name)
    assert (tmp_path / "a.keras").read_bytes() == (tmp_path / "b.keras").read_bytes()


# --- rejected before anything is written


def refused_to_save(model, path, error, match):
    with pytest.raises(error, match=match):
        model.save(path)
    assert not os.path.exists(path)


def test_unserializable_models_are_rejected_before_writing(tmp_path):
    x = podium.Input((3,))
    path = tmp_path / "m.keras"
    refused_to_save(podium.Model(x, podium.lift(_own_operation)(x)), path, ValueError, "own_op")
    outside = podium.Variable(2.0, name="outside")
    refused_to_save(
        podium.Model(x, x * outside), path, ValueError, "Variable 'outside'.*weight of a layer"
    )

    class Odd(podium.layers.Layer):
        def __init__(self, thing):
            super().__init__()
            self.thing = thing

        def call(self, inputs):
            return inputs

    refused_to_save(
        podium.Sequential([podium.Input((3,)), Odd(object())]),
        path,
        NotImplementedError,
        "Odd.*get_config",
    )
    refused_to_save(small(), tmp_path / "m.pickle", ValueError, "extension '.pickle'")
    refused_to_save(small(), tmp_path / "m.weights.h5", ValueError, "for weights alone")
    refused_to_save(small(), tmp_path / "no" / "m.keras", FileNotFoundError, "does not exist")


def _own_operation(x):
    return x + 1


def test_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    model = small(compiled=False)
    for name in ("m.keras", "m.h5"):
        model.save(tmp_path / name)
        before = (tmp_path / name).read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(
                _atomic_write.os,
                "fsync",
                lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left on device")),
            )
            with pytest.raises(OSError, match="No space"):
                model.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
        with pytest.raises(FileExistsError, match="overwrite=False"):
            model.save(tmp_path / name, overwrite=False)
    assert sorted(os.listdir(tmp_path)) == ["m.h5", "m.keras"]


# --- files that are rejected


def changed(tmp_path, edit_config=None, edit_weights=None, extra=(), **options):
    """Write an archive of a small model with changes, and return its path."""
    good, bad = tmp_path / "good.keras", tmp_path / "bad.keras"
    small(compiled=False).save(good)
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w", **options) as target:
        for info in source.infolist():
            content = source.read(info)
            if info.filename == "config.json" and edit_config is not None:
                config = json.loads(content)
                content = edit_config(config)
                content = json.dumps(config) if content is None else content
            if info.filename == "model.weights.h5" and edit_weights is not None:
                (tmp_path / "w.h5").write_bytes(content)
                with h5py.File(tmp_path / "w.h5", "r+") as file:
                    edit_weights(file)
                content = (tmp_path / "w.h5").read_bytes()
            target.writestr(info.filename, content)
        for name, content in extra:
            target.writestr(name, content)
    return bad


def assert_rejected(path, match, error=ValueError):
    with pytest.raises(error, match=match):
        podium.models.load_model(path)


def layer(config, place=1):
    return config["config"]["layers"][place]


def test_code_and_unknown_names_in_configs_are_rejected(tmp_path):
    code = base64.b64encode(marshal.dumps((lambda x: x).__code__)).decode()
    body = {"class_name": "__lambda__", "config": {"code": code, "defaults": None, "closure": None}}
    added = {
        "module": "keras.layers",
        "class_name": "Lambda",
        "config": {"name": "f", "function": body},
        "registered_name": None,
    }
    assert_rejected(
        changed(tmp_path, lambda c: c["config"]["layers"].append(added)),
        "Lambda layer 'f' contains the code.*not safe",
    )
    assert_rejected(
        changed(tmp_path, lambda c: layer(c)["config"].update(activation=body)),
        "code of a lambda.*not safe",
    )
    foreign = {
        "module": "os",
        "class_name": "function",
        "config": "system",
        "registered_name": "system",
    }
    assert_rejected(
        changed(tmp_path, lambda c: layer(c)["config"].update(activation=foreign)), "system"
    )
    for module, name in (
        ("subprocess", "Popen"),
        ("builtins", "__import__"),
        ("keras.layers", "Dense.__init__"),
    ):
        wrong = {"module": module, "class_name": name, "config": {}, "registered_name": None}
        assert_rejected(
            changed(tmp_path, lambda c, wrong=wrong: c["config"]["layers"].append(wrong)),
            f"{name}.*not registered",
        )


def test_malformed_configs_are_rejected(tmp_path):
    assert_rejected(changed(tmp_path, lambda c: b"[" * 100_000), "levels deep")
    assert_rejected(changed(tmp_path, lambda c: b"{}"), "`class_name` and `config` was expected")
    assert_rejected(changed(tmp_path, lambda c: b"{bad"), "'config.json' is invalid JSON")
    assert_rejected(
        changed(tmp_path, lambda c: json.dumps(c).replace('"units": 4', '"units": 9, "units": 4')),
        "duplicate key 'units'",
    )
    assert_rejected(
        changed(tmp_path, lambda c: c["config"].update(layers="abc")),
        "layers='abc'; a list was expected",
    )
    assert_rejected(
        changed(tmp_path, lambda c: layer(c)["config"].update(units=10**12)),
        "far larger than the size",
    )
    assert_rejected(
        changed(tmp_path, lambda c: layer(c)["config"].update(units=5)),
        r"has shape \(3, 5\), and .* in the file has \(3, 4\)",
    )


def test_cyclic_graph_is_rejected():
    x = podium.Input((2,), name="i")
    model = podium.Model(x, podium.layers.Dense(2, name="b")(podium.layers.Dense(2, name="a")(x)))
    text = model.to_json().replace('"keras_history": ["i", 0, 0]', '"keras_history": ["b", 0, 0]')
    with pytest.raises(ValueError, match="'a', 'b' form a cycle"):
        podium.models.model_from_json(text)


def test_hostile_archives_are_rejected(tmp_path):
    for name in ("../x", "/x", "a/../../x"):
        assert_rejected(changed(tmp_path, extra=[(name, b"x")]), "unsafe path")
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice_there = changed(tmp_path, extra=[("config.json", b"{}")])
    assert_rejected(twice_there, "duplicate member")
    assert_rejected(
        changed(tmp_path, extra=[("z", b"\0" * (3 << 20))], compression=zipfile.ZIP_DEFLATED),
        "zip bomb",
    )
    good = tmp_path / "good.keras"
    content = good.read_bytes()
    good.write_bytes(content + b"more")
    assert_rejected(good, "unexpected bytes|corrupt")
    for flipped in range(50, len(content), len(content) // 40):
        damaged = bytearray(content)
        damaged[flipped] ^= 4
        good.write_bytes(damaged)
        try:
            loaded = podium.models.load_model(good).get_weights()
        except (ValueError, OSError):
            continue
        good.write_bytes(content)
        assert same(loaded, podium.models.load_model(good).get_weights())
    good.write_bytes(b"")
    assert_rejected(good, "is empty")
    good.write_bytes(b"text")
    assert_rejected(good, "is not a model")


def test_mismatched_weights_are_listed_and_nothing_changes(tmp_path):
    def without(file):
        del file["layers/dense/vars/1"]

    assert_rejected(
        changed(tmp_path, edit_weights=without),
        r"'a' \(layers/dense\) has 2 weights .* and 1 were found.*1 missing",
    )
    assert_rejected(
        changed(tmp_path, edit_weights=lambda f: f.create_dataset("layers/x/vars/0", data=[1.0])),
        "unexpected.*layers/x/vars/0",
    )

    def linked(file):
        del file["layers/dense/vars/1"]
        file["layers/dense/vars/1"] = h5py.ExternalLink("other.h5", "/x")

    assert_rejected(changed(tmp_path, edit_weights=linked), "link to elsewhere")

    def circular(file):
        file["layers/again"] = file["/layers"]

    assert_rejected(changed(tmp_path, edit_weights=circular), "cycle")


def test_objects_survive_serialization():
    values = [
        podium.losses.Huber(2.0),
        podium.initializers.Constant(3.0),
        twice,
        slice(1, None),
        ...,
        np.arange(3),
        {"a": (1, 2)},
    ]
    plain = json.loads(json.dumps(podium.saving.serialize_keras_object(values)))
    loss, initial, function, part, dots, array, nested = podium.saving.deserialize_keras_object(
        plain
    )
    assert (
        loss.delta == 2.0
        and initial.value == 3.0
        and function is twice
        and part == slice(1, None)
        and dots is ...
    )
    assert array.tolist() == [0, 1, 2] and nested == {"a": [1, 2]}
    with pytest.raises(TypeError, match="cannot be serialized"):
        podium.saving.serialize_keras_object(object())
    with pytest.raises(TypeError, match="no name to find it again"):
        podium.saving.serialize_keras_object(lambda x: x)


def test_archives_are_written_to_and_read_from_file_objects(tmp_path):
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
    model.compile("adam", "mse")
    file = io.BytesIO()
    podium.saving.save_model(model, file)
    same = podium.saving.load_model(io.BytesIO(file.getvalue()))
    np.testing.assert_array_equal(same.get_weights()[0], model.get_weights()[0])
    assert type(same.optimizer) is podium.optimizers.Adam
    path = tmp_path / "model.keras"
    model.save(path)
    with open(path, "rb") as opened:
        same = podium.saving.load_model(opened, compile=False)
    np.testing.assert_array_equal(same.get_weights()[0], model.get_weights()[0])
    with pytest.raises(TypeError, match="save_format='h5'; a path was expected"):
        podium.saving.save_model(model, io.BytesIO(), save_format="h5")
    with pytest.raises(TypeError, match=r"load_model was given 3; a path was expected"):
        podium.saving.load_model(3)
    with pytest.raises(ValueError, match=r"'<file object>' is not a model"):
        podium.saving.load_model(io.BytesIO(b"nothing"))
