"""Transposed convolution layers, which grow what convolutions shrink: Conv1DTranspose,
Conv2DTranspose, Conv3DTranspose.

Options, bias and activation are those of `BaseConvolution`; the arithmetic is
`podium/ops/_convolution.py`.
"""

from __future__ import annotations

from typing import Any

from podium.core import dispatch
from podium.layers import _argument_checks, _spatial
from podium.layers.convolutional._convolution import BaseConvolution
from podium.ops.internal import convolve_transpose, from_channels_last, to_channels_last


def _transposed(x: Any, kernel: Any, data_format: str, **options: Any) -> Any:
    """Run the transposed convolution on an array in either layout."""
    return from_channels_last(
        convolve_transpose(
            to_channels_last(x, data_format).astype(kernel.dtype), kernel, **options
        ),
        data_format,
    )


def _grown(
    length: int, window: int, stride: int, dilation: int, extra: int | None, padding: str
) -> int:
    """Return the output length along one axis."""
    extent = (window - 1) * dilation + 1
    if extra is None:
        return length * stride if padding == "same" else (length - 1) * stride + max(extent, stride)
    return (length - 1) * stride + (extent % 2 if padding == "same" else extent) + extra


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
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
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
        self.filters = _argument_checks.whole_number(self, "filters", filters)
        self.output_padding: tuple[int, ...] | None = None
        if output_padding is not None:
            self.output_padding = _spatial.whole_numbers(
                self, "output_padding", output_padding, self.rank, lowest=0
            )
            if any(
                extra >= stride
                for extra, stride in zip(self.output_padding, self.strides, strict=True)
            ):
                raise ValueError(
                    f"{type(self).__name__} was given output_padding={output_padding!r} and "
                    f"strides={strides!r}; the padding must be smaller than the strides. Leave "
                    "output_padding out, or use larger strides."
                )
        self.kernel: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the kernel and the bias."""
        channels = self._channels_of(input_shape)
        self.kernel = self._new_weight(
            "kernel", (*self.kernel_size, self.filters, channels), "kernel"
        )
        self._new_bias(self.filters, input_shape)

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        if self.output_padding is not None:
            self.compute_output_shape(inputs.shape)  # the only way to an empty output
        outputs = dispatch(
            _transposed,
            inputs,
            self.kernel,
            self.data_format,
            strides=self.strides,
            padding=self.padding,
            output_padding=self.output_padding,
            dilation=self.dilation_rate,
        )
        return self._finished(outputs)

    def _output_lengths(self, input_shape: Any) -> tuple[Any, ...]:
        lengths = _spatial.spatial(input_shape, self.data_format)
        extra, padding = self.output_padding or (None,) * self.rank, (self.padding,) * self.rank
        return _spatial.map_lengths(
            _grown, lengths, self.kernel_size, self.strides, self.dilation_rate, extra, padding
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {
            "filters": self.filters,
            "output_padding": self.output_padding,
        }


class Conv1DTranspose(_ConvolutionTranspose):
    """Grows sequences: every step is spread over a window of the output.

    Args:
        filters: How many channels come out.
        kernel_size: How many steps of the output one step of the input reaches.
        strides: By how much the length grows.
        padding: "valid" keeps all that the windows reach, "same" keeps `strides` times the length.
        output_padding: Sets the length more exactly, to `output_padding` more than the smallest
            input of a convolution that would give this length; less than `strides`.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, steps)`.
        dilation_rate: The distance between the steps of a window. Not together with `strides`.
        activation: A name or function; None for none.
        use_bias: Whether to add a bias to every channel.
        kernel_initializer: How the kernel starts.
        bias_initializer: How the bias starts.
        kernel_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        kernel_constraint: Applied to the kernel after updates.
        bias_constraint: Applied to the bias after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Conv1DTranspose(4, 3, strides=2)
        >>> layer(np.ones((2, 10, 8), "float32")).shape, layer.kernel.shape
        ((2, 21, 4), (3, 4, 8))
    """

    rank = 1


class Conv2DTranspose(_ConvolutionTranspose):
    """Grows images: every pixel is spread over a window of the output. Used by decoders and
    generators.

    Args:
        filters: How many channels come out.
        kernel_size: Height and width of a window: a pair, or one number for both.
        strides: By how much height and width grow.
        padding: "valid" keeps all that the windows reach, "same" keeps `strides` times the size.
        output_padding: Sets the size more exactly, to `output_padding` more than the smallest input
            of a convolution that would give this size; less than `strides`.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, height,
            width)`.
        dilation_rate: The distance between the pixels of a window. Not together with `strides`.
        activation: A name or function; None for none.
        use_bias: Whether to add a bias to every channel.
        kernel_initializer: How the kernel starts.
        bias_initializer: How the bias starts.
        kernel_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        kernel_constraint: Applied to the kernel after updates.
        bias_constraint: Applied to the bias after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Conv2DTranspose(3, 4, strides=2, padding="same")
        >>> layer(np.ones((2, 7, 7, 16), "float32")).shape
        (2, 14, 14, 3)
    """

    rank = 2


class Conv3DTranspose(_ConvolutionTranspose):
    """Grows volumes: every voxel is spread over a window of the output.

    Args:
        filters: How many channels come out.
        kernel_size: Depth, height and width of a window, or one number for all.
        strides: By how much depth, height and width grow.
        padding: "valid" keeps all that the windows reach, "same" keeps `strides` times the size.
        data_format: "channels_last" (default) or "channels_first".
        output_padding: Sets the size more exactly; see `Conv2DTranspose`.
        dilation_rate: The distance between the voxels of a window. Not together with `strides`.
        activation: A name or function; None for none.
        use_bias: Whether to add a bias to every channel.
        kernel_initializer: How the kernel starts.
        bias_initializer: How the bias starts.
        kernel_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        kernel_constraint: Applied to the kernel after updates.
        bias_constraint: Applied to the bias after updates.
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
        # Keras has these two the other way round than in 1D and 2D.
        super().__init__(
            filters, kernel_size, strides, padding, output_padding, data_format, *args, **kwargs
        )


Convolution1DTranspose, Convolution2DTranspose, Convolution3DTranspose = (
    Conv1DTranspose,
    Conv2DTranspose,
    Conv3DTranspose,
)
