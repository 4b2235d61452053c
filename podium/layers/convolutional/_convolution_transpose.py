"""Transposed convolution layers: Conv1DTranspose, Conv2DTranspose, Conv3DTranspose.

Options, bias and activation belong to `BaseConvolution`; the computation is in `podium.ops`.
"""

from __future__ import annotations

from typing import Any

import jax

from podium._typing import (
    ActivationLike,
    Config,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    SymbolicShape,
)
from podium.core import Tensor, dispatch
from podium.core.internal import check_int
from podium.layers import _spatial
from podium.layers.convolutional._convolution import BaseConvolution
from podium.ops.internal import convolve_transpose, from_channels_last, to_channels_last


def _convolve_transpose(
    x: jax.Array, kernel: jax.Array, data_format: str, **options: Any
) -> jax.Array:
    """Apply the transposed convolution to an array in either data format."""
    return from_channels_last(
        convolve_transpose(
            to_channels_last(x, data_format).astype(kernel.dtype), kernel, **options
        ),
        data_format,
    )


def _transposed_size(
    size: int,
    window: int,
    stride: int,
    dilation: int,
    output_padding: int | None,
    padding: str,
) -> int:
    """Return the output size along one axis."""
    extent = (window - 1) * dilation + 1
    if output_padding is None:
        return size * stride if padding == "same" else (size - 1) * stride + max(extent, stride)
    return (size - 1) * stride + (extent % 2 if padding == "same" else extent) + output_padding


class _ConvolutionTranspose(BaseConvolution):
    """Conv1DTranspose, Conv2DTranspose and Conv3DTranspose, by `rank`."""

    _strides_with_dilation = False

    def __init__(
        self,
        filters: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: str = "valid",
        output_padding: int | tuple[int, ...] | None = None,
        data_format: str | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ):
        options = {
            "kernel_initializer": kernel_initializer,
            "bias_initializer": bias_initializer,
            "kernel_regularizer": kernel_regularizer,
            "bias_regularizer": bias_regularizer,
            "kernel_constraint": kernel_constraint,
            "bias_constraint": bias_constraint,
        }
        if kwargs.pop("groups", 1) != 1:
            raise ValueError(f"{type(self).__name__} has no groups; only groups=1 is accepted.")
        super().__init__(
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            options,
            activity_regularizer,
            **kwargs,
        )
        self.filters = check_int("filters", filters, owner=self, type_error=ValueError)
        self.output_padding: tuple[int, ...] | None = None
        if output_padding is not None:
            self.output_padding = _spatial.standardize_tuple(
                self, "output_padding", output_padding, self.rank, minimum=0
            )
            if any(
                extra >= stride
                for extra, stride in zip(self.output_padding, self.strides, strict=True)
            ):
                raise ValueError(
                    f"{type(self).__name__} was given output_padding={output_padding!r} and "
                    f"strides={strides!r}; the padding must be smaller than the strides. Omit "
                    "output_padding, or use larger strides."
                )
        self.kernel: Any = None

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the kernel and the bias."""
        channels = self._num_channels(input_shape)
        self.kernel = self._add_weight_with_options(
            "kernel", (*self.kernel_size, self.filters, channels), "kernel"
        )
        self._create_bias(self.filters, input_shape)

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        if self.output_padding is not None:
            self.compute_output_shape(inputs.shape)  # raises for an empty output
        outputs = dispatch(
            _convolve_transpose,
            inputs,
            self.kernel,
            self.data_format,
            strides=self.strides,
            padding=self.padding,
            output_padding=self.output_padding,
            dilation=self.dilation_rate,
        )
        return self._add_bias_and_activate(outputs)

    def _output_sizes(self, input_shape: SymbolicShape) -> tuple[Any, ...]:
        sizes = _spatial.spatial_shape(input_shape, self.data_format)
        extra, padding = self.output_padding or (None,) * self.rank, (self.padding,) * self.rank
        return _spatial.map_known_sizes(
            _transposed_size,
            sizes,
            self.kernel_size,
            self.strides,
            self.dilation_rate,
            extra,
            padding,
        )

    def _output_channels(self, input_shape: SymbolicShape) -> int:
        return self.filters

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "filters": self.filters,
            "output_padding": self.output_padding,
        }


class Conv1DTranspose(_ConvolutionTranspose):
    """1D transposed convolution layer, for sequences.

    Args:
        filters: The number of output channels.
        kernel_size: The length of the convolution window.
        strides: The factor by which the length grows.
        padding: "valid" for the full output, "same" for an output of `strides` times the length.
        output_padding: Extra length of the output, less than `strides`: the output is that much
            longer than the shortest input from which a convolution computes this length.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, steps)`.
        dilation_rate: The dilation of the convolution. Cannot be combined with `strides`.
        activation: Name of an activation, or a function; None for a linear output.
        use_bias: Whether to add a bias to each channel.
        kernel_initializer: Initializer of the kernel.
        bias_initializer: Initializer of the bias.
        kernel_regularizer: Regularizer of the kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        kernel_constraint: Constraint of the kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Conv1DTranspose(4, 3, strides=2)
        >>> layer(np.ones((2, 10, 8), "float32")).shape, layer.kernel.shape
        ((2, 21, 4), (3, 4, 8))
    """

    rank = 1


class Conv2DTranspose(_ConvolutionTranspose):
    """2D transposed convolution layer, for images, as used in decoders and generators.

    Args:
        filters: The number of output channels.
        kernel_size: Height and width of the convolution window: a pair of ints, or one int.
        strides: The factor by which height and width grow.
        padding: "valid" for the full output, "same" for an output of `strides` times the size.
        output_padding: Extra size of the output, less than `strides`: the output is that much
            larger than the smallest input from which a convolution computes this size.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, height,
            width)`.
        dilation_rate: The dilation of the convolution. Cannot be combined with `strides`.
        activation: Name of an activation, or a function; None for a linear output.
        use_bias: Whether to add a bias to each channel.
        kernel_initializer: Initializer of the kernel.
        bias_initializer: Initializer of the bias.
        kernel_regularizer: Regularizer of the kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        kernel_constraint: Constraint of the kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Conv2DTranspose(3, 4, strides=2, padding="same")
        >>> layer(np.ones((2, 7, 7, 16), "float32")).shape
        (2, 14, 14, 3)
    """

    rank = 2


class Conv3DTranspose(_ConvolutionTranspose):
    """3D transposed convolution layer, for volumes.

    Args:
        filters: The number of output channels.
        kernel_size: Depth, height and width of the convolution window, or one int for all.
        strides: The factor by which depth, height and width grow.
        padding: "valid" for the full output, "same" for an output of `strides` times the size.
        data_format: "channels_last" (default) or "channels_first".
        output_padding: Extra size of the output; see `Conv2DTranspose`.
        dilation_rate: The dilation of the convolution. Cannot be combined with `strides`.
        activation: Name of an activation, or a function; None for a linear output.
        use_bias: Whether to add a bias to each channel.
        kernel_initializer: Initializer of the kernel.
        bias_initializer: Initializer of the bias.
        kernel_regularizer: Regularizer of the kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        kernel_constraint: Constraint of the kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Conv3DTranspose(2, 2, strides=2)
        >>> layer(np.ones((1, 4, 4, 4, 3), "float32")).shape
        (1, 8, 8, 8, 2)
    """

    rank = 3

    def __init__(
        self,
        filters: int,
        kernel_size: int | tuple[int, int, int],
        strides: int | tuple[int, int, int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        output_padding: int | tuple[int, int, int] | None = None,
        *args: Any,
        **kwargs: Any,
    ):
        # Keras has `data_format` and `output_padding` in the other order than in 1D and 2D.
        super().__init__(
            filters, kernel_size, strides, padding, output_padding, data_format, *args, **kwargs
        )


Convolution1DTranspose, Convolution2DTranspose, Convolution3DTranspose = (
    Conv1DTranspose,
    Conv2DTranspose,
    Conv3DTranspose,
)
