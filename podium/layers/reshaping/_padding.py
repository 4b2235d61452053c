"""Cropping, zero padding and upsampling layers, 1D to 3D.

Each kind has one base class; its layers differ in rank and defaults only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import Config, SymbolicShape
from podium.core import KerasTensor, Tensor, dispatch
from podium.core.internal import check_int
from podium.layers import _spatial
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


class _Resizing(Layer):
    """Shapes of layers that change the spatial sizes of their inputs."""

    rank: ClassVar[int]

    def __init__(self, data_format: str | None, /, **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = _spatial.standardize_data_format(self, data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _output_sizes(self, sizes: SymbolicShape) -> SymbolicShape:
        raise NotImplementedError

    def _all_axes(self, spatial: tuple[Any, ...], others: Any) -> tuple[Any, ...]:
        """Return entries for all axes: `spatial`, and `others` for the batch and the channels."""
        return _spatial.join_shape(others, spatial, others, self.data_format)

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        sizes = self._output_sizes(_spatial.spatial_shape(input_shape, self.data_format))
        channels = input_shape[_spatial.channel_axis(self.data_format)]
        return _spatial.join_shape(input_shape[0], sizes, channels, self.data_format)

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        return KerasTensor(self.compute_output_shape(inputs.shape), inputs.dtype)


# --- cropping


def _slice(x: jax.Array, slices: tuple[slice, ...]) -> jax.Array:
    return x[slices]


class _Cropping(_Resizing):
    """Slices the spatial axes."""

    def _output_sizes(self, sizes: SymbolicShape) -> tuple[Any, ...]:
        return _spatial.map_known_sizes(
            lambda size, crop: size - sum(crop), sizes, self._crop_sizes()
        )

    def _crop_sizes(self) -> tuple[tuple[int, ...], ...]:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs; cropping all of the input is an error."""
        shape = super().compute_output_shape(input_shape)
        sizes = _spatial.spatial_shape(shape, self.data_format)
        _spatial.check_not_empty(self, self.data_format, input_shape, sizes, "cropping")
        return shape

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        self.compute_output_shape(inputs.shape)  # raises if nothing is left
        slices = tuple(slice(before, -after or None) for before, after in self._crop_sizes())
        outputs: Tensor = dispatch(_slice, inputs, self._all_axes(slices, slice(None)))
        return outputs


class Cropping1D(_Cropping):
    """Cropping layer for sequences.

    Args:
        cropping: How many steps to remove at the start and the end: a pair of ints, or one int.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Cropping1D((1, 2))(np.ones((2, 10, 3), "float32")).shape
        (2, 7, 3)
    """

    rank = 1

    def __init__(self, cropping: int | tuple[int, int] = (1, 1), **kwargs: Any):
        super().__init__(None, **kwargs)
        self.cropping = _spatial.standardize_tuple(self, "cropping", cropping, 2, minimum=0)

    def _crop_sizes(self) -> tuple[tuple[int, ...], ...]:
        return (self.cropping,)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"cropping": self.cropping}


class Cropping2D(_Cropping):
    """Cropping layer for 2D data (images).

    Args:
        cropping: One int for all borders, `(height, width)`, or `((top, bottom), (left,
            right))`.
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Cropping2D(((2, 2), (4, 4)))(np.ones((2, 28, 28, 3), "float32")).shape
        (2, 24, 20, 3)
    """

    rank = 2

    def __init__(
        self,
        cropping: int | Sequence[int | Sequence[int]] = ((0, 0), (0, 0)),
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format, **kwargs)
        self.cropping = _spatial.standardize_pairs(self, "cropping", cropping, self.rank)

    def _crop_sizes(self) -> tuple[tuple[int, ...], ...]:
        return self.cropping

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"cropping": self.cropping, "data_format": self.data_format}


class Cropping3D(Cropping2D):
    """Cropping layer for 3D data (volumes).

    Args:
        cropping: One int for all borders, one for each dimension, or a pair for each dimension.
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Cropping3D((1, 2, 0))(np.ones((2, 8, 8, 8, 3), "float32")).shape
        (2, 6, 4, 8, 3)
    """

    rank = 3

    def __init__(
        self,
        cropping: int | Sequence[int | Sequence[int]] = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(cropping, data_format, **kwargs)


# --- padding


class _ZeroPadding(_Resizing):
    """Pads the spatial axes with zeros."""

    def _pad_widths(self) -> tuple[tuple[int, ...], ...]:
        raise NotImplementedError

    def _output_sizes(self, sizes: SymbolicShape) -> tuple[Any, ...]:
        return _spatial.map_known_sizes(
            lambda size, widths: size + sum(widths), sizes, self._pad_widths()
        )

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        outputs: Tensor = dispatch(jnp.pad, inputs, self._all_axes(self._pad_widths(), (0, 0)))
        return outputs


class ZeroPadding1D(_ZeroPadding):
    """Zero-padding layer for sequences.

    Args:
        padding: How many zeros to add at the start and the end: a pair of ints, or one int.
        data_format: "channels_last" (default): `(batch, steps, channels)`, or "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.ZeroPadding1D((2, 0))(np.ones((1, 2, 1), "float32")).numpy().ravel()
        array([0., 0., 1., 1.], dtype=float32)
    """

    rank = 1

    def __init__(
        self, padding: int | tuple[int, int] = 1, data_format: str | None = None, **kwargs: Any
    ):
        super().__init__(data_format, **kwargs)
        self.padding = _spatial.standardize_tuple(self, "padding", padding, 2, minimum=0)

    def _pad_widths(self) -> tuple[tuple[int, ...], ...]:
        return (self.padding,)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"padding": self.padding, "data_format": self.data_format}


class ZeroPadding2D(_ZeroPadding):
    """Zero-padding layer for 2D data (images).

    Args:
        padding: One int for all borders, `(height, width)`, or `((top, bottom), (left, right))`.
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.ZeroPadding2D(((1, 0), (2, 2)))(np.ones((2, 4, 4, 3), "float32")).shape
        (2, 5, 8, 3)
    """

    rank = 2

    def __init__(
        self,
        padding: int | Sequence[int | Sequence[int]] = (1, 1),
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format, **kwargs)
        self.padding = _spatial.standardize_pairs(self, "padding", padding, self.rank)

    def _pad_widths(self) -> tuple[tuple[int, ...], ...]:
        return self.padding

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"padding": self.padding, "data_format": self.data_format}


class ZeroPadding3D(ZeroPadding2D):
    """Zero-padding layer for 3D data (volumes).

    Args:
        padding: One int for all borders, one for each dimension, or a pair for each dimension.
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.ZeroPadding3D(1)(np.ones((2, 4, 4, 4, 3), "float32")).shape
        (2, 6, 6, 6, 3)
    """

    rank = 3

    def __init__(
        self,
        padding: int | Sequence[int | Sequence[int]] = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(padding, data_format, **kwargs)


# --- upsampling


def _repeat(x: jax.Array, factors: tuple[int, ...]) -> jax.Array:
    for axis, factor in enumerate(factors):
        x = x if factor == 1 else jnp.repeat(x, factor, axis=axis)
    return x


class _UpSampling(_Resizing):
    """Repeats the values along the spatial axes."""

    def _factors(self) -> tuple[int, ...]:
        raise NotImplementedError

    def _output_sizes(self, sizes: SymbolicShape) -> tuple[Any, ...]:
        return _spatial.map_known_sizes(lambda size, factor: size * factor, sizes, self._factors())

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        outputs: Tensor = dispatch(_repeat, inputs, self._all_axes(self._factors(), 1))
        return outputs


class UpSampling1D(_UpSampling):
    """Upsampling layer for sequences: repeats every time step.

    Args:
        size: How many times each step is repeated.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.UpSampling1D(2)(np.array([[[1.0], [2.0]]], "float32")).numpy().ravel()
        array([1., 1., 2., 2.], dtype=float32)
    """

    rank = 1

    def __init__(self, size: int = 2, **kwargs: Any):
        super().__init__(None, **kwargs)
        self.size = check_int("size", size, owner=self, type_error=ValueError)

    def _factors(self) -> tuple[int, ...]:
        return (self.size,)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"size": self.size}


class UpSampling2D(_UpSampling):
    """Upsampling layer for 2D data, by integer factors.

    Args:
        size: Factors for height and width: a pair of ints, or one int for both.
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        interpolation: The interpolation method: "nearest" (repeats pixels), "bilinear",
            "bicubic", "lanczos3" or "lanczos5".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.UpSampling2D((1, 2), interpolation="bilinear")
        >>> layer(np.array([[[[0.0], [4.0]]]], "float32")).numpy().ravel()
        array([0., 1., 3., 4.], dtype=float32)
    """

    rank = 2

    def __init__(
        self,
        size: int | tuple[int, int] = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ):
        super().__init__(data_format, **kwargs)
        self.size = _spatial.standardize_tuple(self, "size", size, 2)
        methods = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")
        self.interpolation = _spatial.standardize_choice(
            self, "interpolation", interpolation, methods
        )

    def _factors(self) -> tuple[int, ...]:
        return self.size

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        if self.interpolation == "nearest":
            return super().call(inputs)
        sizes = self._output_sizes(_spatial.spatial_shape(inputs.shape, self.data_format))
        return ops.image.resize(
            inputs, sizes, interpolation=self.interpolation, data_format=self.data_format
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "size": self.size,
            "data_format": self.data_format,
            "interpolation": self.interpolation,
        }


class UpSampling3D(_UpSampling):
    """Upsampling layer for 3D data: repeats voxels.

    Args:
        size: Factors for depth, height and width, or one int for all.
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.UpSampling3D((1, 2, 3))(np.ones((1, 2, 2, 2, 3), "float32")).shape
        (1, 2, 4, 6, 3)
    """

    rank = 3

    def __init__(
        self,
        size: int | tuple[int, int, int] = (2, 2, 2),
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format, **kwargs)
        self.size = _spatial.standardize_tuple(self, "size", size, 3)

    def _factors(self) -> tuple[int, ...]:
        return self.size

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"size": self.size, "data_format": self.data_format}
