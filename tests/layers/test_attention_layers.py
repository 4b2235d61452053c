"""Attention layers: masks, scores, dropout, shapes, errors. Numbers: `tests/oracle`."""

import json

import jax
import numpy as np
import pytest

import podium
from podium import layers, ops

RANDOM = np.random.default_rng(0)
QUERY, VALUE = (RANDOM.normal(size=(2, n, 8)).astype("float32") for n in (3, 5))
HEADS = {"num_heads": 2, "key_dim": 4}
GROUPS = {"head_dim": 4, "num_query_heads": 4, "num_key_value_heads": 2}
BOTH = [("MultiHeadAttention", HEADS), ("GroupQueryAttention", GROUPS)]
PLAIN = [
    ("Attention", {}),
    ("Attention", {"score_mode": "concat", "use_scale": True}),
    ("AdditiveAttention", {}),
]


@pytest.mark.parametrize("name, config", BOTH)
def test_shapes_compilation_and_configs_agree_with_an_eager_call(name, config):
    layer = getattr(layers, name)(**config)
    outputs, scores = layer(QUERY, VALUE, return_attention_scores=True)
    plain = layer(QUERY, VALUE)
    np.testing.assert_allclose(outputs, plain, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(podium.function(layer)(QUERY, VALUE), plain, rtol=1e-5, atol=1e-6)
    assert layer.compute_output_shape(QUERY.shape, VALUE.shape) == plain.shape
    symbolic = getattr(layers, name)(**config)(podium.Input((None, 8)), podium.Input((5, 8)))
    assert symbolic.shape == (None, None, 8)
    both = layer(podium.Input((3, 8)), podium.Input((5, 8)), return_attention_scores=True)
    assert [part.shape for part in both] == [(None, 3, 8), (None, *scores.shape[1:])]
    again = type(layer).from_config(json.loads(json.dumps(layer.get_config())))
    again(QUERY, VALUE)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(again(QUERY, VALUE), plain)
    assert [w.path.split("/")[1] for w in layer.weights[::2]] == [
        "query",
        "key",
        "value",
        "attention_output",
    ]


@pytest.mark.parametrize("name, config", PLAIN)
def test_single_head_attention_satisfies_the_contract(name, config):
    layer = getattr(layers, name)(**config)
    outputs, scores = layer([QUERY, VALUE], return_attention_scores=True)
    np.testing.assert_allclose(ops.sum(scores, -1), 1, rtol=1e-5)
    np.testing.assert_allclose(
        podium.function(layer)([QUERY, VALUE]), outputs, rtol=1e-5, atol=1e-6
    )
    assert layer.compute_output_shape([QUERY.shape, VALUE.shape]) == outputs.shape
    symbolic = getattr(layers, name)(**config)([podium.Input((None, 8)), podium.Input((None, 8))])
    assert symbolic.shape == (None, None, 8)
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()


@pytest.mark.parametrize("name, config", BOTH)
def test_a_traced_batch_size_may_be_a_symbol(name, config):
    layer = getattr(layers, name)(**config)
    layer(QUERY, QUERY)
    spec = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 3, 8"), "float32")

    def pure(x):
        return layer.stateless_call(
            layer.trainable_variables, layer.non_trainable_variables, x, x, use_causal_mask=True
        )[0]

    assert str(jax.eval_shape(pure, spec).shape[0]) == "b"


@pytest.mark.parametrize("name, config", BOTH)
def test_masked_values_have_no_influence(name, config):
    layer = getattr(layers, name)(**config)
    changed = VALUE.copy()
    changed[:, 3:] += 100
    mask = np.arange(5)[None] < np.full((2, 1), 3)
    seen = np.broadcast_to(mask[:, None], (2, 3, 5))
    for options in ({"value_mask": mask}, {"key_mask": mask}, {"attention_mask": seen}):
        a, b = (layer(QUERY, value, **options) for value in (VALUE, changed))
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        with_scores, scores = layer(QUERY, VALUE, return_attention_scores=True, **options)
        np.testing.assert_allclose(with_scores, a, rtol=1e-4, atol=1e-5)
        assert (scores.numpy()[..., 3:] == 0).all()


@pytest.mark.parametrize("name, config", BOTH)
def test_masks_that_tensors_carry_are_used_and_passed_on(name, config):
    padded = np.where(np.arange(5)[None, :, None] < 3, VALUE, 0).astype("float32")
    masking = layers.Masking()
    layer = getattr(layers, name)(**config)
    carried, given = (
        layer(QUERY, masking(padded)),
        layer(QUERY, padded, value_mask=np.arange(5)[None] < np.full((2, 1), 3)),
    )
    np.testing.assert_array_equal(carried, given)
    outputs, scores = layer(masking(padded), VALUE, return_attention_scores=True)
    assert (
        outputs._keras_mask.numpy().tolist() == [[True, True, True, False, False]] * 2
        and scores._keras_mask is None
    )


@pytest.mark.parametrize("name, config", BOTH)
def test_causal_and_window_masks_limit_attention(name, config):
    layer = getattr(layers, name)(**config)
    _, scores = layer(VALUE, VALUE, return_attention_scores=True, use_causal_mask=True)
    assert (np.triu(scores.numpy()[0, 0], 1) == 0).all() and (
        np.tril(scores.numpy()[0, 0]) > 0
    ).sum() == 15
    late = VALUE.copy()
    late[:, 4] += 10
    a, b = (layer(value, value, use_causal_mask=True) for value in (VALUE, late))
    np.testing.assert_allclose(a[:, :4], b[:, :4], rtol=1e-5, atol=1e-6)
    window = getattr(layers, name)(**config, sliding_window=2)
    _, scores = window(VALUE, VALUE, return_attention_scores=True)
    distance = np.abs(np.arange(5)[:, None] - np.arange(5)[None])
    assert ((scores.numpy()[0, 0] > 0) == (distance < 2)).all()


def test_attention_is_applied_over_chosen_axes():
    x, y = (RANDOM.normal(size=(2, n, 4, 8)).astype("float32") for n in (3, 5))
    layer = layers.MultiHeadAttention(**HEADS, attention_axes=1)
    outputs, scores = layer(x, y, return_attention_scores=True)
    assert outputs.shape == x.shape and scores.shape == (2, 4, 2, 3, 5)
    rows = layers.MultiHeadAttention(**HEADS)
    rows(x[:, :, 0], y[:, :, 0])
    rows.set_weights(layer.get_weights())
    np.testing.assert_allclose(outputs[:, :, 1], rows(x[:, :, 1], y[:, :, 1]), rtol=1e-4, atol=1e-5)


def test_values_may_have_another_size_than_keys():
    layer = layers.MultiHeadAttention(num_heads=2, key_dim=4, value_dim=3, output_shape=(2, 5))
    assert (
        layer(QUERY, VALUE).shape
        == layer.compute_output_shape(QUERY.shape, VALUE.shape)
        == (2, 3, 2, 5)
    )


@pytest.mark.parametrize("name, config", BOTH)
def test_dropout_is_applied_in_training_only(name, config):
    layer = getattr(layers, name)(**config, dropout=0.5, seed=1)
    np.testing.assert_array_equal(layer(QUERY, VALUE), layer(QUERY, VALUE, training=False))
    first, second = layer(QUERY, VALUE, training=True), layer(QUERY, VALUE, training=True)
    assert not np.allclose(first, second)
    again = getattr(layers, name)(**config, dropout=0.5, seed=1)
    again(QUERY, VALUE)
    again.set_weights(layer.get_weights())
    compiled = podium.function(lambda q, v: again(q, v, training=True))
    np.testing.assert_allclose(compiled(QUERY, VALUE), first, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(compiled(QUERY, VALUE), second, rtol=1e-5, atol=1e-5)


def test_single_head_attention_drops_and_masks():
    layer = layers.Attention(dropout=0.5, seed=1)
    assert not np.allclose(
        layer([QUERY, VALUE], training=True), layer([QUERY, VALUE], training=True)
    )
    query_mask, value_mask = (
        np.array([[True, False, True]] * 2),
        np.array([[True, True, False, False, False]] * 2),
    )
    outputs, scores = layers.Attention()(
        [QUERY, VALUE], mask=[query_mask, value_mask], return_attention_scores=True
    )
    assert (outputs.numpy()[:, 1] == 0).all() and (scores.numpy()[..., 2:] == 0).all()
    assert (
        outputs._keras_mask.numpy().tolist() == query_mask.tolist() and scores._keras_mask is None
    )


def test_grouped_heads_share_keys():
    layer = layers.GroupedQueryAttention(**GROUPS)
    layer(QUERY, VALUE)
    wide = layers.MultiHeadAttention(num_heads=4, key_dim=4)
    wide(QUERY, VALUE)
    weights = layer.get_weights()
    for i in (2, 3, 4, 5):
        weights[i] = np.repeat(weights[i], 2, axis=-2)
    wide.set_weights(weights)
    np.testing.assert_allclose(layer(QUERY, VALUE), wide(QUERY, VALUE), rtol=1e-5, atol=1e-6)


def test_gradients_reach_every_weight():
    for name, config in BOTH:
        layer = getattr(layers, name)(**config, use_gate=True)
        layer(QUERY, VALUE)

        @podium.function
        def gradients(query, value, layer=layer):
            with podium.GradientTape() as tape:
                loss = ops.sum(layer(query, value) ** 2)
            return tape.gradient(loss, layer.trainable_variables)

        found = gradients(QUERY, VALUE)
        assert len(found) == 10 and all(g is not None for g in found)


def test_wrong_arguments_raise():
    for make, message in [
        (
            lambda: layers.MultiHeadAttention(0, 4),
            "MultiHeadAttention was given num_heads=0; an int",
        ),
        (lambda: layers.MultiHeadAttention(2, 4, value_dim=0), "value_dim=0"),
        (lambda: layers.MultiHeadAttention(2, 4, dropout=2), "dropout=2; a number from 0 to 1"),
        (lambda: layers.MultiHeadAttention(2, 4, sliding_window=0), "sliding_window=0"),
        (lambda: layers.MultiHeadAttention(2, 4, attention_axes="x"), "attention_axes='x'"),
        (
            lambda: layers.MultiHeadAttention(2, 4, dropout=0.5, flash_attention=True),
            "the fused kernel has no dropout",
        ),
        (
            lambda: layers.GroupedQueryAttention(4, 3, 2),
            "num_query_heads=3 and num_key_value_heads=2",
        ),
        (lambda: layers.Attention(score_mode="sum"), "Unknown score_mode 'sum'"),
        (lambda: layers.Attention()(QUERY), r"called with one value; a list \[query, value\]"),
        (lambda: layers.Attention()([QUERY]), "called with 1 values"),
        (
            lambda: layers.Attention()([QUERY, VALUE], mask=np.ones((2, 3), bool)),
            r"a list \[query_mask, value_mask\]",
        ),
        (
            lambda: layers.MultiHeadAttention(2, 4)(QUERY, VALUE, QUERY),
            "a value of shape .2, 5, 8. and a key of shape .2, 3, 8.",
        ),
        (
            lambda: layers.MultiHeadAttention(2, 4, flash_attention=True)(
                QUERY, VALUE, return_attention_scores=True
            ),
            "flash_attention=True, which computes no scores",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
