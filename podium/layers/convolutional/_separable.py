"""Convolutions that treat channels apart: DepthwiseConv1D/2D and SeparableConv1D/2D.

Options, bias and activation are those of `BaseConvolution`; a depthwise convolution is one with as
many groups as channels.
"""

from __future__ import annotations

from typing import Any

from podium.core import dispatch
from podium.layers import _argument_checks, _spatial
from podium.layers.convolutional._convolution import BaseConvolution
from podium.ops.internal import convolve, from_channels_last, to_channels_last


def _depthwise(x: Any, kernel: Any, data_format: str, **options: Any) -> Any:
    """Convolve every channel on its own; `x` in either layout."""
    x = to_channels_last(x, data_format).astype(kernel.dtype)
    flat = kernel.reshape(*kernel.shape[:-2], 1, -1)
    return from_channels_last(convolve(x, flat, groups=x.shape[-1], **options), data_format)


def _separable(x: Any, depthwise: Any, pointwise: Any, data_format: str, **options: Any) -> Any:
    """Convolve every channel on its own, then mix the channels."""
    x = _depthwise(to_channels_last(x, data_format), depthwise, "channels_last", **options)
    once = (1,) * (x.ndim - 2)
    return from_channels_last(
        convolve(x, pointwise, strides=once, padding="valid", dilation=once), data_format
    )


class _ByChannel(BaseConvolution):
    """What depthwise and separable convolutions share."""

    def __init__(self, *args: Any, depth_multiplier: int, **kwargs: Any):
        if kwargs.pop("groups", 1) != 1:
            raise ValueError(
                f"{type(self).__name__} makes its groups itself; only groups=1 is accepted. "
                "Leave it out."
            )
        for unused in ("kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            kwargs.pop(unused, None)  # Keras 2 wrote them into configs, and used the depthwise ones
        super().__init__(*args, **kwargs)
        self.depth_multiplier = _argument_checks.whole_number(
            self, "depth_multiplier", depth_multiplier
        )

    def _options(self, inputs: Any) -> dict[str, Any]:
        if self.padding == "valid":
            self.compute_output_shape(inputs.shape)  # says what is wrong if the window does not fit
        return {"strides": self.strides, "padding": self.padding, "dilation": self.dilation_rate}

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"depth_multiplier": self.depth_multiplier}


class _DepthwiseConvolution(_ByChannel):
    """DepthwiseConv1D and DepthwiseConv2D, by `rank`."""

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
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
            kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, options, activity_regularizer,
            depth_multiplier=depth_multiplier, **kwargs,
        )  # fmt: skip
        self.kernel: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the kernel and the bias."""
        channels = self._channels_of(input_shape)
        self.kernel = self._new_weight(
            "kernel", (*self.kernel_size, channels, self.depth_multiplier), "depthwise"
        )
        self._new_bias(channels * self.depth_multiplier, input_shape)

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        return self._finished(
            dispatch(_depthwise, inputs, self.kernel, self.data_format, **self._options(inputs))
        )

    def _output_channels(self, input_shape: Any) -> Any:
        channels = input_shape[_spatial.channel_axis(self.data_format)]
        return None if channels is None else channels * self.depth_multiplier


class DepthwiseConv1D(_DepthwiseConvolution):
    """Slides filters over sequences, each channel on its own.

    Args:
        kernel_size: How many steps a filter sees.
        strides: How far the window moves each time.
        padding: "valid" for none, or "same" for zeros around, so that with strides=1 the length
            stays.
        depth_multiplier: How many filters each channel has, and so how many channels come out of
            it.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, steps)`.
        dilation_rate: The distance between the steps a filter sees.
        activation: A name or function; None for none.
        use_bias: Whether to add a bias to every channel.
        depthwise_initializer: How the kernel starts.
        bias_initializer: How the bias starts.
        depthwise_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        depthwise_constraint: Applied to the kernel after updates.
        bias_constraint: Applied to the bias after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.DepthwiseConv1D(3, depth_multiplier=2)(np.ones((2, 10, 4), "float32")).shape
        (2, 8, 8)
    """

    rank = 1


class DepthwiseConv2D(_DepthwiseConvolution):
    """Slides filters over images, each channel on its own: the cheap half of a separable
    convolution.

    Args:
        kernel_size: Height and width of a filter: a pair, or one number for both.
        strides: How far the window moves each time: a pair or one number.
        padding: "valid" for none, or "same" for zeros around, so that with strides=1 the size
            stays.
        depth_multiplier: How many filters each channel has, and so how many channels come out of
            it.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, height,
            width)`.
        dilation_rate: The distance between the pixels a filter sees: a pair or one number.
        activation: A name or function; None for none.
        use_bias: Whether to add a bias to every channel.
        depthwise_initializer: How the kernel starts.
        bias_initializer: How the bias starts.
        depthwise_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        depthwise_constraint: Applied to the kernel after updates.
        bias_constraint: Applied to the bias after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.DepthwiseConv2D(3, padding="same")
        >>> layer(np.ones((2, 8, 8, 4), "float32")).shape, layer.kernel.shape
        ((2, 8, 8, 4), (3, 3, 4, 1))
    """

    rank = 2


class _SeparableConvolution(_ByChannel):
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
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
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
            kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, options, activity_regularizer,
            depth_multiplier=depth_multiplier, **kwargs,
        )  # fmt: skip
        self.filters = _argument_checks.whole_number(self, "filters", filters)
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the two kernels and the bias."""
        channels, once = self._channels_of(input_shape), (1,) * self.rank
        apart = (*self.kernel_size, channels, self.depth_multiplier)
        mixed = (*once, channels * self.depth_multiplier, self.filters)
        self.depthwise_kernel = self._new_weight("depthwise_kernel", apart, "depthwise")
        self.pointwise_kernel = self._new_weight("pointwise_kernel", mixed, "pointwise")
        self._new_bias(self.filters, input_shape)

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        kernels = self.depthwise_kernel, self.pointwise_kernel
        return self._finished(
            dispatch(_separable, inputs, *kernels, self.data_format, **self._options(inputs))
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"filters": self.filters}


class SeparableConv1D(_SeparableConvolution):
    """Slides filters over each channel of sequences on its own, then mixes the channels.

    Args:
        filters: How many channels come out.
        kernel_size: How many steps a filter sees.
        strides: How far the window moves each time.
        padding: "valid" for none, or "same" for zeros around, so that with strides=1 the length
            stays.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, steps)`.
        dilation_rate: The distance between the steps a filter sees.
        depth_multiplier: How many filters each channel has before mixing.
        activation: A name or function; None for none.
        use_bias: Whether to add a bias to every channel.
        depthwise_initializer: How the kernel of single channels starts.
        pointwise_initializer: How the mixing kernel starts.
        bias_initializer: How the bias starts.
        depthwise_regularizer: A penalty on the kernel of single channels.
        pointwise_regularizer: A penalty on the mixing kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        depthwise_constraint: Applied to the kernel of single channels after updates.
        pointwise_constraint: Applied to the mixing kernel after updates.
        bias_constraint: Applied to the bias after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.SeparableConv1D(5, 3)(np.ones((2, 10, 4), "float32")).shape
        (2, 8, 5)
    """

    rank = 1


class SeparableConv2D(_SeparableConvolution):
    """Slides filters over each channel of images on its own, then mixes the channels: far fewer
    weights than `Conv2D`.

    Args:
        filters: How many channels come out.
        kernel_size: Height and width of a filter: a pair, or one number for both.
        strides: How far the window moves each time: a pair or one number.
        padding: "valid" for none, or "same" for zeros around, so that with strides=1 the size
            stays.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, height,
            width)`.
        dilation_rate: The distance between the pixels a filter sees: a pair or one number.
        depth_multiplier: How many filters each channel has before mixing.
        activation: A name or function; None for none.
        use_bias: Whether to add a bias to every channel.
        depthwise_initializer: How the kernel of single channels starts.
        pointwise_initializer: How the mixing kernel starts.
        bias_initializer: How the bias starts.
        depthwise_regularizer: A penalty on the kernel of single channels.
        pointwise_regularizer: A penalty on the mixing kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        depthwise_constraint: Applied to the kernel of single channels after updates.
        pointwise_constraint: Applied to the mixing kernel after updates.
        bias_constraint: Applied to the bias after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.SeparableConv2D(16, 3)
        >>> layer(np.ones((2, 8, 8, 4), "float32")).shape, [w.shape for w in layer.weights]
        ((2, 6, 6, 16), [(3, 3, 4, 1), (1, 1, 4, 16), (16,)])
    """

    rank = 2


SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
