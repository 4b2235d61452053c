"""`LocallyConnected1D` and `LocallyConnected2D`: convolutions with weights of each position's own.

The three implementations of Keras 2 differ in the shape of the kernel, which files have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from podium import activations, constraints, initializers, ops, regularizers
from podium._typing import (
    ActivationLike,
    Config,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    SymbolicShape,
)
from podium.compat.keras.backend._convolutions import local_conv1d, local_conv2d
from podium.compat.keras.backend._elementwise import bias_add
from podium.core import Tensor, check_choice
from podium.layers import InputSpec, Layer
from podium.ops.internal import resolve_data_format

_OPTIONS = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}


class LocallyConnected(Layer):
    """The arguments, weights and computation of both layers."""

    rank: int

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        implementation: int = 1,
        **kwargs: Any,
    ):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = self._per_axis("kernel_size", kernel_size)
        self.strides = self._per_axis("strides", strides)
        self.padding = check_choice("padding", padding.lower(), ("valid", "same"))
        self.implementation = implementation
        if implementation not in (1, 2, 3) or (padding != "valid" and implementation == 1):
            raise ValueError(
                f"{type(self).__name__} was given implementation={implementation} and "
                f"padding={padding!r}; 1, 2 or 3 was expected, and 2 or 3 for padding='same'."
            )
        self.data_format = resolve_data_format(data_format)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.bias: Any = None

    def _per_axis(self, name: str, value: int | Sequence[int]) -> tuple[int, ...]:
        sizes = (value,) * self.rank if isinstance(value, int) else tuple(value)
        if len(sizes) != self.rank or min(sizes) < 1:
            raise ValueError(
                f"{type(self).__name__} was given {name}={value!r}; a positive int, or "
                f"{self.rank} of them, was expected."
            )
        return sizes

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the kernel and the bias; all sizes but that of the batch must be known."""
        is_last = self.data_format == "channels_last"
        sizes, channels = self._split_shape(input_shape)
        if channels is None or None in sizes:
            raise ValueError(
                f"{type(self).__name__} was called with shape {tuple(input_shape)}: it has weights "
                "for each position, so all sizes but that of the batch must be known. Specify them "
                "in `Input(shape=...)`."
            )
        outputs = self._output_sizes(sizes)
        window = math.prod(self.kernel_size) * channels
        if self.implementation == 1:
            shape: tuple[Any, ...] = (math.prod(outputs), window, self.filters)
        elif self.implementation == 2:
            shape = self._join(sizes, channels) + self._join(outputs, self.filters)
        else:
            self._indices = self._connected_indices(sizes, channels)
            shape = (len(self._indices),)
        self.kernel = self._add_weight_of("kernel", shape)
        if self.use_bias:
            self.bias = self._add_weight_of("bias", (*outputs, self.filters))
        axis = -1 if is_last else 1
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        outputs = self._convolve(inputs)
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, self.data_format)
        return outputs if self.activation is None else self.activation(outputs)

    def _convolve(self, inputs: Tensor) -> Tensor:
        sizes, channels = self._split_shape(ops.shape(inputs))
        outputs = self._output_sizes(sizes)
        if self.implementation == 1:
            if self.rank == 1:
                return local_conv1d(
                    inputs, self.kernel, self.kernel_size, self.strides, self.data_format
                )
            return local_conv2d(
                inputs, self.kernel, self.kernel_size, self.strides, outputs, self.data_format
            )
        count = math.prod(outputs) * self.filters
        flat = ops.reshape(inputs, (-1, math.prod(sizes) * channels))
        if self.implementation == 2:
            mask = self._connections(sizes)
            mask = mask.reshape(self._join(sizes, 1) + self._join(outputs, 1))
            kernel = ops.multiply(self.kernel, mask.astype(self.kernel.dtype))
            matrix = ops.reshape(kernel, (-1, count))
        else:
            shape = (count, math.prod(sizes) * channels)
            matrix = ops.transpose(ops.scatter(self._indices, self.kernel, shape))
        return ops.reshape(ops.matmul(flat, matrix), (-1, *self._join(outputs, self.filters)))

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        sizes, _ = self._split_shape(input_shape)
        return (input_shape[0], *self._join(self._output_sizes(sizes), self.filters))

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        names = ("filters", "kernel_size", "strides", "padding", "data_format", "use_bias")
        options = {
            f"{weight}_{option}": package.serialize(getattr(self, f"{weight}_{option}"))
            for weight in ("kernel", "bias")
            for option, package in _OPTIONS.items()
        }
        return {
            **super().get_config(),
            **{name: getattr(self, name) for name in names},
            **options,
            "activation": activations.serialize(self.activation),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            "implementation": self.implementation,
        }

    def _add_weight_of(self, name: str, shape: tuple[int, ...]) -> Any:
        options = {option: getattr(self, f"{name}_{option}") for option in _OPTIONS}
        return self.add_weight(name=name, shape=shape, **options)

    def _split_shape(self, shape: SymbolicShape) -> tuple[tuple[Any, ...], Any]:
        """Return the spatial sizes and the number of channels."""
        if self.data_format == "channels_last":
            return tuple(shape[1:-1]), shape[-1]
        return tuple(shape[2:]), shape[1]

    def _join(self, sizes: Sequence[Any], channels: int) -> tuple[Any, ...]:
        """Return spatial sizes and channels in the order of the data format."""
        is_last = self.data_format == "channels_last"
        return (*sizes, channels) if is_last else (channels, *sizes)

    def _output_sizes(self, sizes: Sequence[Any]) -> tuple[Any, ...]:
        outputs: list[int | None] = []
        for size, window, stride in zip(sizes, self.kernel_size, self.strides, strict=True):
            if size is None:
                outputs.append(None)
                continue
            reached = size if self.padding == "same" else size - window + 1
            if reached <= 0:
                raise ValueError(
                    f"{type(self).__name__} with kernel_size={self.kernel_size} was called with "
                    f"the spatial sizes {tuple(sizes)}, which leave an empty output."
                )
            outputs.append(math.ceil(reached / stride))
        return tuple(outputs)

    def _connections(self, sizes: Sequence[int]) -> np.ndarray[Any, Any]:
        """Return which inputs reach which outputs: the input dimensions, then those of outputs."""
        mask = np.ones((), bool)
        outputs = self._output_sizes(sizes)
        for size, count, window, stride in zip(
            sizes, outputs, self.kernel_size, self.strides, strict=True
        ):
            first = np.arange(count) * stride - (window // 2 if self.padding == "same" else 0)
            offset = np.arange(size)[:, None] - first
            mask = np.multiply.outer(mask, (offset >= 0) & (offset < window))
        order = (*range(0, 2 * self.rank, 2), *range(1, 2 * self.rank, 2))
        return mask.transpose(order)

    def _connected_indices(self, sizes: Sequence[int], channels: int) -> np.ndarray[Any, Any]:
        """Return the positions of weights in a matrix from outputs to inputs, in its order."""
        outputs = self._output_sizes(sizes)
        mask = self._connections(sizes).reshape(self._join(sizes, 1) + self._join(outputs, 1))
        full = self._join(sizes, channels) + self._join(outputs, self.filters)
        matrix = np.broadcast_to(mask, full).reshape(math.prod(sizes) * channels, -1)
        return np.argwhere(matrix.T)


class LocallyConnected1D(LocallyConnected):
    """A convolution over sequences, with a kernel of its own for each position.

    Args:
        filters: The number of output channels.
        kernel_size: The size of the window.
        strides: The steps between two windows.
        padding: "valid"; or "same", with implementation 2 or 3.
        data_format: "channels_last", "channels_first", or None for the default.
        activation: The activation; None for none.
        use_bias: Whether there is a bias for each position and channel.
        kernel_initializer: The initializer of the kernel.
        bias_initializer: The initializer of the bias.
        kernel_regularizer: The regularizer of the kernel.
        bias_regularizer: The regularizer of the bias.
        activity_regularizer: The regularizer of the outputs.
        kernel_constraint: The constraint of the kernel.
        bias_constraint: The constraint of the bias.
        implementation: The shape of the kernel: 1 for a matrix per position, 2 for a matrix from
            all inputs to all outputs, 3 for a vector of the weights that are used.
        **kwargs: `name`, `dtype`.

    Example:
        >>> from podium.compat import keras
        >>> layer = keras.layers.LocallyConnected1D(5, 3)
        >>> layer(np.ones((2, 8, 4), "float32")).shape, layer.kernel.shape
        ((2, 6, 5), (6, 12, 5))
    """

    rank = 1


class LocallyConnected2D(LocallyConnected):
    """A convolution over images, with a kernel of its own for each position.

    Args:
        filters: The number of output channels.
        kernel_size: The size of the window.
        strides: The steps between two windows.
        padding: "valid"; or "same", with implementation 2 or 3.
        data_format: "channels_last", "channels_first", or None for the default.
        activation: The activation; None for none.
        use_bias: Whether there is a bias for each position and channel.
        kernel_initializer: The initializer of the kernel.
        bias_initializer: The initializer of the bias.
        kernel_regularizer: The regularizer of the kernel.
        bias_regularizer: The regularizer of the bias.
        activity_regularizer: The regularizer of the outputs.
        kernel_constraint: The constraint of the kernel.
        bias_constraint: The constraint of the bias.
        implementation: The shape of the kernel: 1 for a matrix per position, 2 for a matrix from
            all inputs to all outputs, 3 for a vector of the weights that are used.
        **kwargs: `name`, `dtype`.

    Example:
        >>> from podium.compat import keras
        >>> layer = keras.layers.LocallyConnected2D(5, (3, 2))
        >>> layer(np.ones((2, 8, 4, 3), "float32")).shape, layer.kernel.shape
        ((2, 6, 3, 5), (18, 18, 5))
    """

    rank = 2
