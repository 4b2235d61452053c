"""STFTSpectrogram: short-time Fourier transforms of signals, as convolutions.

Its two kernels, the real and the imaginary part, can be trained.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import Array, Config, SymbolicShape
from podium.core import Tensor, Variable, dispatch, epsilon, is_float_dtype, warn_user
from podium.core.internal import check_bool, check_int
from podium.initializers import STFT
from podium.layers import _spatial
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer
from podium.layers.preprocessing._mel_spectrogram import window_config

_MODES = ("log", "magnitude", "psd", "real", "imag", "angle", "stft")


class STFTSpectrogram(Layer):
    """Computes spectrograms of signals. Its kernels, of a Fourier transform, can be trained.

    Inputs have shape `(batch, time, channels)`; each channel is transformed by itself. Outputs have
    shape `(batch, frames, channels * frequencies)`, or `(batch, frames, frequencies, channels)`
    with `expand_dims`. There are `fft_length // 2 + 1` frequencies, twice as many for "stft".

    Args:
        mode: "magnitude", "log" for its logarithm, "psd" for the power, "real", "imag", "angle",
            or "stft" for the real and the imaginary part.
        frame_length: The number of samples of a frame.
        frame_step: The number of samples between two frames, by default half of `frame_length`.
        fft_length: The size of the transform, by default the next power of two.
        window: "hann", "hamming" or another window of scipy, its values, or None.
        periodic: Whether a named window is periodic instead of symmetric.
        scaling: "density", "spectrum" or None.
        padding: "valid" or "same".
        expand_dims: Whether frequencies have an axis of their own, as image models expect it.
        data_format: "channels_last" or "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.STFTSpectrogram(frame_length=256, frame_step=128, trainable=False)
        >>> layer(np.zeros((3, 1600, 2), "float32")).shape
        (3, 11, 258)
    """

    def __init__(
        self,
        mode: str = "log",
        frame_length: int = 256,
        frame_step: int | None = None,
        fft_length: int | None = None,
        window: str | Array | None = "hann",
        periodic: bool = False,
        scaling: str | None = "density",
        padding: str = "valid",
        expand_dims: bool = False,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.mode = _spatial.standardize_choice(self, "mode", mode, _MODES)
        self.frame_length = check_int("frame_length", frame_length, owner=self)
        self.frame_step, self.fft_length = frame_step, fft_length
        if frame_step is not None and not 1 <= frame_step <= frame_length:
            raise ValueError(
                f"STFTSpectrogram was given frame_step={frame_step}: `frame_step` should be a "
                f"positive integer not greater than `frame_length`, which is {frame_length}."
            )
        if fft_length is not None and fft_length < frame_length:
            raise ValueError(
                f"STFTSpectrogram was given fft_length={fft_length}: `fft_length` should be not "
                f"less than `frame_length`, which is {frame_length}."
            )
        if fft_length is not None and fft_length & -fft_length != fft_length:
            warn_user(f"`fft_length` is recommended to be a power of two; it is {fft_length}.")
        self._step = frame_step or max(frame_length // 2, 1)
        self._size = fft_length or 2 ** math.ceil(math.log2(frame_length))
        self.window = window
        self.periodic = check_bool("periodic", periodic, owner=self)
        STFT("real", window, scaling, periodic)  # raises for a wrong window or scaling
        self.scaling = scaling
        self.padding = _spatial.standardize_choice(self, "padding", padding, ("valid", "same"))
        self.expand_dims = check_bool("expand_dims", expand_dims, owner=self)
        self.data_format = _spatial.standardize_data_format(self, data_format)
        self.input_spec = InputSpec(ndim=3)
        self.real_kernel: Variable | None = None
        self.imag_kernel: Variable | None = None

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the kernels."""
        shape = (self.frame_length, 1, self._size // 2 + 1)
        for side, unused_mode in (("real", "imag"), ("imag", "real")):
            if self.mode != unused_mode:
                initializer = STFT(side, self.window, self.scaling, self.periodic)
                name = f"{side}_kernel"
                setattr(
                    self, name, self.add_weight(name=name, shape=shape, initializer=initializer)
                )

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the spectrograms."""
        if not is_float_dtype(inputs.dtype.name):
            raise TypeError(
                f"Layer {self.name!r} (STFTSpectrogram): Invalid input type {inputs.dtype.name}; "
                "a float dtype was expected. Cast the signal."
            )
        signal = inputs
        if self.data_format == "channels_first":
            signal = ops.transpose(signal, (0, 2, 1))
        parts = [
            None if kernel is None else self._transform(signal, kernel)
            for kernel in (self.real_kernel, self.imag_kernel)
        ]
        outputs: Tensor = dispatch(self._combine, *parts)
        return outputs

    def _transform(self, signal: Tensor, kernel: Variable) -> Tensor:
        """Return the convolution of each channel, of shape (batch, channels, frames, kernels)."""
        _, time, channels = signal.shape
        single = ops.reshape(ops.transpose(signal, (0, 2, 1)), (-1, time, 1))
        frames = ops.conv(
            single,
            ops.cast(kernel, signal.dtype.name),
            strides=self._step,
            padding=self.padding,
            data_format="channels_last",
        )
        return ops.reshape(frames, (-1, channels, *frames.shape[1:]))

    def _combine(self, real: jax.Array | None, imaginary: jax.Array | None) -> jax.Array:
        if real is None or imaginary is None:
            return self._arrange(imaginary if real is None else real)
        if self.mode == "angle":
            return self._arrange(jnp.arctan2(imaginary, real))
        if self.mode == "stft":
            return self._arrange(jnp.concatenate([real, imaginary], axis=-1))
        power = jnp.square(real) + jnp.square(imaginary)
        if self.mode == "psd":  # frequencies between the ends stand for negative ones too
            doubled = jnp.pad(power[..., 1:-1], [(0, 0)] * 3 + [(1, 1)])
            return self._arrange(power + doubled)
        magnitude = jnp.sqrt(jnp.maximum(power, epsilon()))
        if self.mode == "log":
            magnitude = jnp.log(jnp.maximum(magnitude, epsilon()))
        return self._arrange(magnitude)

    def _arrange(self, values: Any) -> jax.Array:
        """Return values of shape (batch, channels, frames, frequencies) in the data format."""
        _, channels, frames, frequencies = values.shape
        if self.data_format == "channels_first":
            if self.expand_dims:
                return jnp.asarray(values)
            return jnp.swapaxes(values, 2, 3).reshape(-1, channels * frequencies, frames)
        if self.expand_dims:
            return jnp.transpose(values, (0, 2, 3, 1))
        return jnp.swapaxes(values, 1, 2).reshape(-1, frames, channels * frequencies)

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the spectrograms."""
        first = self.data_format == "channels_first"
        batch, time, channels = (input_shape[axis] for axis in ((0, 2, 1) if first else (0, 1, 2)))
        frequencies = (self._size // 2 + 1) * (2 if self.mode == "stft" else 1)
        frames = None
        if time is not None:
            span = time if self.padding == "same" else time - self.frame_length + 1
            frames = -(-span // self._step)
        if self.expand_dims:
            if first:
                return (batch, channels, frames, frequencies)
            return (batch, frames, frequencies, channels)
        width = None if channels is None else channels * frequencies
        return (batch, width, frames) if first else (batch, frames, width)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "mode": self.mode,
            "frame_length": self.frame_length,
            "frame_step": self.frame_step,
            "fft_length": self.fft_length,
            "window": window_config(self.window),
            "periodic": self.periodic,
            "scaling": self.scaling,
            "padding": self.padding,
            "expand_dims": self.expand_dims,
            "data_format": self.data_format,
        }
