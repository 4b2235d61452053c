"""Exported programs: a script without Podium runs them for any batch size, with the model's
results.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import podium

SCRIPT = """
import sys
import jax, jax.export
import numpy as np

program = jax.export.deserialize(bytearray(open("model.jax", "rb").read()))
for rows in (2, 5):
    np.save(f"out{rows}.npy", program.call(np.load(f"in{rows}.npy")))
assert "podium" not in sys.modules
"""


def test_exported_program_runs_without_the_models_code(tmp_path):
    class Own(podium.Model):
        def __init__(self):
            super().__init__()
            self.norm, self.dense = podium.layers.BatchNormalization(), podium.layers.Dense(2)
            self.drop = podium.layers.Dropout(0.5)

        def call(self, inputs, training=False):
            return self.drop(self.dense(self.norm(inputs, training=training)), training=training)

    model = Own()
    model(np.ones((1, 3), "float32"))
    model.export(tmp_path / "model.jax")
    for rows in (2, 5):
        np.save(
            tmp_path / f"in{rows}.npy",
            np.random.default_rng(rows).normal(size=(rows, 3)).astype("float32"),
        )
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "JAX_PLATFORMS")
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for rows in (2, 5):
        wanted = model(np.load(tmp_path / f"in{rows}.npy")).numpy()
        np.testing.assert_allclose(
            np.load(tmp_path / f"out{rows}.npy"), wanted, rtol=1e-5, atol=1e-6
        )


def test_export_preserves_structures_of_inputs_and_outputs(tmp_path):
    layers = podium.layers
    words, picture = (
        podium.Input((4,), dtype="int32", name="words"),
        podium.Input((6, 6, 2), name="picture"),
    )
    read = layers.LSTM(3)(layers.Embedding(10, 5)(words))
    seen = layers.GlobalMaxPooling2D()(layers.Conv2D(3, 3)(picture))
    model = podium.Model({"words": words, "picture": picture}, {"sum": read + seen, "seen": seen})
    model.export(tmp_path / "m.jax")
    run = podium.saving.load_exported(tmp_path / "m.jax")
    draw = np.random.default_rng(0)
    given = {
        "words": draw.integers(0, 10, (3, 4)).astype("int32"),
        "picture": draw.normal(size=(3, 6, 6, 2)).astype("float32"),
    }
    found, wanted = run(given), model(given)
    assert sorted(found) == ["seen", "sum"]
    for name in found:
        np.testing.assert_allclose(found[name], wanted[name].numpy(), rtol=1e-5, atol=1e-5)
    with pytest.raises(
        ValueError, match=r"inputs of shapes \[\(3, 6, 5, 2\), \(3, 4\)\].*\(batch, 6, 6, 2\)"
    ):
        run(given | {"picture": given["picture"][:, :, :5]})


def test_export_errors_explain_the_cause(tmp_path, monkeypatch):
    class Branching(podium.Model):
        def call(self, inputs):
            return inputs * 2 if inputs.shape[0] > 1 else inputs

    model = Branching()
    with pytest.raises(
        ValueError, match=r"'branching' \(Branching\), which is not built.*Call it on a batch first"
    ):
        model.export(tmp_path / "m.jax")
    model(np.ones((2, 3), "float32"))
    with pytest.raises(
        ValueError, match="'branching' cannot be exported with a variable batch size"
    ):
        model.export(tmp_path / "m.jax", input_signature=[podium.TensorSpec((None, 3))])
    model.export(tmp_path / "m.jax", input_signature=[podium.TensorSpec((2, 3))])
    assert podium.saving.load_exported(tmp_path / "m.jax")(np.ones((2, 3), "float32"))[0, 0] == 2
    with pytest.raises(FileExistsError, match="overwrite=False"):
        model.export(
            tmp_path / "m.jax", input_signature=[podium.TensorSpec((2, 3))], overwrite=False
        )
    (tmp_path / "m.jax").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="cannot be read as a program"):
        podium.saving.load_exported(tmp_path / "m.jax")
    with pytest.raises(ValueError, match=r"Unknown format 'jaxx'.*Did you mean 'jax'"):
        model.export(tmp_path / "m", format="jaxx")


@pytest.mark.parametrize(
    ("format", "module"),
    [
        ("tf_saved_model", "tensorflow"),
        ("onnx", "jax2onnx"),
        ("jax", "flatbuffers"),
        (None, "tensorflow"),  # the default
    ],
)
def test_export_names_a_missing_converter(tmp_path, monkeypatch, format, module):
    monkeypatch.setitem(sys.modules, module, None)
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
    with pytest.raises(ImportError, match=f"needs the package '{module}.*pip install {module}"):
        model.export(tmp_path / "m", format=format)
    assert os.listdir(tmp_path) == []


def test_default_format_of_an_export_depends_on_the_name(tmp_path, monkeypatch):
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
    model.export(tmp_path / "m.JAX")
    assert podium.saving.load_exported(tmp_path / "m.JAX")(np.ones((1, 3), "float32")).shape == (
        1,
        2,
    )
    monkeypatch.setitem(sys.modules, "jax2onnx", None)
    with pytest.raises(ImportError, match="needs the package 'jax2onnx'"):
        model.export(tmp_path / "m.onnx")
