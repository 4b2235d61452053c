"""Models with text inputs: the text part runs on the host, ahead of the compiled part."""

import numpy as np
import pytest

import podium
from podium import layers

TEXTS = np.array(["the cat sat", "a dog ran", "the dog", "cat", "the the the dog", ""])
TARGETS = np.arange(6, dtype="float32")[:, None]
NUMBERS = np.linspace(0, 1, 12, dtype="float32").reshape(6, 2)


def vectorizer(**config):
    layer = layers.TextVectorization(**({"output_sequence_length": 4} | config))
    layer.adapt(TEXTS)
    return layer


def text_model(**config):
    podium.utils.set_random_seed(0)
    x = podium.Input((1,), dtype="string", name="text")
    tokens = vectorizer(**config)(x)
    h = layers.GlobalAveragePooling1D()(layers.Embedding(20, 3, name="embedding")(tokens))
    model = podium.Model(x, layers.Dense(1, name="dense")(h))
    model.compile(podium.optimizers.SGD(0.1), "mse")
    return model


def token_model():
    """The same model behind the text."""
    podium.utils.set_random_seed(0)
    x = podium.Input((None,), dtype="int32", name="tokens")
    h = layers.GlobalAveragePooling1D()(layers.Embedding(20, 3, name="embedding")(x))
    model = podium.Model(x, layers.Dense(1, name="dense")(h))
    model.compile(podium.optimizers.SGD(0.1), "mse")
    return model


class Batches(podium.utils.PyDataset):
    def __init__(self, x):
        super().__init__()
        self.x = x

    def __len__(self):
        return 3

    def __getitem__(self, index):
        rows = slice(2 * index, 2 * index + 2)
        return self.x[rows], TARGETS[rows]


def dataset_of(x):
    return podium.data.Dataset.from_tensor_slices((x, TARGETS)).batch(2)


SOURCES = [
    lambda x: (x, TARGETS),
    lambda x: (x.tolist(), TARGETS),
    lambda x: (dataset_of(x),),
    lambda x: (dataset_of(x).shuffle(4, seed=1),),
    lambda x: (Batches(x),),
]


@pytest.mark.parametrize("make_source", SOURCES)
def test_training_on_text_is_training_on_its_tokens(make_source):
    model, reference = text_model(), token_model()
    tokens = model.layers[1](TEXTS).numpy()
    settings = {"epochs": 3, "verbose": 0}
    for each, x in ((model, TEXTS), (reference, tokens)):
        source = make_source(x)
        podium.utils.set_random_seed(1)
        batch = {"batch_size": 4} if len(source) > 1 else {}
        each.history = each.fit(*source, **settings, **batch)
    assert model.history.history == reference.history.history
    for a, b in zip(model.get_weights(), reference.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_generator_of_text_is_read():
    model = text_model()
    batches = ((TEXTS[i : i + 2], TARGETS[i : i + 2]) for i in (0, 2, 4))
    assert len(model.fit(batches, verbose=0).history["loss"]) == 1
    assert int(model.optimizer.iterations.numpy()) == 3


@pytest.fixture(scope="module")
def trained():
    model = text_model()
    model.fit(TEXTS, TARGETS, epochs=2, verbose=0)
    return model


@pytest.mark.parametrize(
    "form",
    [
        TEXTS,
        TEXTS[:, None],
        TEXTS.tolist(),
        TEXTS.astype("S"),
        TEXTS.astype(object),
        {"text": TEXTS},
        [TEXTS],
    ],
)
def test_text_of_every_form_has_the_same_outputs(trained, form):
    expected = trained(TEXTS).numpy()
    np.testing.assert_allclose(trained(form), expected, rtol=1e-6)
    np.testing.assert_allclose(trained.predict(form, verbose=0), expected, rtol=1e-6)


def test_every_method_runs_the_text_part(trained):
    expected = trained(TEXTS).numpy()
    np.testing.assert_allclose(trained.predict_on_batch(TEXTS), expected, rtol=1e-6)
    np.testing.assert_allclose(trained.predict(dataset_of(TEXTS), verbose=0), expected, rtol=1e-6)
    parts = list(trained.predict_iter(TEXTS, batch_size=4))
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-6)
    loss = np.mean((expected - TARGETS) ** 2)
    assert trained.evaluate(TEXTS, TARGETS, verbose=0) == pytest.approx(loss, rel=1e-5)
    assert trained.test_on_batch(TEXTS.tolist(), TARGETS) == pytest.approx(loss, rel=1e-5)


def test_validation_data_and_splits_hold_text():
    model = text_model()
    history = model.fit(TEXTS, TARGETS, validation_split=0.34, verbose=0).history
    expected = model.evaluate(TEXTS[3:], TARGETS[3:], verbose=0)
    assert history["val_loss"][0] == pytest.approx(expected, rel=1e-5)
    data = (TEXTS[3:].tolist(), TARGETS[3:])
    history = model.fit(dataset_of(TEXTS), validation_data=data, verbose=0).history
    expected = model.evaluate(TEXTS[3:], TARGETS[3:], verbose=0)
    assert history["val_loss"][0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("steps_per_execution", [1, 3])
def test_batches_are_padded_one_by_one(steps_per_execution):
    model = text_model(output_sequence_length=None)
    model.compile("sgd", "mse", steps_per_execution=steps_per_execution)
    tokens = model.layers[1]
    ones = podium.ops.ones_like(tokens.output)
    lengths = podium.Model(model.input, podium.ops.sum(ones, axis=1))
    outputs = lengths.predict(TEXTS, batch_size=2, verbose=0)
    assert outputs.tolist() == [3, 3, 2, 2, 4, 4]
    model.fit(TEXTS, TARGETS, batch_size=2, verbose=0)


def test_several_inputs_text_and_numbers_and_crosses():
    text = podium.Input((1,), dtype="string", name="text")
    kind = podium.Input((1,), dtype="string", name="kind")
    number = podium.Input((2,), name="number")
    ids = podium.Input((1,), dtype="int32", name="ids")
    lookup = layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")
    crossed = layers.HashedCrossing(7, output_mode="one_hot")([kind, ids])
    counts = vectorizer(output_mode="count", output_sequence_length=None)(text)
    h = layers.concatenate([counts, lookup(kind), crossed, number])
    inputs = {"text": text, "kind": kind, "number": number, "ids": ids}
    model = podium.Model(inputs, [layers.Dense(1)(h), podium.ops.sum(h, axis=1)])
    data = {
        "text": TEXTS.tolist(),
        "kind": np.array(list("abcabc")),
        "number": NUMBERS,
        "ids": np.arange(6),
    }
    outputs = model.predict(data, batch_size=4, verbose=0)
    for actual, expected in zip(outputs, model(data), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5)
    expected = [3, 3, 2, 1, 4, 0] + NUMBERS.sum(1) + 2
    np.testing.assert_allclose(outputs[1], expected, rtol=1e-5)
    model.compile("sgd", loss=["mse", None])
    targets = [TARGETS, TARGETS[:, 0]]
    rows = {name: np.array(values) for name, values in data.items()}
    dataset = podium.data.Dataset.from_tensor_slices((rows, tuple(targets))).batch(3)
    model.fit(dataset, verbose=0)
    model.fit(data, targets, verbose=0)


def test_masks_of_padding_reach_the_layers_behind():
    x = podium.Input((1,), dtype="string")
    embedded = layers.Embedding(20, 3, mask_zero=True)(vectorizer()(x))
    model = podium.Model(x, layers.GlobalAveragePooling1D()(embedded))
    vectors = model.layers[2].embeddings.numpy()
    row = model.layers[1](["cat"]).numpy()[0, 0]
    np.testing.assert_allclose(model.predict(["cat"], verbose=0)[0], vectors[row], rtol=1e-6)


def test_a_saved_model_has_its_vocabulary(tmp_path, trained):
    trained.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    assert loaded.layers[1].get_vocabulary() == trained.layers[1].get_vocabulary()
    np.testing.assert_array_equal(
        loaded.predict(TEXTS, verbose=0), trained.predict(TEXTS, verbose=0)
    )
    loaded.fit(TEXTS, TARGETS, verbose=0)
    assert loaded.inputs[0].dtype == "string"


def test_a_copy_has_new_weights_and_runs(trained):
    copy = podium.models.clone_model(trained)
    copy.layers[1].set_vocabulary(trained.layers[1].get_vocabulary())
    copy.set_weights(trained.get_weights())
    np.testing.assert_array_equal(copy.predict(TEXTS, verbose=0), trained.predict(TEXTS, verbose=0))


@pytest.mark.parametrize("with_input", [True, False])
def test_sequential_models_take_text(tmp_path, with_input):
    start = [podium.Input((1,), dtype="string")] if with_input else []
    stack = [vectorizer(), layers.Embedding(20, 3), layers.GlobalAveragePooling1D()]
    model = podium.Sequential([*start, *stack, layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(TEXTS, TARGETS, verbose=0)
    np.testing.assert_allclose(model(TEXTS), model.predict(TEXTS.tolist(), verbose=0), rtol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(TEXTS, verbose=0), model.predict(TEXTS, verbose=0))


def test_a_sequential_model_is_built_by_a_dataset_or_a_call():
    first = podium.Sequential([vectorizer(), layers.Embedding(20, 3)])
    assert first.predict(podium.data.Dataset.from_tensor_slices(TEXTS).batch(4), verbose=0).shape
    second = podium.Sequential([vectorizer(), layers.Embedding(20, 3)])
    assert second(["the cat"]).shape == (1, 4, 3)


def test_models_with_text_inside_of_others_are_trained_and_saved(tmp_path):
    inner = text_model()
    x = podium.Input((1,), dtype="string")
    prepare = podium.Sequential([podium.Input((1,), dtype="string"), vectorizer()])
    tokens = layers.Embedding(20, 1)(prepare(x))
    model = podium.Model(x, layers.Dense(1)(inner(x) + layers.Flatten()(tokens)[:, :1]))
    assert inner in model.layers
    model.compile("sgd", "mse")
    before = [weight.numpy() for weight in inner.trainable_weights]
    model.fit(TEXTS, TARGETS, verbose=0)
    changed = [np.any(a != b) for a, b in zip(before, inner.get_weights(), strict=True)]
    assert all(changed)
    np.testing.assert_allclose(model(TEXTS), model.predict(TEXTS, verbose=0), rtol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(TEXTS, verbose=0), model.predict(TEXTS, verbose=0))


def test_a_model_of_the_text_alone_returns_numbers():
    x = podium.Input((1,), dtype="string")
    layer = vectorizer()
    model = podium.Model(x, layer(x))
    np.testing.assert_array_equal(model.predict(TEXTS, verbose=0), layer(TEXTS))
    np.testing.assert_array_equal(model(TEXTS), layer(TEXTS))


def test_an_overridden_step_gets_the_numbers():
    seen = []

    class Custom(podium.Model):
        def train_step(self, data):
            x, y = data
            seen.append({name: value.dtype.name for name, value in x.items()})
            with podium.GradientTape() as tape:
                loss = podium.ops.mean((self(x, training=True) - y) ** 2)
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
            return {"loss": loss}

    base = text_model()
    model = Custom(base.input, base.output)
    model.compile("sgd")
    model.fit(TEXTS, TARGETS, verbose=0)
    assert seen[0] == {base.layers[1].name: "int32"}


def test_losses_of_the_graph_are_added():
    x = podium.Input((1,), dtype="string")
    counts = vectorizer(output_mode="count", output_sequence_length=None)(x)
    output = layers.Dense(1)(counts)
    model = podium.Model(x, output)
    model.add_loss(podium.ops.mean(podium.ops.sum(counts, axis=1)))
    model.compile("sgd")
    assert model.evaluate(TEXTS, verbose=0) == pytest.approx(13 / 6)


def test_another_vocabulary_takes_effect_without_compiling_again():
    x = podium.Input((), dtype="string")
    lookup = layers.StringLookup(vocabulary=["a", "b"])
    model = podium.Model(x, 2.5 * podium.ops.cast(lookup(x), "float32"))
    assert model.predict(["b"], verbose=0).tolist() == [5]
    lookup.set_vocabulary(["b", "a"])
    assert model.predict(["b"], verbose=0).tolist() == [2.5]


def text_input():
    return podium.Input((1,), dtype="string", name="text")


def trained_before_text():
    x = podium.Input((1,))
    index = podium.ops.cast(layers.Dense(1)(x), "int32")
    word = layers.StringLookup(vocabulary=["a"], invert=True)(index)
    return podium.Model(x, layers.StringLookup(vocabulary=["a"])(word))


def text_output():
    x = podium.Input((1,), dtype="int32")
    return podium.Model(x, layers.StringLookup(vocabulary=["a"], invert=True)(x))


ERRORS = [
    (lambda: layers.Dense(1)(text_input()), "'text' is text .dtype string., which only"),
    (lambda: podium.ops.exp(text_input()), "is text .dtype string., which only"),
    (trained_before_text, "has weights to train, and text depends on its outputs"),
    (text_output, "as an output; numbers were expected"),
    (lambda: text_model()(NUMBERS), "declared with dtype='string': text was expected"),
    (lambda: text_model().predict(NUMBERS, verbose=0), "text was expected"),
    (
        lambda: text_model().predict(TEXTS.reshape(3, 2), verbose=0),
        r"shape \(None, 1\) was expected",
    ),
    (lambda: text_model().fit(TEXTS, TARGETS[:3], verbose=0), "same number of samples"),
    (
        lambda: text_model().fit({"text": TEXTS, "more": NUMBERS[:2]}, TARGETS, verbose=0),
        "same number of samples",
    ),
    (lambda: token_model().predict(TEXTS, verbose=0), "array of strings"),
    (lambda: token_model()(TEXTS), "array of strings"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_mistakes_are_errors(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
