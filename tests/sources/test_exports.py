"""Models exported for TensorFlow and ONNX, run by the real packages; skipped if not installed."""

import os
import pathlib

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


def test_saved_model_runs_in_tensorflow_with_any_batch_size(tmp_path):
    tf = pytest.importorskip("tensorflow")
    model = small_model()
    for _ in range(2):  # the second replaces the first
        model.export(tmp_path / "saved", format="tf_saved_model")
    assert os.listdir(tmp_path) == ["saved"]
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    serve = loaded.signatures["serving_default"]
    for count in (1, 5):
        expected = model(rows(count))
        served = serve(input_0=tf.constant(rows(count)))
        for found in (loaded.serve(rows(count)), [served["output_0"], served["output_1"]]):
            for left, right in zip(found, expected, strict=True):
                np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-5, atol=1e-5)
    with pytest.raises(FileExistsError, match="overwrite=False"):
        model.export(pathlib.Path(tmp_path / "saved"), format="tf_saved_model", overwrite=False)


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
