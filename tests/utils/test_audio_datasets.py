"""Datasets of WAV files: encodings, resampling, specs and errors; and tf_keras's elements, which
`tests/oracle/record_audio.py` recorded.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import podium
from podium import utils
from podium.compat import keras

ORACLE = Path(__file__).parents[1] / "oracle"
sys.path.insert(0, str(ORACLE))

import audio_cases  # noqa: E402

SIGNAL = np.array([0.0, 0.5, -0.5, -1.0, 0.25], "float32")


def write_wav(path, data, bits, encoding=1, rate=8000, channels=1, extra=b"", declared=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = channels * bits // 8
    head = struct.pack("<HHIIHH", encoding, channels, rate, rate * frame, frame, bits)
    size = len(data) if declared is None else declared
    path.write_bytes(
        b"RIFF\0\0\0\0WAVE"
        + b"JUNK\3\0\0\0abc\0"
        + b"fmt "
        + struct.pack("<I", len(head + extra))
        + head
        + extra
        + b"data"
        + struct.pack("<I", size)
        + data
    )


def write_sine(path, rate, frequency=440.0, seconds=0.2):
    values = 0.5 * np.sin(2 * np.pi * frequency * np.arange(int(rate * seconds)) / rate)
    write_wav(path, (values * 2**15).astype("<i2").tobytes(), 16, rate=rate)


def read_all(folder, **options):
    return keras.utils.audio_dataset_from_directory(
        folder, **{"verbose": False, "shuffle": False, "labels": None, "batch_size": None} | options
    )


def test_datasets_have_the_elements_of_tf_keras(tmp_path):
    recorded = json.loads((ORACLE / "fixtures" / "audio.json").read_text())
    assert audio_cases.run(utils, tmp_path) == recorded


@pytest.mark.parametrize(
    ("data", "bits", "encoding", "extra"),
    [
        ((SIGNAL * 127 + 128.5).astype("u1").tobytes(), 8, 1, b""),
        ((SIGNAL * 2**15).astype("<i2").tobytes(), 16, 1, b""),
        (b"".join(int(v * 2**23).to_bytes(3, "little", signed=True) for v in SIGNAL), 24, 1, b""),
        ((SIGNAL * 2.0**31).astype("<i4").tobytes(), 32, 1, b""),
        (SIGNAL.astype("<f4").tobytes(), 32, 3, b""),
        (SIGNAL.astype("<f8").tobytes(), 64, 3, b""),
        ((SIGNAL * 2**15).astype("<i2").tobytes(), 16, 0xFFFE, bytes(8) + b"\1\0" + bytes(14)),
    ],
    ids=["8", "16", "24", "32", "float32", "float64", "extensible"],
)
def test_encodings(tmp_path, data, bits, encoding, extra):
    write_wav(tmp_path / "a.wav", data, bits, encoding, extra=extra)
    (audio,) = read_all(tmp_path).as_numpy_iterator()
    assert audio.dtype == "float32" and audio.shape == (5, 1)
    np.testing.assert_allclose(audio[:, 0], SIGNAL, atol=0.01 if bits == 8 else 1e-6)


def test_a_recording_that_was_interrupted_is_read_to_its_end(tmp_path):
    data = (SIGNAL * 2**15).astype("<i2").tobytes() + b"\1"
    write_wav(tmp_path / "a.wav", data, 16, declared=2**32 - 1)
    assert next(iter(read_all(tmp_path))).shape == (5, 1)


@pytest.mark.parametrize(("rate_in", "rate_out"), [(8000, 16000), (44100, 16000), (16000, 8000)])
def test_resampling_keeps_a_tone(tmp_path, rate_in, rate_out):
    write_sine(tmp_path / "in" / "a.wav", rate_in)
    write_sine(tmp_path / "out" / "a.wav", rate_out)
    (audio,) = read_all(tmp_path / "in", sampling_rate=rate_out).as_numpy_iterator()
    (expected,) = read_all(tmp_path / "out").as_numpy_iterator()
    assert audio.shape == expected.shape
    middle = slice(len(audio) // 4, -len(audio) // 4)
    np.testing.assert_allclose(audio[middle], expected[middle], atol=2e-4)


def test_resampling_removes_what_the_lower_rate_cannot_represent(tmp_path):
    write_sine(tmp_path / "a.wav", 16000, frequency=5000.0)
    (audio,) = read_all(tmp_path, sampling_rate=8000).as_numpy_iterator()
    assert np.abs(audio[400:-400]).max() < 1e-4


def test_the_length_is_that_of_the_resampled_sequence(tmp_path):
    write_sine(tmp_path / "a.wav", 8000)
    write_sine(tmp_path / "b.wav", 16000)
    dataset = read_all(tmp_path, sampling_rate=16000, output_sequence_length=900, batch_size=2)
    (audio,) = dataset.as_numpy_iterator()
    assert audio.shape == (2, 900, 1)
    np.testing.assert_allclose(audio[0, 200:700], audio[1, 200:700], atol=2e-4)


def test_element_specs_and_training(tmp_path):
    audio_cases.write_files(tmp_path, 2)
    dataset = utils.audio_dataset_from_directory(tmp_path, verbose=False)
    assert dataset.element_spec[0].shape == (None, None, 2)
    fixed = utils.audio_dataset_from_directory(tmp_path, output_sequence_length=6, verbose=False)
    assert fixed.element_spec[0].shape == (None, 6, 2)
    model = podium.Sequential([podium.layers.Flatten(), podium.layers.Dense(3)])
    loss = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss)
    assert np.isfinite(model.fit(fixed, verbose=0).history["loss"][0])


def test_wrong_files_and_arguments_raise(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"no audio at all")
    with pytest.raises(ValueError, match=r"a\.wav is not a WAV file"):
        next(iter(read_all(tmp_path)))
    write_wav(tmp_path / "a.wav", b"", 4, encoding=17)
    with pytest.raises(ValueError, match="encoding 17 with 4 bits"):
        next(iter(read_all(tmp_path)))
    (tmp_path / "a.wav").write_bytes(b"RIFF\0\0\0\0WAVE")
    with pytest.raises(ValueError, match="without samples"):
        next(iter(read_all(tmp_path)))
    write_sine(tmp_path / "a.wav", 999983)
    with pytest.raises(ValueError, match="needs too large a filter"):
        next(iter(read_all(tmp_path, sampling_rate=1000003)))
    with pytest.raises(ValueError, match="there are no ragged tensors"):
        read_all(tmp_path, ragged=True)
    with pytest.raises(ValueError, match="sampling_rate"):
        read_all(tmp_path, sampling_rate=0)
