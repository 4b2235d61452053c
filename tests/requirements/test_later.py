"""Requirements 76-84, which the first trials of the engine added."""

import json
import os
import random
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from check_seed_replicas import CASES as ENGINES
from check_seed_replicas import LIMIT, load_recorded, train_on_podium

import podium
from podium.compat import keras
from podium.compat import tensorflow as tf

from .helpers import compare, flat_weights, load_record, make_network, make_samples

X, Y = make_samples(40)
DISTRIBUTE = Path(__file__).parents[1] / "distribute"


def test_requirement_76_each_replica_receives_its_share():
    """Whatever yields batches under a strategy gives each replica its share: the loops of 000, 001,
    002 and 004 give the weights of one device, with scalar and vector losses.
    """
    recorded = load_recorded()
    cases = [
        case
        for case in ENGINES
        if (case.steps_per_execution, case.batches)
        == (1, "uneven" if case.loss == "vector" else "even")
    ]
    assert {(case.engine, case.loss) for case in cases} == {
        (engine, loss) for engine in ("000", "001", "002", "004") for loss in ("scalar", "vector")
    }
    for case in cases:
        weights = train_on_podium(case, tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]))
        # What tf_keras has with one device.
        np.testing.assert_allclose(weights, recorded[case.name]["1"], rtol=0, atol=LIMIT)

    sizes = []
    strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(4)])
    with strategy.scope():
        handler = podium.data.DataHandler(X[:32], Y[:32], batch_size=32)
        for _, iterator in handler.enumerate_epochs():
            data = next(iterator)
            strategy.run(lambda batch: sizes.append(batch[0].shape[0]), args=(data,))
    assert set(sizes) == {8}  # not 32


class BuildsInside(keras.layers.Layer):
    """Makes a layer and a weight when it is built."""

    def build(self, input_shape):
        self.inner = keras.layers.Dense(3)
        self.inner.build(input_shape)
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")

    def call(self, x):
        return self.inner(x) * self.scale


def test_requirement_77_freezing_before_building_and_dtypes_of_inputs():
    """Freezing a layer before it is built freezes what its `build` makes, and the dtype of an
    `Input` is applied to what is passed in.
    """
    frozen = BuildsInside()
    frozen.trainable = False
    attention = keras.layers.MultiHeadAttention(2, 2, trainable=False)
    symbol = keras.Input((2, 3))
    hidden = attention(symbol, frozen(symbol))
    model = keras.Model(symbol, keras.layers.Dense(1)(keras.layers.Flatten()(hidden)))
    assert len(frozen.weights) == 3 and len(attention.weights) == 8
    assert len(model.trainable_weights) == 2
    model.compile("sgd", "mse")
    before = [weight.numpy() for weight in (*frozen.weights, *attention.weights)]
    model.fit(np.ones((4, 2, 3)), np.ones((4, 1)), verbose=0)
    for old, weight in zip(before, [*frozen.weights, *attention.weights], strict=True):
        np.testing.assert_array_equal(weight.numpy(), old)

    number = keras.Input((), dtype="int32")
    doubled = keras.Model(number, number * 2)
    for result in (doubled(np.array([1.7])), doubled.predict(np.array([1.7]), verbose=0)):
        assert np.asarray(result).tolist() == [2]  # not 3.4
        assert np.asarray(result).dtype == "int32"


def test_requirement_78_crossentropy_uses_the_logits_behind_probabilities():
    """Crossentropy of a saturated softmax or sigmoid uses the logits behind it."""
    result = compare("saturated_probabilities")
    # Clipped probabilities have a loss of 16.118 and no gradient.
    assert {name: values["loss"] for name, values in result.items()} == dict.fromkeys(
        ("categorical_crossentropy", "sparse_categorical_crossentropy", "binary_crossentropy"),
        200.0,
    )


def test_requirement_79_mixed_float16_scales_losses():
    """A global policy of mixed float16 scales losses without being asked, in every idiom."""
    recorded = load_record()["mixed_float16"]
    assert {values["weights"][0] for values in recorded.values()} == {-(2.0**-6)}
    ours = {
        name: {**values, "optimizer": "LossScaleOptimizer"} for name, values in recorded.items()
    }
    compare("mixed_float16", **ours)


def test_requirement_80_steps_beyond_the_arrays_continue_with_the_next_pass():
    """`steps_per_epoch` beyond the batches of arrays continues with the next pass."""
    result = compare("steps_beyond_arrays")
    assert [value for _, value in result["seen"]] == [0.0, 1.0, 2.0] * 3


class InterruptsTrace(keras.layers.Layer):
    """Raises while a step is traced, if `active`."""

    active = True

    def call(self, x, training=None):
        if training and InterruptsTrace.active:
            raise KeyboardInterrupt
        return x


def test_requirement_81_a_checkpoint_that_was_written_can_be_restored(tmp_path, monkeypatch):
    """Whenever a checkpoint was written, it can be restored, and nothing is written before there is
    something to restore.
    """

    def make():
        podium.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1), InterruptsTrace()])
        model.compile("adam", "mse", steps_per_execution=1)
        return model

    def fit(folder, **options):
        model = make()
        backup = keras.callbacks.BackupAndRestore(folder, delete_checkpoint=False, **options)
        model.fit(X, Y, batch_size=10, epochs=2, verbose=0, callbacks=[backup])
        return model

    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "run", save_freq=1)
    manager = podium.saving.CheckpointManager(tmp_path / "run")
    # No Variables, which the first step creates: only what callbacks had when the run began.
    (begun,) = manager.restore_all()
    assert begun.arrays == {} and sorted(begun.state) == ["callbacks", "fresh"]
    monkeypatch.setattr(InterruptsTrace, "active", False)
    expected = fit(tmp_path / "whole")
    np.testing.assert_array_equal(
        flat_weights(fit(tmp_path / "run", save_freq=1)), flat_weights(expected)
    )
    assert manager.all_steps()[-1] == 8
    for step in manager.all_steps():
        model = make()
        assert manager.restore(model, step=step).step == step
        assert int(model.optimizer.iterations) == step


def test_requirement_82_a_launched_process_ends_with_its_launcher(tmp_path):
    """A launched process never outlives its launcher, not even one that is killed. Workers of
    unequal speed that share their checkpoints end with the weights of workers of equal speed.
    """
    if not Path("/proc/self/stat").exists():
        pytest.skip("looks for processes in /proc")
    sys.path.insert(0, str(DISTRIBUTE))
    from launch_signals import send_signal

    _, left, _ = send_signal("SIGKILL", "launcher", tmp_path)
    assert left == []
    equal, unequal = (launch_workers(tmp_path / f"delay {delay}", delay) for delay in (0, 0.1))
    assert len(equal) == 2 and equal[0] == equal[1] and unequal == equal


def launch_workers(folder, delay):
    """Return the weights that two workers print, the second of which is slower by the delay in
    each step, and which save every other step.
    """
    job = [str(DISTRIBUTE / "separate_disks.py"), str(folder), "0", str(delay), "shared"]
    done = subprocess.run(
        [sys.executable, "-m", "podium", "launch", "--workers", "2", *job],
        env={**os.environ, "PYTHONPATH": str(DISTRIBUTE.parents[1])},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line for line in done.stdout.splitlines() if "weights" in line]
    return [line.partition("weights ")[2] for line in lines]


def test_requirement_83_the_cost_of_a_file_is_bounded_by_its_size(tmp_path):
    """Time and memory to load or refuse a file are bounded by a small multiple of its size."""
    model = make_network()
    model.compile("sgd", "mse", metrics=[keras.metrics.MeanIoU(num_classes=2)])
    model.save(tmp_path / "good.keras")
    with zipfile.ZipFile(tmp_path / "good.keras") as old:
        contents = {name: old.read(name) for name in old.namelist()}
    config = json.loads(contents["config.json"])
    (metric,) = config["compile_config"]["metrics"]
    metric["config"]["num_classes"] = 2**14  # a gigabyte
    contents["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(tmp_path / "large_metric.keras", "w") as new:
        for name, content in contents.items():
            new.writestr(name, content)
    with h5py.File(tmp_path / "many_paths.weights.h5", "w") as file:
        group = file.create_group("layers")
        for _ in range(40):  # 2**40 paths lead to the last one
            inner = group.create_group("a")
            group["b"] = inner
            group = inner
    header = json.dumps(
        {"w": {"dtype": "F32", "shape": [1] * 5000, "data_offsets": [0, 4]}}
    ).encode()
    content = len(header).to_bytes(8, "little") + header + bytes(4)
    (tmp_path / "dimensions.safetensors").write_bytes(content)
    for name in ("large_metric.keras", "many_paths.weights.h5", "dimensions.safetensors"):
        path = tmp_path / name
        load = keras.models.load_model if name.endswith(".keras") else make_network().load_weights
        tracemalloc.start()
        with pytest.raises(ValueError, match=name.replace(".", r"\.")) as caught:
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(str(caught.value)) <= 2000
        assert peak < 20 * path.stat().st_size + 4_000_000


class Augmented(keras.utils.Sequence):
    """Batches with noise of NumPy's and Python's global generators."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        rows = slice(10 * index, 10 * index + 10)
        return X[rows] + np.random.normal() + random.random(), Y[rows]


class Draws(keras.callbacks.Callback):
    """Draws a number after each batch."""

    def on_train_batch_end(self, batch, logs=None):
        self.model.layers[-1].bias.assign_add([np.random.normal()])


class Killed(BaseException):
    """Stands for SIGKILL."""


def make_mapped():
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(10)
    return dataset.map(lambda x, y: (x + np.random.normal(size=3).astype("float32"), y))


@pytest.mark.parametrize(
    ("make_source", "callbacks"),
    [(Augmented, ()), (make_mapped, ()), (make_mapped, (Draws,))],
    ids=["sequence", "map", "callback"],
)
def test_requirement_84_randomness_of_a_resumed_run_is_not_lost(tmp_path, make_source, callbacks):
    """Randomness that a resumed run cannot repeat is stored or warned about: what data and
    callbacks draw from global generators is the same after an interruption.
    """

    def run(folder, kill_at=None):
        steps = []

        def kill(batch, logs):
            steps.append(int(model._train_counter.numpy()))
            if steps[-1] == kill_at:
                raise Killed

        podium.utils.set_random_seed(1)
        model = make_network()
        model.compile("adam", "mse", steps_per_execution=1)
        backup = keras.callbacks.BackupAndRestore(folder, save_freq=1, on_exception=False)
        others = [keras.callbacks.LambdaCallback(on_batch_begin=kill), *(c() for c in callbacks)]
        model.fit(make_source(), epochs=2, verbose=0, callbacks=[*others, backup])
        return flat_weights(model), steps

    with pytest.raises(Killed):
        run(tmp_path / "interrupted", kill_at=3)
    resumed, steps = run(tmp_path / "interrupted")
    assert steps == [3, 4, 5, 6, 7]
    whole, steps = run(tmp_path / "whole")
    assert steps == list(range(8))
    np.testing.assert_array_equal(resumed, whole)
