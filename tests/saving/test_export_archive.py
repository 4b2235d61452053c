"""What ExportArchive hands to TensorFlow.

A script stands in for TensorFlow here; `tests/sources` has tests with the real one.
"""

import json
import sys

import jax
import numpy as np
import pytest

import podium
from podium.compat import keras
from podium.saving import ExportArchive
from podium.saving.formats import _saved_model_writer
from podium.saving.tensorflow_files import _tensorflow_process

STAND_IN = """
import os, shutil, sys

folder = sys.argv[1]
shutil.copytree(folder, os.path.join(folder, "..", "seen"), ignore=shutil.ignore_patterns("model"))
os.makedirs(os.path.join(folder, "model"))
shutil.copy(os.path.join(folder, "request.json"), os.path.join(folder, "model", "saved_model.pb"))
"""
SPECS = [podium.TensorSpec((None, 3))]


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Replace TensorFlow by a script."""
    path = tmp_path / "stand_in.py"
    path.write_text(STAND_IN)
    monkeypatch.setattr(_tensorflow_process, "__file__", str(path))
    monkeypatch.setattr(_saved_model_writer, "_has_tensorflow", lambda: True)


def make_model():
    return podium.Sequential(
        [podium.Input((3,)), podium.layers.Dense(4, name="hidden"), podium.layers.Dropout(0.5)],
        name="model",
    )


def test_keras_has_the_name():
    assert keras.export.ExportArchive is ExportArchive


def test_endpoints_take_variables_as_arguments_and_return_what_they_assign(
    tmp_path, stand_in, capsys
):
    model = make_model()
    counter = podium.Variable(np.zeros((), "int32"), trainable=False, name="counter")

    def count(x):
        counter.assign_add(1)
        return {"total": podium.ops.sum(x) + podium.ops.cast(counter, "float32")}

    archive = ExportArchive()
    archive.track(model)
    serve = archive.track_and_add_endpoint("serve", model, SPECS)
    archive.add_endpoint("train", lambda x: model(x, training=True), SPECS)
    archive.add_endpoint("count", count, [podium.layers.InputSpec(shape=(None, 2))])
    archive.add_variable_collection("counters", [counter])
    x = np.ones((2, 3), "float32")
    np.testing.assert_allclose(serve(x), model(x), rtol=1e-6)
    archive.write_out(tmp_path / "saved")
    printed = capsys.readouterr().out
    assert "* serve(inputs: (None, 3) float32)" in printed and "* count(x: (None, 2)" in printed
    request = json.loads((tmp_path / "saved" / "saved_model.pb").read_text())
    names = [node["name"] for node in request["nodes"]]
    kernel, bias = (names.index(f"hidden/{name}") for name in ("kernel", "bias"))
    assert request["lists"]["trainable_variables"] == [kernel, bias]
    assert request["lists"]["counters"] == [names.index("counter")]
    by_name = {endpoint["name"]: endpoint for endpoint in request["endpoints"]}
    assert by_name["serve"]["program"]["variables"] == [kernel, bias]
    assert by_name["serve"]["written"] == [] and len(by_name["train"]["written"]) == 1
    assert by_name["count"]["written"] == [names.index("counter")]
    assert by_name["count"]["output_names"] == ["total"]
    assert by_name["count"]["output_structure"] == ["dict", [["total", 0]]]
    assert by_name["serve"]["inputs"] == [
        {"shape": [None, 3], "dtype": "float32", "name": "inputs"}
    ]
    assert int(counter) == 0  # tracing has assigned nothing


def test_programs_compute_what_the_functions_do():
    model = make_model()
    archive = ExportArchive()
    archive.add_endpoint(
        "pair",
        lambda pair, scale: model(pair["a"]) * scale + pair["b"],
        [
            {"a": podium.TensorSpec((None, 3)), "b": podium.Input((4,))},
            podium.TensorSpec(()),
        ],
    )
    (endpoint,) = archive._endpoints
    assert endpoint.input_names == ["a", "b", "scale"] or endpoint.input_names[2] == "scale"
    values = [variable.numpy() for variable in endpoint.variables]
    pair = {"a": np.ones((5, 3), "float32"), "b": np.ones((5, 4), "float32")}
    result, written = endpoint.exported.call(values, pair, np.float32(3))
    np.testing.assert_allclose(result, model(pair["a"]) * 3 + 1, rtol=1e-5)
    assert written == [] and jax.tree.leaves(endpoint.exported.out_tree)


def test_a_function_with_a_signature_needs_no_other():
    fn = podium.function(lambda x: x * 2, input_signature=SPECS)
    archive = ExportArchive()
    assert archive.add_endpoint("double", fn) is fn
    assert archive.variables == []


def test_missing_tensorflow_is_an_error_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    archive = ExportArchive()
    archive.add_endpoint("serve", lambda x: x, SPECS)
    with pytest.raises(ImportError, match=r"ExportArchive\.write_out needs the package"):
        archive.write_out(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments_raise(tmp_path):
    archive = ExportArchive()
    with pytest.raises(ValueError, match="there is nothing to write"):
        archive.write_out(tmp_path / "saved")
    with pytest.raises(ValueError, match="which is not built"):
        archive.track(podium.layers.Dense(2))
    with pytest.raises(ValueError, match="a layer or a model was expected"):
        archive.track([1])
    with pytest.raises(ValueError, match="was given no input_signature"):
        archive.add_endpoint("serve", lambda x: x)
    archive.add_endpoint("serve", lambda x: x, SPECS)
    for name in ("serve", "variables", "two words"):
        with pytest.raises(ValueError, match="name="):
            archive.add_endpoint(name, lambda x: x, SPECS)
    with pytest.raises(ValueError, match="jax2tf_kwargs"):
        archive.add_endpoint("other", lambda x: x, SPECS, jax2tf_kwargs={"enable_xla": False})
    with pytest.raises(ValueError, match="uses one as a number"):
        archive.add_endpoint("other", lambda x: x if x.shape[0] > 2 else -x, SPECS)
    with pytest.raises(ValueError, match="a spec with a shape was expected"):
        archive.add_endpoint("other", lambda x: x, ["text"])
    with pytest.raises(ValueError, match="a list, tuple or set of Variables was expected"):
        archive.add_variable_collection("all", [1.0])
    with pytest.raises(ValueError, match="options="):
        archive.write_out(tmp_path / "saved", options=object())
    with pytest.raises(ValueError, match="saved_model"):
        ExportArchive(format="neptune_model")
