"""Layers that change the borders and the size of images: Cropping, ZeroPadding and UpSampling, 1D
to 3D.

Every family has one base; the layers of a family differ in rank and defaults only.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp

from podium import ops
from podium.core import KerasTensor, dispatch
from podium.layers import _argument_checks, _spatial
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


class _Resizing(Layer):
    """What the three families share: the layout, and one new length for every spatial length."""

    rank: ClassVar[int]

    def __init__(self, layout: str | None, **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = _spatial.layout(self, layout)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _new_lengths(self, lengths: tuple[Any, ...]) -> tuple[Any, ...]:
        raise NotImplementedError

    def _all_axes(self, spatial: tuple[Any, ...], others: Any) -> tuple[Any, ...]:
        """Put settings of the spatial axes among those of the batch and the channels."""
        return _spatial.with_spatial(others, spatial, others, self.data_format)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs."""
        lengths = self._new_lengths(_spatial.spatial(input_shape, self.data_format))
        channels = input_shape[_spatial.channel_axis(self.data_format)]
        return _spatial.with_spatial(input_shape[0], lengths, channels, self.data_format)

    def compute_output_spec(self, inputs: Any) -> KerasTensor:
        """Return what a call on a symbolic input gives."""
        return KerasTensor(self.compute_output_shape(inputs.shape), inputs.dtype)


# --- cropping


def _cropped(x: Any, slices: tuple[slice, ...]) -> Any:
    return x[slices]


class _Cropping(_Resizing):
    cropping: Any

    def _new_lengths(self, lengths: tuple[Any, ...]) -> tuple[Any, ...]:
        return _spatial.map_lengths(lambda n, cut: n - sum(cut), lengths, self._cuts())

    def _cuts(self) -> tuple[tuple[int, int], ...]:
        return self.cropping

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs; cropping all of the input is an error."""
        shape = super().compute_output_shape(input_shape)
        lengths = _spatial.spatial(shape, self.data_format)
        _spatial.refuse_empty(self, input_shape, lengths, "cropping")
        return shape

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        self.compute_output_shape(inputs.shape)  # says what is wrong if nothing is left
        kept = tuple(slice(before, -after or None) for before, after in self._cuts())
        return dispatch(_cropped, inputs, self._all_axes(kept, slice(None)))


class Cropping1D(_Cropping):
    """Cuts steps off both ends of sequences.

    Args:
        cropping: How many steps to cut off the start and the end: a pair, or one number for both.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Cropping1D((1, 2))(np.ones((2, 10, 3), "float32")).shape
        (2, 7, 3)
    """

    rank = 1

    def __init__(self, cropping: int | tuple[int, int] = (1, 1), **kwargs: Any):
        super().__init__(None, **kwargs)
        self.cropping = _spatial.whole_numbers(self, "cropping", cropping, 2, lowest=0)

    def _cuts(self) -> tuple[tuple[int, int], ...]:
        return (self.cropping,)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"cropping": self.cropping}


class Cropping2D(_Cropping):
    """Cuts the borders off images.

    Args:
        cropping: One number for all borders, `(height, width)`, or `((top, bottom), (left,
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
        self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any
    ):
        super().__init__(data_format, **kwargs)
        self.cropping = _spatial.pairs(self, "cropping", cropping, self.rank)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"cropping": self.cropping, "data_format": self.data_format}


class Cropping3D(Cropping2D):
    """Cuts the borders off volumes.

    Args:
        cropping: One number for all borders, one for each dimension, or a pair for each dimension.
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
        cropping: Any = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(cropping, data_format, **kwargs)


# --- padding


class _ZeroPadding(_Resizing):
    padding: Any

    def _borders(self) -> tuple[tuple[int, int], ...]:
        return self.padding

    def _new_lengths(self, lengths: tuple[Any, ...]) -> tuple[Any, ...]:
        return _spatial.map_lengths(lambda n, border: n + sum(border), lengths, self._borders())

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        return dispatch(jnp.pad, inputs, self._all_axes(self._borders(), (0, 0)))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"padding": self.padding, "data_format": self.data_format}


class ZeroPadding1D(_ZeroPadding):
    """Adds zeros at both ends of sequences.

    Args:
        padding: How many zeros to add at the start and the end: a pair, or one number for both.
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
        self.padding = _spatial.whole_numbers(self, "padding", padding, 2, lowest=0)

    def _borders(self) -> tuple[tuple[int, int], ...]:
        return (self.padding,)


class ZeroPadding2D(_ZeroPadding):
    """Adds zeros around images.

    Args:
        padding: One number for all borders, `(height, width)`, or `((top, bottom), (left, right))`.
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.ZeroPadding2D(((1, 0), (2, 2)))(np.ones((2, 4, 4, 3), "float32")).shape
        (2, 5, 8, 3)
    """

    rank = 2

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any):
        super().__init__(data_format, **kwargs)
        self.padding = _spatial.pairs(self, "padding", padding, self.rank)


class ZeroPadding3D(ZeroPadding2D):
    """Adds zeros around volumes.

    Args:
        padding: One number for all borders, one for each dimension, or a pair for each dimension.
        data_format: "channels_last" (default): `(batch, depth, height, width, channels)`, or
            "channels_first".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.ZeroPadding3D(1)(np.ones((2, 4, 4, 4, 3), "float32")).shape
        (2, 6, 6, 6, 3)
    """

    rank = 3

    def __init__(
        self, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None, **kwargs: Any
    ):
        super().__init__(padding, data_format, **kwargs)


# --- upsampling


def _repeated(x: Any, factors: tuple[int, ...]) -> Any:
    for axis, factor in enumerate(factors):
        x = x if factor == 1 else jnp.repeat(x, factor, axis=axis)
    return x


class _UpSampling(_Resizing):
    size: Any

    def _factors(self) -> tuple[int, ...]:
        return self.size

    def _new_lengths(self, lengths: tuple[Any, ...]) -> tuple[Any, ...]:
        return _spatial.map_lengths(lambda n, factor: n * factor, lengths, self._factors())

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        return dispatch(_repeated, inputs, self._all_axes(self._factors(), 1))


class UpSampling1D(_UpSampling):
    """Repeats every step of a sequence.

    Args:
        size: How often.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.UpSampling1D(2)(np.array([[[1.0], [2.0]]], "float32")).numpy().ravel()
        array([1., 1., 2., 2.], dtype=float32)
    """

    rank = 1

    def __init__(self, size: int = 2, **kwargs: Any):
        super().__init__(None, **kwargs)
        self.size = _argument_checks.whole_number(self, "size", size)

    def _factors(self) -> tuple[int, ...]:
        return (self.size,)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"size": self.size}


class UpSampling2D(_UpSampling):
    """Enlarges images by whole factors.

    Args:
        size: Factors for height and width: a pair, or one number for both.
        data_format: "channels_last" (default): `(batch, height, width, channels)`, or
            "channels_first".
        interpolation: How values between pixels are found: "nearest" (repeats pixels), "bilinear",
            "bicubic", "lanczos3" or "lanczos5".
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.UpSampling2D((1, 2), interpolation="bilinear")(np.array([[[[0.0], [4.0]]]], "float32")).numpy().ravel()
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
        self.size = _spatial.whole_numbers(self, "size", size, 2)
        methods = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")
        self.interpolation = _spatial.choice(self, "interpolation", interpolation, methods)

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        if self.interpolation == "nearest":
            return super().call(inputs)
        lengths = self._new_lengths(_spatial.spatial(inputs.shape, self.data_format))
        return ops.image.resize(
            inputs, lengths, interpolation=self.interpolation, data_format=self.data_format
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {
            "size": self.size,
            "data_format": self.data_format,
            "interpolation": self.interpolation,
        }


class UpSampling3D(_UpSampling):
    """Enlarges volumes by repeating voxels.

    Args:
        size: Factors for depth, height and width, or one number for all.
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
        self.size = _spatial.whole_numbers(self, "size", size, 3)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"size": self.size, "data_format": self.data_format}
