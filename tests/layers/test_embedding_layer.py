"""Embedding: lookup, masks, ids that are not in the table. Numbers: `tests/oracle`."""

import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers, ops

TABLE = np.arange(8, dtype="float32").reshape(4, 2)


def test_shapes_compilation_configs_and_export_agree_with_an_eager_call():
    check_contract("Embedding", {"input_dim": 4, "output_dim": 3}, (2, 5), "int32")
    check_contract("Embedding", {"input_dim": 4, "output_dim": 3, "mask_zero": True}, (2,), "int32")


def test_indices_select_rows():
    layer = layers.Embedding(4, 2, weights=[TABLE])
    assert layer.built and [w.path for w in layer.weights] == ["embedding/embeddings"]
    assert layer(np.array([[3, 0]])).numpy().tolist() == [[[6, 7], [0, 1]]]
    assert layer(np.array([1.0, 2.0])).numpy().tolist() == [[2, 3], [4, 5]]
    assert layer(np.zeros((0, 3), "int32")).shape == (0, 3, 2)
    assert layer(podium.Input((None,))).shape == (None, None, 2)


def test_only_rows_that_were_looked_up_get_a_gradient():
    layer = layers.Embedding(4, 2, weights=TABLE)
    with podium.GradientTape() as tape:
        loss = ops.sum(layer(np.array([1, 1, 3])))
    assert tape.gradient(loss, layer.embeddings).numpy()[:, 0].tolist() == [0, 2, 0, 1]


def test_mask_zero_masks_index_zero():
    ids = np.array([[1, 0]])
    assert layers.Embedding(4, 2, mask_zero=True)(ids)._keras_mask.numpy().tolist() == [
        [True, False]
    ]
    assert layers.Embedding(4, 2)(ids)._keras_mask is None


def test_mixed_precision_keeps_large_ids_exact():
    layer = layers.Embedding(
        300, 1, weights=np.arange(300, dtype="float32")[:, None], dtype="mixed_bfloat16"
    )
    out = layer(np.array([257.0], "float32"))
    assert out.dtype == "bfloat16" and layer.embeddings.dtype == "float32"
    assert float(out[0, 0]) == float(ops.cast(257.0, "bfloat16"))
    assert layer(podium.Input((3,))).dtype == "bfloat16"


@pytest.mark.parametrize("bad", [4, 100, -5, -1])
def test_ids_outside_of_the_table_raise_where_they_can_be_seen(bad):
    layer = layers.Embedding(4, 2, name="words")
    with pytest.raises(
        ValueError,
        match=rf"Layer 'words' \(Embedding\) was given the index {bad}; .*input_dim=4 .* 0 to 3",
    ):
        layer(np.array([[1, bad]]))
    with podium.GradientTape(), pytest.raises(ValueError, match="Use a larger input_dim"):
        layer(np.array([bad]))


def test_compiled_indices_outside_of_the_table_return_nan_as_keras_on_jax():
    layer = layers.Embedding(4, 2, weights=[TABLE])
    out = podium.function(layer)(np.array([1, 4, -1])).numpy()
    assert np.isnan(out[1]).all() and out[[0, 2]].tolist() == [[2, 3], [6, 7]]


def test_keras_2_arguments_and_keras_3_configs_are_accepted():
    assert layers.Embedding(4, 2, input_length=7).batch_input_shape == (None, 7)
    config = layers.Embedding(4, 2).get_config() | {"quantization_config": None}
    assert layers.Embedding.from_config(config).input_dim == 4


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"input_dim": 0}, "Embedding was given input_dim=0; an int of at least 1"),
        ({"output_dim": 2.5}, "output_dim=2.5"),
    ],
)
def test_wrong_arguments_raise_by_the_constructor(config, message):
    with pytest.raises(ValueError, match=message):
        layers.Embedding(**{"input_dim": 4, "output_dim": 2} | config)


@pytest.mark.parametrize("bad", [4, -1])
def test_arrays_with_indices_outside_of_the_table_raise_before_fit(bad):
    words = layers.Embedding(4, 2, name="words")
    model = podium.Sequential([layers.Input((2,), dtype="int32"), words, layers.Flatten()])
    model.compile("sgd", "mse")
    x, y = np.full((3, 2), bad), np.zeros((3, 4))
    message = rf"Layer 'words' \(Embedding\) was given the index {bad};"
    with pytest.raises(ValueError, match=message):
        model.fit(x, y, verbose=0)
    with pytest.raises(ValueError, match=message):
        model.predict(x, verbose=0)
