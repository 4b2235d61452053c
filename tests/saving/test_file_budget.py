"""Files that would cost far more than their size are rejected early, by the budget of readers."""

import hashlib
import io
import json
import random
import struct
import tracemalloc
import zipfile
import zlib

import h5py
import numpy as np
import pytest

import podium
from podium.core.internal import FileBudget, FileBudgetError, charge_file_budget, file_budget
from podium.saving.io._sidecar import FileDigest, Sidecar, write_sidecar
from podium.saving.tensorflow_files._sorted_string_table import _Block, _read_block


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


# --- HDF5: chunks, filters and attributes


def hdf5_weights(model, path, **options):
    """Save weights, and replace the first kernel by a dataset with other options."""
    model.save_weights(path)
    with h5py.File(path, "r+") as file:
        del file["layers/dense/vars/0"]
        return file.create_dataset("layers/dense/vars/0", **options).id.get_offset()


def write_bomb(path, num_bytes, **options):
    with h5py.File(path, "r+") as file:
        del file["layers/dense/vars/0"]
        dataset = file.create_dataset("layers/dense/vars/0", **options)
        file.attrs.pop("podium_digests")
        content = zlib.compress(bytes(num_bytes), 9)
        dataset.id.write_direct_chunk((0,) * dataset.ndim, content)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"shape": (4, 3), "chunks": (4, 3)}, "a chunk of .* holds more than its size"),
        (
            {"shape": (4, 3), "maxshape": (None, None), "chunks": (1 << 13, 1 << 13)},
            "the chunks of .* are far larger than the size of the file",
        ),
    ],
)
def test_bombs_in_chunks_are_rejected_before_they_are_unpacked(model, tmp_path, options, match):
    path = tmp_path / "w.weights.h5"
    model.save_weights(path)
    write_bomb(path, 1 << 27, dtype="float32", compression=1, **options)
    tracemalloc.start()
    assert_rejected(path, match, model.load_weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize("options", [{"scaleoffset": 3, "dtype": "int32"}])
def test_filters_that_allocate_what_they_say_are_rejected(model, tmp_path, options):
    path = tmp_path / "w.weights.h5"
    hdf5_weights(model, path, shape=(4, 3), **options)
    assert_rejected(path, "filter that does not come with HDF5, or is not", model.load_weights)


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip", "shuffle": True, "fletcher32": True},
        {"compression": "lzf"},
        {"chunks": (2, 2)},
        {"maxshape": (None, None), "compression": 9},
    ],
)
def test_compressed_weights_are_read(model, tmp_path, options):
    path, kernel = tmp_path / "w.weights.h5", np.arange(12, dtype="float32").reshape(4, 3)
    hdf5_weights(model, path, data=kernel, **options)
    with h5py.File(path, "r+") as file:
        file.attrs.pop("podium_digests")
    other = make_model()
    other.load_weights(path)
    np.testing.assert_array_equal(other.get_weights()[0], kernel)


def test_names_that_are_one_long_string_are_rejected(model, tmp_path):
    """HDF5 may store the string once, and would read it a thousand times."""
    path = tmp_path / "w.h5"
    with h5py.File(path, "w") as file:
        names = ["x" * 60_000] + ["y"] * 4000
        file.attrs.create("layer_names", names, dtype=h5py.string_dtype())
    assert_rejected(path, "4001 texts is far larger than the file", model.load_weights)


def test_names_of_variable_length_are_read(model, tmp_path):
    path = tmp_path / "w.h5"
    model.save_weights(path)
    with h5py.File(path, "r+") as file:
        names = [name.decode() for name in file.attrs["layer_names"]]
        file.attrs.create("layer_names", names, dtype=h5py.string_dtype())
    model.load_weights(path)


# --- archives, JSON, exported programs, checkpoints


def test_compressed_weights_that_grow_far_are_rejected(archive, tmp_path):
    path = tmp_path / "m.keras"
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as old,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            padding = random.Random(0).randbytes(1 << 20) + bytes(90 << 20)
            new.writestr(name, old.read(name) + (padding if name.endswith("h5") else b""))
    assert_rejected(path, "is too large for the size of the file", podium.saving.load_model)


def test_config_that_is_one_long_text_is_rejected(archive, tmp_path):
    path = tmp_path / "m.keras"
    text = with_config(archive, path, lambda config: config.update(x="x" * (20 << 20)))
    members = zipfile.ZipFile(io.BytesIO(text.read_bytes()))
    with members, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in members.namelist():
            padding = random.Random(0).randbytes(300_000).hex() if name == "config.json" else ""
            new.writestr(name, members.read(name).replace(b'"x": "', f'"x": "{padding}'.encode()))
    assert_rejected(path, "is too large for the size of the file", podium.saving.load_model)


def test_json_of_quotes_is_rejected():
    with pytest.raises(ValueError, match="quotes without values"):
        podium.models.model_from_json('"' * 1_000_000)


def test_json_of_a_model_larger_than_memory_is_rejected(model):
    config = json.loads(model.to_json())
    config["config"]["layers"][1]["config"]["units"] = 1 << 40
    with pytest.raises(ValueError, match="larger than the memory of this machine"):
        podium.models.model_from_json(json.dumps(config))


def test_json_with_many_objects_and_long_names_is_rejected(model):
    config = json.loads(model.to_json())
    config["class_name"] = "x" * 100_000
    with pytest.raises(ValueError, match="The config names the class 'xxx") as caught:
        podium.models.model_from_json(json.dumps(config))
    assert len(str(caught.value)) <= 2000
    zeros = json.dumps({"class_name": "Sequential", "config": {"layers": [0] * 4_000_000}})
    with pytest.raises(ValueError, match="values, too many for its size"):
        podium.models.model_from_json(zeros)


def test_exported_program_takes_the_memory_of_its_size(model, tmp_path):
    path = tmp_path / "m.jax"
    path.write_bytes(b"no program")
    tracemalloc.start()
    with pytest.raises(ValueError, match="cannot be read as a program"):
        podium.saving.load_exported(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


def write_manifest(checkpoint, change):
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    manifest.pop("sha256")
    changed = change(manifest)
    manifest["sha256"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    (checkpoint / "manifest.json").write_text(changed or json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda manifest: manifest["files"].update({"state.json": [[], "x"]}), "are not sizes"),
        (lambda manifest: manifest["files"].update({"state.json": [-1, "x"]}), "are not sizes"),
        (
            lambda manifest: manifest["files"]["arrays.safetensors"].__setitem__(2, 1 << 62),
            "are not sizes",
        ),
        (lambda manifest: "[" + "0," * (3 << 20) + "0]", "values, too many"),
        (  # one file under many names
            lambda manifest: manifest["files"].update({"./state.json": [1, "x"]}),
            r"'\./state\.json' is not the path of a file in it",
        ),
    ],
)
def test_forged_manifests_are_rejected(model, tmp_path, change, match):
    model.save_weights(str(tmp_path / "run") + "/")
    (checkpoint,) = (tmp_path / "run").glob("checkpoint-*")
    write_manifest(checkpoint, change)
    assert_rejected(tmp_path / "run", match, model.load_weights)


def test_forged_arrays_of_orbax_are_rejected(model, tmp_path):
    pytest.importorskip("orbax.checkpoint")
    manager = podium.saving.CheckpointManager(tmp_path, format="orbax")
    manager.save(1, model)
    manager.wait()
    (checkpoint,) = tmp_path.glob("checkpoint-*")
    text = (checkpoint / "arrays" / "_METADATA").read_text()
    text = text.replace('"value_type"', '"other_type"')
    (checkpoint / "arrays" / "_METADATA").write_text(text)

    def change(manifest):
        digest = hashlib.sha256(text.encode()).hexdigest()
        manifest["files"]["arrays/_METADATA"] = [len(text), digest]

    write_manifest(checkpoint, change)
    assert_rejected(tmp_path, "cannot be read by Orbax", model.load_weights)


def nest_models(layers, depth, num_calls=1):
    """Return layers inside of nested Functional models, each called several times."""
    source = {"batch_shape": [None, 4], "dtype": "float32", "name": "i"}
    history = {"shape": [None, 4], "dtype": "float32", "keras_history": ["i", 0, 0]}
    call = {"args": [{"class_name": "__keras_tensor__", "config": history}], "kwargs": {}}
    for level in range(depth):
        first = {"class_name": "InputLayer", "config": source, "name": "i", "inbound_nodes": []}
        name = f"n{level}"
        config = {
            "name": f"m{level}",
            "layers": [first, *layers],
            "input_layers": [["i", 0, 0]],
            "output_layers": [[layers[0]["name"], 0, 0]],
        }
        layers = [
            {
                "module": "keras",
                "class_name": "Functional",
                "config": {**config, "name": name},
                "name": name,
                "inbound_nodes": [call] * num_calls,
            }
        ]
    return layers[0]


@pytest.mark.parametrize(("num_layers", "depth", "num_calls"), [(60, 40, 1), (1, 12, 2)])
def test_nested_models_of_quadratic_or_exponential_cost_are_rejected(
    archive, tmp_path, num_layers, depth, num_calls
):
    layers = [
        {"module": "keras.layers", "class_name": "ReLU", "config": {}, "name": f"r{index}"}
        for index in range(num_layers)
    ]
    nested = nest_models(layers, depth, num_calls)
    text = json.dumps(nested)
    with pytest.raises(ValueError, match=r"JSON .* more layers and other objects"):
        podium.models.model_from_json(text)
    path = with_config(archive, tmp_path / "m.keras", lambda config: text.encode())
    assert_rejected(path, "more layers and other objects", podium.saving.load_model)


def test_state_that_repeats_an_array_is_rejected(tmp_path):
    manager = podium.saving.CheckpointManager(tmp_path)
    manager.save(1, {}, state=[np.zeros(1 << 20, np.uint8)])
    (checkpoint,) = tmp_path.glob("checkpoint-*")
    text = json.dumps(json.loads((checkpoint / "state.json").read_text()) * 200).encode()
    (checkpoint / "state.json").write_bytes(text)
    digest = hashlib.sha256(text).hexdigest()
    write_manifest(
        checkpoint, lambda manifest: manifest["files"].update({"state.json": [len(text), digest]})
    )
    assert_rejected(tmp_path, "uses the array '000000' too often", lambda path: manager.restore())


def test_block_of_a_table_with_long_shared_keys_is_rejected():
    """Each of its entries copies the key of the one before."""
    block = _Block(restart_interval=1000)
    for number in range(1000):
        block.add(b"k" * (1 << 17) + b"%04d" % number, b"")
    content = memoryview(block.encode())
    with (
        file_budget(len(content)),
        pytest.raises(FileBudgetError, match="keys of its index are far larger"),
    ):
        list(_read_block(content))


def test_sidecar_that_lists_a_file_under_many_names_is_rejected(model, tmp_path):
    path = tmp_path / "w.weights.h5"
    model.save_weights(path)
    write_sidecar("test", str(path), Sidecar({"./" + path.name: FileDigest(1, "x")}, {}))
    assert_rejected(path, "is not the path of a file in its directory", model.load_weights)
