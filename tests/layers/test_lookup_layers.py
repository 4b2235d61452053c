"""IntegerLookup and StringLookup: vocabularies, files, compiled code, Datasets, mistakes.

Numbers: `test_preprocessing_oracle.py`.
"""

import os
import zipfile

import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers

IDS = np.array([[12, 1138, 42, 42], [42, 7, 36, 0]], "int32")
COMPILED = [
    {},
    {"mask_token": 0},
    {"num_oov_indices": 3},
    {"num_oov_indices": 3, "oov_method": "farmhash"},
    {"num_oov_indices": 3, "oov_method": "farmhash", "salt": 4, "mask_token": 7},
    {"output_mode": "count", "mask_token": 7},
    {"output_mode": "one_hot"},
    {"output_mode": "tf_idf", "idf_weights": [1.0, 2.0, 3.0, 4.0]},
    {"vocabulary": [12, 2**40]},
]


@pytest.mark.parametrize("config", COMPILED)
def test_integers_are_looked_up_in_compiled_code_as_on_the_host(config):
    layer = layers.IntegerLookup(**({"vocabulary": [12, 36, 1138, 42]} | config))
    np.testing.assert_array_equal(podium.function(layer)(IDS), layer(IDS))
    assert layer(podium.Input((4,), dtype="int32")).dtype == layer(IDS).dtype


@pytest.mark.parametrize("config", [{}, {"mask_token": 7}])
def test_inverse_lookup_in_compiled_code_is_that_of_the_host(config):
    layer = layers.IntegerLookup(vocabulary=[12, 36], invert=True, **config)
    indices = np.array([0, 1, 2, 3, 9], "int32")
    np.testing.assert_array_equal(podium.function(layer)(indices), layer(indices))


def test_shapes_compilation_configs_and_export_agree_with_an_eager_call():
    config = {"vocabulary": [0, 1], "output_mode": "multi_hot"}
    check_contract("IntegerLookup", config, (4, 3), "int32")


def test_lookup_and_inverse_return_the_tokens():
    words = np.array([["a", "c"], ["d", "b"]])
    lookup = layers.StringLookup()
    lookup.adapt(words)
    inverse = layers.StringLookup(vocabulary=lookup.get_vocabulary(), invert=True)
    np.testing.assert_array_equal(inverse(lookup(words)), words)


@pytest.mark.parametrize(
    "make_data",
    [
        lambda words: words,
        lambda words: np.array(words),
        lambda words: np.array(words).astype("S"),
        lambda words: podium.data.Dataset.from_tensor_slices(np.array(words)).batch(2),
        lambda words: podium.data.Dataset.from_tensor_slices(np.array(words)),
        lambda words: iter([words[:3], words[3:]]),
    ],
)
def test_data_of_every_form_give_the_same_vocabulary(make_data):
    layer = layers.StringLookup()
    layer.adapt(make_data(["a", "b", "a", "c", "b", "a"]))
    assert layer.get_vocabulary() == ["[UNK]", "a", "b", "c"]
    assert layer.get_vocabulary(include_special_tokens=False) == ["a", "b", "c"]
    assert layer.vocabulary_size() == 4


def test_adapt_reads_the_steps_that_were_asked_for():
    layer = layers.StringLookup()
    layer.adapt(iter([["a"], ["b"], ["c"]]), steps=2)
    assert set(layer.get_vocabulary()) == {"[UNK]", "a", "b"}


def test_lookups_run_in_a_dataset():
    words = np.array(["a", "b", "z"])
    lookup = layers.StringLookup(vocabulary=["a", "b"])
    inverse = layers.StringLookup(vocabulary=["a", "b"], invert=True)
    dataset = podium.data.Dataset.from_tensor_slices(words).batch(3)
    (element,) = dataset.map(lambda text: (lookup(text), inverse(lookup(text))))
    assert element[0].numpy().tolist() == [1, 2, 0]
    assert element[1].tolist() == ["a", "b", "[UNK]"]


def test_bytes_are_decoded_with_the_encoding_of_the_layer():
    layer = layers.StringLookup(vocabulary=["grün"], encoding="latin-1")
    assert layer(np.array(["grün".encode("latin-1")])).numpy().tolist() == [1]


def test_a_vocabulary_is_read_from_a_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\nb\nÜ\n", encoding="utf-8")
    layer = layers.StringLookup(vocabulary=path)
    assert layer.get_vocabulary() == ["[UNK]", "a", "b", "Ü"]
    assert layer.get_config()["vocabulary"] is None
    path.write_text("10\n20\n")
    assert layers.IntegerLookup(vocabulary=str(path)).get_vocabulary() == [-1, 10, 20]


def integer_model(**config):
    layer = layers.IntegerLookup(**config)
    layer.adapt(np.array([[5, 5, 7], [9, 7, 5]]))
    x = podium.Input((3,), dtype="int32")
    return podium.Model(x, layers.Dense(2)(layer(x)))


@pytest.mark.parametrize(
    "config", [{"output_mode": "count"}, {"output_mode": "tf_idf", "mask_token": 7}]
)
def test_adapted_vocabularies_are_saved_with_a_model(tmp_path, config):
    model, x = integer_model(**config), np.array([[5, 7, 1]])
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    assert loaded.layers[1].get_vocabulary() == model.layers[1].get_vocabulary()
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        text = archive.read("assets/layers/integer_lookup/vocabulary.txt").decode()
        assert archive.testzip() is None
    assert text.split() == list(map(str, model.layers[1].get_vocabulary()))


def test_assets_of_layers_with_names_that_are_not_ascii_are_saved(tmp_path):
    class Größe(layers.Layer):
        def save_assets(self, directory):
            os.makedirs(os.path.join(directory, "ü"))
            with open(os.path.join(directory, "ü", "ß.txt"), "w") as file:
                file.write("1")

        def load_assets(self, directory):
            with open(os.path.join(directory, "ü", "ß.txt")) as file:
                self.size = int(file.read())

        def call(self, inputs):
            return inputs

    model = podium.Sequential([podium.Input((1,)), Größe()])
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras", {"Größe": Größe})
    assert loaded.layers[0].size == 1


@pytest.mark.parametrize("name", ["model.h5", "model"])
def test_formats_without_assets_are_refused(tmp_path, name):
    model = integer_model(output_mode="count")
    with pytest.raises(ValueError, match=r"writes 'vocabulary\.txt' beside its weights"):
        model.save(tmp_path / name, save_format="h5")
    assert not (tmp_path / name).exists()


def test_a_vocabulary_that_was_passed_is_in_the_config_and_in_every_format(tmp_path):
    x = podium.Input((3,), dtype="int32")
    lookup = layers.IntegerLookup(vocabulary=[5, 7], output_mode="count")
    model = podium.Model(x, layers.Dense(2)(lookup(x)))
    model.save(tmp_path / "model.h5")
    loaded = podium.saving.load_model(tmp_path / "model.h5")
    assert loaded.layers[1].get_vocabulary() == [-1, 5, 7]


def test_a_config_cannot_read_a_file(tmp_path):
    (tmp_path / "secret.txt").write_text("a\n")
    config = layers.StringLookup(vocabulary=["a"]).get_config()
    config["vocabulary"] = str(tmp_path / "secret.txt")
    with pytest.raises(ValueError, match="names the vocabulary file"):
        layers.StringLookup.from_config(config)


def test_another_vocabulary_after_compilation_is_a_warning():
    layer = layers.IntegerLookup(vocabulary=[1, 2])
    podium.function(layer)(np.array([1]))
    with pytest.warns(UserWarning, match="another vocabulary after a program"):
        layer.set_vocabulary([3, 4])


def lookup_strings(*args, **kwargs):
    return layers.StringLookup(*args, **kwargs)


def adapt_twice():
    layer = layers.StringLookup(output_mode="count")
    layer.adapt(["a"])
    layer.adapt(["a", "b"])


def trace_text():
    layer = lookup_strings(vocabulary=["a"])
    return podium.function(lambda: layer(podium.ops.ones(2, "int32")))()


ERRORS = [
    (lambda: lookup_strings(max_tokens=1), "`max_tokens` must be greater than 1"),
    (lambda: lookup_strings(pad_to_max_tokens=True), "must set `max_tokens`"),
    (lambda: lookup_strings(num_oov_indices=-1), "num_oov_indices=-1"),
    (lambda: lookup_strings(output_mode="ints"), "Unknown `output_mode`"),
    (lambda: lookup_strings(invert=True, output_mode="count"), "must be 'int' when `invert`"),
    (lambda: lookup_strings(sparse=True), "only dense values"),
    (lambda: lookup_strings(idf_weights=[1.0]), "`idf_weights` should only be set"),
    (lambda: lookup_strings(vocabulary=[]), "empty vocabulary"),
    (lambda: lookup_strings(vocabulary=["a", "b", "a"]), "repeated term: a"),
    (lambda: lookup_strings(vocabulary=["a", ""], mask_token=""), "Found reserved mask token"),
    (lambda: lookup_strings(vocabulary=["a", "[UNK]"], invert=True), "Found reserved OOV token"),
    (lambda: lookup_strings(vocabulary=["a", "b"], max_tokens=2), "larger than the maximum vocab"),
    (lambda: lookup_strings(vocabulary="nowhere.txt"), "nowhere.txt does not exist"),
    (lambda: lookup_strings(vocabulary=[1, 2]), "text was expected"),
    (lambda: lookup_strings(vocabulary=["a"])(np.ones(2)), "text was expected"),
    (lambda: lookup_strings(vocabulary=["a"], num_oov_indices=0)(["b"]), "found OOV values"),
    (lambda: lookup_strings(vocabulary=["a"], invert=True)(["b"]), "indices of an integer dtype"),
    (lambda: lookup_strings(vocabulary=["a"]).adapt(["b"]), "Cannot adapt layer"),
    (lambda: lookup_strings()(["a"]), "has no vocabulary"),
    (
        lambda: lookup_strings(vocabulary=["a"], output_mode="tf_idf"),
        "`idf_weights` must be set if",
    ),
    (
        lambda: lookup_strings(vocabulary=["a"], idf_weights=[1, 2], output_mode="tf_idf"),
        "must be the same length",
    ),
    (adapt_twice, "vocabulary size cannot be changed"),
    (trace_text, "computes on the host"),
    (lambda: layers.IntegerLookup(vocabulary=[1])(["a"]), "integers were expected"),
    (lambda: layers.IntegerLookup(salt=3), "`oov_method='farmhash'`"),
    (lambda: layers.IntegerLookup(vocabulary_dtype="int32"), "only `vocabulary_dtype='int64'`"),
    (
        lambda: podium.function(layers.IntegerLookup(vocabulary=[1], num_oov_indices=0))(IDS),
        "has num_oov_indices=0, and was called inside a compiled function",
    ),
    (
        lambda: podium.function(layers.IntegerLookup(vocabulary=[2**40], invert=True))(IDS),
        "beyond the 32 bits",
    ),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_mistakes_are_errors(call, message):
    with pytest.raises((ValueError, TypeError, RuntimeError, OverflowError), match=message):
        call()


def test_tokens_with_line_breaks_cannot_be_written_to_a_vocabulary_file(tmp_path):
    layer = layers.StringLookup()
    layer.adapt(["a\nb"])
    with pytest.raises(ValueError, match="one line for each token"):
        layer.save_assets(tmp_path)
