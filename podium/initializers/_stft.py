"""The initializer `STFT`: convolution kernels of a short-time Fourier transform."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from podium._typing import Config, DTypeLike, ShapeLike, TensorLike
from podium.core import Tensor, check_choice, convert_to_tensor, standardize_dtype
from podium.initializers._initializer import Initializer, check_shape


class STFT(Initializer):
    """Kernels of a one-dimensional convolution that computes a short-time Fourier transform.

    The kernel has shape `(frame_length, 1, fft_length // 2 + 1)`. It computes either the real or
    the imaginary part, so a spectrogram needs two. Used by the STFTSpectrogram layer.

    Args:
        side: `"real"` or `"imag"`.
        window: The name of a window of `scipy.signal.windows`, its values, or None for no window.
        scaling: `"density"` divides by the window's L2 norm, `"spectrum"` by its sum, None by
            nothing.
        periodic: Whether a named window is periodic instead of symmetric.

    Example:
        >>> kernel = podium.initializers.STFT("real", window=None)((4, 1, 3)).numpy()[:, 0]
        >>> bool(np.allclose(kernel, [[1, 1, 1], [1, 0, -1], [1, -1, 1], [1, 0, -1]], atol=1e-6))
        True
    """

    def __init__(
        self,
        side: str = "real",
        window: str | TensorLike | None = "hann",
        scaling: str | None = "density",
        periodic: bool = False,
    ):
        self.side = check_choice("side", side, ("real", "imag"))
        self.scaling = check_choice("scaling", scaling, ("density", "spectrum", None))
        self.window = window
        self.periodic = periodic
        if isinstance(window, str):
            self._window_values(1)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return the kernel.

        Args:
            shape: `(frame_length, 1, fft_length // 2 + 1)`.
            dtype: Dtype of the kernel; None means the default float dtype.
        """
        shape, dtype = check_shape(shape), standardize_dtype(dtype)
        if len(shape) != 3:
            raise ValueError(
                f"STFT was called with shape={shape}; (frame_length, 1, frequencies) was expected."
            )
        frame_length, _, frequencies = shape
        time = np.arange(frame_length)[:, None, None]
        frequency = np.arange(frequencies)[None, None, :] / (2 * (frequencies - 1))
        angle = -2.0 * np.pi * time * frequency
        kernel = np.cos(angle) if self.side == "real" else np.sin(angle)
        if self.window is not None:
            kernel = kernel * self._scaled_window(frame_length)[:, None, None]
        return convert_to_tensor(jnp.asarray(kernel, dtype))

    def _scaled_window(self, frame_length: int) -> np.ndarray[Any, Any]:
        window = (
            self._window_values(frame_length)
            if isinstance(self.window, str)
            else np.asarray(self.window)
        )
        if window.shape != (frame_length,):
            raise ValueError(
                f"STFT has a window of shape {window.shape} and was called for frames of "
                f"{frame_length}; the window must have shape ({frame_length},)."
            )
        if self.scaling is None:
            return window
        norm: float = (
            np.sqrt(np.sum(np.square(window)))
            if self.scaling == "density"
            else np.sum(np.abs(window))
        )
        return window / norm

    def _window_values(self, length: int) -> np.ndarray[Any, Any]:
        import scipy.signal  # slow to import, and needed only here

        try:
            values: np.ndarray[Any, Any] = scipy.signal.get_window(
                self.window, length, self.periodic
            )
        except ValueError as error:
            raise ValueError(
                f"window={self.window!r} was given to STFT; the name of a window of "
                "`scipy.signal.windows` was expected, such as 'hann' or 'hamming'. For a window "
                "with parameters, pass its values as an array."
            ) from error
        return values

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {
            "side": self.side,
            "window": self.window,
            "periodic": self.periodic,
            "scaling": self.scaling,
        }
