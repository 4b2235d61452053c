"""Pooling layers: maximum or average of windows, of the entire input, or to a given output size.

Every layer specifies its rank and its operation of `podium.ops`; the three base classes own
arguments and shapes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import Config, SymbolicShape
from podium.core import KerasTensor, Tensor, dispatch, is_float_dtype
from podium.layers import _spatial
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


class _Pooling(Layer):
    """Pools windows that slide over the input."""

    _needs_no_build = True

    rank: ClassVar[int]
    _operation: ClassVar[Any]

    def __init__(
        self,
        pool_size: int | tuple[int, ...] = 2,
        strides: int | tuple[int, ...] | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        self.pool_size = _spatial.standardize_tuple(self, "pool_size", pool_size, self.rank)
        self.strides = (
            self.pool_size
            if strides is None
            else _spatial.standardize_tuple(self, "strides", strides, self.rank)
        )
        self.padding = _spatial.standardize_choice(self, "padding", padding, ("valid", "same"))
        self.data_format = _spatial.standardize_data_format(self, data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        self.compute_output_shape(inputs.shape)  # raises if the window does not fit
        result: Tensor = type(self)._operation(
            inputs, self.pool_size, self.strides, self.padding, self.data_format
        )
        return result

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs; an empty output is an error."""
        dilation, padding = (1,) * self.rank, (self.padding,) * self.rank
        input_sizes = _spatial.spatial_shape(input_shape, self.data_format)
        sizes = _spatial.map_known_sizes(
            _spatial.num_windows, input_sizes, self.pool_size, self.strides, dilation, padding
        )
        _spatial.check_not_empty(
            self, self.data_format, input_shape, sizes, "pool_size", "strides", "padding"
        )
        channels = input_shape[_spatial.channel_axis(self.data_format)]
        return _spatial.join_shape(input_shape[0], sizes, channels, self.data_format)

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        return KerasTensor(self.compute_output_shape(inputs.shape), inputs.dtype)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "pool_size": self.pool_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
        }


class MaxPooling1D(_Pooling):
    """Max pooling for temporal data.

    Args:
        pool_size: The length of the window.
        strides: The step of the window; None for `pool_size`.
        padding: "valid" for complete windows only, or "same" for an output of `ceil(length /
            strides)`.
        data_format: "channels_last" (default): `(batch, steps, channels)`, or "channels_first".
        name: The name of the layer.
        **kwargs: `dtype`, `trainable`.

    Example:
        >>> x = np.array([[[1.0], [3.0], [2.0], [5.0]]], "float32")
        >>> podium.layers.MaxPooling1D(2)(x).numpy().ravel()
        array([3., 5.], dtype=float32)
    """

    rank = 1
    _operation = ops.max_pool


class MaxPooling2D(_Pooling):
    """Max pooling for 2D data (images).

    Args:
        pool_size: Height and width of the window: a pair of ints, or one int for both.
        strides: The step of the window; None for `pool_size`.
        padding: "valid" for complete windows, or "same" for an output of `ceil(size / strides)`.
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        name: The name of the layer.
        **kwargs: `dtype`, `trainable`.

    Example:
        >>> podium.layers.MaxPooling2D()(np.ones((2, 28, 28, 3), "float32")).shape
        (2, 14, 14, 3)
    """

    rank = 2
    _operation = ops.max_pool


class MaxPooling3D(_Pooling):
    """Max pooling for 3D data (volumes).

    Args:
        pool_size: Depth, height and width of the window, or one int for all.
        strides: The step of the window; None for `pool_size`.
        padding: "valid" for complete windows, or "same" for an output of `ceil(size / strides)`.
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        name: The name of the layer.
        **kwargs: `dtype`, `trainable`.

    Example:
        >>> podium.layers.MaxPooling3D()(np.ones((1, 4, 4, 4, 2), "float32")).shape
        (1, 2, 2, 2, 2)
    """

    rank = 3
    _operation = ops.max_pool


class AveragePooling1D(_Pooling):
    """Average pooling for temporal data. Padding is ignored.

    Args:
        pool_size: The length of the window.
        strides: The step of the window; None for `pool_size`.
        padding: "valid" for complete windows only, or "same" for an output of `ceil(length /
            strides)`.
        data_format: "channels_last" (default): `(batch, steps, channels)`, or "channels_first".
        name: The name of the layer.
        **kwargs: `dtype`, `trainable`.

    Example:
        >>> x = np.array([[[1.0], [3.0], [2.0], [5.0]]], "float32")
        >>> podium.layers.AveragePooling1D(2)(x).numpy().ravel()
        array([2. , 3.5], dtype=float32)
    """

    rank = 1
    _operation = ops.average_pool


class AveragePooling2D(_Pooling):
    """Average pooling for 2D data (images). Padding is ignored.

    Args:
        pool_size: Height and width of the window: a pair of ints, or one int for both.
        strides: The step of the window; None for `pool_size`.
        padding: "valid" for complete windows, or "same" for an output of `ceil(size / strides)`.
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        name: The name of the layer.
        **kwargs: `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.AveragePooling2D(3, strides=1, padding="same")
        >>> layer(np.ones((2, 5, 5, 3), "float32")).shape
        (2, 5, 5, 3)
    """

    rank = 2
    _operation = ops.average_pool


class AveragePooling3D(_Pooling):
    """Average pooling for 3D data (volumes). Padding is ignored.

    Args:
        pool_size: Depth, height and width of the window, or one int for all.
        strides: The step of the window; None for `pool_size`.
        padding: "valid" for complete windows, or "same" for an output of `ceil(size / strides)`.
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        name: The name of the layer.
        **kwargs: `dtype`, `trainable`.

    Example:
        >>> podium.layers.AveragePooling3D((1, 2, 2))(np.ones((1, 4, 4, 4, 2), "float32")).shape
        (1, 4, 2, 2, 2)
    """

    rank = 3
    _operation = ops.average_pool


class _GlobalPooling(Layer):
    """Pools the entire input, channel by channel."""

    _needs_no_build = True

    rank: ClassVar[int]
    _operation: ClassVar[Any]

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = _spatial.standardize_data_format(self, data_format)
        self.keepdims = keepdims
        self.input_spec = InputSpec(ndim=self.rank + 2)
        first = 1 if self.data_format == "channels_last" else 2
        self._axes = tuple(range(first, first + self.rank))

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        result: Tensor = type(self)._operation(inputs, axis=self._axes, keepdims=self.keepdims)
        return result

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        channels = input_shape[_spatial.channel_axis(self.data_format)]
        sizes = (1,) * self.rank if self.keepdims else ()
        return _spatial.join_shape(input_shape[0], sizes, channels, self.data_format)

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        divides = type(self)._operation is ops.mean and not is_float_dtype(inputs.dtype)
        return KerasTensor(
            self.compute_output_shape(inputs.shape), "float32" if divides else inputs.dtype
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"data_format": self.data_format, "keepdims": self.keepdims}


def _masked_mean(x: jax.Array, mask: jax.Array, axis: int, keepdims: bool) -> jax.Array:
    keep = jnp.expand_dims(mask.astype(bool), 3 - axis)
    total = jnp.sum(jnp.where(keep, x, jnp.zeros((), x.dtype)), axis=axis, keepdims=keepdims)
    return total / jnp.sum(keep.astype(x.dtype), axis=axis, keepdims=keepdims)


class GlobalAveragePooling1D(_GlobalPooling):
    """Global average pooling for temporal data; masked steps are ignored.

    Args:
        data_format: "channels_last" (default): `(batch, steps, channels)`, or "channels_first".
        keepdims: Whether the temporal dimension is kept with size 1.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> x = np.array([[[1.0], [3.0], [8.0]]], "float32")
        >>> layer = podium.layers.GlobalAveragePooling1D()
        >>> layer(x).numpy(), layer(x, mask=np.array([[True, True, False]])).numpy()
        (array([[4.]], dtype=float32), array([[2.]], dtype=float32))
    """

    rank = 1
    _operation = ops.mean

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any):
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Compute the outputs."""
        if mask is None:
            return super().call(inputs)
        outputs: Tensor = dispatch(_masked_mean, inputs, mask, self._axes[0], self.keepdims)
        return outputs

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        """Return None: no steps are left to mask."""
        return None


class GlobalAveragePooling2D(_GlobalPooling):
    """Global average pooling for 2D data (images).

    Args:
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        keepdims: Whether the spatial dimensions are kept with size 1.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.GlobalAveragePooling2D()(np.ones((2, 7, 7, 64), "float32")).shape
        (2, 64)
    """

    rank = 2
    _operation = ops.mean


class GlobalAveragePooling3D(_GlobalPooling):
    """Global average pooling for 3D data (volumes).

    Args:
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        keepdims: Whether the spatial dimensions are kept with size 1.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.GlobalAveragePooling3D(keepdims=True)
        >>> layer(np.ones((2, 3, 4, 5, 6), "float32")).shape
        (2, 1, 1, 1, 6)
    """

    rank = 3
    _operation = ops.mean


class GlobalMaxPooling1D(_GlobalPooling):
    """Global max pooling for temporal data.

    Args:
        data_format: "channels_last" (default): `(batch, steps, channels)`, or "channels_first".
        keepdims: Whether the temporal dimension is kept with size 1.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.GlobalMaxPooling1D()(np.array([[[1.0], [3.0], [2.0]]], "float32")).numpy()
        array([[3.]], dtype=float32)
    """

    rank = 1
    _operation = ops.max


class GlobalMaxPooling2D(_GlobalPooling):
    """Global max pooling for 2D data (images).

    Args:
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        keepdims: Whether the spatial dimensions are kept with size 1.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.GlobalMaxPooling2D()(np.ones((2, 7, 7, 64), "float32")).shape
        (2, 64)
    """

    rank = 2
    _operation = ops.max


class GlobalMaxPooling3D(_GlobalPooling):
    """Global max pooling for 3D data (volumes).

    Args:
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        keepdims: Whether the spatial dimensions are kept with size 1.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.GlobalMaxPooling3D(data_format="channels_first")
        >>> layer(np.ones((2, 6, 3, 4, 5), "float32")).shape
        (2, 6)
    """

    rank = 3
    _operation = ops.max


class _AdaptivePooling(Layer):
    """Pools windows of nearly equal size, chosen so that the output has a given size."""

    rank: ClassVar[int]
    _operation: ClassVar[Any]

    def __init__(
        self, output_size: int | tuple[int, ...], data_format: str | None = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.output_size = _spatial.standardize_tuple(self, "output_size", output_size, self.rank)
        self.data_format = _spatial.standardize_data_format(self, data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        result: Tensor = type(self)._operation(inputs, self.output_size, self.data_format)
        return result

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        channels = input_shape[_spatial.channel_axis(self.data_format)]
        return _spatial.join_shape(input_shape[0], self.output_size, channels, self.data_format)

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        return KerasTensor(self.compute_output_shape(inputs.shape), inputs.dtype)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "output_size": self.output_size,
            "data_format": self.data_format,
        }


class AdaptiveAveragePooling1D(_AdaptivePooling):
    """Adaptive average pooling for temporal data: the output has a given size.

    Args:
        output_size: The number of output steps.
        data_format: "channels_last" (default): `(batch, steps, channels)`, or "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.AdaptiveAveragePooling1D(4)(np.ones((2, 30, 3), "float32")).shape
        (2, 4, 3)
    """

    rank = 1
    _operation = ops.adaptive_average_pool


class AdaptiveAveragePooling2D(_AdaptivePooling):
    """Adaptive average pooling for 2D data: the output has a given size.

    Args:
        output_size: Height and width of the output: a pair of ints, or one int for both.
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.AdaptiveAveragePooling2D((2, 3))(np.ones((2, 7, 7, 3), "float32")).shape
        (2, 2, 3, 3)
    """

    rank = 2
    _operation = ops.adaptive_average_pool


class AdaptiveAveragePooling3D(_AdaptivePooling):
    """Adaptive average pooling for 3D data: the output has a given size.

    Args:
        output_size: Depth, height and width of the output, or one int for all.
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.AdaptiveAveragePooling3D(2)(np.ones((1, 5, 6, 7, 3), "float32")).shape
        (1, 2, 2, 2, 3)
    """

    rank = 3
    _operation = ops.adaptive_average_pool


class AdaptiveMaxPooling1D(_AdaptivePooling):
    """Adaptive max pooling for temporal data: the output has a given size.

    Args:
        output_size: The number of output steps.
        data_format: "channels_last" (default): `(batch, steps, channels)`, or "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> x = np.array([[[1.0], [3.0], [2.0], [5.0]]], "float32")
        >>> podium.layers.AdaptiveMaxPooling1D(2)(x).numpy().ravel()
        array([3., 5.], dtype=float32)
    """

    rank = 1
    _operation = ops.adaptive_max_pool


class AdaptiveMaxPooling2D(_AdaptivePooling):
    """Adaptive max pooling for 2D data: the output has a given size.

    Args:
        output_size: Height and width of the output: a pair of ints, or one int for both.
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.AdaptiveMaxPooling2D(1)(np.ones((2, 7, 7, 3), "float32")).shape
        (2, 1, 1, 3)
    """

    rank = 2
    _operation = ops.adaptive_max_pool


class AdaptiveMaxPooling3D(_AdaptivePooling):
    """Adaptive max pooling for 3D data: the output has a given size.

    Args:
        output_size: Depth, height and width of the output, or one int for all.
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.AdaptiveMaxPooling3D((1, 2, 3))(np.ones((1, 5, 6, 7, 3), "float32")).shape
        (1, 1, 2, 3, 3)
    """

    rank = 3
    _operation = ops.adaptive_max_pool


MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = (
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalAveragePooling3D,
)
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = (
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    GlobalMaxPooling3D,
)
