"""Convolution layers: Conv1D, Conv2D, Conv3D, and the base class of all convolutions.

`BaseConvolution` owns the common arguments: window, strides, padding, data format, activation, bias
and the options of weights. The computation is in `podium.ops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import jax

from podium import activations, regularizers
from podium._typing import (
    ActivationLike,
    Config,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    SymbolicShape,
)
from podium.core import KerasTensor, Tensor, Variable, dispatch
from podium.core.internal import check_int
from podium.layers import _layer_arguments, _spatial
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer
from podium.ops.internal import convolve, from_channels_last, to_channels_last


class BaseConvolution(Layer):
    """Arguments, shapes and bias of all convolutions. Subclasses create kernels and convolve."""

    rank: ClassVar[int]
    _paddings: ClassVar[tuple[str, ...]] = ("valid", "same")
    _strides_with_dilation: ClassVar[bool] = True

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int],
        padding: str,
        data_format: str | None,
        dilation_rate: int | Sequence[int],
        activation: ActivationLike,
        use_bias: bool,
        weight_options: dict[str, Any],
        activity_regularizer: RegularizerLike = None,
        **kwargs: Any,
    ):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.kernel_size = _spatial.standardize_tuple(self, "kernel_size", kernel_size, self.rank)
        self.strides = _spatial.standardize_tuple(self, "strides", strides, self.rank)
        self.dilation_rate = _spatial.standardize_tuple(
            self, "dilation_rate", dilation_rate, self.rank
        )
        self.padding = _spatial.standardize_choice(self, "padding", padding, self._paddings)
        self.data_format = _spatial.standardize_data_format(self, data_format)
        if (
            not self._strides_with_dilation
            and max(self.strides) > 1
            and max(self.dilation_rate) > 1
        ):
            raise ValueError(
                f"{type(self).__name__} was given strides={self.strides} and "
                f"dilation_rate={self.dilation_rate}; only one "
                "of them may be above 1, as in Keras. Use strides=1 and a pooling layer after it, "
                "or dilation_rate=1."
            )
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        _layer_arguments.set_weight_options(self, **weight_options)
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.bias: Any = None

    def _num_channels(self, input_shape: SymbolicShape) -> int:
        """Return the number of input channels; raise if it is unknown or the output empty."""
        axis = _spatial.channel_axis(self.data_format)
        channels = input_shape[axis]
        if channels is None:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was called with shape "
                f"{tuple(input_shape)}: the number of channels (axis {axis}, "
                f"data_format={self.data_format!r}) must be known. Specify it in "
                "`Input(shape=...)`."
            )
        self.compute_output_shape(input_shape)  # raises for an empty output
        return channels

    def _create_bias(self, size: int, input_shape: SymbolicShape) -> None:
        """Create the bias, if there is one, and require this number of channels of later inputs."""
        axis = _spatial.channel_axis(self.data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: input_shape[axis]})
        if self.use_bias:
            self.bias = self._add_weight_with_options("bias", (size,), "bias")

    def _add_weight_with_options(self, name: str, shape: tuple[int, ...], prefix: str) -> Variable:
        """Create a weight with the options whose names start with `prefix`."""
        return self.add_weight(
            name=name, shape=shape, **_layer_arguments.weight_options(self, prefix)
        )

    def _add_bias_and_activate(self, outputs: Tensor) -> Tensor:
        """Add the bias and apply the activation."""
        if self.bias is not None:
            outputs = dispatch(_add_bias, outputs, self.bias, self.data_format)
        return outputs if self.activation is None else self.activation(outputs)

    def _output_channels(self, input_shape: SymbolicShape) -> int | None:
        raise NotImplementedError

    def _output_sizes(self, input_shape: SymbolicShape) -> tuple[Any, ...]:
        sizes = _spatial.spatial_shape(input_shape, self.data_format)
        padding = (self.padding,) * self.rank
        return _spatial.map_known_sizes(
            _spatial.num_windows,
            sizes,
            self.kernel_size,
            self.strides,
            self.dilation_rate,
            padding,
        )

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs; an empty output is an error."""
        if len(input_shape) != self.rank + 2:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) received shape "
                f"{tuple(input_shape)}; {self.rank + 2} "
                "dimensions were expected: batch, spatial axes and channels."
            )
        sizes = self._output_sizes(input_shape)
        _spatial.check_not_empty(
            self,
            self.data_format,
            input_shape,
            sizes,
            "kernel_size",
            "strides",
            "dilation_rate",
            "padding",
        )
        return _spatial.join_shape(
            input_shape[0], sizes, self._output_channels(input_shape), self.data_format
        )

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        return KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            **_layer_arguments.weight_options_config(
                self, "kernel", "depthwise", "pointwise", "bias"
            ),
        }


def _add_bias(x: jax.Array, bias: jax.Array, data_format: str) -> jax.Array:
    return x + (bias if data_format == "channels_last" else bias.reshape(-1, *(1,) * (x.ndim - 2)))


def _convolve(x: jax.Array, kernel: jax.Array, data_format: str, **options: Any) -> jax.Array:
    """Convolve an array in either data format."""
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
        self.groups = check_int("groups", groups, owner=self, type_error=ValueError)
        if self.filters % self.groups:
            raise ValueError(
                f"{type(self).__name__} was given filters={filters} and groups={groups}; the "
                "filters must divide evenly into the groups. Use "
                f"filters={-(-self.filters // self.groups) * self.groups}, or other groups."
            )
        self.kernel: Any = None

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the kernel and the bias."""
        channels = self._num_channels(input_shape)
        if channels % self.groups:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was called with shape "
                f"{tuple(input_shape)}: {channels} channels "
                f"(data_format={self.data_format!r}) do not divide evenly into "
                f"groups={self.groups}. Use other groups, or "
                "check where the channels are."
            )
        self.kernel = self._add_weight_with_options(
            "kernel", (*self.kernel_size, channels // self.groups, self.filters), "kernel"
        )
        self._create_bias(self.filters, input_shape)

    def convolution_op(self, inputs: Tensor, kernel: Tensor) -> Tensor:
        """Convolve the inputs. Override it to transform the kernel first."""
        padding: Any = self.padding
        if padding == "causal":
            padding = (((self.kernel_size[0] - 1) * self.dilation_rate[0], 0),)
        options = {
            "strides": self.strides,
            "padding": padding,
            "dilation": self.dilation_rate,
            "groups": self.groups,
        }
        result: Tensor = dispatch(_convolve, inputs, kernel, self.data_format, **options)
        return result

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        if self.padding == "valid":
            self.compute_output_shape(inputs.shape)  # raises if the window does not fit
        return self._add_bias_and_activate(self.convolution_op(inputs, self.kernel))

    def _output_channels(self, input_shape: SymbolicShape) -> int:
        return self.filters

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"filters": self.filters, "groups": self.groups}


class Conv1D(_Convolution):
    """1D convolution layer, for sequences of shape `(batch, steps, channels)`.

    Args:
        filters: The number of output channels.
        kernel_size: The length of the convolution window.
        strides: The step of the window.
        padding: "valid" for no padding, "same" to keep the length with strides=1,
            or "causal" for zeros at the start only, so that no output depends on a later step.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, steps)`.
        dilation_rate: The dilation of the convolution.
        groups: The number of groups into which channels and filters are split.
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
        >>> layer = podium.layers.Conv1D(4, 3, padding="causal")
        >>> layer(np.ones((2, 10, 8), "float32")).shape, layer.kernel.shape
        ((2, 10, 4), (3, 8, 4))
    """

    rank = 1
    _paddings = ("valid", "same", "causal")


class Conv2D(_Convolution):
    """2D convolution layer, for images of shape `(batch, height, width, channels)`.

    Args:
        filters: The number of output channels.
        kernel_size: Height and width of the convolution window: a pair of ints, or one int.
        strides: The step of the window: a pair of ints or one int. Cannot be combined with
            `dilation_rate`.
        padding: "valid" for no padding, or "same" for zero padding, so that strides=1 keeps the
            size.
        data_format: "channels_last" (default) or "channels_first": `(batch, channels, height,
            width)`.
        dilation_rate: The dilation of the convolution: a pair of ints or one int.
        groups: The number of groups into which channels and filters are split.
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
    """3D convolution layer, for volumes of shape `(batch, depth, height, width, channels)`.

    Args:
        filters: The number of output channels.
        kernel_size: Depth, height and width of the convolution window, or one int for all.
        strides: The step of the window: three ints or one. Cannot be combined with
            `dilation_rate`.
        padding: "valid" for no padding, or "same" for zero padding, so that strides=1 keeps the
            size.
        data_format: "channels_last" (default) or "channels_first".
        dilation_rate: The dilation of the convolution: three ints or one.
        groups: The number of groups into which channels and filters are split.
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
        >>> layer = podium.layers.Conv3D(4, 3, padding="same", strides=2)
        >>> layer(np.ones((1, 8, 8, 8, 2), "float32")).shape
        (1, 4, 4, 4, 4)
    """

    rank = 3


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
