"""`tf.signal`: frames, windows and Fourier transforms of sequences."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from podium import ops
from podium.compat.tensorflow._dtypes import number_type
from podium.compat.tensorflow._table import alias
from podium.core import convert_to_tensor, dispatch, lift


def frame(
    signal: Any,
    frame_length: int,
    frame_step: int,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Any:
    """Cut a signal into frames that may overlap, along a new axis behind `axis`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.frame([1, 2, 3, 4, 5], frame_length=3, frame_step=2).numpy()
        array([[1, 2, 3],
               [3, 4, 5]], dtype=int32)
    """

    def cut(x: Any) -> Any:
        x = jnp.moveaxis(jnp.asarray(x), axis, -1)
        if pad_end:
            count = -(-x.shape[-1] // frame_step)
            missing = max(0, (count - 1) * frame_step + frame_length - x.shape[-1])
            x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)], constant_values=pad_value)
        else:
            count = max(0, 1 + (x.shape[-1] - frame_length) // frame_step)
        places = np.arange(count)[:, None] * frame_step + np.arange(frame_length)[None, :]
        made = x[..., places]
        last = axis % jnp.ndim(x)
        return jnp.moveaxis(made, (-2, -1), (last, last + 1))

    return dispatch(cut, signal)


def _window(kind: Callable, length: Any, periodic: bool, dtype: Any) -> Any:
    points = int(length)
    values = (
        kind(points + 1)[:-1] if periodic and points % 2 == 0 else kind(points)
    )  # TensorFlow's odd windows are symmetric
    return convert_to_tensor(values.astype("float32"), number_type(dtype))


def hann_window(
    window_length: Any, periodic: bool = True, dtype: Any = "float32", name: str | None = None
) -> Any:
    """The Hann window.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.hann_window(4).numpy().round(3)
        array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _window(np.hanning, window_length, periodic, dtype)


def hamming_window(
    window_length: Any, periodic: bool = True, dtype: Any = "float32", name: str | None = None
) -> Any:
    """The Hamming window.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.hamming_window(4).numpy().round(3)
        array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _window(np.hamming, window_length, periodic, dtype)


def stft(
    signals: Any,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """The Fourier transform of frames of a signal, as complex numbers.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.stft(tf.ones((2, 16)), frame_length=8, frame_step=4).shape
        (2, 3, 5)
    """
    points = fft_length or 1 << (int(frame_length) - 1).bit_length()
    frames = frame(signals, int(frame_length), int(frame_step), pad_end)
    if window_fn is not None:
        frames = frames * window_fn(frame_length)
    return dispatch(lambda x: jnp.fft.rfft(x, points), frames)


def _transform(name: str, fn: Callable, summary: str) -> Callable:
    def run(x: Any) -> Any:
        return fn(jnp.asarray(x, "complex64"))

    return alias(
        f"{name}(input, name=None)",
        lift(run),
        f"tf.signal.{name}(tf.ones((4, 4))).dtype",
        "dtype('complex64')",
        summary,
    )


fft = _transform("fft", jnp.fft.fft, "The Fourier transform along the last axis.")
ifft = _transform("ifft", jnp.fft.ifft, "The inverse Fourier transform along the last axis.")
fft2d = _transform("fft2d", jnp.fft.fft2, "The Fourier transform along the last two axes.")
ifft2d = _transform(
    "ifft2d", jnp.fft.ifft2, "The inverse Fourier transform along the last two axes."
)


def _length(fft_length: Any) -> int | None:
    return None if fft_length is None else int(np.ravel(np.asarray(fft_length))[0])


rfft = alias(
    "rfft(input_tensor, fft_length=None, name=None)",
    lambda x, length: lift(lambda x: jnp.fft.rfft(jnp.asarray(x, "float32"), _length(length)))(x),
    "tf.signal.rfft(tf.ones(8)).shape",
    "(5,)",
    "The Fourier transform of real numbers along the last axis.",
)
irfft = alias(
    "irfft(input_tensor, fft_length=None, name=None)",
    lambda x, length: lift(lambda x: jnp.fft.irfft(x, _length(length)))(x),
    "tf.signal.irfft(tf.signal.rfft(tf.ones(8))).shape",
    "(8,)",
    "Back from `rfft` to real numbers.",
)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: int = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = "float32",
    name: str | None = None,
) -> Any:
    """A matrix that sums the bins of a spectrogram into bands of the mel scale.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.signal.linear_to_mel_weight_matrix(10, 65).shape
        (65, 10)
    """

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)

    bins = mel(np.linspace(0.0, sample_rate / 2.0, num_spectrogram_bins)[1:])[:, None]
    edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
    lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
    weights = np.maximum(
        0.0, np.minimum((bins - lower) / (center - lower), (upper - bins) / (upper - center))
    )
    return ops.cast(
        convert_to_tensor(np.pad(weights, [(1, 0), (0, 0)]).astype("float32")), number_type(dtype)
    )
