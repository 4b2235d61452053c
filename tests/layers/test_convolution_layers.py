"""Conv, ConvTranspose, SeparableConv and DepthwiseConv: what they take, refuse and promise.
Numbers: `tests/oracle`.
"""

import numpy as np
import pytest
from layer_contract import check_contract, inputs_of

import podium
from podium import layers

IMAGE, IMAGE_FIRST = (2, 6, 5, 4), (2, 4, 6, 5)
# Random kernels take seconds to compile, once per shape; where numbers do not matter, zeros do.
ZEROS, APART = {"kernel_initializer": "zeros"}, {"depthwise_initializer": "zeros"}
BOTH = APART | {"pointwise_initializer": "zeros"}
CASES = [
    (
        "Conv1D",
        {"filters": 3, "kernel_size": 3, "padding": "causal", "dilation_rate": 2},
        (2, 7, 4),
    ),
    (
        "Conv1D",
        {"filters": 4, "kernel_size": 2, "groups": 2, "data_format": "channels_first"},
        (2, 4, 7),
    ),
    (
        "Conv2D",
        {"filters": 3, "kernel_size": (2, 3), "strides": (2, 1), "activation": "relu"},
        IMAGE,
    ),
    (
        "Conv2D",
        {"filters": 3, "kernel_size": 3, "padding": "SAME", "data_format": "channels_first"},
        IMAGE_FIRST,
    ),
    (
        "Conv2D",
        {"filters": 2, "kernel_size": 3, "kernel_regularizer": "l2", "bias_constraint": "non_neg"},
        IMAGE,
    ),
    ("Conv3D", {"filters": 2, "kernel_size": 2, "use_bias": False}, (2, 3, 4, 3, 2)),
    ("Conv1DTranspose", {"filters": 2, "kernel_size": 2, "strides": 3}, (2, 4, 3)),
    ("Conv2DTranspose", {"filters": 2, "kernel_size": 4, "strides": 2, "padding": "same"}, IMAGE),
    (
        "Conv2DTranspose",
        {"filters": 2, "kernel_size": 3, "strides": 2, "output_padding": (1, 0), "padding": "same"},
        IMAGE,
    ),
    (
        "Conv2DTranspose",
        {"filters": 2, "kernel_size": 3, "dilation_rate": 2, "data_format": "channels_first"},
        IMAGE_FIRST,
    ),
    ("Conv3DTranspose", {"filters": 2, "kernel_size": 2}, (2, 2, 3, 2, 2)),
    ("SeparableConv1D", {"filters": 5, "kernel_size": 3, "depth_multiplier": 2}, (2, 7, 3)),
    (
        "SeparableConv2D",
        {"filters": 5, "kernel_size": 2, "data_format": "channels_first"},
        IMAGE_FIRST,
    ),
    ("DepthwiseConv1D", {"kernel_size": 3, "strides": 2, "padding": "same"}, (2, 7, 3)),
    ("DepthwiseConv2D", {"kernel_size": 2, "depth_multiplier": 2, "dilation_rate": 2}, IMAGE),
]


@pytest.mark.parametrize(("name", "config", "shape"), CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config, shape):
    check_contract(name, config, shape)


def test_spatial_sizes_may_be_unknown():
    image = podium.Input((None, None, 3))
    assert layers.Conv2D(8, 3, strides=2, **ZEROS)(image).shape == (None, None, None, 8)
    assert layers.Conv2DTranspose(8, 3, strides=2, **ZEROS)(image).shape == (None, None, None, 8)
    assert layers.SeparableConv2D(8, 3, **BOTH)(image).shape == (None, None, None, 8)
    assert layers.DepthwiseConv2D(3, **APART)(podium.Input((None, 9, 3))).shape == (
        None,
        None,
        7,
        3,
    )
    assert layers.Conv1D(8, 2, dilation_rate=512, **ZEROS)(podium.Input((None, 3))).shape == (
        None,
        None,
        8,
    )


def test_weights_have_kerass_names_order_and_shapes():
    def weights(layer, shape):
        layer.build(shape)
        return [(w.path.split("/")[-1], w.shape) for w in layer.weights]

    assert weights(layers.Conv2D(8, 3, groups=2, **ZEROS), (None, 9, 9, 4)) == [
        ("kernel", (3, 3, 2, 8)),
        ("bias", (8,)),
    ]
    assert weights(layers.Conv2DTranspose(8, (3, 2), **ZEROS), (None, 9, 9, 4)) == [
        ("kernel", (3, 2, 8, 4)),
        ("bias", (8,)),
    ]
    depthwise = layers.DepthwiseConv2D(3, depth_multiplier=2, **APART)
    assert weights(depthwise, (None, 9, 9, 4)) == [("kernel", (3, 3, 4, 2)), ("bias", (8,))]
    assert weights(layers.SeparableConv1D(8, 3, depth_multiplier=2, **BOTH), (None, 9, 4)) == [
        ("depthwise_kernel", (3, 4, 2)),
        ("pointwise_kernel", (1, 8, 8)),
        ("bias", (8,)),
    ]


def test_causal_convolution_does_not_depend_on_later_steps():
    layer, x = layers.Conv1D(2, 3, padding="causal", dilation_rate=2), inputs_of((1, 8, 1))
    before = layer(x).numpy()
    x[:, 5:] += 1
    after = layer(x).numpy()
    np.testing.assert_array_equal(after[:, :5], before[:, :5])
    assert not np.allclose(after[:, 5:], before[:, 5:])


def test_both_data_formats_compute_the_same():
    last, first = (
        layers.Conv2D(3, 2, strides=2),
        layers.Conv2D(3, 2, strides=2, data_format="channels_first"),
    )
    x = inputs_of(IMAGE)
    y = last(x)
    first.build(IMAGE_FIRST)
    first.set_weights(last.get_weights())
    np.testing.assert_allclose(
        np.moveaxis(first(np.moveaxis(x, -1, 1)).numpy(), 1, -1), y, rtol=1e-5
    )


def test_gradients_reach_inputs_and_weights():
    layer, x = layers.SeparableConv2D(3, 2), podium.convert_to_tensor(inputs_of(IMAGE))
    layer.build(IMAGE)
    with podium.GradientTape() as tape:
        tape.watch(x)
        loss = podium.ops.sum(layer(x) ** 2)
    sources = [x, *layer.trainable_variables]
    assert [g.shape for g in tape.gradient(loss, sources)] == [s.shape for s in sources]


def test_mixed_precision_computes_in_bfloat16_and_keeps_float32_weights():
    for name, config in [
        ("Conv2D", {"filters": 3, "kernel_size": 2}),
        ("Conv2DTranspose", {"filters": 3, "kernel_size": 2}),
    ]:
        layer = getattr(layers, name)(**config, **ZEROS, dtype="mixed_bfloat16")
        assert layer(inputs_of(IMAGE)).dtype == "bfloat16" and layer.kernel.dtype == "float32"
        assert layer(podium.Input(IMAGE[1:])).dtype == "bfloat16"


def test_integers_are_converted():
    assert layers.Conv2D(3, 2, **ZEROS)(np.ones(IMAGE, "uint8")).dtype == "float32"


def test_convolution_op_can_be_overridden():
    class Doubled(layers.Conv2D):
        def convolution_op(self, inputs, kernel):
            return super().convolution_op(inputs, kernel * 2)

    x, layer, plain = inputs_of(IMAGE), Doubled(3, 2), layers.Conv2D(3, 2)
    y = layer(x)
    plain.build(IMAGE)
    plain.set_weights(layer.get_weights())
    np.testing.assert_allclose(y, plain(x) * 2, rtol=1e-5, atol=1e-5)


def test_positional_arguments_are_in_kerass_order():
    assert layers.Conv2DTranspose(2, 3, 2, "same", 1).output_padding == (1, 1)
    assert layers.Conv3DTranspose(2, 3, 2, "same", "channels_first", 1).output_padding == (1, 1, 1)
    assert layers.DepthwiseConv2D(3, 2, "same", 4).depth_multiplier == 4
    assert layers.SeparableConv2D(8, 3, 1, "same", None, 1, 4).depth_multiplier == 4


def test_aliases():
    assert (
        layers.Convolution2D is layers.Conv2D
        and layers.Convolution1DTranspose is layers.Conv1DTranspose
    )
    assert layers.SeparableConvolution2D is layers.SeparableConv2D


def test_configs_of_keras_2_are_accepted():
    config = {
        "kernel_size": 3,
        "groups": 1,
        "kernel_initializer": "zeros",
        "kernel_regularizer": None,
        "kernel_constraint": None,
    }
    assert layers.DepthwiseConv2D(**config).get_config()["depth_multiplier"] == 1
    assert layers.SeparableConv2D(4, input_shape=(8, 8, 3), **config).batch_input_shape == (
        None,
        8,
        8,
        3,
    )
    with pytest.raises(ValueError, match="only groups=1 is accepted"):
        layers.DepthwiseConv2D(3, groups=2)


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("Conv2D", {"filters": 0}, r"Conv2D was given filters=0; an int of at least 1"),
        ("Conv2D", {"filters": 2.5}, r"filters=2.5 \(float\); an int"),
        (
            "Conv2D",
            {"kernel_size": (3, 3, 3)},
            r"kernel_size=\(3, 3, 3\); .* or a tuple of 2 of them was expected",
        ),
        ("Conv2D", {"kernel_size": 0}, r"kernel_size=0; an int of at least 1"),
        ("Conv1D", {"strides": -1}, r"Conv1D was given strides=-1"),
        ("Conv3D", {"dilation_rate": "two"}, r"dilation_rate='two'"),
        (
            "Conv2D",
            {"padding": "sane"},
            r"padding='sane'; one of 'valid', 'same' .* Did you mean padding='same'",
        ),
        ("Conv2D", {"padding": "causal"}, r"padding='causal'; one of 'valid', 'same' was expected"),
        ("Conv2D", {"data_format": "channel_first"}, r"Did you mean data_format='channels_first'"),
        ("Conv2D", {"strides": 2, "dilation_rate": 2}, r"only one of them may be above 1"),
        ("Conv2D", {"filters": 3, "groups": 2}, r"filters=3 and groups=2; .* Use filters=4"),
        ("Conv2D", {"groups": 0}, r"groups=0; an int of at least 1"),
        (
            "Conv2DTranspose",
            {"strides": 2, "output_padding": 2},
            r"output_padding=2 and strides=2; the padding must be smaller",
        ),
        (
            "SeparableConv2D",
            {"depth_multiplier": 0},
            r"SeparableConv2D was given depth_multiplier=0",
        ),
    ],
)
def test_wrong_arguments_raise_by_the_constructor(name, config, message):
    with pytest.raises(ValueError, match=message):
        getattr(layers, name)(**{"filters": 4, "kernel_size": 3} | config)


def test_error_for_a_large_window_names_layer_shapes_and_fix():
    layer = layers.Conv2D(4, 3, name="stem", **ZEROS)
    with pytest.raises(
        ValueError,
        match=r"Layer 'stem' \(Conv2D\) .*\(1, 2, 8, 3\).*kernel_size=\(3, 3\).*\(0, "
        r"6\).*padding=\"same\"",
    ):
        layer(inputs_of((1, 2, 8, 3)))
    layer(inputs_of((1, 8, 8, 3)))
    with pytest.raises(ValueError, match=r"Layer 'stem' .* spatial size would be \(0, 6\)"):
        layer(inputs_of((1, 2, 8, 3)))
    with pytest.raises(ValueError, match=r"nothing is left"):
        layers.DepthwiseConv1D(4)(podium.Input((3, 2)))
    with pytest.raises(ValueError, match=r"nothing is left"):
        layers.Conv1DTranspose(2, 2, strides=2, output_padding=0, padding="same")(
            inputs_of((1, 1, 2))
        )


def test_wrong_inputs_raise():
    layer = layers.Conv2D(4, 3, groups=2, **ZEROS)
    with pytest.raises(ValueError, match=r"4 dimensions were expected, 3 were given"):
        layer(inputs_of((2, 8, 8)))
    with pytest.raises(ValueError, match=r"3 channels .* do not divide evenly into groups=2"):
        layer(inputs_of((2, 8, 8, 3)))
    layer(inputs_of((2, 8, 8, 4)))
    with pytest.raises(
        ValueError, match=r"4 was expected as the size of its last dimension, 6 was given"
    ):
        layer(inputs_of((2, 8, 8, 6)))
    with pytest.raises(
        ValueError,
        match=r"the number of channels \(axis -1, data_format='channels_last'\) must be known",
    ):
        layers.Conv2D(4, 3)(podium.Input((8, 8, None)))
