"""`saving.verify` compares files with their checksums; `write_digests` adds some."""

import json
import os
import pathlib
import shutil

import h5py
import numpy as np
import pytest

import podium

FIXTURES = pathlib.Path(__file__).parent.parent / "oracle" / "fixtures"
NAMES = ["m.keras", "m.h5", "w.weights.h5", "w.h5", "w.safetensors", "w", "w.jax", "directory"]


@pytest.fixture(scope="module")
def model():
    L = podium.layers
    model = podium.Sequential([podium.Input((3,)), L.Dense(4), L.BatchNormalization(), L.Dense(2)])
    model.compile("adam", "mse")
    return model


@pytest.fixture(scope="module")
def originals(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    for name in NAMES:
        if name.startswith("m."):
            model.save(folder / name)
        elif name == "w.jax":
            model.export(folder / name)
        else:
            model.save_weights(os.path.join(folder, name + ("/" if name == "directory" else "")))
    return folder


@pytest.fixture
def files(originals, tmp_path):
    return pathlib.Path(shutil.copytree(originals, tmp_path / "files"))


def largest_file(files, name):
    paths = [path for path in files.rglob("*") if str(path).startswith(str(files / name))]
    if name == "w":
        return files / "w.data-00000-of-00001"
    return max((path for path in paths if path.is_file()), key=lambda path: path.stat().st_size)


def flip_bit(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("name", NAMES)
def test_own_files_are_verified_completely(files, name):
    report = podium.saving.verify(files / name)
    assert report and report.status == "verified" and report.verified
    assert report.checked and not report.unknown and not report.problems
    assert str(report).startswith(f"{files / name}: verified (")


@pytest.mark.parametrize("name", NAMES)
def test_flipped_bits_in_own_files_are_problems(files, name):
    path = largest_file(files, name)
    content = path.read_bytes()
    for position in np.random.default_rng(0).integers(len(content), size=12):
        flip_bit(path, position)
        report = podium.saving.verify(files / name)
        # The name of the program that wrote it is the only thing without a digest.
        is_harmless = name == "w.safetensors" and b'"written_by":"podium"' not in path.read_bytes()
        assert not report or is_harmless
        path.write_bytes(content)


def test_every_damaged_array_is_listed(files):
    with h5py.File(files / "w.weights.h5", "r") as file:
        datasets = [file["layers/dense/vars/0"], file["layers/dense_1/vars/0"]]
        offsets = [dataset.id.get_offset() for dataset in datasets]
    for offset in offsets:
        flip_bit(files / "w.weights.h5", offset)
    report = podium.saving.verify(files / "w.weights.h5")
    assert [problem.split("'")[1] for problem in report.problems] == [
        "layers/dense/vars/0",
        "layers/dense_1/vars/0",
    ]
    assert "layers/dense/vars/1 (SHA-256)" in report.checked


def foreign_hdf5(path, **options):
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = np.array([b"dense"])
        group = file.create_group("dense")
        group.attrs["weight_names"] = np.array([b"kernel", b"bias"])
        group.create_dataset("kernel", data=np.ones((3, 2), "float32"), **options)
        group.create_dataset("bias", data=np.zeros(2, "float32"))
    return path


def test_report_says_what_cannot_be_known_of_foreign_files(tmp_path):
    report = podium.saving.verify(foreign_hdf5(tmp_path / "w.h5"))
    assert not report and report.status == "unknown" and not report.problems
    assert "the structure" in report.unknown[0]
    assert "2 arrays have no checksum ('dense/bias', 'dense/kernel')" in report.unknown[1]


def test_checksums_of_hdf5_count_for_foreign_files(tmp_path):
    path = foreign_hdf5(tmp_path / "w.h5", fletcher32=True)
    report = podium.saving.verify(path)
    assert report.status == "partial" and report.checked == ["dense/kernel (Fletcher-32)"]
    content = path.read_bytes()
    flip_bit(path, content.index(np.ones(6, "float32").tobytes()))
    (problem,) = podium.saving.verify(path).problems
    assert "kernel" in problem or "filter" in problem


def test_foreign_safetensors_have_no_checksum(tmp_path):
    from safetensors.numpy import save_file

    save_file({"a": np.ones(3, "float32")}, tmp_path / "w.safetensors")
    report = podium.saving.verify(tmp_path / "w.safetensors")
    assert report.status == "unknown" and "1 tensors have no checksum" in report.unknown[0]


def test_archives_of_keras_are_verified_by_their_crc():
    report = podium.saving.verify(FIXTURES / "saving" / "branches.keras")
    assert report and "the member 'model.weights.h5' (CRC-32)" in report.checked


def test_checkpoints_of_tensorflow_are_verified():
    for name in ("names", "shards"):
        report = podium.saving.verify(FIXTURES / "tensorflow_checkpoints" / name)
        assert report and report.checked[0] == "the index (CRC-32C)"


def test_saved_model_is_verified_in_part():
    report = podium.saving.verify(FIXTURES / "tensorflow_files" / "saved")
    assert report.status == "partial" and "saved_model.pb has no checksum" in report.unknown[0]


def test_all_checkpoints_of_a_directory_are_verified(model, tmp_path):
    manager = podium.saving.CheckpointManager(tmp_path, max_to_keep=3)
    for step in (1, 2):
        manager.save(step, model)
    manager.wait()
    assert len(podium.saving.verify(tmp_path).checked) == 2
    arrays = next(tmp_path.glob("*2/arrays.safetensors"))
    flip_bit(arrays, -1)
    report = podium.saving.verify(tmp_path)
    assert len(report.checked) == 1 and "is damaged: arrays.safetensors" in report.problems[0]


def test_checkpoints_of_orbax_are_verified(model, tmp_path):
    pytest.importorskip("orbax.checkpoint")
    manager = podium.saving.CheckpointManager(tmp_path, format="orbax")
    manager.save(1, model)
    manager.wait()
    assert podium.saving.verify(tmp_path)
    paths = [path for path in tmp_path.rglob("arrays/**/*") if path.is_file()]
    shard = max(paths, key=lambda path: path.stat().st_size)
    flip_bit(shard, -1)
    assert podium.saving.verify(tmp_path).status == "damaged"


def test_unknown_formats_and_missing_files(tmp_path):
    (tmp_path / "text").write_text("hello")
    assert podium.saving.verify(tmp_path / "text").status == "unknown"
    assert podium.saving.verify(tmp_path).unknown == ["there is no file of a known format in it"]
    with pytest.raises(FileNotFoundError, match=r"verify was given .*nothing'; there is no such"):
        podium.saving.verify(tmp_path / "nothing")


@pytest.mark.parametrize("size", [0, 8, 100])
@pytest.mark.parametrize("name", ["m.keras", "m.h5", "w.weights.h5", "w.safetensors"])
def test_truncated_files_are_damaged(files, name, size):
    path = files / name
    path.write_bytes(path.read_bytes()[:size])
    assert podium.saving.verify(path).status == "damaged"


# --- digests beside a file


def test_digests_verify_a_foreign_file(tmp_path):
    path = foreign_hdf5(tmp_path / "w.h5")
    sidecar = podium.saving.write_digests(path)
    assert sidecar == str(path) + ".sha256.json"
    contents = json.loads(pathlib.Path(sidecar).read_text())
    assert contents["files"]["w.h5"]["size"] == path.stat().st_size
    assert set(contents["datasets"]) == {"dense/kernel", "dense/bias"}
    report = podium.saving.verify(path)
    assert report and report.checked == ["1 files (SHA-256, in w.h5.sha256.json)"]


def test_changed_foreign_file_is_reported_and_not_loaded(tmp_path):
    path = foreign_hdf5(tmp_path / "w.h5")
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2, name="dense")])
    podium.saving.write_digests(path)
    assert model.load_weights(path).loaded == ["dense/kernel", "dense/bias"]
    flip_bit(path, path.read_bytes().index(np.ones(6, "float32").tobytes()) + 3)
    problems = podium.saving.verify(path).problems
    assert "'w.h5' has the sha256" in problems[0] and "'dense/kernel' differs" in problems[1]
    with pytest.raises(ValueError, match=r"'.*w\.h5' has changed since its digests were written"):
        model.load_weights(path)
    np.testing.assert_array_equal(model.get_weights()[0], np.ones((3, 2)))


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "w.safetensors", "w", "w.jax"])
def test_digests_are_compared_by_every_loader(model, files, name):
    podium.saving.write_digests(files / name)
    load = {
        "m": podium.saving.load_model,
        "w": podium.models.clone_model(model).load_weights,
        "w.jax": podium.saving.load_exported,
    }[name if name == "w.jax" else name[0]]
    load(files / name)
    path = largest_file(files, name)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ValueError, match="has changed since its digests were written"):
        load(files / name)


def test_digests_of_a_saved_model_cover_all_of_its_files(tmp_path):
    path = tmp_path / "saved"
    shutil.copytree(FIXTURES / "tensorflow_files" / "saved", path)
    podium.saving.write_digests(path)
    assert podium.saving.verify(path)
    (path / "more.txt").write_text("new")
    assert "is not in it" in podium.saving.verify(path).problems[0]
    (path / "more.txt").unlink()
    (path / "saved_model.pb").write_bytes(b"other")
    assert "saved_model.pb' has 5 bytes" in podium.saving.verify(path).problems[0]
    with pytest.raises(ValueError, match="has changed since its digests were written"):
        podium.saving.load_model(path)


def test_saving_again_deletes_the_digests(model, files):
    for name in ("m.h5", "w"):
        sidecar = pathlib.Path(podium.saving.write_digests(files / name))
        (model.save if name == "m.h5" else model.save_weights)(files / name)
        assert not sidecar.exists()


def test_damaged_digests_are_named(files):
    sidecar = pathlib.Path(podium.saving.write_digests(files / "w.h5"))
    for content in (b"{}", b"[]", b"", sidecar.read_bytes().replace(b"datasets", b"Datasets")):
        sidecar.write_bytes(content)
        (problem,) = podium.saving.verify(files / "w.h5").problems
        assert "has a damaged sidecar 'w.h5.sha256.json'" in problem
        with pytest.raises(ValueError, match=r"damaged sidecar 'w.h5.sha256.json'.*write_digests"):
            podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)]).load_weights(
                files / "w.h5"
            )


def test_digests_are_not_written_for_damaged_files_and_checkpoints(files):
    flip_bit(files / "w.weights.h5", 100)
    with pytest.raises(ValueError, match=r"given to write_digests, and is damaged"):
        podium.saving.write_digests(files / "w.weights.h5")
    with pytest.raises(ValueError, match="a directory of checkpoints, which have digests"):
        podium.saving.write_digests(files / "directory")


def test_report_lists_a_few_items_of_each_kind():
    report = podium.saving.VerifyReport("w.h5", "HDF5", [f"w{n}" for n in range(20)], ["x"], [])
    assert str(report).splitlines()[0] == "w.h5: partial (HDF5)"
    assert str(report).splitlines()[-1] == "  checked: ... and 12 more" and len(str(report)) < 400
