"""Checkpoint directories: a checkpoint is absent, or complete and verified; the newest complete one
is restored.
"""

import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import podium
from podium import layers
from podium.saving import CheckpointManager
from podium.saving.checkpoints import _checkpoint_directory

X, Y = np.random.default_rng(0).normal(size=(24, 3)).astype("float32"), np.ones((24, 1), "float32")


def make_model():
    model = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4), layers.Dropout(0.5), layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"])
    return model


@pytest.fixture(scope="module")
def trained():
    podium.utils.set_random_seed(1)
    model = make_model()
    model.fit(X, Y, batch_size=8, verbose=0)
    return model


def all_state(model):
    return [variable.numpy() for variable in [*model.variables, *model.optimizer.variables]]


def assert_same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


def damage(path, name="arrays.safetensors", at=-1):
    with open(os.path.join(path, name), "r+b") as file:
        content = bytearray(file.read())
        content[at] ^= 1
        file.seek(0)
        file.write(content)


@pytest.mark.parametrize("format", ["safetensors", "orbax"])
def test_restored_model_has_all_saved_state(trained, tmp_path, format):
    CheckpointManager(tmp_path, format=format).save(
        7, trained, state={"history": [1.5, float("nan")], "at": (3, None)}
    )
    podium.utils.set_random_seed(2)
    other = make_model()
    found = CheckpointManager(tmp_path).restore(other)
    assert (found.step, found.skipped) == (7, {})
    assert found.state["at"] == (3, None) and np.isnan(found.state["history"][1])
    assert_same(all_state(other)[:5], all_state(trained)[:5])
    assert_same(
        [v.numpy() for v in other.optimizer.variables],
        [v.numpy() for v in trained.optimizer.variables],
    )
    shape = trained.layers[1].seed_generator.state.numpy()
    assert shape.tolist() == other.layers[1].seed_generator.state.numpy().tolist() and shape[1] == 3


def test_newest_complete_checkpoint_is_restored_and_skipped_ones_are_named(tmp_path):
    manager = CheckpointManager(tmp_path, max_to_keep=None)
    for step in range(5):
        manager.save(step, {"a": np.full(3, step)})
    damage(tmp_path / "checkpoint-00000004")
    os.unlink(tmp_path / "checkpoint-00000003" / "manifest.json")
    os.truncate(tmp_path / "checkpoint-00000002" / "arrays.safetensors", 10)
    with pytest.warns(UserWarning) as caught:
        checkpoint = manager.restore()
    assert checkpoint.step == 1 and checkpoint.arrays["a"].tolist() == [1, 1, 1]
    text = str(caught[0].message)
    for part in (
        "checkpoint 4 is damaged: arrays.safetensors is corrupt: the numbers of 'a' do not "
        "fit the checksum",
        "checkpoint 3 is incomplete: it has no manifest.json",
        "checkpoint 2 is damaged: arrays.safetensors has 10 bytes",
        "Checkpoint 1 is used",
    ):
        assert part in text
    assert sorted(checkpoint.skipped) == [2, 3, 4] and manager.latest_step() == 1
    with pytest.raises(
        ValueError, match=r"No checkpoint in .* could be restored\. .*checkpoint 4 is damaged"
    ):
        manager.restore(step=4)
    assert CheckpointManager(tmp_path / "none").restore() is None


def test_flipped_bits_are_detected(tmp_path):
    CheckpointManager(tmp_path).save(0, {"a": np.arange(5.0)}, state={"b": np.ones(3), "c": [1, 2]})
    path = tmp_path / "checkpoint-00000000"
    dice = random.Random(3)
    for _ in range(150):
        name = dice.choice(sorted(os.listdir(path)))
        before = (path / name).read_bytes()
        content = bytearray(before)
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        (path / name).write_bytes(content)
        try:
            found = _checkpoint_directory.read(str(path))
        except _checkpoint_directory.DamagedCheckpointError:
            pass
        else:  # a space of the manifest's became another one
            assert found.arrays["a"].tolist() == [0, 1, 2, 3, 4] and found.state["c"] == [1, 2], (
                name
            )
        (path / name).write_bytes(before)
    assert _checkpoint_directory.read(str(path)).state["c"] == [1, 2]


def test_old_checkpoints_and_leftovers_of_killed_processes_are_deleted(tmp_path):
    (tmp_path / ".checkpoint-00000001.abcd.tmp").mkdir()
    manager = CheckpointManager(tmp_path, max_to_keep=2)
    for step in (1, 5, 3):
        manager.save(step, {"a": np.ones(1)})
    assert sorted(os.listdir(tmp_path)) == ["checkpoint-00000003", "checkpoint-00000005"]
    with pytest.raises(FileExistsError, match="Save under another number"):
        manager.save(5, {"a": np.ones(1)})
    manager.delete_all()
    assert not tmp_path.exists()


def test_mismatched_model_is_rejected_unchanged(trained, tmp_path):
    CheckpointManager(tmp_path).save(0, trained)
    other = podium.Sequential(
        [podium.Input((3,)), layers.Dense(5), layers.Dropout(0.5), layers.Dense(1)]
    )
    other.compile("adam", "mse")
    before = all_state(other)[:4]
    with pytest.raises(
        ValueError,
        match=r"does not fit the model, and nothing was restored: 'layers/dense/vars/0' is "
        r"float32\[",
    ):
        CheckpointManager(tmp_path).restore(other)
    assert_same(before, all_state(other)[:4])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_failed_write_raises_and_keeps_the_previous_checkpoint(tmp_path, monkeypatch, asynchronous):
    threads_before = set(threading.enumerate())
    manager = CheckpointManager(tmp_path, asynchronous=asynchronous)
    manager.save(0, {"a": np.zeros(2)})
    manager.wait()

    def full(path, content):
        raise OSError(28, "No space left on device", path)

    with monkeypatch.context() as broken:
        broken.setattr(
            _checkpoint_directory, "_write_manifest", lambda folder, files: full(folder, None)
        )
        if asynchronous:
            manager.save(1, {"a": np.ones(2)})
            manager._thread.join()
            with pytest.raises(OSError, match="No space left"):
                manager.check()
            manager.save(1, {"a": np.ones(2)})
            with pytest.raises(OSError, match="No space left"):
                manager.save(2, {"a": np.ones(2)})
        else:
            with pytest.raises(OSError, match="No space left"):
                manager.save(1, {"a": np.ones(2)})
    assert os.listdir(tmp_path) == ["checkpoint-00000000"]
    assert manager.restore().arrays["a"].tolist() == [0, 0]
    manager.save(1, {"a": np.ones(2)})
    manager.wait()
    assert manager.restore().step == 1
    assert set(threading.enumerate()) <= threads_before


@pytest.mark.parametrize("format", ["safetensors", "orbax"])
def test_restored_arrays_keep_their_sharding(tmp_path, format):
    mesh = Mesh(np.array(jax.devices()[:4]), ("rows",))
    split = NamedSharding(mesh, PartitionSpec("rows"))
    model = podium.Sequential([podium.Input((8,)), layers.Dense(4)])
    kernel = model.weights[0]
    kernel.assign(jax.device_put(kernel.value, split))
    values = kernel.numpy()
    CheckpointManager(tmp_path, format=format).save(0, model)
    kernel.assign(jax.device_put(np.zeros_like(values), split))
    CheckpointManager(tmp_path).restore(model)
    assert kernel.numpy().tobytes() == values.tobytes() and kernel.stored.sharding == split


def test_asynchronous_saves_are_not_affected_by_later_steps(trained, tmp_path):
    model = make_model()
    model.set_weights(trained.get_weights())
    manager = CheckpointManager(tmp_path, asynchronous=True)
    before = model.get_weights()
    manager.save(0, model)
    model.fit(X, Y, batch_size=8, verbose=0)
    manager.wait()
    found = manager.restore().arrays
    assert (
        found["layers/dense/vars/0"].tobytes()
        == before[0].tobytes()
        != model.get_weights()[0].tobytes()
    )


def test_two_processes_cannot_save_to_one_directory(tmp_path):
    one, other = CheckpointManager(tmp_path), CheckpointManager(tmp_path)
    one.hold()
    with pytest.raises(RuntimeError, match="Another process saves checkpoints"):
        other.save(0, {"a": np.ones(1)})
    one.release()
    other.save(0, {"a": np.ones(1)})


def test_other_objects_are_rejected_before_anything_is_written(tmp_path):
    with pytest.raises(TypeError, match="is not plain data"):
        CheckpointManager(tmp_path / "new").save(0, {"a": np.ones(1)}, state={"model": object()})
    assert os.listdir(tmp_path / "new") == []


def test_links_are_not_followed(tmp_path):
    CheckpointManager(tmp_path).save(0, {"a": np.ones(1)})
    path = tmp_path / "checkpoint-00000000" / "arrays.safetensors"
    shutil.move(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"the system cannot read its arrays\.safetensors"):
        CheckpointManager(tmp_path).restore()


def test_load_weights_accepts_a_checkpoint_or_its_directory(trained, tmp_path):
    manager = CheckpointManager(tmp_path)
    manager.save(1, trained)
    other = make_model()
    manager.save(2, other)
    fresh = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4), layers.Dropout(0.5), layers.Dense(1)]
    )  # not compiled
    fresh.load_weights(tmp_path)
    assert_same(fresh.get_weights(), other.get_weights())
    fresh.load_weights(tmp_path / "checkpoint-00000001")
    assert_same(fresh.get_weights(), trained.get_weights())
    wrong = podium.Sequential([podium.Input((3,)), layers.Dense(9)])
    with pytest.raises(ValueError, match=r"Checkpoint 2 of .* does not fit the model"):
        wrong.load_weights(str(tmp_path))


def test_load_latest_loads_the_newest_readable_file(trained, tmp_path):
    template = os.path.join(tmp_path, "{epoch:02d}-{loss:.2f}.keras")
    saving = podium.callbacks.ModelCheckpoint(template)
    models = []
    callbacks = podium.callbacks.CallbackList([saving], model=trained)
    for epoch in range(3):
        trained.weights[1].assign_add(np.ones(4, "float32"))
        callbacks.on_epoch_end(epoch, {"loss": 0.5})
        models.append(trained.get_weights())
        os.utime(tmp_path / f"0{epoch + 1}-0.50.keras", ns=(epoch, epoch))
    assert_same(podium.saving.load_latest(template).get_weights(), models[2])
    os.truncate(tmp_path / "03-0.50.keras", 1000)
    with pytest.warns(
        UserWarning, match=r"02-0.50.keras' was loaded; newer files were skipped: .*03-0.50.keras"
    ):
        assert_same(podium.saving.load_latest(tmp_path).get_weights(), models[1])
    with pytest.warns(UserWarning, match="newer files were skipped"):
        assert_same(
            podium.saving.load_latest(tmp_path / "*.keras", make_model()).get_weights(), models[1]
        )
    os.truncate(tmp_path / "02-0.50.keras", 0)
    (tmp_path / "01-0.50.keras").write_bytes(b"no model")
    with pytest.raises(ValueError, match="none of 3 files could be loaded"):
        podium.saving.load_latest(template)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        podium.saving.load_latest(tmp_path / "other-{epoch}.keras")


PROCESS = """
import sys
import jax
import numpy as np

rank, folder, address = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(address, 2, rank)

import podium
from jax.sharding import Mesh, NamedSharding, PartitionSpec

split = NamedSharding(Mesh(np.array(jax.devices()), ("rows",)), PartitionSpec("rows"))
whole = np.arange(16.0, dtype="float32").reshape(8, 2)
array = jax.make_array_from_callback(whole.shape, split, lambda index: whole[index])
manager = podium.saving.CheckpointManager(folder, max_to_keep=1)
for step in (1, 2):
    manager.save(step, {"array": array})
assert np.array_equal(manager.restore(step=2).arrays["array"], whole)
print("restored by", rank)
"""


@pytest.mark.slow
def test_several_processes_write_one_checkpoint(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {
        **os.environ,
        "PYTHONPATH": os.path.dirname(os.path.dirname(podium.__file__)),
        "PJRT_NPROC": "8",
    }
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(rank), str(tmp_path), address],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=120) for process in started]
    finally:
        for process in started:
            process.kill()
    assert all(f"restored by {rank}" in out for rank, (out, _) in enumerate(said)), said
    assert os.listdir(tmp_path) == ["checkpoint-00000002"]


def test_checkpoints_of_the_earlier_kind_are_read(tmp_path):
    CheckpointManager(tmp_path).save(0, {"a": np.arange(3.0)}, state={"b": np.ones(2)})
    path = tmp_path / "checkpoint-00000000"
    about = json.loads((path / "manifest.json").read_text())
    whole = {name: (path / name).read_bytes() for name in about["files"]}
    files = {
        name: [len(content), hashlib.sha256(content).hexdigest()] for name, content in whole.items()
    }
    earlier = {"kind": "podium checkpoint 1", "files": files}
    digest = hashlib.sha256(json.dumps(earlier, sort_keys=True).encode()).hexdigest()
    (path / "manifest.json").write_text(json.dumps({**earlier, "sha256": digest}))
    found = CheckpointManager(tmp_path).restore()
    assert found.arrays["a"].tolist() == [0, 1, 2] and found.state["b"].tolist() == [1, 1]
    damage(path)
    with pytest.raises(
        ValueError, match=r"the digest of arrays\.safetensors is not the one that was written"
    ):
        CheckpointManager(tmp_path).restore()


def test_restored_large_arrays_are_equal_and_read_only(tmp_path):
    values = {name: np.random.default_rng(1).normal(size=700_000) for name in ("a", "b")}
    manager = CheckpointManager(tmp_path)
    manager.save(0, values)
    found = manager.restore()
    for name, value in values.items():
        assert found.arrays[name].tobytes() == value.tobytes()
        with pytest.raises(ValueError, match="read-only"):
            found.arrays[name][0] = 1
    assert manager.latest_step() == 0
    damage(tmp_path / "checkpoint-00000000", at=6_000_000)
    assert manager.latest_step() is None


def test_copies_belong_to_the_process_that_is_the_first_one(tmp_path):
    manager = CheckpointManager(tmp_path)
    manager.save(3, {"a": np.zeros(2)})
    own = sorted(os.listdir(tmp_path / "checkpoint-00000003"))
    (tmp_path / "checkpoint-00000003" / "copied").touch()  # as worker 1 of an earlier job has it
    (checkpoint,) = manager.restore_all()
    manager.release()
    assert checkpoint.step == 3 and checkpoint.skipped == {}
    # Another process that shares the disk does not take it for a copy, and deletes nothing.
    assert sorted(os.listdir(tmp_path / "checkpoint-00000003")) == own
