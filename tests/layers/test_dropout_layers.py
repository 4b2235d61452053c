"""Dropout and noise: what is drawn, when, and how it repeats."""

import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers, ops

ONES = np.ones((4, 200), "float32")
CASES = [
    ("Dropout", {"rate": 0.5}, (2, 3)),
    ("Dropout", {"rate": 0.5, "noise_shape": [None, 1, 4], "seed": 3}, (2, 3, 4)),
    ("AlphaDropout", {"rate": 0.5}, (2, 3)),
    ("GaussianDropout", {"rate": 0.5}, (2, 3)),
    ("GaussianNoise", {"stddev": 0.5}, (2, 3)),
    ("SpatialDropout1D", {"rate": 0.5}, (2, 3, 4)),
    ("SpatialDropout2D", {"rate": 0.5, "data_format": "channels_first"}, (2, 3, 4, 5)),
    ("SpatialDropout3D", {"rate": 0.5}, (2, 3, 4, 2, 2)),
]


@pytest.mark.parametrize("name, config, shape", CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config, shape):
    check_contract(name, config, shape)


@pytest.mark.parametrize("name, config, shape", CASES)
def test_inputs_pass_unchanged_outside_of_training(name, config, shape):
    x = np.ones(shape, "float32")
    layer = getattr(layers, name)(**config)
    assert (layer(x).numpy() == x).all() and (layer(x, training=True).numpy() != x).any()


def test_other_inputs_are_scaled_to_keep_the_mean():
    y = layers.Dropout(0.25, seed=0)(ONES, training=True).numpy()
    assert set(np.unique(y)) == {0.0, np.float32(1 / 0.75)}
    assert (y == 0).mean() == pytest.approx(0.25, abs=0.06)
    assert (layers.Dropout(1.0)(ONES, training=True).numpy() == 0).all()


def test_masks_differ_in_each_call_and_repeat_after_set_random_seed():
    def draws(compiled):
        podium.utils.set_random_seed(7)
        layer = layers.Dropout(0.5)
        run = (
            podium.function(lambda x: layer(x, training=True))
            if compiled
            else lambda x: layer(x, training=True)
        )
        return [run(ONES).numpy() for _ in range(3)]

    first, again, compiled = draws(False), draws(False), draws(True)
    assert not np.array_equal(first[0], first[1]) and not np.array_equal(first[1], first[2])
    assert all(map(np.array_equal, first, again)) and all(map(np.array_equal, first, compiled))


def test_seed_makes_a_layer_deterministic():
    a, b = (layers.GaussianNoise(0.3, seed=5) for _ in range(2))
    np.testing.assert_array_equal(a(ONES, training=True), b(ONES, training=True))


def test_only_a_layer_that_drops_has_a_seed():
    assert layers.Dropout(0.0).variables == [] and len(layers.Dropout(0.1).variables) == 1
    assert layers.Dropout(0.1).weights == []


def test_noise_shape_and_spatial_dropout_share_the_mask():
    x = np.ones((2, 5, 50), "float32")
    shared = layers.Dropout(0.5, noise_shape=(None, 1, None), seed=1)(x, training=True).numpy()
    spatial = layers.SpatialDropout1D(0.5, seed=1)(x, training=True).numpy()
    np.testing.assert_array_equal(shared, spatial)
    assert (spatial == spatial[:, :1]).all() and 0 < (spatial == 0).mean() < 1
    first = layers.SpatialDropout2D(0.5, data_format="channels_first", seed=1)(
        np.ones((2, 50, 3, 3)), training=True
    ).numpy()
    assert (first == first[:, :, :1, :1]).all()


def test_the_gradient_is_zero_where_dropped():
    x = podium.convert_to_tensor(ONES)
    layer = layers.Dropout(0.5)
    with podium.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=True)
        loss = ops.sum(y)
    np.testing.assert_array_equal(tape.gradient(loss, x), y)


def test_wrong_arguments_raise():
    with pytest.raises(
        ValueError,
        match=r"Dropout was given rate=2; a number from 0 to 1 was expected",
    ):
        layers.Dropout(2)
    with pytest.raises(ValueError, match="GaussianNoise was given stddev=-1"):
        layers.GaussianNoise(-1)
    with pytest.raises(ValueError, match="noise_shape='ab'"):
        layers.Dropout(0.5, noise_shape="ab")
    with pytest.raises(ValueError, match=r"noise_shape=\(0, 1\)"):
        layers.Dropout(0.5, noise_shape=(0, 1))
    with pytest.raises(
        ValueError, match=r"noise_shape=.1, 4. and was given inputs of shape .2, 3, 4."
    ):
        layers.Dropout(0.5, noise_shape=(1, 4))(np.ones((2, 3, 4), "float32"), training=True)
    with pytest.raises(ValueError, match="Unknown data_format 'last'"):
        layers.SpatialDropout2D(0.5, data_format="last")
    with pytest.raises(ValueError, match="3 dimensions were expected, 2 were given"):
        layers.SpatialDropout1D(0.5)(np.ones((2, 3), "float32"))
    with pytest.raises(ValueError, match="a rate below 1"):
        layers.GaussianDropout(1.0)
