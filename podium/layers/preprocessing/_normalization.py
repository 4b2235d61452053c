"""Normalization: a preprocessing layer that normalizes continuous features.

Mean and variance are arguments, or are computed from data by `adapt`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Array, Config, SymbolicShape, Tree
from podium.core import Tensor, dispatch, epsilon
from podium.layers._layer import Layer
from podium.layers._layer_arguments import check_axes, standardize_axes

Statistics: TypeAlias = float | Sequence[Any] | Array | None


class Normalization(Layer):
    """Computes `(inputs - mean) / sqrt(variance)` for each feature.

    Pass the mean and the variance, or call `adapt` with data before training.

    Args:
        axis: The axis or axes with separate statistics; None for one mean and one variance of all
            values.
        mean: The mean, if known.
        variance: The variance, if known.
        invert: Whether to apply the inverse transformation instead.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.Normalization()
        >>> layer.adapt(np.array([[1.0, 10.0], [3.0, 30.0]], "float32"))
        >>> layer(np.array([[3.0, 10.0]], "float32")).numpy()
        array([[ 1., -1.]], dtype=float32)
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        mean: Statistics = None,
        variance: Statistics = None,
        invert: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.axis = () if axis is None or axis in ((), []) else standardize_axes(self, axis)
        self.invert = invert
        self.supports_masking = True
        self.input_mean = mean
        self.input_variance = variance
        self._check_statistics(mean, variance)
        self.adapt_mean: Any = None
        self.adapt_variance: Any = None
        self.count: Any = None
        self._kept_axes: tuple[int, ...] = ()

    def _check_statistics(self, mean: Statistics, variance: Statistics) -> None:
        if (mean is None) != (variance is None):
            raise ValueError(
                f"Normalization was given mean={mean!r} and variance={variance!r}; pass both or "
                "neither."
            )
        if mean is None or variance is None:
            return
        if np.shape(mean) != np.shape(variance) or np.ndim(mean) > len(self.axis):
            raise ValueError(
                f"Normalization was given a mean of shape {np.shape(mean)} and a variance of shape "
                f"{np.shape(variance)} for axis={self.axis}; equal shapes with at most "
                f"{len(self.axis)} dimensions were expected."
            )

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the statistics, unless they were passed to the constructor."""
        check_axes(self, self.axis, input_shape)
        self._kept_axes = tuple(sorted(axis % len(input_shape) for axis in self.axis))
        if any(input_shape[axis] is None for axis in self._kept_axes):
            raise ValueError(
                f"Layer {self.name!r} (Normalization) has separate statistics along axis "
                f"{self.axis}, whose size is unknown in inputs of shape {tuple(input_shape)}. "
                "Specify that size in `Input(shape=...)`."
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
    def mean(self) -> Tensor | None:
        """The mean, shaped to broadcast against the inputs; None before the layer is built."""
        return self._broadcastable(self.adapt_mean, self.input_mean)

    @property
    def variance(self) -> Tensor | None:
        """The variance, shaped to broadcast against the inputs; None before the layer is built."""
        return self._broadcastable(self.adapt_variance, self.input_variance)

    def _broadcastable(self, variable: Any, argument: Any) -> Tensor | None:
        if not self.built:
            return None
        shape = [
            self.built_shape[axis] if axis in self._kept_axes else 1
            for axis in range(len(self.built_shape))
        ]
        kept = tuple(self.built_shape[axis] for axis in self._kept_axes)
        value = (
            variable
            if argument is None
            else np.broadcast_to(np.asarray(argument, self.compute_dtype), kept)
        )
        result: Tensor | None = dispatch(
            lambda v: v.reshape(shape).astype(self.compute_dtype), value
        )
        return result

    def adapt(self, data: Tree) -> None:
        """Compute mean and variance from data, replacing earlier ones.

        Args:
            data: An array, or an iterable of batches; of a batch that is a tuple, the first item is
                used.
        """
        if self.input_mean is not None:
            raise ValueError(
                f"Layer {self.name!r} (Normalization) was created with `mean` and `variance`: "
                "there is nothing to adapt."
            )
        if isinstance(data, (np.ndarray, Tensor)) or hasattr(data, "__array__"):
            data = [np.asarray(data)]
        if not isinstance(data, Iterable):
            raise TypeError(
                f"adapt was given a {type(data).__name__}; an array or an iterable of batches "
                "was expected."
            )
        moments = _RunningMoments()
        for batch in data:
            batch = np.asarray(batch[0] if isinstance(batch, (tuple, list)) else batch, "float64")
            if not self.built:
                self.build_from_config({"input_shape": (None, *batch.shape[1:])})
            self._check_batch(batch.shape)
            moments.add(batch, self._kept_axes)
        if moments.count == 0:
            raise ValueError("adapt was given no batches; at least one was expected.")
        self.adapt_mean.assign(moments.mean.astype(self.variable_dtype))
        self.adapt_variance.assign(moments.variance.astype(self.variable_dtype))

    def _check_batch(self, shape: tuple[Any, ...]) -> None:
        if len(shape) != len(self.built_shape) or any(
            shape[axis] != self.built_shape[axis] for axis in self._kept_axes
        ):
            raise ValueError(
                f"adapt on layer {self.name!r} (Normalization) was given data of shape {shape}; it "
                f"was built for shape {self.built_shape}. Pass data of that shape, or create a new "
                "layer."
            )

    def finalize_state(self) -> None:
        """Do nothing; accepted for compatibility with Keras."""

    def call(self, inputs: Tensor) -> Tensor:
        """Normalize the inputs, or apply the inverse if `invert`."""
        outputs: Tensor = dispatch(
            _shift_and_scale, inputs, self.mean, self.variance, self.invert, self.compute_dtype
        )
        return outputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        statistics = {
            "mean": np.array(self.input_mean).tolist(),
            "variance": np.array(self.input_variance).tolist(),
        }
        return super().get_config() | {"axis": self.axis, "invert": self.invert} | statistics


class _RunningMoments:
    """Mean and variance of all batches so far, combined exactly."""

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
        weight = count / self.count
        new_mean = self.mean * (1 - weight) + mean * weight
        previous = self.variance + np.square(self.mean - new_mean)
        self.variance = previous * (1 - weight) + (variance + np.square(mean - new_mean)) * weight
        self.mean = new_mean


def _shift_and_scale(
    x: jax.Array, mean: jax.Array, variance: jax.Array, invert: bool, dtype: str
) -> jax.Array:
    stddev = jnp.maximum(jnp.sqrt(variance), epsilon())
    x = x.astype(dtype)
    return mean + x * stddev if invert else (x - mean) / stddev
