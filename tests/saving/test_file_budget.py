"""Files that would cost far more than their size are rejected early, by the budget of readers."""

import io
import json
import struct
import zipfile

import h5py
import numpy as np
import pytest

import podium
from podium.core.internal import FileBudget, FileBudgetError, charge_file_budget, file_budget


def make_model():
    layers = [podium.Input((4,)), podium.layers.Dense(3, name="d"), podium.layers.Dense(2)]
    model = podium.Sequential(layers, name="small")
    model.compile("sgd", "mse")
    return model


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def archive(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "m.keras"
    model.save(path)
    return path.read_bytes()


def assert_rejected(path, match, load):
    with pytest.raises(ValueError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value) and len(str(caught.value)) <= 2000


def with_config(archive, path, change):
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "config.json":
                config = json.loads(content)
                changed = change(config)
                content = json.dumps(config).encode() if changed is None else changed
            new.writestr(name, content)
    return path


def test_budget_is_charged_by_kind_and_only_inside_of_a_block():
    budget = FileBudget(3200)
    budget.charge("nodes", 10_100, "is too large")
    with pytest.raises(FileBudgetError, match=r"^is too large$"):
        budget.charge("nodes", 1, "is too large")
    budget.charge("weights", 1 << 60, "unlimited until it is set")
    budget.allow("weights", 5)
    with pytest.raises(FileBudgetError, match="too many"):
        budget.charge("weights", 6, "too many")
    charge_file_budget("bytes", 1 << 60, "no file is being read")
    with file_budget(0), pytest.raises(FileBudgetError, match="far larger"):
        charge_file_budget("bytes", 1 << 60, "far larger")


def test_groups_with_many_paths_are_rejected(model, tmp_path):
    path = tmp_path / "w.weights.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("layers")
        for _ in range(24):  # two links each: 2**24 paths
            group["b"] = group.create_group("a")
            group = group["a"]
    assert_rejected(path, "several paths", model.load_weights)


@pytest.mark.parametrize("attribute", ["layer_names", "weight_names"])
def test_repeated_names_are_rejected(model, tmp_path, attribute):
    path = tmp_path / "w.h5"
    model.save_weights(path)
    with h5py.File(path, "r+") as file:
        group = file if attribute == "layer_names" else file["d"]
        names = list(group.attrs[attribute])
        group.attrs[attribute] = np.array(names[:1] * 1000)
    assert_rejected(path, f"`{attribute}` of its group .* more than once", model.load_weights)


def test_many_links_to_one_layer_are_rejected(model, tmp_path):
    path = tmp_path / "w.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("layer")
        names = [f"w{index}" for index in range(300)]
        group.attrs["weight_names"] = np.array(names, "S8")
        group["w0"] = np.zeros(1, "float32")
        for name in names[1:]:
            group[name] = group["w0"]
        links = [f"l{index}" for index in range(300)]
        for link in links:
            file[link] = group
        file.attrs["layer_names"] = np.array(links, "S8")
    assert_rejected(path, "more groups and datasets", model.load_weights)


def test_shapes_of_many_dimensions_are_rejected(model, tmp_path):
    entry = {"dtype": "F32", "shape": [1 << 62] * 5000, "data_offsets": [0, 4]}
    text = json.dumps({"a": entry}).encode()
    path = tmp_path / "w.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))
    assert_rejected(path, "5000 dimensions", model.load_weights)


def test_config_with_many_layers_is_rejected(archive, tmp_path):
    def change(config):
        layers = config["config"]["layers"]
        layers += [layers[-1]] * 2000

    path = with_config(archive, tmp_path / "m.keras", change)
    assert_rejected(path, "more layers and other objects", podium.saving.load_model)


@pytest.mark.parametrize(
    ("name", "arguments", "match"),
    [
        ("MeanIoU", {"num_classes": 1 << 14}, "num_classes=16384"),
        ("MeanIoU", {"num_classes": 1 << 31}, "num_classes=2147483648"),
        ("AUC", {"num_thresholds": 1 << 31}, "num_thresholds=2147483648"),
        (
            "PrecisionAtRecall",
            {"recall": 0.5, "num_thresholds": 1 << 31},
            "num_thresholds=2147483648",
        ),
    ],
)
def test_metrics_with_a_large_state_are_rejected(archive, tmp_path, name, arguments, match):
    metric = {
        "module": "keras.metrics",
        "class_name": name,
        "config": arguments,
        "registered_name": None,
    }
    path = with_config(
        archive,
        tmp_path / "m.keras",
        lambda config: config["compile_config"].update(metrics=[metric]),
    )
    assert_rejected(path, match, podium.saving.load_model)


def test_json_of_many_zeros_is_rejected(archive, tmp_path):
    zeros = b"[" + b"0," * (3 << 20) + b"0]"
    path = with_config(archive, tmp_path / "m.keras", lambda config: zeros)
    assert_rejected(path, "values, too many", podium.saving.load_model)


def test_long_messages_are_shortened(archive, tmp_path):
    name = "x" * 100_000
    path = with_config(archive, tmp_path / "m.keras", lambda c: c.update(class_name=name))
    assert_rejected(path, "not registered|cannot be loaded", podium.saving.load_model)
