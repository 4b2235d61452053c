"""Normalization: shift and scale features by a mean and variance that are given, or learned from
data by `adapt`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np

from podium.core import Tensor, dispatch, epsilon
from podium.layers._argument_checks import axes_of, check_axes
from podium.layers._layer import Layer


class Normalization(Layer):
    """Computes `(inputs - mean) / sqrt(variance)` for each feature.

    Give the mean and the variance, or call `adapt` with data before training.

    Args:
        axis: The axis or axes that keep statistics of their own; None for one mean and one variance
            over everything.
        mean: The mean, if known.
        variance: The variance, if known.
        invert: Whether to undo the normalization instead.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.Normalization()
        >>> layer.adapt(np.array([[1.0, 10.0], [3.0, 30.0]], "float32"))
        >>> layer(np.array([[3.0, 10.0]], "float32")).numpy()
        array([[ 1., -1.]], dtype=float32)
    """

    def __init__(
        self,
        axis: Any = -1,
        mean: Any = None,
        variance: Any = None,
        invert: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.axis = () if axis is None or axis in ((), []) else axes_of(self, axis)
        self.invert = invert
        self.supports_masking = True
        self.input_mean = mean
        self.input_variance = variance
        self._check_given(mean, variance)
        self.adapt_mean: Any = None
        self.adapt_variance: Any = None
        self.count: Any = None
        self._kept_axes: tuple[int, ...] = ()

    def _check_given(self, mean: Any, variance: Any) -> None:
        if (mean is None) != (variance is None):
            raise ValueError(
                f"Normalization was given mean={mean!r} and variance={variance!r}; give both or "
                "neither."
            )
        if mean is not None and (
            np.shape(mean) != np.shape(variance) or np.ndim(mean) > len(self.axis)
        ):
            raise ValueError(
                f"Normalization was given a mean of shape {np.shape(mean)} and a variance of shape "
                f"{np.shape(variance)} for axis={self.axis}; equal shapes with at most "
                f"{len(self.axis)} dimensions were expected."
            )

    def build(self, input_shape: Any) -> None:
        """Make the statistics, unless they were given."""
        check_axes(self, self.axis, input_shape)
        self._kept_axes = tuple(sorted(axis % len(input_shape) for axis in self.axis))
        if any(input_shape[axis] is None for axis in self._kept_axes):
            raise ValueError(
                f"Layer {self.name!r} (Normalization) keeps statistics along axis {self.axis}, "
                f"whose length is unknown in inputs of shape {tuple(input_shape)}. Give that "
                "length in `Input(shape=...)`."
            )
        shape = tuple(input_shape[axis] for axis in self._kept_axes)
        if self.input_mean is None:
            self.adapt_mean = self.add_weight(
                name="mean", shape=shape, initializer="zeros", trainable=False
            )
            self.adapt_variance = self.add_weight(
                name="variance", shape=shape, initializer="ones", trainable=False
            )
            self.count = self.add_weight(
                name="count", shape=(), dtype="int32", initializer="zeros", trainable=False
            )
        self.built, self.built_shape = True, tuple(input_shape)

    @property
    def mean(self) -> Any:
        """The mean, shaped to broadcast against the inputs; None before the layer is built."""
        return self._aligned(self.adapt_mean, self.input_mean)

    @property
    def variance(self) -> Any:
        """The variance, shaped to broadcast against the inputs; None before the layer is built."""
        return self._aligned(self.adapt_variance, self.input_variance)

    def _aligned(self, variable: Any, given: Any) -> Any:
        if not self.built:
            return None
        shape = [
            self.built_shape[axis] if axis in self._kept_axes else 1
            for axis in range(len(self.built_shape))
        ]
        kept = tuple(self.built_shape[axis] for axis in self._kept_axes)
        value = (
            variable
            if given is None
            else np.broadcast_to(np.asarray(given, self.compute_dtype), kept)
        )
        return dispatch(lambda v: v.reshape(shape).astype(self.compute_dtype), value)

    def adapt(self, data: Any) -> None:
        """Learn mean and variance from data, forgetting what was learned before.

        Args:
            data: An array, or an iterable of batches; of a batch that is a tuple, the first part
                counts.
        """
        if self.input_mean is not None:
            raise ValueError(
                f"Layer {self.name!r} (Normalization) was made with `mean` and `variance`: there "
                "is nothing to adapt."
            )
        if isinstance(data, (np.ndarray, Tensor)) or hasattr(data, "__array__"):
            data = [np.asarray(data)]
        if not isinstance(data, Iterable):
            raise TypeError(
                f"adapt was given a {type(data).__name__}; an array or an iterable of batches "
                "was expected."
            )
        totals = _Totals()
        for batch in data:
            batch = np.asarray(batch[0] if isinstance(batch, (tuple, list)) else batch, "float64")
            if not self.built:
                self.build_from_config({"input_shape": (None, *batch.shape[1:])})
            self._check_batch(batch.shape)
            totals.add(batch, self._kept_axes)
        if totals.count == 0:
            raise ValueError("adapt was given no batches; at least one was expected.")
        self.adapt_mean.assign(totals.mean.astype(self.variable_dtype))
        self.adapt_variance.assign(totals.variance.astype(self.variable_dtype))

    def _check_batch(self, shape: tuple) -> None:
        if len(shape) != len(self.built_shape) or any(
            shape[axis] != self.built_shape[axis] for axis in self._kept_axes
        ):
            raise ValueError(
                f"adapt on layer {self.name!r} (Normalization) met data of shape {shape}; it was "
                f"built for shape {self.built_shape}. Give data of that shape, or make a new layer."
            )

    def finalize_state(self) -> None:
        """Accepted as in Keras; the statistics are always read from the weights."""

    def call(self, inputs: Any) -> Any:
        """Normalise the inputs, or undo it if `invert`."""
        return dispatch(
            _shift_and_scale, inputs, self.mean, self.variance, self.invert, self.compute_dtype
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        given = {
            "mean": np.array(self.input_mean).tolist(),
            "variance": np.array(self.input_variance).tolist(),
        }
        return super().get_config() | {"axis": self.axis, "invert": self.invert} | given


class _Totals:
    """Mean and variance of all batches so far, merged exactly."""

    def __init__(self) -> None:
        self.count = 0
        self.mean: Any = 0.0
        self.variance: Any = 0.0

    def add(self, batch: np.ndarray, kept_axes: tuple[int, ...]) -> None:
        axes = tuple(axis for axis in range(batch.ndim) if axis not in kept_axes)
        mean, variance = batch.mean(axis=axes), batch.var(axis=axes)
        count = math.prod(batch.shape[axis] for axis in axes)
        if count == 0:
            return
        self.count += count
        share = count / self.count
        merged = self.mean * (1 - share) + mean * share
        before = self.variance + np.square(self.mean - merged)
        self.variance = before * (1 - share) + (variance + np.square(mean - merged)) * share
        self.mean = merged


def _shift_and_scale(x: Any, mean: Any, variance: Any, invert: bool, dtype: str) -> Any:
    spread = jnp.maximum(jnp.sqrt(variance), epsilon())
    x = x.astype(dtype)
    return mean + x * spread if invert else (x - mean) / spread
