"""Depthwise and separable convolution layers: DepthwiseConv1D/2D and SeparableConv1D/2D.

A depthwise convolution has as many groups as channels. Options, bias and activation belong to
`BaseConvolution`.
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
from podium.ops.internal import convolve, from_channels_last, to_channels_last


def _depthwise(x: jax.Array, kernel: jax.Array, data_format: str, **options: Any) -> jax.Array:
    """Convolve every channel separately; `x` is in either data format."""
    x = to_channels_last(x, data_format).astype(kernel.dtype)
    flat = kernel.reshape(*kernel.shape[:-2], 1, -1)
    return from_channels_last(convolve(x, flat, groups=x.shape[-1], **options), data_format)


def _separable(
    x: jax.Array, depthwise: jax.Array, pointwise: jax.Array, data_format: str, **options: Any
) -> jax.Array:
    """Convolve every channel separately, then combine the channels."""
    x = _depthwise(to_channels_last(x, data_format), depthwise, "channels_last", **options)
    ones = (1,) * (x.ndim - 2)
    return from_channels_last(
        convolve(x, pointwise, strides=ones, padding="valid", dilation=ones), data_format
    )


class _ChannelwiseConvolution(BaseConvolution):
    """The `depth_multiplier` of depthwise and separable convolutions."""

    def __init__(self, *args: Any, depth_multiplier: int, **kwargs: Any):
        if kwargs.pop("groups", 1) != 1:
            raise ValueError(
                f"{type(self).__name__} convolves each channel separately; only groups=1 is "
                "accepted. Omit it."
            )
        for unused in ("kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            kwargs.pop(unused, None)  # in configs of Keras 2, which does not use them
        super().__init__(*args, **kwargs)
        self.depth_multiplier = check_int(
            "depth_multiplier", depth_multiplier, owner=self, type_error=ValueError
        )

    def _convolution_options(self, inputs: Tensor) -> dict[str, Any]:
        if self.padding == "valid":
            self.compute_output_shape(inputs.shape)  # raises if the window does not fit
        return {"strides": self.strides, "padding": self.padding, "dilation": self.dilation_rate}

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"depth_multiplier": self.depth_multiplier}


class _DepthwiseConvolution(_ChannelwiseConvolution):
    """DepthwiseConv1D and DepthwiseConv2D, by `rank`."""

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        depthwise_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        depthwise_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        depthwise_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ):
        options = {
            "depthwise_initializer": depthwise_initializer,
            "bias_initializer": bias_initializer,
            "depthwise_regularizer": depthwise_regularizer,
            "bias_regularizer": bias_regularizer,
            "depthwise_constraint": depthwise_constraint,
            "bias_constraint": bias_constraint,
        }
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
            depth_multiplier=depth_multiplier,
            **kwargs,
        )
        self.kernel: Any = None

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the kernel and the bias."""
        channels = self._num_channels(input_shape)
        self.kernel = self._add_weight_with_options(
            "kernel", (*self.kernel_size, channels, self.depth_multiplier), "depthwise"
        )
        self._create_bias(channels * self.depth_multiplier, input_shape)

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        return self._add_bias_and_activate(
            dispatch(
                _depthwise,
                inputs,
                self.kernel,
                self.data_format,
                **self._convolution_options(inputs),
            )
        )

    def _output_channels(self, input_shape: SymbolicShape) -> int | None:
        channels = input_shape[_spatial.channel_axis(self.data_format)]
        return None if channels is None else channels * self.depth_multiplier


class DepthwiseConv1D(_DepthwiseConvolution):
    """1D depthwise convolution layer: each channel is convolved separately.

    Args:
        kernel_size: The length of the convolution window.
        strides: The step of the window.
        padding: "valid" for no padding, or "same" for zero padding, so that strides=1 keeps the
            length.
        depth_multiplier: The number of output channels for each input channel.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, steps)`.
        dilation_rate: The dilation of the convolution.
        activation: Name of an activation, or a function; None for a linear output.
        use_bias: Whether to add a bias to each channel.
        depthwise_initializer: Initializer of the depthwise kernel.
        bias_initializer: Initializer of the bias.
        depthwise_regularizer: Regularizer of the depthwise kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        depthwise_constraint: Constraint of the depthwise kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.DepthwiseConv1D(3, depth_multiplier=2)
        >>> layer(np.ones((2, 10, 4), "float32")).shape
        (2, 8, 8)
    """

    rank = 1


class DepthwiseConv2D(_DepthwiseConvolution):
    """2D depthwise convolution layer: each channel is convolved separately.

    Args:
        kernel_size: Height and width of the convolution window: a pair of ints, or one int.
        strides: The step of the window: a pair of ints or one int.
        padding: "valid" for no padding, or "same" for zero padding, so that strides=1 keeps the
            size.
        depth_multiplier: The number of output channels for each input channel.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, height,
            width)`.
        dilation_rate: The dilation of the convolution: a pair of ints or one int.
        activation: Name of an activation, or a function; None for a linear output.
        use_bias: Whether to add a bias to each channel.
        depthwise_initializer: Initializer of the depthwise kernel.
        bias_initializer: Initializer of the bias.
        depthwise_regularizer: Regularizer of the depthwise kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        depthwise_constraint: Constraint of the depthwise kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.DepthwiseConv2D(3, padding="same")
        >>> layer(np.ones((2, 8, 8, 4), "float32")).shape, layer.kernel.shape
        ((2, 8, 8, 4), (3, 3, 4, 1))
    """

    rank = 2


class _SeparableConvolution(_ChannelwiseConvolution):
    """SeparableConv1D and SeparableConv2D, by `rank`."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
        depth_multiplier: int = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        depthwise_initializer: InitializerLike = "glorot_uniform",
        pointwise_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        depthwise_regularizer: RegularizerLike = None,
        pointwise_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        depthwise_constraint: ConstraintLike = None,
        pointwise_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ):
        options = {
            "depthwise_initializer": depthwise_initializer,
            "pointwise_initializer": pointwise_initializer,
            "bias_initializer": bias_initializer,
            "depthwise_regularizer": depthwise_regularizer,
            "pointwise_regularizer": pointwise_regularizer,
            "bias_regularizer": bias_regularizer,
            "depthwise_constraint": depthwise_constraint,
            "pointwise_constraint": pointwise_constraint,
            "bias_constraint": bias_constraint,
        }
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
            depth_multiplier=depth_multiplier,
            **kwargs,
        )
        self.filters = check_int("filters", filters, owner=self, type_error=ValueError)
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: SymbolicShape) -> None:
        """Create both kernels and the bias."""
        channels = self._num_channels(input_shape)
        depthwise_shape = (*self.kernel_size, channels, self.depth_multiplier)
        pointwise_shape = (
            *(1,) * self.rank,
            channels * self.depth_multiplier,
            self.filters,
        )
        self.depthwise_kernel = self._add_weight_with_options(
            "depthwise_kernel", depthwise_shape, "depthwise"
        )
        self.pointwise_kernel = self._add_weight_with_options(
            "pointwise_kernel", pointwise_shape, "pointwise"
        )
        self._create_bias(self.filters, input_shape)

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        kernels = self.depthwise_kernel, self.pointwise_kernel
        return self._add_bias_and_activate(
            dispatch(
                _separable, inputs, *kernels, self.data_format, **self._convolution_options(inputs)
            )
        )

    def _output_channels(self, input_shape: SymbolicShape) -> int:
        return self.filters

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"filters": self.filters}


class SeparableConv1D(_SeparableConvolution):
    """1D separable convolution layer: depthwise, then pointwise to combine the channels.

    Args:
        filters: The number of output channels.
        kernel_size: The length of the convolution window.
        strides: The step of the window.
        padding: "valid" for no padding, or "same" for zero padding, so that strides=1 keeps the
            length.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, steps)`.
        dilation_rate: The dilation of the convolution.
        depth_multiplier: The number of depthwise filters per input channel.
        activation: Name of an activation, or a function; None for a linear output.
        use_bias: Whether to add a bias to each channel.
        depthwise_initializer: Initializer of the depthwise kernel.
        pointwise_initializer: Initializer of the pointwise kernel.
        bias_initializer: Initializer of the bias.
        depthwise_regularizer: Regularizer of the depthwise kernel.
        pointwise_regularizer: Regularizer of the pointwise kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        depthwise_constraint: Constraint of the depthwise kernel, applied after updates.
        pointwise_constraint: Constraint of the pointwise kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.SeparableConv1D(5, 3)(np.ones((2, 10, 4), "float32")).shape
        (2, 8, 5)
    """

    rank = 1


class SeparableConv2D(_SeparableConvolution):
    """2D separable convolution layer: depthwise, then pointwise to combine the channels.

    It has far fewer weights than `Conv2D`.

    Args:
        filters: The number of output channels.
        kernel_size: Height and width of the convolution window: a pair of ints, or one int.
        strides: The step of the window: a pair of ints or one int.
        padding: "valid" for no padding, or "same" for zero padding, so that strides=1 keeps the
            size.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, height,
            width)`.
        dilation_rate: The dilation of the convolution: a pair of ints or one int.
        depth_multiplier: The number of depthwise filters per input channel.
        activation: Name of an activation, or a function; None for a linear output.
        use_bias: Whether to add a bias to each channel.
        depthwise_initializer: Initializer of the depthwise kernel.
        pointwise_initializer: Initializer of the pointwise kernel.
        bias_initializer: Initializer of the bias.
        depthwise_regularizer: Regularizer of the depthwise kernel.
        pointwise_regularizer: Regularizer of the pointwise kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        depthwise_constraint: Constraint of the depthwise kernel, applied after updates.
        pointwise_constraint: Constraint of the pointwise kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.SeparableConv2D(16, 3)
        >>> layer(np.ones((2, 8, 8, 4), "float32")).shape, [w.shape for w in layer.weights]
        ((2, 6, 6, 16), [(3, 3, 4, 1), (1, 1, 4, 16), (16,)])
    """

    rank = 2


SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
