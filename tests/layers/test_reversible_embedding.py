"""ReversibleEmbedding: both directions, masks, and quantization. Keras's numbers are compared in
`tests/oracle/test_quantize.py`.
"""

import numpy as np
import pytest

import podium
from podium import layers

IDS = np.array([[1, 4, 0], [2, 3, 3]])


def make(**options):
    layer = layers.ReversibleEmbedding(6, 4, name="e", **options)
    layer.build((None, 3))
    return layer


def test_logits_are_products_with_the_table():
    layer = make()
    vectors = layer(IDS)
    expected = vectors.numpy() @ layer.embeddings.numpy().T
    np.testing.assert_allclose(layer(vectors, reverse=True), expected, rtol=1e-5, atol=1e-7)
    capped = make(logit_soft_cap=0.001)(100 * vectors, reverse=True)
    assert np.abs(capped).max() <= 0.001


def test_the_reverse_direction_can_have_a_matrix_of_its_own():
    layer = make(tie_weights=False, reverse_dtype="bfloat16")
    assert [w.name for w in layer.weights] == ["embeddings", "reverse_embeddings"]
    logits = layer(layer(IDS), reverse=True)
    assert logits.shape == (2, 3, 6) and logits.dtype == "bfloat16"


def test_vectors_have_a_mask_and_logits_have_none():
    layer = make(mask_zero=True)
    vectors = layer(IDS)
    np.testing.assert_array_equal(vectors._keras_mask, IDS != 0)
    assert layer(podium.Tensor(vectors.value), reverse=True)._keras_mask is None


def test_a_language_model_is_trained_saved_and_loaded(tmp_path):
    ids = podium.Input((3,), dtype="int32")
    layer = layers.ReversibleEmbedding(6, 4, name="e")
    model = podium.Model(ids, layer(layers.Dense(4, name="d")(layer(ids)), reverse=True))
    assert model.output.shape == (None, 3, 6)
    model.compile("adam", podium.losses.SparseCategoricalCrossentropy(from_logits=True))
    losses = model.fit(IDS, IDS, epochs=3, verbose=0).history["loss"]
    assert losses[2] < losses[0]
    model.quantize("int8", filters="e")
    model.save(tmp_path / "a.keras")
    same = podium.saving.load_model(tmp_path / "a.keras", compile=False)
    np.testing.assert_array_equal(same.predict(IDS, verbose=0), model.predict(IDS, verbose=0))


@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.parametrize("tied", [True, False])
def test_quantized_logits_are_close_and_have_gradients(mode, tied):
    layer = make(tie_weights=tied)
    x = podium.Variable(np.random.default_rng(0).normal(size=(2, 4)).astype("float32"))
    expected = layer(x, reverse=True).numpy()
    layer.quantize(mode)
    with podium.GradientTape() as tape:
        logits = layer(x, reverse=True)
    assert np.abs(logits - expected).max() < 0.02
    assert np.all(tape.gradient(logits, x).numpy() != 0)


def test_lora_is_part_of_quantized_logits():
    layer = make(lora_rank=2)
    layer.lora_embeddings_b.assign(np.full((2, 4), 0.3))
    x = np.ones((2, 4), "float32")
    expected = layer(x, reverse=True).numpy()
    layer.quantize("int8")
    np.testing.assert_allclose(layer(x, reverse=True), expected, atol=0.02)


def test_configs_recreate_the_layer():
    layer = make(tie_weights=False, logit_soft_cap=2.0)
    assert layers.ReversibleEmbedding.from_config(layer.get_config()).get_config() == (
        layer.get_config()
    )
