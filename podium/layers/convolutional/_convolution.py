"""Convolution layers: Conv1D, Conv2D, Conv3D, and the base that all convolutions stand on.

`BaseConvolution` owns what every kind of convolution takes: window, strides, padding, layout,
activation, bias and the options of weights. The arithmetic is `podium/ops/_convolution.py`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from podium import activations, regularizers
from podium.core import KerasTensor, dispatch
from podium.layers import _argument_checks, _spatial
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer
from podium.ops.internal import convolve, from_channels_last, to_channels_last


class BaseConvolution(Layer):
    """What all convolutions share. Subclasses list their arguments, make their kernels and
    convolve.
    """

    rank: ClassVar[int]
    _paddings: ClassVar[tuple[str, ...]] = ("valid", "same")
    _strides_with_dilation: ClassVar[bool] = True
    filters: int

    def __init__(
        self,
        kernel_size: Any,
        strides: Any,
        padding: str,
        data_format: str | None,
        dilation_rate: Any,
        activation: Any,
        use_bias: bool,
        weight_options: dict[str, Any],
        activity_regularizer: Any = None,
        **kwargs: Any,
    ):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.kernel_size = _spatial.whole_numbers(self, "kernel_size", kernel_size, self.rank)
        self.strides = _spatial.whole_numbers(self, "strides", strides, self.rank)
        self.dilation_rate = _spatial.whole_numbers(self, "dilation_rate", dilation_rate, self.rank)
        self.padding = _spatial.choice(self, "padding", padding, self._paddings)
        self.data_format = _spatial.layout(self, data_format)
        if (
            not self._strides_with_dilation
            and max(self.strides) > 1
            and max(self.dilation_rate) > 1
        ):
            raise ValueError(
                f"{type(self).__name__} was given strides={self.strides} and "
                f"dilation_rate={self.dilation_rate}; only one "
                "of them may be above 1, as in Keras. Use strides=1 here and a pooling layer "
                "behind it, or dilation_rate=1."
            )
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        _argument_checks.set_weight_options(self, **weight_options)
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.bias: Any = None

    def _channels_of(self, input_shape: Any) -> int:
        """Return the number of input channels; refuse shapes that no weights can be made for."""
        axis = _spatial.channel_axis(self.data_format)
        channels = input_shape[axis]
        if channels is None:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was called with shape "
                f"{tuple(input_shape)}: the number of channels (axis {axis}, "
                f"data_format={self.data_format!r}) must be known. Give it in `Input(shape=...)`."
            )
        self.compute_output_shape(input_shape)  # an empty output is refused before weights are made
        return channels

    def _new_bias(self, length: int, input_shape: Any) -> None:
        """End a `build`: make the bias, if there is one, and hold later inputs to this number of
        channels.
        """
        axis = _spatial.channel_axis(self.data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: input_shape[axis]})
        if self.use_bias:
            self.bias = self._new_weight("bias", (length,), "bias")

    def _new_weight(self, name: str, shape: tuple[int, ...], prefix: str) -> Any:
        """Make a weight with the options `<prefix>_initializer`, `<prefix>_regularizer` and
        `<prefix>_constraint`.
        """
        return self.add_weight(
            name=name, shape=shape, **_argument_checks.weight_options(self, prefix)
        )

    def _finished(self, outputs: Any) -> Any:
        """Add the bias and apply the activation."""
        if self.bias is not None:
            outputs = dispatch(_add_bias, outputs, self.bias, self.data_format)
        return outputs if self.activation is None else self.activation(outputs)

    def _output_channels(self, input_shape: Any) -> int:
        return self.filters

    def _output_lengths(self, input_shape: Any) -> tuple[Any, ...]:
        lengths = _spatial.spatial(input_shape, self.data_format)
        padding = (self.padding,) * self.rank
        return _spatial.map_lengths(
            _spatial.window_length,
            lengths,
            self.kernel_size,
            self.strides,
            self.dilation_rate,
            padding,
        )

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs; an empty output is an error."""
        if len(input_shape) != self.rank + 2:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was asked about shape "
                f"{tuple(input_shape)}; {self.rank + 2} "
                "dimensions were expected: the batch, the space and the channels."
            )
        lengths = self._output_lengths(input_shape)
        _spatial.refuse_empty(
            self, input_shape, lengths, "kernel_size", "strides", "dilation_rate", "padding"
        )
        return _spatial.with_spatial(
            input_shape[0], lengths, self._output_channels(input_shape), self.data_format
        )

    def compute_output_spec(self, inputs: Any) -> KerasTensor:
        """Return what a call on a symbolic input gives."""
        return KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            **_argument_checks.weight_options_config(
                self, "kernel", "depthwise", "pointwise", "bias"
            ),
        }


def _add_bias(x: Any, bias: Any, data_format: str) -> Any:
    return x + (bias if data_format == "channels_last" else bias.reshape(-1, *(1,) * (x.ndim - 2)))


def _convolved(x: Any, kernel: Any, data_format: str, **options: Any) -> Any:
    """Convolve an array in either layout."""
    return from_channels_last(
        convolve(to_channels_last(x, data_format).astype(kernel.dtype), kernel, **options),
        data_format,
    )


class _Convolution(BaseConvolution):
    """Conv1D, Conv2D and Conv3D, by `rank`."""

    _strides_with_dilation = False

    def __init__(
        self,
        filters: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
        groups: int = 1,
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
        self.groups = _argument_checks.whole_number(self, "groups", groups)
        if self.filters % self.groups:
            raise ValueError(
                f"{type(self).__name__} was given filters={filters} and groups={groups}; the "
                "filters must divide evenly into the groups. Use "
                f"filters={-(-self.filters // self.groups) * self.groups}, or other groups."
            )
        self.kernel: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the kernel and the bias."""
        channels = self._channels_of(input_shape)
        if channels % self.groups:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was called with shape "
                f"{tuple(input_shape)}: {channels} channels "
                f"(data_format={self.data_format!r}) do not divide evenly into "
                f"groups={self.groups}. Use other groups, or "
                "check where the channels are."
            )
        self.kernel = self._new_weight(
            "kernel", (*self.kernel_size, channels // self.groups, self.filters), "kernel"
        )
        self._new_bias(self.filters, input_shape)

    def convolution_op(self, inputs: Any, kernel: Any) -> Any:
        """Convolve the inputs; override it to treat the kernel first, for example to standardise
        it.
        """
        padding: Any = self.padding
        if padding == "causal":
            padding = (((self.kernel_size[0] - 1) * self.dilation_rate[0], 0),)
        options = {
            "strides": self.strides,
            "padding": padding,
            "dilation": self.dilation_rate,
            "groups": self.groups,
        }
        return dispatch(_convolved, inputs, kernel, self.data_format, **options)

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        if self.padding == "valid":
            self.compute_output_shape(inputs.shape)  # says what is wrong if the window does not fit
        return self._finished(self.convolution_op(inputs, self.kernel))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"filters": self.filters, "groups": self.groups}


class Conv1D(_Convolution):
    """Slides filters over sequences of shape `(batch, steps, channels)`.

    Args:
        filters: How many channels come out.
        kernel_size: How many steps a filter sees.
        strides: How far the window moves each time.
        padding: "valid" for none, "same" for zeros around, so that with strides=1 the length stays;
            "causal" for zeros before the start only, so that no output sees a later step.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, steps)`.
        dilation_rate: The distance between the steps a filter sees.
        groups: Splits channels and filters into this many separate convolutions.
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
        >>> layer = podium.layers.Conv1D(4, 3, padding="causal")
        >>> layer(np.ones((2, 10, 8), "float32")).shape, layer.kernel.shape
        ((2, 10, 4), (3, 8, 4))
    """

    rank = 1
    _paddings = ("valid", "same", "causal")


class Conv2D(_Convolution):
    """Slides filters over images of shape `(batch, height, width, channels)`.

    Args:
        filters: How many channels come out.
        kernel_size: Height and width of a filter: a pair, or one number for both.
        strides: How far the window moves each time: a pair or one number. Not together with
            `dilation_rate`.
        padding: "valid" for none, or "same" for zeros around, so that with strides=1 the size
            stays.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, height,
            width)`.
        dilation_rate: The distance between the pixels a filter sees: a pair or one number.
        groups: Splits channels and filters into this many separate convolutions.
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

    Raises:
        ValueError: If the window does not fit into the input, or the channels do not divide into
            `groups`.

    Example:
        >>> layer = podium.layers.Conv2D(16, 3, activation="relu")
        >>> layer(np.ones((2, 28, 28, 3), "float32")).shape, layer.kernel.shape
        ((2, 26, 26, 16), (3, 3, 3, 16))
    """

    rank = 2


class Conv3D(_Convolution):
    """Slides filters over volumes of shape `(batch, depth, height, width, channels)`.

    Args:
        filters: How many channels come out.
        kernel_size: Depth, height and width of a filter, or one number for all.
        strides: How far the window moves each time: three numbers or one. Not together with
            `dilation_rate`.
        padding: "valid" for none, or "same" for zeros around, so that with strides=1 the size
            stays.
        data_format: "channels_last" (default) or "channels_first".
        dilation_rate: The distance between the voxels a filter sees: three numbers or one.
        groups: Splits channels and filters into this many separate convolutions.
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
        >>> layer = podium.layers.Conv3D(4, 3, padding="same", strides=2)
        >>> layer(np.ones((1, 8, 8, 8, 2), "float32")).shape
        (1, 4, 4, 4, 4)
    """

    rank = 3


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
