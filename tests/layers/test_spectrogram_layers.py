"""MelSpectrogram and STFTSpectrogram: shapes, compilation, training, mistakes.

Numbers: `test_preprocessing_oracle.py`.
"""

import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers

MEL = {"fft_length": 32, "sequence_stride": 8, "num_mel_bins": 6, "sampling_rate": 4000}
FRAMES = {"frame_length": 16, "frame_step": 6}


@pytest.mark.parametrize(
    "name, config, shape",
    [
        ("MelSpectrogram", MEL, (3, 63)),
        ("MelSpectrogram", MEL | {"fft_length": 31, "power_to_db": False}, (3, 64)),
        ("STFTSpectrogram", FRAMES, (3, 40, 2)),
        ("STFTSpectrogram", FRAMES | {"mode": "stft", "padding": "same"}, (3, 41, 2)),
        (
            "STFTSpectrogram",
            FRAMES | {"data_format": "channels_first", "expand_dims": True, "mode": "real"},
            (3, 2, 40),
        ),
    ],
)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config, shape):
    check_contract(name, config, shape)


def test_one_signal_is_transformed_as_in_a_batch():
    signal = np.random.default_rng(0).normal(size=64).astype("float32")
    layer = layers.MelSpectrogram(**MEL)
    np.testing.assert_allclose(layer(signal), layer(signal[None])[0], rtol=1e-5)


def test_mel_spectrograms_are_computed_in_float32_under_mixed_precision():
    signal = np.random.default_rng(0).integers(-8, 8, size=(2, 64)).astype("float32")
    exact, mixed = layers.MelSpectrogram(**MEL), layers.MelSpectrogram(**MEL, dtype="bfloat16")
    assert mixed(signal).dtype == "bfloat16"
    np.testing.assert_allclose(mixed(signal).numpy().astype("float32"), exact(signal), rtol=1e-2)


def test_kernels_are_trained_unless_the_layer_is_frozen():
    signal = np.random.default_rng(0).normal(size=(2, 40, 1)).astype("float32")
    layer = layers.STFTSpectrogram(**FRAMES)
    with podium.GradientTape() as tape:
        loss = podium.ops.sum(layer(signal))
    assert [kernel.name for kernel in layer.trainable_weights] == ["real_kernel", "imag_kernel"]
    assert all(np.any(g) for g in tape.gradient(loss, layer.trainable_weights))
    frozen = layers.STFTSpectrogram(**FRAMES, trainable=False, mode="real")
    frozen(signal)
    assert len(frozen.weights) == 1 and not frozen.trainable_weights


ERRORS = [
    (lambda: layers.MelSpectrogram(fft_length=8, sequence_length=9), "`fft_length` must be"),
    (lambda: layers.STFTSpectrogram(mode="power"), "mode='power'"),
    (lambda: layers.STFTSpectrogram(frame_length=8, frame_step=9), "`frame_step` should be"),
    (lambda: layers.STFTSpectrogram(frame_length=8, fft_length=4), "`fft_length` should be"),
    (lambda: layers.STFTSpectrogram(scaling="power"), "Unknown scaling"),
    (lambda: layers.STFTSpectrogram(window="round"), "window='round'"),
    (lambda: layers.STFTSpectrogram()(np.ones((1, 300, 1), "int32")), "Invalid input type int32"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_mistakes_are_errors(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_a_transform_of_another_size_than_a_power_of_two_is_a_warning():
    with pytest.warns(UserWarning, match="recommended to be a power of two"):
        layers.STFTSpectrogram(frame_length=10, fft_length=12)
