"""Pooling over windows, over everything, and to a given size. Numbers: `tests/oracle`."""

import numpy as np
import pytest
from layer_contract import check_contract, inputs_of

import podium
from podium import layers

SHAPES = {1: (2, 7, 3), 2: (2, 6, 5, 3), 3: (2, 4, 5, 3, 2)}
CASES = [
    *(
        (f"{kind}Pooling{n}D", {"pool_size": 2, "padding": "same"}, SHAPES[n])
        for kind in ("Max", "Average")
        for n in SHAPES
    ),
    *((f"Global{kind}Pooling{n}D", {}, SHAPES[n]) for kind in ("Max", "Average") for n in SHAPES),
    *(
        (f"Adaptive{kind}Pooling{n}D", {"output_size": 2}, SHAPES[n])
        for kind in ("Max", "Average")
        for n in SHAPES
    ),
    (
        "MaxPooling2D",
        {"pool_size": (2, 3), "strides": (1, 2), "data_format": "channels_first"},
        SHAPES[2],
    ),
    ("AveragePooling2D", {"pool_size": 3, "strides": 2}, SHAPES[2]),
    ("GlobalAveragePooling1D", {"keepdims": True, "data_format": "channels_first"}, SHAPES[1]),
    ("GlobalMaxPooling2D", {"keepdims": True}, SHAPES[2]),
    ("AdaptiveMaxPooling2D", {"output_size": (4, 2), "data_format": "channels_first"}, SHAPES[2]),
]


@pytest.mark.parametrize(("name", "config", "shape"), CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config, shape):
    check_contract(name, config, shape)


def test_spatial_sizes_may_be_unknown():
    image = podium.Input((None, 8, 3))
    assert layers.MaxPooling2D()(image).shape == (None, None, 4, 3)
    assert layers.GlobalAveragePooling2D()(image).shape == (None, 3)
    assert layers.AveragePooling1D(400)(podium.Input((None, 3))).shape == (None, None, 3)


def test_pooling_by_hand():
    x = np.array([1, 5, 2, 4, 9], "float32").reshape(1, 5, 1)
    assert layers.MaxPooling1D(2)(x).numpy().ravel().tolist() == [5, 4]
    assert layers.MaxPooling1D(2, strides=1)(x).numpy().ravel().tolist() == [5, 5, 4, 9]
    assert layers.AveragePooling1D(2, padding="same")(x).numpy().ravel().tolist() == [3, 3, 9]
    assert layers.GlobalMaxPooling1D()(x).numpy().tolist() == [[9]]
    assert layers.AdaptiveAveragePooling1D(2)(x).numpy().ravel().tolist() == pytest.approx(
        [8 / 3, 5]
    )


def test_a_mask_leaves_steps_out_of_the_average():
    ids = np.array([[1, 2, 0, 0], [3, 0, 0, 0]])
    table = np.arange(8, dtype="float32").reshape(4, 2)
    embedded = layers.Embedding(4, 2, mask_zero=True, weights=[table])(ids)
    layer = layers.GlobalAveragePooling1D()
    pooled = layer(embedded)
    assert pooled.numpy().tolist() == [[3, 4], [6, 7]]
    assert getattr(pooled, "_keras_mask", None) is None
    x = inputs_of((2, 3, 4))
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 1]], bool)
    first = layers.GlobalAveragePooling1D(data_format="channels_first")(x, mask=mask).numpy()
    np.testing.assert_allclose(first, [x[0, :, :2].mean(1), x[1].mean(1)], rtol=1e-5)


def test_aliases():
    assert layers.MaxPool2D is layers.MaxPooling2D and layers.AvgPool3D is layers.AveragePooling3D
    assert (
        layers.GlobalAvgPool1D is layers.GlobalAveragePooling1D
        and layers.GlobalMaxPool2D is layers.GlobalMaxPooling2D
    )


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        (
            "MaxPooling2D",
            {"pool_size": 0},
            r"MaxPooling2D was given pool_size=0; an int of at least 1",
        ),
        ("MaxPooling2D", {"pool_size": (2, 2, 2)}, r"pool_size=\(2, 2, 2\); .* tuple of 2 of them"),
        ("AveragePooling1D", {"strides": 0}, r"strides=0; an int of at least 1"),
        ("MaxPooling3D", {"padding": "causal"}, r"padding='causal'; one of 'valid', 'same'"),
        ("GlobalMaxPooling1D", {"data_format": "last"}, r"data_format='last'"),
        (
            "AdaptiveMaxPooling2D",
            {"output_size": -1},
            r"AdaptiveMaxPooling2D was given output_size=-1",
        ),
    ],
)
def test_wrong_arguments_raise_by_the_constructor(name, config, message):
    with pytest.raises(ValueError, match=message):
        getattr(layers, name)(**config)


def test_wrong_inputs_raise():
    with pytest.raises(
        ValueError,
        match=r"Layer 'pool' \(MaxPooling2D\) .*\(1, 2, 9, 1\).*pool_size=\(3, 3\).*\(0, 3\)",
    ):
        layers.MaxPooling2D(3, name="pool")(inputs_of((1, 2, 9, 1)))
    with pytest.raises(ValueError, match=r"4 dimensions were expected, 3 were given"):
        layers.GlobalMaxPooling2D()(inputs_of((1, 2, 9)))
    with pytest.raises(ValueError, match=r"nothing is left"):
        layers.AveragePooling1D(4)(podium.Input((3, 1)))
