"""MelSpectrogram: the spectrum of an audio signal over time, on the mel scale."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from podium import ops
from podium._typing import Array, Config, SymbolicShape
from podium.core import Tensor, dispatch
from podium.core.internal import check_int, check_number
from podium.layers._layer import Layer

# The mel scale of the Hidden Markov Model Toolkit.
_MEL_BREAK_FREQUENCY = 700.0  # Hertz
_MEL_HIGH_FREQUENCY_Q = 1127.0


class MelSpectrogram(Layer):
    """Converts audio signals to mel spectrograms: which frequencies they have, over time.

    Inputs have shape `(samples,)` or `(batch, samples)`, outputs `(..., num_mel_bins, time)`.

    Args:
        fft_length: The size of each Fourier transform.
        sequence_stride: The number of samples between two transforms.
        sequence_length: The length of the window, by default `fft_length`.
        window: "hann", "hamming", the values of a window, or None.
        sampling_rate: The number of samples per second.
        num_mel_bins: The number of frequencies of the outputs.
        min_freq: The lowest frequency, in Hertz.
        max_freq: The highest frequency, by default half of the sampling rate.
        power_to_db: Whether the outputs are decibels.
        top_db: How far below the largest value, in decibels, smaller ones are cut off.
        mag_exp: The exponent of the magnitudes: 1 for magnitudes, 2 for power.
        min_power: The smallest power.
        ref_power: The power of 0 decibels.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.MelSpectrogram(num_mel_bins=64, sampling_rate=8000)
        >>> layer(np.zeros((2, 16000), "float32")).shape
        (2, 64, 32)
    """

    def __init__(
        self,
        fft_length: int = 2048,
        sequence_stride: int = 512,
        sequence_length: int | None = None,
        window: str | Array | None = "hann",
        sampling_rate: int = 16000,
        num_mel_bins: int = 128,
        min_freq: float = 20.0,
        max_freq: float | None = None,
        power_to_db: bool = True,
        top_db: float = 80.0,
        mag_exp: float = 2.0,
        min_power: float = 1e-10,
        ref_power: float = 1.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.fft_length = check_int("fft_length", fft_length, owner=self)
        self.sequence_stride = check_int("sequence_stride", sequence_stride, owner=self)
        self.sequence_length = check_int(
            "sequence_length", sequence_length or fft_length, owner=self
        )
        if self.fft_length < self.sequence_length:
            raise ValueError(
                f"MelSpectrogram was given fft_length={fft_length} and "
                f"sequence_length={sequence_length}: `fft_length` must be greater than or equal to "
                "`sequence_length`."
            )
        self.window = window
        self.sampling_rate = sampling_rate
        self.num_mel_bins = check_int("num_mel_bins", num_mel_bins, owner=self)
        self.min_freq = check_number("min_freq", min_freq, 0, owner=self)
        self.max_freq = max_freq or int(sampling_rate / 2)
        self.power_to_db = power_to_db
        self.top_db = top_db
        self.mag_exp = mag_exp
        self.min_power = min_power
        self.ref_power = ref_power

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the spectrograms."""
        dtype = self.compute_dtype if self.compute_dtype == "float64" else "float32"
        real, imaginary = ops.stft(
            ops.cast(inputs, dtype),
            sequence_length=self.sequence_length,
            sequence_stride=self.sequence_stride,
            fft_length=self.fft_length,
            window=self.window,
            center=True,
        )
        matrix = self.linear_to_mel_weight_matrix(
            self.num_mel_bins,
            self.fft_length // 2 + 1,
            self.sampling_rate,
            self.min_freq,
            self.max_freq,
            dtype,
        )
        outputs: Tensor = dispatch(self._to_mel, real, imaginary, matrix)
        return ops.cast(outputs, self.compute_dtype)

    def _to_mel(self, real: jax.Array, imaginary: jax.Array, matrix: jax.Array) -> jax.Array:
        magnitude = jnp.sqrt(jnp.square(real) + jnp.square(imaginary))
        result = jnp.power(magnitude, self.mag_exp) @ matrix
        if self.power_to_db:
            reference = 10.0 * np.log10(max(abs(self.ref_power), self.min_power))
            result = 10.0 * jnp.log10(jnp.maximum(result, self.min_power)) - reference
            result = jnp.maximum(result, jnp.max(result) - self.top_db)
        return jnp.swapaxes(result, -1, -2)

    def linear_to_mel_weight_matrix(
        self,
        num_mel_bins: int = 20,
        num_spectrogram_bins: int = 129,
        sampling_rate: float = 8000,
        lower_edge_hertz: float = 125.0,
        upper_edge_hertz: float = 3800.0,
        dtype: str = "float32",
    ) -> NDArray[Any]:
        """Return the matrix from frequencies of a Fourier transform to those of the mel scale.

        Each column is a triangle with a peak of 1, between the centers of its neighbors.

        Args:
            num_mel_bins: The number of frequencies on the mel scale.
            num_spectrogram_bins: The number of frequencies of the transform.
            sampling_rate: The number of samples per second.
            lower_edge_hertz: The lowest frequency.
            upper_edge_hertz: The highest frequency.
            dtype: The dtype of the matrix.
        """
        frequencies = np.linspace(0.0, sampling_rate / 2.0, num_spectrogram_bins)[1:]
        bins = _hertz_to_mel(frequencies)[:, None]
        first, last = _hertz_to_mel(np.array([lower_edge_hertz, upper_edge_hertz]))
        edges = np.linspace(first, last, num_mel_bins + 2)
        lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
        rising = (bins - lower) / (center - lower)
        falling = (upper - bins) / (upper - center)
        weights = np.maximum(0.0, np.minimum(rising, falling))
        return np.pad(weights, [(1, 0), (0, 0)]).astype(dtype)  # the mean has no frequency

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the spectrograms."""
        *batch, size = input_shape
        time = None
        if size is not None:
            padding = 2 * (self.fft_length // 2) - self.fft_length
            time = 1 + (size + padding) // self.sequence_stride
        return (*batch, self.num_mel_bins, time)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "fft_length": self.fft_length,
            "sequence_stride": self.sequence_stride,
            "sequence_length": self.sequence_length,
            "window": window_config(self.window),
            "sampling_rate": self.sampling_rate,
            "num_mel_bins": self.num_mel_bins,
            "min_freq": self.min_freq,
            "max_freq": self.max_freq,
            "power_to_db": self.power_to_db,
            "top_db": self.top_db,
            "mag_exp": self.mag_exp,
            "min_power": self.min_power,
            "ref_power": self.ref_power,
        }


def _hertz_to_mel(frequencies: NDArray[Any]) -> NDArray[Any]:
    return _MEL_HIGH_FREQUENCY_Q * np.log(1.0 + frequencies / _MEL_BREAK_FREQUENCY)


def window_config(window: str | Array | None) -> str | list[float] | None:
    """Return the argument `window` in a JSON-compatible form."""
    if window is None or isinstance(window, str):
        return window
    values: list[float] = np.asarray(window).tolist()
    return values
