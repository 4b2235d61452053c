"""Quantizers: round trips, symbolic values, configs and errors. Keras's numbers are compared in
`tests/oracle/test_quantize.py`.
"""

import numpy as np
import pytest

import podium
from podium import quantizers
from podium.quantizers.internal import (
    compute_quantization_parameters,
    dequantize_with_groups,
    dequantize_with_zero_point,
    quantize_with_zero_point,
)

X = np.random.default_rng(0).normal(size=(7, 4)).astype("float32")
SIGNS = (-1.0) ** np.add.outer(np.arange(7), np.arange(4))
MIXED = (np.abs(X) * SIGNS).astype("float32")  # neighbours have different signs


@pytest.mark.parametrize("axis", [0, -1, (0, 1)])
@pytest.mark.parametrize("to_numpy", [False, True])
def test_an_abs_max_round_trip_loses_half_a_step(axis, to_numpy):
    values, scale = quantizers.abs_max_quantize(X, axis, to_numpy=to_numpy)
    assert values.dtype == "int8" and abs(values.numpy()).max() == 127
    restored = values.numpy() / scale.numpy()
    assert np.all(np.abs(restored - X) <= 0.5001 / scale.numpy())


@pytest.mark.parametrize("block_size", [2, 3, 7, 100])
@pytest.mark.parametrize("to_numpy", [False, True])
def test_a_grouped_round_trip_loses_half_a_step(block_size, to_numpy):
    values, scale, zero = quantizers.abs_max_quantize_grouped_with_zero_point(
        MIXED, block_size, to_numpy=to_numpy
    )
    groups = np.arange(len(X)) // block_size
    restored = dequantize_with_groups(values, scale, zero, groups, group_axis=0)
    # The zero point is rounded, so that ends of a range are cut off by up to another half.
    assert np.all(np.abs(restored.numpy() - MIXED) <= scale.numpy()[groups] * 1.01)
    assert scale.shape == zero.shape == (-(-7 // block_size), 4)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("group_size", [-1, 2])
def test_zero_points_round_trip(bits, symmetric, group_size):
    scale, zero, largest = compute_quantization_parameters(
        MIXED, bits=bits, symmetric=symmetric, per_channel=True, group_size=group_size
    )
    assert float(largest) == 2**bits - 1 and zero.dtype == "uint8"
    groups = np.arange(4) // (4 if group_size == -1 else group_size)
    scales, zeros = scale.numpy()[:, groups], zero.numpy()[:, groups]
    values = quantize_with_zero_point(MIXED, scales, zeros, largest)
    assert values.numpy().min() >= 0 and values.numpy().max() <= 2**bits - 1
    restored = dequantize_with_zero_point(values, scales, zeros)
    assert np.all(np.abs(restored.numpy() - MIXED) <= scales * 1.51)


def test_parameters_of_a_tensor_are_repeated_for_each_row():
    scale, zero, _ = compute_quantization_parameters(X, bits=8)
    assert scale.shape == zero.shape == (7, 1) and len(np.unique(scale)) == 1


def test_packing_works_along_every_axis():
    x = np.random.default_rng(0).integers(-8, 8, (3, 5)).astype("int8")
    for axis, shape in ((0, (2, 5)), (1, (3, 3)), (-2, (2, 5))):
        packed, packed_shape, size = quantizers.pack_int4(x, axis)
        assert packed_shape == packed.shape == shape
        np.testing.assert_array_equal(quantizers.unpack_int4(packed, size, axis), x)


def test_fake_quantization_of_symbolic_values_is_part_of_a_model():
    x = podium.Input((4,))
    model = podium.Model(x, quantizers.fake_quant_with_min_max_vars(x, -1.0, 1.0, num_bits=2))
    expected = quantizers.fake_quant_with_min_max_vars(X, -1.0, 1.0, num_bits=2)
    np.testing.assert_array_equal(model.predict(X, verbose=0), expected)
    assert len(np.unique(expected)) == 4


def test_the_ends_of_a_range_are_trained():
    low, high = podium.Variable(-0.5), podium.Variable(0.5)
    with podium.GradientTape() as tape:
        y = podium.ops.sum(quantizers.fake_quant_with_min_max_vars(X, low, high))
    by_low, by_high = tape.gradient(y, [low, high])
    assert float(by_low) > 0 and float(by_high) > 0
    assert float(by_low) + float(by_high) < X.size


def test_channels_of_any_axis_have_their_own_range():
    low, high = np.full(7, -2.0, "float32"), np.linspace(1, 2, 7, dtype="float32")
    rows = quantizers.fake_quant_with_min_max_vars(X, low, high, axis=0)
    columns = quantizers.fake_quant_with_min_max_vars(X.T, low, high, axis=1)
    np.testing.assert_array_equal(rows, columns.numpy().T)


def test_float8_values_are_a_subset():
    rounded = quantizers.quantize_and_dequantize(X, 1.0, "float8_e5m2", "float32").numpy()
    again = quantizers.quantize_and_dequantize(rounded, 1.0, "float8_e5m2", "float32")
    np.testing.assert_array_equal(rounded, again)
    assert not np.array_equal(rounded, X)


def test_names_configs_and_instances_mean_quantizers():
    quantizer = quantizers.AbsMaxQuantizer(axis=1)
    assert quantizers.get(quantizer) is quantizer and quantizers.get(None) is None
    assert quantizers.get("AbsMaxQuantizer", value_range=(-7, 7)).value_range == (-7, 7)
    assert quantizers.get(quantizers.AbsMaxQuantizer).axis is None
    config = quantizers.Int4QuantizationConfig(
        quantizers.AbsMaxQuantizer(axis=0, value_range=(-8, 7)), block_size=None
    )
    same = quantizers.get(quantizers.serialize(config))
    assert same.weight_quantizer.axis == (0,) and same.block_size is None
    saved = podium.saving.serialize_keras_object(config)
    assert podium.saving.deserialize_keras_object(saved).get_config() == config.get_config()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: quantizers.AbsMaxQuantizer(value_range=(-256, 256)), "value_range inside of"),
        (
            lambda: quantizers.Int8QuantizationConfig(quantizers.Quantizer("int16")),
            "output_dtype='int16'",
        ),
        (lambda: quantizers.Int4QuantizationConfig(block_size=0), "block_size must be None, -1"),
        (
            lambda: quantizers.Int4QuantizationConfig(None, quantizers.AbsMaxQuantizer()),
            "sub-channel quantization, in blocks, does not support custom quantizers",
        ),
        (
            lambda: quantizers.Int4QuantizationConfig(
                quantizers.AbsMaxQuantizer(), block_size=None
            ),
            r"value_range=\(-8, 7\) was expected",
        ),
        (lambda: quantizers.GPTQConfig([], None, weight_bits=5), "weight_bits"),
        (lambda: quantizers.GPTQConfig([], None, hessian_damping=2), "hessian_damping=2"),
        (lambda: quantizers.AWQConfig([], None, group_size=0), "group_size=0"),
        (lambda: quantizers.AWQConfig([], None, weight_bits=8), "weight_bits"),
        (lambda: quantizers.get("typo"), "Unknown quantizer 'typo'"),
        (lambda: quantizers.pack_int4(X.astype("int8"), dtype="int16"), "dtype"),
        (lambda: compute_quantization_parameters(X[0], bits=4), "rank of at least 2"),
        (lambda: compute_quantization_parameters(X[:0], bits=4), "is empty"),
        (lambda: compute_quantization_parameters(None, bits=4), "cannot be None"),
        (
            lambda: quantizers.abs_max_quantize_grouped_with_zero_point(X[0], 2),
            "a matrix was expected",
        ),
    ],
)
def test_wrong_arguments_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_wrong_types_and_missing_methods_raise():
    with pytest.raises(TypeError, match="pack_int4 was given an array of dtype float32"):
        quantizers.pack_int4(X)
    with pytest.raises(TypeError, match="unpack_int4 was given an array of dtype float32"):
        quantizers.unpack_int4(X, 7)
    with pytest.raises(NotImplementedError, match="does not define `get_config`"):
        quantizers.Quantizer().get_config()
    with pytest.raises(NotImplementedError, match="has no `mode`"):
        assert quantizers.QuantizationConfig().mode
