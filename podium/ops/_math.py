"""Segments, rankings and Fourier transforms: operations that NumPy has elsewhere or not at all.

Complex values go in and out of the transforms as a pair of real tensors, as in Keras.
"""

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import check_choice
from podium.ops._promotion import as_array, to_float
from podium.ops._table import op, row


def _segment(reduce):
    def compute(data, segment_ids, num_segments, sorted):
        if segment_ids.ndim != 1 or data.ndim < 1 or segment_ids.shape[0] != data.shape[0]:
            raise ValueError(
                "`segment_ids` must be 1D with one entry for each row of `data`, and shapes are "
                f"{segment_ids.shape} and {data.shape}."
            )
        if num_segments is None:
            if isinstance(segment_ids, jax.core.Tracer):
                raise ValueError(
                    "`num_segments` must be given inside a compiled function: it fixes the "
                    "shape of the result."
                )
            num_segments = int(jnp.max(segment_ids)) + 1 if segment_ids.size else 0
        return reduce(data, segment_ids, num_segments, indices_are_sorted=sorted)

    return compute


_SEGMENTS = "(data, segment_ids, num_segments=None, sorted=False)"
_MEANS = {
    "num_segments": "Number of segments. `None` means the largest id plus one, which only works "
    "outside compiled functions.",
    "sorted": "Promise that `segment_ids` is sorted, which is faster.",
}
segment_max = row(
    f"segment_max{_SEGMENTS}",
    _segment(jax.ops.segment_max),
    "Largest value in each segment.",
    "ops.segment_max([1, 5, 2], [0, 0, 1])",
    "array([5, 2], dtype=int32)",
    **_MEANS,
)
segment_min = row(
    f"segment_min{_SEGMENTS}",
    _segment(jax.ops.segment_min),
    "Smallest value in each segment.",
    "ops.segment_min([1, 5, 2], [0, 0, 1])",
    "array([1, 2], dtype=int32)",
    **_MEANS,
)
segment_prod = row(
    f"segment_prod{_SEGMENTS}",
    _segment(jax.ops.segment_prod),
    "Product of each segment.",
    "ops.segment_prod([1, 5, 2], [0, 0, 1])",
    "array([5, 2], dtype=int32)",
    **_MEANS,
)
segment_sum = row(
    f"segment_sum{_SEGMENTS}",
    _segment(jax.ops.segment_sum),
    "Sum of each segment.",
    "ops.segment_sum([1, 5, 2], [0, 0, 1])",
    "array([6, 2], dtype=int32)",
    **_MEANS,
)

top_k = row(
    "top_k(x, k, sorted=True)",
    lambda x, k, sorted: tuple(jax.lax.top_k(x, k)),
    "The `k` largest values along the last axis, and their positions.",
    "[v.numpy().tolist() for v in ops.top_k([1, 9, 5], 2)]",
    "[[9, 5], [1, 2]]",
    "x",
    k="How many.",
    sorted="The result is sorted either way.",
)


@op("targets predictions")
def in_top_k(targets, predictions, k):
    """Whether each target is among the `k` highest predictions. NaN predictions never are.

    Args:
        targets: Integer tensor `(batch,)` of class numbers.
        predictions: Tensor `(batch, classes)` of scores.
        k: How many predictions count.

    Example:
        >>> ops.in_top_k([2, 0], [[0.1, 0.6, 0.3], [0.1, 0.6, 0.3]], k=2).numpy()
        array([ True, False])
    """
    if predictions.ndim < 1 or targets.shape != predictions.shape[:-1]:
        raise ValueError(
            "the shape of `targets` must be that of `predictions` without the last axis, and got "
            f"{targets.shape} and {predictions.shape}."
        )
    chosen = jnp.take_along_axis(predictions, targets[..., None].astype("int32"), axis=-1)
    chosen = jnp.where(jnp.isnan(chosen), -jnp.inf, chosen)
    return jnp.sum(predictions > chosen, axis=-1) < k


def _complex(x):
    """A complex array from a pair of real ones."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError("`x` must be a pair of tensors: the real and the imaginary parts.")
    real, imaginary = map(as_array, x)
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


def _parts(x):
    return jnp.real(x), jnp.imag(x)


_PAIR = {"x": "Pair of tensors: real and imaginary parts."}
_SHOWN = "[part.numpy().tolist() for part in ops.{}]"
fft = row(
    "fft(x)",
    lambda x: _parts(jnp.fft.fft(_complex(x))),
    "Fourier transform along the last axis.",
    _SHOWN.format("fft(([1.0, 1.0], [0.0, 0.0]))"),
    "[[2.0, 0.0], [0.0, 0.0]]",
    "",
    **_PAIR,
)
fft2 = row(
    "fft2(x)",
    lambda x: _parts(jnp.fft.fft2(_complex(x))),
    "Fourier transform along the last two axes.",
    _SHOWN.format("fft2(([[1.0, 1.0]], [[0.0, 0.0]]))"),
    "[[[2.0, 0.0]], [[0.0, 0.0]]]",
    "",
    **_PAIR,
)
ifft2 = row(
    "ifft2(x)",
    lambda x: _parts(jnp.fft.ifft2(_complex(x))),
    "Inverse Fourier transform along the last two axes.",
    _SHOWN.format("ifft2(([[2.0, 0.0]], [[0.0, 0.0]]))"),
    "[[[1.0, 1.0]], [[0.0, 0.0]]]",
    "",
    **_PAIR,
)
irfft = row(
    "irfft(x, fft_length=None)",
    lambda x, fft_length: jnp.fft.irfft(_complex(x), n=fft_length),
    "Inverse of `rfft`: a real signal.",
    "ops.irfft(([2.0, 0.0], [0.0, 0.0]))",
    "array([1., 1.], dtype=float32)",
    "",
    **_PAIR,
)
rfft = row(
    "rfft(x, fft_length=None)",
    lambda x, fft_length: _parts(jnp.fft.rfft(to_float(x), n=fft_length)),
    "Fourier transform of a real signal: the non-negative frequencies.",
    _SHOWN.format("rfft([1.0, 1.0])"),
    "[[2.0, 0.0], [0.0, 0.0]]",
)


@op("x")
def extract_sequences(x, sequence_length, sequence_stride):
    """Overlapping windows of the last axis.

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
    if x.shape[-1] < sequence_length:
        raise ValueError(
            f"windows of {sequence_length} do not fit into the last axis of shape {x.shape}."
        )
    starts = np.arange(0, x.shape[-1] - sequence_length + 1, sequence_stride)
    return x[..., starts[:, None] + np.arange(sequence_length)[None, :]]


def _check_frames(sequence_length, sequence_stride, fft_length):
    if not isinstance(sequence_stride, int) or sequence_stride <= 0:
        raise ValueError("`sequence_stride` must be a positive int.")
    if fft_length < sequence_length:
        raise ValueError("`fft_length` must not be smaller than `sequence_length`.")


def _frame_window(window, length, fft_length, dtype):
    """The window of a frame, padded evenly to the length of the transform."""
    if window is None:
        return jnp.ones(fft_length, dtype)
    if isinstance(window, str):
        check_choice("window", window, ("hann", "hamming"))
        # Periodic windows, as scipy.signal.get_window gives.
        shape = np.hanning if window == "hann" else np.hamming
        values = jnp.asarray(shape(length + 1)[:-1] if length > 1 else np.ones(1), dtype)
    else:
        values = as_array(window).astype(dtype)
    if values.shape != (length,):
        raise ValueError(
            f"`window` must have shape ({length},), the sequence length, and has {values.shape}."
        )
    before = (fft_length - length) // 2
    return jnp.pad(values, (before, fft_length - length - before))


@op("x")
def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    """Short-time Fourier transform: spectra of overlapping windows of a real signal.

    Args:
        x: Float tensor `(..., time)`.
        sequence_length: Length of each window.
        sequence_stride: Step between windows.
        fft_length: Length of each transform, at least `sequence_length`.
        window: `hann`, `hamming`, a tensor of `sequence_length` weights, or `None`.
        center: Whether to reflect the signal at its ends so that windows are centred on their time.

    Returns:
        Real and imaginary parts, `(..., windows, fft_length // 2 + 1)`.

    Example:
        >>> real, imaginary = ops.stft(np.ones(8, "float32"), 4, 2, 4, window=None, center=False)
        >>> real.numpy()[0]
        array([4., 0., 0.], dtype=float32)
    """
    _check_frames(sequence_length, sequence_stride, fft_length)
    if x.dtype not in (jnp.float32, jnp.float64):
        raise TypeError(
            f"expected float32 or float64 and got {x.dtype}. Cast it: `ops.cast(x, 'float32')`."
        )
    if center:
        x = jnp.pad(
            x, [(0, 0)] * (x.ndim - 1) + [(fft_length // 2, fft_length // 2)], mode="reflect"
        )
    frames = extract_sequences.raw(x, fft_length, sequence_stride)
    return _parts(
        jnp.fft.rfft(frames * _frame_window(window, sequence_length, fft_length, x.dtype))
    )


@op("")
def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    """Inverse of `stft`: a signal from overlapping spectra.

    Args:
        x: Pair of tensors `(..., windows, fft_length // 2 + 1)`: real and imaginary parts.
        sequence_length: Length of each window.
        sequence_stride: Step between windows.
        fft_length: Length of each transform.
        length: Length of the signal. `None` means as long as the windows reach.
        window: The window that `stft` used.
        center: Whether `stft` centred its windows.

    Returns:
        Tensor `(..., time)`.

    Example:
        >>> spectra = ops.stft(np.arange(8, dtype="float32"), 4, 2, 4)
        >>> ops.istft(spectra, 4, 2, 4, length=8).numpy().round(3)
        array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """
    _check_frames(sequence_length, sequence_stride, fft_length)
    x = _complex(x)
    if x.ndim < 2:
        raise ValueError(
            f"expected at least two axes, (windows, frequencies), and got shape {x.shape}."
        )
    frames = jnp.fft.irfft(x, n=fft_length)
    weights = _frame_window(window, sequence_length, fft_length, frames.dtype)
    # Add the weighted frames up, and divide by the weights that met at each time.
    total = fft_length + sequence_stride * (frames.shape[-2] - 1)
    places = np.arange(frames.shape[-2])[:, None] * sequence_stride + np.arange(fft_length)[None, :]
    signal = (
        jnp.zeros((*frames.shape[:-2], total), frames.dtype).at[..., places].add(frames * weights)
    )
    overlap = (
        jnp.zeros(total, frames.dtype)
        .at[places]
        .add(jnp.broadcast_to(jnp.square(weights), places.shape))
    )
    signal = signal / jnp.where(overlap > 1e-10, overlap, 1.0)
    if window is None:  # Keras adds such frames up without dividing by their overlap
        signal = signal * (fft_length / sequence_stride)
    start = fft_length // 2 if center else 0
    end = start + length if length is not None else total - start
    return signal[..., start:end]
