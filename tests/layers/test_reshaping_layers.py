"""Flatten, Reshape, Permute, RepeatVector, Cropping, ZeroPadding, UpSampling. Numbers:
`tests/oracle`.
"""

import numpy as np
import pytest
from layer_contract import check_contract, inputs_of

import podium
from podium import layers

SEQUENCE, IMAGE, VOLUME = (2, 6, 2), (2, 6, 5, 3), (2, 4, 5, 3, 2)
FIRST = {"data_format": "channels_first"}
CASES = [
    ("Flatten", {}, IMAGE),
    ("Flatten", FIRST, IMAGE),
    ("Flatten", {}, (2,)),
    ("Reshape", {"target_shape": (3, -1, 2)}, (2, 12)),
    ("Reshape", {"target_shape": ()}, (2, 1)),
    ("Permute", {"dims": (3, 1, 2)}, IMAGE),
    ("RepeatVector", {"n": 3}, (2, 4)),
    ("Cropping1D", {"cropping": (2, 0)}, SEQUENCE),
    ("Cropping2D", {"cropping": ((1, 0), (2, 1)), **FIRST}, (2, 3, 6, 5)),
    ("Cropping3D", {"cropping": (1, 2, 0)}, VOLUME),
    ("ZeroPadding1D", {"padding": (1, 2)}, SEQUENCE),
    ("ZeroPadding2D", {"padding": (1, 2), **FIRST}, IMAGE),
    ("ZeroPadding3D", {}, VOLUME),
    ("UpSampling1D", {"size": 3}, SEQUENCE),
    ("UpSampling2D", {"size": (2, 3)}, IMAGE),
    ("UpSampling2D", {"interpolation": "bilinear", **FIRST}, IMAGE),
    ("UpSampling2D", {"interpolation": "lanczos5"}, IMAGE),
    ("UpSampling3D", {"size": (1, 2, 3)}, VOLUME),
]


@pytest.mark.parametrize(("name", "config", "shape"), CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config, shape):
    check_contract(name, config, shape)


@pytest.mark.parametrize(
    ("name", "config", "shape"), [c for c in CASES if c[1].get("interpolation") is None]
)
def test_integers_keep_their_dtype(name, config, shape):
    layer, x = getattr(layers, name)(**config), np.ones(shape, "int32")
    assert (
        layer(x).dtype == "int32" and layer(podium.Input(shape[1:], dtype="int32")).dtype == "int32"
    )


def test_sizes_may_be_unknown():
    image, sequence = podium.Input((None, 8, 3)), podium.Input((None, 2))
    assert layers.Flatten()(image).shape == (None, None)
    assert layers.Reshape((-1, 7))(sequence).shape == (None, None, 7)
    assert layers.Permute((3, 1, 2))(image).shape == (None, 3, None, 8)
    assert layers.Cropping2D(1)(image).shape == (None, None, 6, 3)
    assert layers.Cropping1D(200)(sequence).shape == (None, None, 2)
    assert layers.ZeroPadding2D(1)(image).shape == (None, None, 10, 3)
    assert layers.UpSampling2D(interpolation="bilinear")(image).shape == (None, None, 16, 3)
    model = podium.Model(sequence, layers.Reshape((-1, 7))(sequence))
    assert model(inputs_of((3, 14, 2))).shape == (3, 4, 7)


def test_flatten_has_the_same_result_for_both_data_formats():
    x = inputs_of(IMAGE)
    first = layers.Flatten(data_format="channels_first")(np.moveaxis(x, -1, 1))
    np.testing.assert_array_equal(first, layers.Flatten()(x))


def test_values_by_hand():
    x = np.arange(6, dtype="float32").reshape(1, 3, 2)
    assert layers.Reshape((2, 3))(x).numpy().tolist() == [[[0, 1, 2], [3, 4, 5]]]
    assert layers.Reshape(6)(x).numpy().tolist() == [[0, 1, 2, 3, 4, 5]]
    assert layers.Permute((2, 1))(x).numpy().tolist() == [[[0, 2, 4], [1, 3, 5]]]
    assert layers.RepeatVector(2)(x[:, 0]).numpy().tolist() == [[[0, 1], [0, 1]]]
    assert layers.Cropping1D((1, 0))(x).numpy().tolist() == [[[2, 3], [4, 5]]]
    assert layers.ZeroPadding1D((0, 1))(x).numpy().tolist() == [[[0, 1], [2, 3], [4, 5], [0, 0]]]
    assert layers.UpSampling1D(2)(x).numpy()[0, :, 0].tolist() == [0, 0, 2, 2, 4, 4]
    assert layers.Reshape((0, 3))(np.ones((2, 0), "float32")).shape == (2, 0, 3)


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("Flatten", {"data_format": "channels"}, r"Flatten was given data_format='channels'"),
        ("Reshape", {"target_shape": (-1, -1)}, r"target_shape=\(-1, -1\); .* at most one is -1"),
        (
            "Reshape",
            {"target_shape": (2, -3)},
            r"target_shape=\(2, -3\); ints were expected",
        ),
        ("Permute", {"dims": (0, 1)}, r"Permute was given dims=\(0, 1\); each int from 1"),
        ("Permute", {"dims": (1, 1)}, r"dims=\(1, 1\)"),
        ("Permute", {"dims": 2}, r"dims=2"),
        ("RepeatVector", {"n": 0}, r"RepeatVector was given n=0"),
        ("RepeatVector", {"n": 2.0}, r"n=2.0 \(float\); an int"),
        ("Cropping1D", {"cropping": (1, 2, 3)}, r"cropping=\(1, 2, 3\)"),
        ("Cropping2D", {"cropping": -1}, r"cropping=-1; an int of at least 0"),
        ("ZeroPadding2D", {"padding": (1, 2, 3)}, r"padding=\(1, 2, 3\); .* a tuple of 2 pairs"),
        ("ZeroPadding3D", {"padding": (1, 2)}, r"padding=\(1, 2\); .* a tuple of 3 pairs"),
        ("UpSampling1D", {"size": 0}, r"UpSampling1D was given size=0"),
        ("UpSampling2D", {"interpolation": "bilnear"}, r"Did you mean interpolation='bilinear'"),
    ],
)
def test_wrong_arguments_raise_by_the_constructor(name, config, message):
    with pytest.raises(ValueError, match=message):
        getattr(layers, name)(**config)


def test_wrong_inputs_raise():
    with pytest.raises(
        ValueError,
        match=r"Layer 'r' \(Reshape\) .*\(2, 6\), 6 elements .*target_shape=\(4, 2\) has 8",
    ):
        layers.Reshape((4, 2), name="r")(inputs_of((2, 6)))
    with pytest.raises(ValueError, match=r"\(None, 6\), 6 elements .* has a multiple of 4"):
        layers.Reshape((4, -1))(podium.Input((6,)))
    with pytest.raises(
        ValueError,
        match=r"Layer 'c' \(Cropping2D\) .*cropping=\(\(3, 3\), \(3, 3\)\).*\(0, 3\). Crop less",
    ):
        layers.Cropping2D(3, name="c")(inputs_of((1, 6, 9, 1)))
    with pytest.raises(ValueError, match=r"3 dimensions were expected, 4 were given"):
        layers.Permute((2, 1))(inputs_of(IMAGE))
    with pytest.raises(TypeError, match="does not know the argument 'data_format'"):
        layers.Cropping1D(1, data_format="channels_first")
