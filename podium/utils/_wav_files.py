"""Reading WAV files and changing their sampling rate, with NumPy alone.

It owns the container (RIFF), the integer and float encodings without compression, and a resampler:
a sinc filter with a Kaiser window, which removes what the lower of both rates cannot represent.
"""

from __future__ import annotations

import math
import os
import struct
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

_INTEGERS, _FLOATS, _EXTENSIBLE = 1, 3, 0xFFFE
_ZERO_CROSSINGS = 32  # of the filter, on each side
_KAISER_BETA = 12.0  # attenuates by about 115 dB
_ROLL_OFF = 0.95  # the end of the passband, as a fraction of the lower rate
_CHUNK = 4096  # output samples that are computed at once
_MAX_FILTER_SIZE = 1 << 24


class WavFormat(NamedTuple):
    """How the samples of a file are stored."""

    encoding: int
    num_channels: int
    sampling_rate: int
    num_bits: int

    @property
    def frame_size(self) -> int:
        """Bytes of one sample of all channels."""
        return self.num_channels * self.num_bits // 8


def read_wav(path: str, max_samples: int | None = None) -> tuple[NDArray[np.float32], int]:
    """Return the samples `(samples, channels)` from -1 to 1, and the sampling rate.

    Samples after the first `max_samples` are not read.
    """
    with open(path, "rb") as file:
        wav, size = _find_samples(path, file)
        num_samples = size // wav.frame_size
        if max_samples is not None:
            num_samples = min(num_samples, max_samples)
        data = file.read(num_samples * wav.frame_size)
    return _decode_samples(data, wav).reshape(-1, wav.num_channels), wav.sampling_rate


def read_wav_format(path: str) -> WavFormat:
    """Return how the samples of a file are stored."""
    with open(path, "rb") as file:
        return _find_samples(path, file)[0]


def _find_samples(path: str, file: BinaryIO) -> tuple[WavFormat, int]:
    """Return the format and the number of bytes of the samples, which `file` is moved to.

    The number in the file is too large if recording was interrupted.
    """
    if (header := file.read(12))[:4] != b"RIFF" or header[8:] != b"WAVE":
        raise ValueError(f"{path} is not a WAV file. Convert or remove it.")
    wav = None
    while len(chunk := file.read(8)) == 8:
        kind, (size,) = chunk[:4], struct.unpack("<I", chunk[4:])
        if kind == b"data" and wav is not None:
            return wav, min(size, os.fstat(file.fileno()).st_size - file.tell())
        if kind == b"fmt ":
            wav = _read_format(path, file.read(min(size, 64)))
            file.seek(max(0, size - 64), 1)
        else:
            file.seek(size, 1)
        file.seek(size % 2, 1)  # chunks begin at even positions
    raise ValueError(f"{path} is a WAV file without samples. Convert or remove it.")


def _read_format(path: str, chunk: bytes) -> WavFormat:
    if len(chunk) < 16:
        raise ValueError(f"{path} is a WAV file whose format is cut off. Convert or remove it.")
    encoding, channels, rate, _, _, num_bits = struct.unpack("<HHIIHH", chunk[:16])
    if encoding == _EXTENSIBLE and len(chunk) >= 26:
        (encoding,) = struct.unpack("<H", chunk[24:26])
    known = {_INTEGERS: (8, 16, 24, 32), _FLOATS: (32, 64)}
    if num_bits not in known.get(encoding, ()) or not channels or not rate:
        raise ValueError(
            f"{path} is a WAV file of encoding {encoding} with {num_bits} bits, {channels} "
            f"channels and {rate} samples per second; integers of 8, 16, 24 or 32 bits or floats "
            "of 32 or 64 bits were expected. Convert it, for example with `ffmpeg -i file.wav -c:a "
            "pcm_s16le new.wav`."
        )
    return WavFormat(encoding, channels, rate, num_bits)


def _decode_samples(data: bytes, wav: WavFormat) -> NDArray[np.float32]:
    if wav.encoding == _FLOATS:
        return np.frombuffer(data, f"<f{wav.num_bits // 8}").astype(np.float32)
    if wav.num_bits == 8:  # the only size without a sign
        unsigned = np.frombuffer(data, np.uint8).astype(np.float32)
        return unsigned / np.float32(128) - np.float32(1)
    if wav.num_bits == 24:
        padded = np.zeros((len(data) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        integers = padded.view("<i4")[:, 0] >> 8
    else:
        integers = np.frombuffer(data, f"<i{wav.num_bits // 8}")
    return integers.astype(np.float32) / np.float32(2 ** (wav.num_bits - 1))


def resample(samples: NDArray[np.float32], rate_in: int, rate_out: int) -> NDArray[np.float32]:
    """Return `(samples, channels)` at another sampling rate, from the same first moment on."""
    if rate_in == rate_out or not len(samples):
        return samples
    divisor = math.gcd(rate_in, rate_out)
    up, down = rate_out // divisor, rate_in // divisor
    filters = _filters(up, down, rate_in, rate_out)
    margin = filters.shape[1] // 2 - 1
    padded = np.pad(samples, ((margin, margin + 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, filters.shape[1], axis=0)
    length = -(-len(samples) * up // down)
    result = np.empty((length, samples.shape[1]), np.float32)
    for start in range(0, length, _CHUNK):
        positions = np.arange(start, min(start + _CHUNK, length), dtype=np.int64) * down
        first, phase = positions // up, positions % up
        np.einsum("nct,nt->nc", windows[first], filters[phase], out=result[start : start + _CHUNK])
    return result


def _filters(up: int, down: int, rate_in: int, rate_out: int) -> NDArray[np.float32]:
    """Return the weights of input samples around a position, for each fraction of a sample."""
    cutoff = _ROLL_OFF * min(1.0, up / down)
    margin = math.ceil(_ZERO_CROSSINGS / cutoff)
    if up * (2 * margin + 2) > _MAX_FILTER_SIZE:
        raise ValueError(
            f"Audio of {rate_in} samples per second cannot be resampled to {rate_out}: the ratio "
            f"{up}/{down} needs too large a filter. Use a sampling rate that has more divisors in "
            f"common with {rate_in}."
        )
    offsets = np.arange(-margin, margin + 2)[None] - np.arange(up)[:, None] / up
    ratio = np.clip(np.abs(offsets) / (margin + 1), 0, 1)
    window = np.i0(_KAISER_BETA * np.sqrt(1 - ratio**2)) / np.i0(_KAISER_BETA)
    weights = cutoff * np.sinc(cutoff * offsets) * window
    normalized: NDArray[np.float32] = (weights / weights.sum(1, keepdims=True)).astype(np.float32)
    return normalized
