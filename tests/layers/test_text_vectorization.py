"""TextVectorization: functions as steps, Datasets, configs, files, mistakes.

Numbers: `test_preprocessing_oracle.py`.
"""

import json

import numpy as np
import pytest

import podium
from podium import layers

TEXTS = ["The cat sat.", "the dog", ""]


@podium.saving.register_keras_serializable("text_tests")
def shout(texts):
    return np.char.add(np.char.upper(texts), "!")


@podium.saving.register_keras_serializable("text_tests")
def split_at_dashes(texts):
    return [text.split("-") for text in texts.tolist()]


@pytest.mark.parametrize(
    "make_data",
    [
        lambda texts: texts,
        lambda texts: np.array(texts),
        lambda texts: np.array(texts).astype("S"),
        lambda texts: [[text] for text in texts],
        lambda texts: podium.data.Dataset.from_tensor_slices(np.array(texts)).batch(2),
        lambda texts: podium.data.Dataset.from_tensor_slices(np.array(texts)),
        lambda texts: iter([texts[:1], texts[1:]]),
    ],
)
def test_texts_of_every_form_give_the_same_vocabulary_and_indices(make_data):
    layer = layers.TextVectorization()
    layer.adapt(make_data(TEXTS))
    assert layer.get_vocabulary() == ["", "[UNK]", "the", "sat", "dog", "cat"]
    data = make_data(TEXTS)
    if isinstance(data, (list, np.ndarray)):
        assert layer(data).numpy().tolist() == [[2, 5, 3], [2, 4, 0], [0, 0, 0]]


def test_functions_standardize_and_split():
    layer = layers.TextVectorization(standardize=shout, split=split_at_dashes)
    layer.adapt(["a-b", "b"])
    assert layer.get_vocabulary() == ["", "[UNK]", "B!", "A"]
    copy = layers.TextVectorization.from_config(
        json.loads(json.dumps(podium.saving.serialize_keras_object(layer)))["config"]
    )
    copy.set_vocabulary(layer.get_vocabulary())
    np.testing.assert_array_equal(copy(["a-b-a", "b"]), layer(["a-b-a", "b"]))


@pytest.mark.parametrize("mode", ["int", "count"])
def test_the_layer_runs_in_a_dataset_as_on_its_own(mode):
    layer = layers.TextVectorization(output_mode=mode)
    layer.adapt(TEXTS)
    dataset = podium.data.Dataset.from_tensor_slices((np.array(TEXTS), np.arange(3))).batch(3)
    ((vectors, _),) = dataset.map(lambda text, label: (layer(text), label))
    np.testing.assert_array_equal(vectors, layer(TEXTS))
    (single, *_) = podium.data.Dataset.from_tensor_slices(np.array(TEXTS)).map(layer)
    np.testing.assert_array_equal(single, layer(TEXTS)[0])


@pytest.mark.parametrize("config", [{}, {"output_mode": "tf_idf", "max_tokens": 4}])
def test_adapted_layers_are_restored_from_config_and_files(tmp_path, config):
    layer = layers.TextVectorization(**config)
    layer.adapt(TEXTS)
    copy, store = layers.TextVectorization.from_config(layer.get_config()), {}
    layer.save_own_variables(store)
    layer.save_assets(tmp_path)
    copy.load_own_variables(store)
    copy.load_assets(tmp_path)
    assert copy.get_vocabulary() == layer.get_vocabulary()
    np.testing.assert_array_equal(copy(TEXTS), layer(TEXTS))


@pytest.mark.parametrize(
    "config, shape",
    [
        ({}, (3, 1)),
        ({"output_sequence_length": 5}, (3, 1)),
        ({"output_mode": "count"}, (3, 1)),
        ({"split": None}, (3, 2)),
        ({"split": None, "output_sequence_length": 4}, (3, 2)),
        ({"split": None, "output_mode": "multi_hot"}, (3, 2)),
    ],
)
def test_declared_shapes_are_those_of_the_outputs(config, shape):
    layer = layers.TextVectorization(vocabulary=["a", "b"], **config)
    output = layer(np.full(shape, "a b"))
    declared = layer.compute_output_shape(shape)
    assert len(declared) == output.ndim
    assert all(d in (None, size) for d, size in zip(declared, output.shape, strict=True))


def vectorize(*args, **kwargs):
    return layers.TextVectorization(*args, **kwargs)


ERRORS = [
    (lambda: vectorize(standardize="upper"), "standardize='upper'; one of"),
    (lambda: vectorize(split="words"), "split='words'; one of"),
    (lambda: vectorize(ngrams="2"), "`ngrams` must be None, an integer"),
    (lambda: vectorize(ngrams=(1, 0)), "all positive"),
    (lambda: vectorize(output_mode="ints"), "Unknown `output_mode`"),
    (lambda: vectorize(ragged=True), "only rectangular values"),
    (lambda: vectorize(sparse=True), "only dense values"),
    (
        lambda: vectorize(output_mode="count", output_sequence_length=3),
        "must not be set if `output_mode` is not 'int'",
    ),
    (lambda: vectorize()(["a"]), "has no vocabulary"),
    (lambda: vectorize(vocabulary=["a"]).adapt(["a"]), "Cannot adapt layer"),
    (lambda: vectorize(vocabulary=["a"])([["a", "b"]]), "last shape dimension must be 1"),
    (lambda: vectorize(vocabulary=["a"])(np.ones(3)), "text was expected"),
    (lambda: vectorize(vocabulary=["a"], split=lambda x: x)(["a"]), "a list of lists of strings"),
    (
        lambda: podium.function(lambda: vectorize(vocabulary=["a"])(podium.ops.ones(2)))(),
        "computes on the host",
    ),
    (
        lambda: layers.TextVectorization.from_config(
            vectorize().get_config() | {"split": {"class_name": "function", "config": "nowhere"}}
        ),
        "a function that is not registered",
    ),
    (
        lambda: layers.TextVectorization.from_config(
            vectorize().get_config() | {"vocabulary": "/etc/hosts"}
        ),
        "names the vocabulary file",
    ),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_mistakes_are_errors(call, message):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        call()
