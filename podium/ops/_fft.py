"""Fourier transforms, short-time transforms, and windows of signals.

Complex values are passed as pairs of real tensors, as in Keras.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from podium._typing import DTypeLike, TensorLike
from podium.core import Tensor, check_choice
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import as_array, to_float


def _join_complex(x: tuple[ArrayLike, ArrayLike]) -> Array:
    """Return a complex array from a pair of real ones."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError("`x` must be a pair of tensors: the real and the imaginary parts.")
    real, imaginary = as_array(x[0]), as_array(x[1])
    if real.shape != imaginary.shape:
        raise ValueError(
            f"real and imaginary parts must have the same shape, and got {real.shape} and "
            f"{imaginary.shape}."
        )
    if not all(jnp.issubdtype(part.dtype, jnp.floating) for part in (real, imaginary)):
        raise ValueError(
            f"real and imaginary parts must be floats, and are {real.dtype} and {imaginary.dtype}."
        )
    return jax.lax.complex(real, imaginary)


def _split_complex(x: Array) -> tuple[Array, Array]:
    return jnp.real(x), jnp.imag(x)


def _check_frames(sequence_length: int, sequence_stride: int, fft_length: int) -> None:
    if not isinstance(sequence_stride, int) or sequence_stride <= 0:
        raise ValueError("`sequence_stride` must be a positive int.")
    if fft_length < sequence_length:
        raise ValueError("`fft_length` must not be smaller than `sequence_length`.")


def _frame_window(
    window: str | ArrayLike | None, length: int, fft_length: int, dtype: DTypeLike
) -> Array:
    """Return the window of a frame, padded evenly to the length of the transform."""
    if window is None:
        return jnp.ones(fft_length, dtype)
    if isinstance(window, str):
        check_choice("window", window, ("hann", "hamming"))
        # Periodic windows, as `scipy.signal.get_window` returns.
        symmetric = np.hanning if window == "hann" else np.hamming
        values = jnp.asarray(symmetric(length + 1)[:-1] if length > 1 else np.ones(1), dtype)
    else:
        values = as_array(window).astype(dtype)
    if values.shape != (length,):
        raise ValueError(
            f"`window` must have shape ({length},), the sequence length, and has {values.shape}."
        )
    before = (fft_length - length) // 2
    return jnp.pad(values, (before, fft_length - length - before))


@array_function("")
def _fft(x: tuple[Array, Array]) -> tuple[Array, Array]:
    return _split_complex(jnp.fft.fft(_join_complex(x)))


@operation(_fft)
def fft(x: tuple[TensorLike, TensorLike]) -> tuple[Tensor, Tensor]:
    """Fast Fourier transform along the last axis.

    Args:
        x: Pair of tensors: real and imaginary parts.

    Returns:
        The real and the imaginary parts.

    Example:
        >>> [part.numpy().tolist() for part in ops.fft(([1.0, 1.0], [0.0, 0.0]))]
        [[2.0, 0.0], [0.0, 0.0]]
    """
    return dispatch(_fft, x)


@array_function("")
def _fft2(x: tuple[Array, Array]) -> tuple[Array, Array]:
    return _split_complex(jnp.fft.fft2(_join_complex(x)))


@operation(_fft2)
def fft2(x: tuple[TensorLike, TensorLike]) -> tuple[Tensor, Tensor]:
    """Fast Fourier transform along the last two axes.

    Args:
        x: Pair of tensors: real and imaginary parts.

    Returns:
        The real and the imaginary parts.

    Example:
        >>> [part.numpy().tolist() for part in ops.fft2(([[1.0, 1.0]], [[0.0, 0.0]]))]
        [[[2.0, 0.0]], [[0.0, 0.0]]]
    """
    return dispatch(_fft2, x)


@array_function("")
def _ifft2(x: tuple[Array, Array]) -> tuple[Array, Array]:
    return _split_complex(jnp.fft.ifft2(_join_complex(x)))


@operation(_ifft2)
def ifft2(x: tuple[TensorLike, TensorLike]) -> tuple[Tensor, Tensor]:
    """Inverse fast Fourier transform along the last two axes.

    Args:
        x: Pair of tensors: real and imaginary parts.

    Returns:
        The real and the imaginary parts.

    Example:
        >>> [part.numpy().tolist() for part in ops.ifft2(([[2.0, 0.0]], [[0.0, 0.0]]))]
        [[[1.0, 1.0]], [[0.0, 0.0]]]
    """
    return dispatch(_ifft2, x)


@array_function()
def _rfft(x: Array, fft_length: int | None = None) -> tuple[Array, Array]:
    return _split_complex(jnp.fft.rfft(to_float(x), n=fft_length))


@operation(_rfft)
def rfft(x: TensorLike, fft_length: int | None = None) -> tuple[Tensor, Tensor]:
    """Fourier transform of a real signal: its non-negative frequencies.

    Args:
        x: Input tensor.
        fft_length: Length of the transform. `None` means that of the input.

    Returns:
        The real and the imaginary parts.

    Example:
        >>> [part.numpy().tolist() for part in ops.rfft([1.0, 1.0])]
        [[2.0, 0.0], [0.0, 0.0]]
    """
    return dispatch(_rfft, x, fft_length)


@array_function("")
def _irfft(x: tuple[Array, Array], fft_length: int | None = None) -> Array:
    return jnp.fft.irfft(_join_complex(x), n=fft_length)


@operation(_irfft)
def irfft(x: tuple[TensorLike, TensorLike], fft_length: int | None = None) -> Tensor:
    """Inverse of `rfft`: a real signal.

    Args:
        x: Pair of tensors: real and imaginary parts.
        fft_length: Length of the transform. `None` means that of the input.

    Example:
        >>> ops.irfft(([2.0, 0.0], [0.0, 0.0])).numpy()
        array([1., 1.], dtype=float32)
    """
    return dispatch(_irfft, x, fft_length)


@array_function("x")
def _extract_sequences(x: Array, sequence_length: int, sequence_stride: int) -> Array:
    if x.shape[-1] < sequence_length:
        raise ValueError(
            f"windows of {sequence_length} do not fit into the last axis of shape {x.shape}."
        )
    starts = np.arange(0, x.shape[-1] - sequence_length + 1, sequence_stride)
    return x[..., starts[:, None] + np.arange(sequence_length)[None, :]]


@operation(_extract_sequences)
def extract_sequences(x: TensorLike, sequence_length: int, sequence_stride: int) -> Tensor:
    """Extract overlapping windows of the last axis.

    Args:
        x: Tensor `(..., time)`.
        sequence_length: Length of each window.
        sequence_stride: Step between windows.

    Returns:
        Tensor `(..., windows, sequence_length)`.

    Example:
        >>> ops.extract_sequences([1, 2, 3, 4], 2, 1).numpy()
        array([[1, 2],
               [2, 3],
               [3, 4]], dtype=int32)
    """
    return dispatch(_extract_sequences, x, sequence_length, sequence_stride)


@array_function("x")
def _stft(
    x: Array,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: str | ArrayLike | None = "hann",
    center: bool = True,
) -> tuple[Array, Array]:
    _check_frames(sequence_length, sequence_stride, fft_length)
    if x.dtype not in (jnp.float32, jnp.float64):
        raise TypeError(
            f"expected float32 or float64 and got {x.dtype}. Cast it: `ops.cast(x, 'float32')`."
        )
    if center:
        x = jnp.pad(
            x, [(0, 0)] * (x.ndim - 1) + [(fft_length // 2, fft_length // 2)], mode="reflect"
        )
    frames = _extract_sequences(x, fft_length, sequence_stride)
    return _split_complex(
        jnp.fft.rfft(frames * _frame_window(window, sequence_length, fft_length, x.dtype))
    )


@operation(_stft)
def stft(
    x: TensorLike,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: str | TensorLike | None = "hann",
    center: bool = True,
) -> tuple[Tensor, Tensor]:
    """Short-time Fourier transform: spectra of overlapping windows of a real signal.

    Args:
        x: Float tensor `(..., time)`.
        sequence_length: Length of each window.
        sequence_stride: Step between windows.
        fft_length: Length of each transform, at least `sequence_length`.
        window: `hann`, `hamming`, a tensor of `sequence_length` weights, or `None`.
        center: Whether to reflect the signal at its ends so that windows are centered.

    Returns:
        Real and imaginary parts, `(..., windows, fft_length // 2 + 1)`.

    Example:
        >>> real, imaginary = ops.stft(np.ones(8, "float32"), 4, 2, 4, window=None, center=False)
        >>> real.numpy()[0]
        array([4., 0., 0.], dtype=float32)
    """
    return dispatch(_stft, x, sequence_length, sequence_stride, fft_length, window, center)


@array_function("")
def _istft(
    x: tuple[Array, Array],
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: str | ArrayLike | None = "hann",
    center: bool = True,
) -> Array:
    _check_frames(sequence_length, sequence_stride, fft_length)
    spectra = _join_complex(x)
    if spectra.ndim < 2:
        raise ValueError(
            f"expected at least two axes, (windows, frequencies), and got shape {spectra.shape}."
        )
    frames = jnp.fft.irfft(spectra, n=fft_length)
    weights = _frame_window(window, sequence_length, fft_length, frames.dtype)
    # Sum the weighted frames, and divide by the sum of the weights at each time.
    total = fft_length + sequence_stride * (frames.shape[-2] - 1)
    positions = (
        np.arange(frames.shape[-2])[:, None] * sequence_stride + np.arange(fft_length)[None, :]
    )
    signal = (
        jnp.zeros((*frames.shape[:-2], total), frames.dtype)
        .at[..., positions]
        .add(frames * weights)
    )
    overlap = (
        jnp.zeros(total, frames.dtype)
        .at[positions]
        .add(jnp.broadcast_to(jnp.square(weights), positions.shape))
    )
    signal = signal / jnp.where(overlap > 1e-10, overlap, 1.0)
    if window is None:  # Keras adds such frames up without dividing by their overlap
        signal = signal * (fft_length / sequence_stride)
    start = fft_length // 2 if center else 0
    end = start + length if length is not None else total - start
    return signal[..., start:end]


@operation(_istft)
def istft(
    x: tuple[TensorLike, TensorLike],
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: str | TensorLike | None = "hann",
    center: bool = True,
) -> Tensor:
    """Inverse short-time Fourier transform.

    Args:
        x: Pair of tensors `(..., windows, fft_length // 2 + 1)`: real and imaginary parts.
        sequence_length: Length of each window.
        sequence_stride: Step between windows.
        fft_length: Length of each transform.
        length: Length of the signal. `None` means the range that the windows cover.
        window: The window that `stft` used.
        center: Whether `stft` centered its windows.

    Returns:
        Tensor `(..., time)`.

    Example:
        >>> spectra = ops.stft(np.arange(8, dtype="float32"), 4, 2, 4)
        >>> ops.istft(spectra, 4, 2, 4, length=8).numpy().round(3)
        array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """
    return dispatch(_istft, x, sequence_length, sequence_stride, fft_length, length, window, center)
