"""Models exported for TensorFlow and ONNX, run by the real packages; skipped if not installed."""

import importlib
import importlib.metadata
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import podium


def small_model():
    layers = podium.layers
    x = podium.Input((4,), name="x")
    hidden = layers.BatchNormalization()(layers.Dense(8, activation="relu")(x))
    return podium.Model(x, [layers.Dense(2)(hidden), layers.Dense(3, activation="softmax")(hidden)])


def rows(count):
    return np.random.default_rng(count).normal(size=(count, 4)).astype("float32")


@pytest.fixture(scope="module")
def tf():
    try:
        importlib.metadata.version("tensorflow-cpu")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("TensorFlow is not installed; `make test-sources` installs it")
    return importlib.import_module("tensorflow")


def test_exported_saved_model_runs_in_tensorflow_with_any_batch_size(tmp_path, tf):
    model = small_model()
    for _ in range(2):  # the second replaces the first
        model.export(tmp_path / "saved")
    assert os.listdir(tmp_path) == ["saved"]
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    serve = loaded.signatures["serving_default"]
    for count in (1, 5):
        expected = model(rows(count))
        served = serve(x=tf.constant(rows(count)))
        for found in (loaded.serve(rows(count)), [served["output_0"], served["output_1"]]):
            for left, right in zip(found, expected, strict=True):
                np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-5, atol=1e-5)
    with pytest.raises(FileExistsError, match="overwrite=False"):
        model.export(pathlib.Path(tmp_path / "saved"), format="tf_saved_model", overwrite=False)


def test_saved_model_is_served_by_tensorflow_and_rebuilt_by_podium(tmp_path, tf):
    layers = podium.layers
    words = podium.Input((4,), dtype="int32", name="words")
    picture = podium.Input((6, 6, 2), name="picture")
    read = layers.LSTM(3)(layers.Embedding(10, 5)(words))
    seen = layers.GlobalMaxPooling2D()(layers.BatchNormalization()(layers.Conv2D(3, 3)(picture)))
    model = podium.Model(
        {"words": words, "picture": picture}, {"sum": read + seen, "seen": layers.Dense(1)(seen)}
    )
    model.compile(podium.optimizers.Adam(0.01, amsgrad=True), "mse")
    rng = np.random.default_rng(0)
    x = {
        "words": rng.integers(0, 10, (5, 4)).astype("int32"),
        "picture": rng.normal(size=(5, 6, 6, 2)).astype("float32"),
    }
    y = {"sum": np.ones((5, 3), "float32"), "seen": np.ones((5, 1), "float32")}
    model.fit(x, y, epochs=2, verbose=0, shuffle=False)
    model.save(tmp_path / "saved", save_format="tf")
    expected = model(x)
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    served = loaded.signatures["serving_default"](**{k: tf.constant(v) for k, v in x.items()})
    for found in (loaded(x), loaded(x, training=False), served):
        for name, value in expected.items():
            np.testing.assert_allclose(found[name].numpy(), value.numpy(), rtol=1e-5, atol=1e-5)
    assert len(loaded.variables) == len(model.weights)
    assert len(loaded.trainable_variables) == len(model.trainable_variables)

    again = podium.models.load_model(tmp_path / "saved")
    for each in (model, again):
        each.fit(x, y, verbose=0, shuffle=False)
    for left, right in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)


def test_saved_model_works_under_python_dash_m(tmp_path, tf):
    script = tmp_path / "script.py"
    script.write_text(
        """
import numpy as np
import tensorflow as tf
import podium

model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
x = np.ones((4, 3), "float32")
model.save("saved", save_format="tf")
model.export("exported")
same = tf.keras.models.load_model("saved")
with podium.compat.real_imports():
    import tensorflow

    assert tensorflow is not tf and tensorflow.__file__
    for name in ("saved", "exported"):
        loaded = tensorflow.saved_model.load(name)
        np.testing.assert_allclose(loaded(x).numpy(), same(x).numpy(), atol=1e-6)
import tensorflow

assert tensorflow is tf
print("done")
"""
    )
    done = subprocess.run(
        [sys.executable, "-m", "podium", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr[-3000:]


def test_onnx_file_runs_in_onnxruntime_with_any_batch_size(tmp_path):
    pytest.importorskip("jax2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = small_model()
    model.export(tmp_path / "m.onnx", format="onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    for count in (1, 5):
        found = session.run(None, {session.get_inputs()[0].name: rows(count)})
        for left, right in zip(found, model(rows(count)), strict=True):
            np.testing.assert_allclose(left, right.numpy(), rtol=1e-4, atol=1e-5)


def test_archive_has_endpoints_that_read_and_assign_variables(tmp_path, tf):
    model = small_model()
    noisy = podium.Sequential([podium.Input((4,)), podium.layers.GaussianNoise(1.0, seed=1)])
    counter = podium.Variable(np.zeros((), "int32"), trainable=False, name="counter")

    def count(x):
        counter.assign_add(1)
        return {"rows": podium.ops.sum(x, axis=1), "count": counter}

    archive = podium.saving.ExportArchive()
    specs = [podium.TensorSpec((None, 4))]
    archive.track_and_add_endpoint("serve", model, specs)
    archive.add_endpoint("noise", lambda x: noisy(x, training=True), specs)
    archive.add_endpoint("count", count, specs)
    archive.add_variable_collection("counters", [counter])
    for _ in range(2):  # the second replaces the first
        archive.write_out(tmp_path / "saved", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    for number in (1, 5):
        for left, right in zip(loaded.serve(rows(number)), model(rows(number)), strict=True):
            np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-5, atol=1e-5)
    served = loaded.signatures["serving_default"](inputs=tf.constant(rows(2)))
    np.testing.assert_allclose(served["output_0"], model(rows(2))[0], rtol=1e-5, atol=1e-5)
    draws = [loaded.noise(rows(2)).numpy() for _ in range(2)]
    expected = [noisy(rows(2), training=True).numpy() for _ in range(2)]
    assert np.abs(draws[0] - draws[1]).max() > 0.1
    np.testing.assert_allclose(draws, expected, rtol=1e-5, atol=1e-5)
    assert [int(loaded.count(rows(1))["count"]) for _ in range(3)] == [1, 2, 3]
    assert int(loaded.counters[0]) == 3 and len(loaded.variables) == len(model.variables)
    assert len(loaded.trainable_variables) == len(model.trainable_variables)
