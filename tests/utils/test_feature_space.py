"""FeatureSpace: compared with Keras's outputs; in Datasets, models and files; mistakes.

`tests/oracle/record_preprocessing.py` recorded the outputs.
"""

import json
import pathlib
import sys

import numpy as np
import pytest

import podium
from podium import layers
from podium.utils import FeatureSpace

ORACLE = pathlib.Path(__file__).parents[1] / "oracle"
sys.path.insert(0, str(ORACLE))

from preprocessing_cases import COLUMNS, FEATURE_SPACES, NEW_COLUMNS  # noqa: E402

FIXTURE = json.loads((ORACLE / "fixtures" / "preprocessing.json").read_text())
RECORDED = FIXTURE["feature_spaces"]
ARRAYS = {name: np.array(values) for name, values in NEW_COLUMNS.items()}


def columns_of(space, columns):
    return {name: columns[name] for name in space.features}


def adapted(number):
    space = FEATURE_SPACES[number](FeatureSpace)
    space.adapt(columns_of(space, COLUMNS))
    return space


def as_dict(output):
    return output if isinstance(output, dict) else {"": output}


@pytest.mark.parametrize("number", range(len(FEATURE_SPACES)))
def test_outputs_are_those_of_keras(number):
    space = adapted(number)
    outputs = as_dict(space(columns_of(space, NEW_COLUMNS)))
    assert outputs.keys() == RECORDED[number].keys()
    for name, expected in RECORDED[number].items():
        np.testing.assert_allclose(outputs[name], expected, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("number", range(len(FEATURE_SPACES)))
def test_rows_datasets_and_models_have_the_same_outputs(number):
    space = adapted(number)
    columns = columns_of(space, ARRAYS)
    expected = as_dict(space(columns))
    row = as_dict(space({name: values[1] for name, values in columns.items()}))
    dataset = podium.data.Dataset.from_tensor_slices(columns).batch(2)
    (batch,) = dataset.map(space)
    model = podium.Model(space.get_inputs(), space.get_encoded_features())
    predicted = as_dict(model.predict(columns, verbose=0))
    for name, values in expected.items():
        np.testing.assert_allclose(row[name], values[1], rtol=1e-6)
        np.testing.assert_allclose(as_dict(batch)[name], values, rtol=1e-6)
        np.testing.assert_allclose(predicted[name], values, rtol=1e-6)


def test_a_dataset_adapts_like_columns():
    columns = {name: np.array(values) for name, values in COLUMNS.items()}
    dataset = podium.data.Dataset.from_tensor_slices(columns)
    for data in (dataset, dataset.batch(3)):
        space = FEATURE_SPACES[1](FeatureSpace)
        space.adapt(data)
        assert set(space.preprocessors["word"].get_vocabulary()) == {"[UNK]", "zero", "one", "two"}


@pytest.mark.parametrize("number", [1, 2])
def test_a_saved_feature_space_is_adapted(tmp_path, number):
    space = adapted(number)
    space.save(tmp_path / "space.keras")
    loaded = podium.saving.load_model(tmp_path / "space.keras")
    columns = columns_of(space, NEW_COLUMNS)
    expected, actual = as_dict(space(columns)), as_dict(loaded(columns))
    for name, values in expected.items():
        np.testing.assert_array_equal(actual[name], values)
    assert loaded.get_config()["crosses"] == space.get_config()["crosses"]


def test_a_model_behind_it_is_trained_and_saved(tmp_path):
    space = adapted(1)
    output = layers.Dense(1)(space.get_encoded_features())
    model = podium.Model(space.get_inputs(), output)
    model.compile("sgd", "mse")
    model.fit(ARRAYS, np.ones((2, 1)), verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    expected = model.predict(ARRAYS, verbose=0)
    np.testing.assert_array_equal(loaded.predict(ARRAYS, verbose=0), expected)


def test_a_layer_of_your_own_encodes_a_feature():
    texts = {"text": ["1st string", "2nd string"]}
    feature = FeatureSpace.feature(
        "string", layers.TextVectorization(output_mode="count"), output_mode="float"
    )
    space = FeatureSpace({"text": feature})
    space.adapt(texts)
    assert space(texts).numpy().sum(1).tolist() == [2, 2]
    assert space.preprocessors["text"].vocabulary_size() == 4


def test_boundaries_that_are_given_need_no_adapt():
    discretized = FeatureSpace.float_discretized(None, bin_boundaries=[0.0, 1.0])
    space = FeatureSpace({"size": discretized, "hash": "string_hashed"}, hashing_dim=2)
    assert space({"size": [0.5], "hash": ["a"]}).shape == (1, 5)


def bad_space(**config):
    return FeatureSpace({"a": "float", "b": "string_categorical"}, **config)


ERRORS = [
    (lambda: FeatureSpace({}), "cannot be None or empty"),
    (lambda: FeatureSpace({"a": "floats"}), "Unknown feature type 'floats'"),
    (lambda: bad_space(output_mode="list"), "Unknown output_mode 'list'"),
    (lambda: bad_space(crosses=[("a", "c")]), r"\['c'\] are not"),
    (lambda: bad_space()({"a": [1.0], "b": ["x"]}), r"call `.adapt\(dataset\)`"),
    (lambda: bad_space().get_encoded_features(), r"call `.adapt\(dataset\)`"),
    (lambda: bad_space().adapt([1.0]), "a Dataset or a dict"),
    (lambda: adapted(3)(["zero"]), "only be called with a dict"),
    (lambda: adapted(3)({"words": ["zero"]}), r"no values for \['word'\]"),
    (lambda: FeatureSpace.cross(("a", "b"), 3, "count"), "Unknown `output_mode` of a cross"),
    (
        lambda: FeatureSpace({"a": FeatureSpace.integer_hashed(3, output_mode="int")})({"a": [1]}),
        "has not been encoded",
    ),
    (
        lambda: FeatureSpace({"a": FeatureSpace.feature("int32", layers.Identity(), "one_hot")})(
            {"a": np.array([1], "int32")}
        ),
        "the dimensionality of its output space is not known",
    ),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_mistakes_are_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
