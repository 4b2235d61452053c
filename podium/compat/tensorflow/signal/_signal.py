"""Frames, windows and Fourier transforms of `tf.signal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops
from podium._typing import DTypeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.compat.tensorflow._dtypes import canonical_dtype
from podium.core import Tensor, convert_to_tensor


def frame(
    signal: TensorLike,
    frame_length: int,
    frame_step: int,
    pad_end: bool = False,
    pad_value: float = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Split a signal into frames that may overlap, along a new axis after `axis`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.frame([1, 2, 3, 4, 5], frame_length=3, frame_step=2).numpy()
        array([[1, 2, 3],
               [3, 4, 5]], dtype=int32)
    """

    @lift_with_promotion
    def split(x: TensorLike) -> jax.Array:
        x = jnp.moveaxis(jnp.asarray(x), axis, -1)
        if pad_end:
            num_frames = -(-x.shape[-1] // frame_step)
            padding = max(0, (num_frames - 1) * frame_step + frame_length - x.shape[-1])
            x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, padding)], constant_values=pad_value)
        else:
            num_frames = max(0, 1 + (x.shape[-1] - frame_length) // frame_step)
        starts = np.arange(num_frames)[:, None] * frame_step
        frames = x[..., starts + np.arange(frame_length)[None, :]]
        frame_axis = axis % jnp.ndim(x)
        return jnp.moveaxis(frames, (-2, -1), (frame_axis, frame_axis + 1))

    return split(signal)


def _window(
    window_fn: Callable[[int], np.ndarray[Any, Any]],
    window_length: int,
    periodic: bool,
    dtype: DTypeLike,
) -> Tensor:
    points = int(window_length)
    # TensorFlow's windows of odd length are symmetric.
    is_periodic = periodic and points % 2 == 0
    values = window_fn(points + 1)[:-1] if is_periodic else window_fn(points)
    window: Tensor = convert_to_tensor(values.astype("float32"), canonical_dtype(dtype))
    return window


def hann_window(
    window_length: int,
    periodic: bool = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Return the Hann window.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.hann_window(4).numpy().round(3)
        array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _window(np.hanning, window_length, periodic, dtype)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Return the Hamming window.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.hamming_window(4).numpy().round(3)
        array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _window(np.hamming, window_length, periodic, dtype)


def stft(
    signals: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable[..., Tensor] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the short-time Fourier transform, as complex numbers.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.stft(tf.ones((2, 16)), frame_length=8, frame_step=4).shape
        (2, 3, 5)
    """
    points = fft_length or 1 << (int(frame_length) - 1).bit_length()
    frames = frame(signals, int(frame_length), int(frame_step), pad_end)
    if window_fn is not None:
        frames = frames * window_fn(frame_length)

    @lift_with_promotion
    def transform(frames: TensorLike) -> jax.Array:
        return jnp.fft.rfft(jnp.asarray(frames), points)

    return transform(frames)


@fold_constants
def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the Fourier transform along the last axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.fft(tf.ones((4, 4))).dtype
        dtype('complex64')
    """
    return _fft(input)


@lift_with_promotion
def _fft(x: TensorLike) -> jax.Array:
    return jnp.fft.fft(jnp.asarray(x, "complex64"))


@fold_constants
def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse Fourier transform along the last axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.ifft(tf.ones((4, 4))).dtype
        dtype('complex64')
    """
    return _ifft(input)


@lift_with_promotion
def _ifft(x: TensorLike) -> jax.Array:
    return jnp.fft.ifft(jnp.asarray(x, "complex64"))


@fold_constants
def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the Fourier transform along the last two axes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.fft2d(tf.ones((4, 4))).dtype
        dtype('complex64')
    """
    return _fft2d(input)


@lift_with_promotion
def _fft2d(x: TensorLike) -> jax.Array:
    return jnp.fft.fft2(jnp.asarray(x, "complex64"))


@fold_constants
def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse Fourier transform along the last two axes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.ifft2d(tf.ones((4, 4))).dtype
        dtype('complex64')
    """
    return _ifft2d(input)


@lift_with_promotion
def _ifft2d(x: TensorLike) -> jax.Array:
    return jnp.fft.ifft2(jnp.asarray(x, "complex64"))


def _as_int(fft_length: TensorLike | None) -> int | None:
    return None if fft_length is None else int(np.ravel(np.asarray(fft_length))[0])


@fold_constants
def rfft(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Compute the Fourier transform of real values along the last axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.rfft(tf.ones(8)).shape
        (5,)
    """

    @lift_with_promotion
    def transform(x: TensorLike) -> jax.Array:
        return jnp.fft.rfft(jnp.asarray(x, "float32"), _as_int(fft_length))

    return transform(input_tensor)


@fold_constants
def irfft(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Compute the inverse of `rfft`, as real values.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.irfft(tf.signal.rfft(tf.ones(8))).shape
        (8,)
    """

    @lift_with_promotion
    def transform(x: TensorLike) -> jax.Array:
        return jnp.fft.irfft(jnp.asarray(x), _as_int(fft_length))

    return transform(input_tensor)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: int = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Return a matrix that sums the bins of a spectrogram into bands of the mel scale.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.linear_to_mel_weight_matrix(10, 65).shape
        (65, 10)
    """

    def mel(hertz: float | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        scaled: np.ndarray[Any, Any] = 1127.0 * np.log1p(np.asarray(hertz) / 700.0)
        return scaled

    bins = mel(np.linspace(0.0, sample_rate / 2.0, num_spectrogram_bins)[1:])[:, None]
    edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
    lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
    weights = np.maximum(
        0.0, np.minimum((bins - lower) / (center - lower), (upper - bins) / (upper - center))
    )
    return ops.cast(
        convert_to_tensor(np.pad(weights, [(1, 0), (0, 0)]).astype("float32")),
        canonical_dtype(dtype),
    )
