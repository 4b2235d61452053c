"""SavedModels of Keras 2, rebuilt without TensorFlow."""

import json
import pathlib
import shutil
import sys

import numpy as np
import pytest

import podium
from podium.saving.tensorflow_files._wire_format import Message, encode_bytes, encode_int

ORACLE = pathlib.Path(__file__).parent.parent / "oracle"
FILES = ORACLE / "fixtures" / "tensorflow_files"
sys.path.insert(0, str(ORACLE))

from tensorflow_file_models import operations, own, own_classes  # noqa: E402

EXPECTED = np.load(FILES / "outputs.npz")


def read_metadata(path):
    """Return the JSON of the root of a SavedModel."""
    message = Message((path / "keras_metadata.pb").read_bytes(), "metadata")
    (root,) = (node for node in message.get_messages(1, "node") if node.get_signed(2) == 0)
    return json.loads(root.get_text(5))


def write_metadata(path, metadata, identifier="_tf_keras_model"):
    text = metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()
    node = encode_int(2, 0) + encode_bytes(4, identifier) + encode_bytes(5, text)
    (path / "keras_metadata.pb").write_bytes(encode_bytes(1, node))


@pytest.fixture
def copy_of_own(tmp_path):
    return pathlib.Path(shutil.copytree(FILES / "own", tmp_path / "own"))


def test_functional_model_is_rebuilt_and_continues_as_in_tf_keras():
    model = podium.models.load_model(FILES / "operations")
    _, x, y = operations(podium)
    assert model.name == "outer" and type(model) is podium.Model
    # The layer that the model inside shares with the one outside is one layer.
    assert len(model.weights) == 6 and model.get_layer("inner").get_layer("shared") in model.layers
    for name, output in model(x).items():
        np.testing.assert_allclose(output, EXPECTED[f"operations_{name}"], rtol=1e-5, atol=1e-6)
    assert int(model.optimizer.iterations) == 4
    model.fit(x, y, batch_size=2, shuffle=False, verbose=0)
    for name, output in model(x).items():
        np.testing.assert_allclose(output, EXPECTED[f"continued_{name}"], rtol=1e-5, atol=1e-6)
    assert podium.models.load_model(FILES / "operations", compile=False).optimizer is None


def test_tensorflow_operations_become_operations_with_names_in_files():
    model = podium.models.load_model(FILES / "operations")
    steps = [layer["class_name"] for layer in json.loads(model.to_json())["config"]["layers"]]
    operations = {"Add", "Subtract", "GetItem", "Divide"}
    assert set(steps) == {"InputLayer", "Functional", "Dense"} | operations


@pytest.mark.parametrize("name", ["own", "before_2_5"])
def test_own_classes_are_built_by_their_config_and_inputs(name):
    model = podium.models.load_model(FILES / name, custom_objects=own_classes(podium))
    assert type(model).__name__ == "Words" and model.size == 6
    np.testing.assert_allclose(model(own(podium)[1]), EXPECTED["own"], rtol=1e-5, atol=1e-6)


def test_unknown_class_is_named():
    with pytest.raises(
        ValueError,
        match=r"own' cannot be loaded: .*class 'Words'.*custom_objects={'Words': \.\.\.}",
    ):
        podium.models.load_model(FILES / "own")


def test_saved_model_without_description_says_how_to_load_the_weights():
    with pytest.raises(ValueError, match=r"saved' is a SavedModel without Keras's.*load_weights\("):
        podium.models.load_model(FILES / "saved")


def test_class_without_config_says_how_to_load_the_weights(copy_of_own):
    metadata = read_metadata(copy_of_own)
    del metadata["config"], metadata["model_config"]
    write_metadata(copy_of_own, metadata)
    with pytest.raises(ValueError, match=r"own' does not say how.*'Words', is made.*load_weights"):
        podium.models.load_model(copy_of_own, custom_objects=own_classes(podium))


def test_tensorflow_functions_on_symbolic_values_compute_as_in_tensorflow():
    model = podium.models.model_from_json((FILES / "functions.json").read_text())
    recorded = np.load(FILES / "functions.npz")
    outputs = model([recorded["x"], recorded["z"], recorded["image"]])
    assert len(outputs) == len(recorded.files) - 3 > 50
    for index, output in enumerate(outputs):
        expected = recorded[f"output_{index}"]
        kind = expected.dtype.kind  # argmax is int32 here
        assert output.numpy().dtype.kind == kind and (kind != "f" or output.dtype == expected.dtype)
        np.testing.assert_allclose(output.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_arguments_of_tensorflow_functions_that_are_not_known_are_rejected():
    text = (FILES / "functions.json").read_text()
    forged = text.replace('"keepdims": true', '"ddof": 1')
    assert forged != text
    with pytest.raises(ValueError, match=r"calls `tf.math.reduce_sum` with \['ddof'\]"):
        podium.models.model_from_json(forged)


def test_unknown_tensorflow_function_is_named(tmp_path):
    path = pathlib.Path(shutil.copytree(FILES / "operations", tmp_path / "m"))
    text = json.dumps(read_metadata(path)).replace('"math.subtract"', '"math.subtrakt"')
    write_metadata(path, text.encode(), "_tf_keras_network")
    with pytest.raises(
        ValueError, match=r"m' cannot be loaded: .*`tf.math.subtrakt`.*known is `tf.math.subtract`"
    ):
        podium.models.load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["model_config"]["config"].update(size=10**12), "weights"),
        (lambda m: m["model_config"]["config"].update(size=7), "does not fit model"),
        (lambda m: m.update(model_config={"class_name": "system", "module": "os", "config": {}}),
         "'system' of module 'os'"),
        (lambda m: m.update(model_config={"class_name": "Dense", "config": {"units": 1}}),
         "a model was expected"),
        (lambda m: m["full_save_spec"]["items"][0][0].update(type_spec="tf.RaggedTensorSpec"),
         "'tf.RaggedTensorSpec' are not supported"),
        (lambda m: m["full_save_spec"]["items"][0][0]["serialized"]["items"][0].update(
            items=[2**40, 3]), r"inputs have the shape \[1099511627776, 3\]"),
        (lambda m: m["full_save_spec"]["items"][0][0]["serialized"]["items"][0].update(
            items=[-1, 3]), r"inputs have the shape \[-1, 3\]"),
    ],
)  # fmt: skip
def test_forged_description_is_rejected(copy_of_own, change, message):
    metadata = read_metadata(copy_of_own)
    change(metadata)
    write_metadata(copy_of_own, metadata)
    with pytest.raises(ValueError, match=rf"own' (?s:.)*{message}"):
        podium.models.load_model(copy_of_own, custom_objects=own_classes(podium))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x0a\xff\xff\xff\xff\x0f", "longer than the message"),
        (encode_bytes(1, encode_bytes(4, "x") + encode_bytes(5, "{}")) * 2, "the root 2 times"),
        (encode_bytes(1, encode_bytes(4, "_tf_keras_layer") + encode_bytes(5, "{}")),
         "of kind '_tf_keras_layer'"),
        (encode_bytes(1, encode_bytes(4, "_tf_keras_model") + encode_bytes(5, "[" * 500)),
         "nested more than 200"),
        (encode_bytes(1, encode_bytes(4, "_tf_keras_model") + encode_bytes(5, "[1]")),
         "is not an object"),
    ],
)  # fmt: skip
def test_damaged_metadata_file_is_rejected(copy_of_own, content, message):
    (copy_of_own / "keras_metadata.pb").write_bytes(content)
    with pytest.raises(ValueError, match=f"own' .*{message}"):
        podium.models.load_model(copy_of_own)


def test_saved_model_without_variables_is_rejected(copy_of_own):
    (copy_of_own / "variables" / "variables.index").unlink()
    with pytest.raises(ValueError, match=r"own': it is a SavedModel, and its checkpoint"):
        podium.models.load_model(copy_of_own)
