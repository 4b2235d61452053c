"""ConvLSTM1D, ConvLSTM2D and ConvLSTM3D: LSTMs whose products are convolutions.

The convolution of the inputs is computed for all steps at once, before the loop; only the
convolution of the state is inside of it. Everything runs on channels-last arrays; other data is
transposed before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium import initializers
from podium._typing import (
    Config,
    DTypeLike,
    ShapeLike,
    SymbolicShape,
    Tree,
)
from podium.core import Tensor, dispatch, map_structure
from podium.core.internal import context
from podium.layers import _spatial
from podium.layers._layer_arguments import weight_options
from podium.layers.rnn._lstm import lstm_step
from podium.layers.rnn._recurrent_cell import RecurrentCell
from podium.layers.rnn._recurrent_loop import Step, run_all_steps, run_step
from podium.ops.internal import convolve, from_channels_last, to_channels_last


class ConvLSTMCell(RecurrentCell):
    """Cell of the ConvLSTM layers, for inputs of `rank` spatial axes.

    The arguments are those of the layers. Spatial sizes must be known when it is built, since the
    states have the shape of the output.
    """

    _gates = 4
    _states = 2
    bias_initializer: Any

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int],
        padding: str,
        data_format: str | None,
        dilation_rate: int | Sequence[int],
        unit_forget_bias: bool,
        weights: dict[str, Any],
        **kwargs: Any,
    ):
        super().__init__(filters, weights=weights, **kwargs)
        self.rank = rank
        self.filters = self.units
        self.kernel_size = _spatial.standardize_tuple(self, "kernel_size", kernel_size, rank)
        self.strides = _spatial.standardize_tuple(self, "strides", strides, rank)
        self.dilation_rate = _spatial.standardize_tuple(self, "dilation_rate", dilation_rate, rank)
        self.padding = _spatial.standardize_choice(self, "padding", padding, ("valid", "same"))
        self.data_format = _spatial.standardize_data_format(self, data_format)
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"ConvLSTM{rank}D was given strides={self.strides} and "
                f"dilation_rate={self.dilation_rate}; only one of them may be above 1. Use "
                "strides=1 or dilation_rate=1."
            )
        self.unit_forget_bias = unit_forget_bias
        self.implementation = 1  # every gate has dropout masks of its own, as in Keras
        self.state_size = [-1, -1]  # shapes that depend on the input; see get_initial_state
        self.output_size = -1
        self._step_shape: SymbolicShape = ()

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the kernel, the recurrent kernel and the bias."""
        sizes = _spatial.spatial_shape(input_shape, self.data_format)
        channels = input_shape[_spatial.channel_axis(self.data_format)]
        if channels is None or not all(isinstance(size, int) for size in sizes):
            raise ValueError(
                f"ConvLSTM{self.rank}D was given steps of shape {tuple(input_shape)}; all sizes "
                "but the batch must be known, since the states have the shape of the output. "
                "Specify them in `Input(shape=(time, ..., channels))`."
            )
        self._step_shape = tuple(input_shape[1:])
        self.compute_output_shape(input_shape)  # raises for an empty output
        width = 4 * self.filters
        self.kernel = self.add_weight(
            name="kernel",
            shape=(*self.kernel_size, channels, width),
            **weight_options(self, "kernel"),
        )
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(*self.kernel_size, self.filters, width),
            **weight_options(self, "recurrent"),
        )
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(width,), **self._bias_options())
        self._build_activations(self._state_shape(input_shape[0]))

    def _bias_options(self) -> dict[str, Any]:
        options = super()._bias_options()
        return (
            options | {"initializer": self._initialize_bias} if self.unit_forget_bias else options
        )

    def _initialize_bias(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Initialize the bias of the forget gate to 1, and the others as specified."""
        sizes = (self.filters, self.filters, 2 * self.filters)
        parts = (self.bias_initializer, initializers.get("ones"), self.bias_initializer)
        result: Tensor = dispatch(
            jnp.concatenate, [part((size,), dtype) for part, size in zip(parts, sizes, strict=True)]
        )
        return result

    def _step(self) -> Step:
        return _STEP

    def call(self, inputs: Tensor, states: Tree, training: bool = False) -> Tree:
        """Compute one step; return the output and the new states."""
        product, masks = self._input_products(inputs, training)
        states = self._to_channels_last(list(states))
        weights = (None, self.recurrent_kernel, None)
        new = self._dispatch(run_step, product, states, weights, None, masks)
        new = self._from_channels_last(new)
        return new[0], new

    def run(
        self, sequences: Tensor, states: Tree, mask: Tensor | None, training: bool, **options: Any
    ) -> tuple[Any, ...]:
        """Run over sequences; return the last output, all outputs (or None) and the states."""
        products, masks = self._input_products(sequences, training)
        states = self._to_channels_last(states)
        weights = (None, self.recurrent_kernel, None)
        options["autodiff"] = context.forward_mode or not self._is_pure()
        result: tuple[Any, ...] = self._dispatch(
            run_all_steps, products, states, weights, mask, None, masks, **options
        )
        result = self._from_channels_last(result)
        return result

    def _input_products(self, inputs: Tensor, training: bool) -> tuple[Tensor, Any]:
        """Convolve the inputs of a step, or of all of them; also return the masks of the states."""
        input_masks, state_masks = self.draw_masks(inputs, training)
        product: Tensor = dispatch(
            _convolve_inputs,
            inputs,
            self.kernel,
            self.bias,
            input_masks,
            self.data_format,
            rank=self.rank,
            strides=self.strides,
            padding=self.padding,
            dilation=self.dilation_rate,
        )
        return product, state_masks

    def _mask_shapes(self, inputs: Tensor) -> tuple[Any, Any]:
        shape = (inputs.shape[0], *self._step_shape)
        sizes = _spatial.spatial_shape(shape, self.data_format)
        channels = shape[_spatial.channel_axis(self.data_format)]
        return (shape[0], *sizes, channels), self._state_shape(shape[0])

    def _state_shape(self, batch_size: Any) -> SymbolicShape:
        """Return the shape of a state with the channels last."""
        sizes = _spatial.spatial_shape((batch_size, *self._step_shape), self.data_format)
        return (batch_size, *self._output_sizes(sizes), self.filters)

    def _output_sizes(self, sizes: SymbolicShape) -> SymbolicShape:
        return _spatial.map_known_sizes(
            _spatial.num_windows,
            sizes,
            self.kernel_size,
            self.strides,
            self.dilation_rate,
            (self.padding,) * self.rank,
        )

    def _to_channels_last(self, values: Tree) -> Any:
        return map_structure(
            lambda x: dispatch(to_channels_last, x, self.data_format, -self.rank - 1), values
        )

    def _from_channels_last(self, values: Tree) -> Any:
        return map_structure(
            lambda x: dispatch(from_channels_last, x, self.data_format, -self.rank - 1), values
        )

    def get_initial_state(self, batch_size: int | None = None) -> list[Any]:
        """Return states of zeros. The cell must be built, since the shape depends on the input."""
        if not self._step_shape:
            raise RuntimeError(
                f"ConvLSTM{self.rank}D has no states before it is built: their shape depends on "
                "that of the inputs. Call the layer first, or `build(input_shape)`."
            )
        _, *sizes, channels = self._state_shape(batch_size)
        shape = _spatial.join_shape(batch_size, sizes, channels, self.data_format)
        return [dispatch(jnp.zeros, shape, self.compute_dtype) for _ in range(2)]

    def compute_output_shape(
        self, input_shape: SymbolicShape, states_shape: SymbolicShape | None = None
    ) -> Tree:
        """Return the shape of the output of one step, and those of the two states."""
        sizes = self._output_sizes(_spatial.spatial_shape(input_shape, self.data_format))
        arguments = ("kernel_size", "strides", "dilation_rate", "padding")
        _spatial.check_not_empty(self, self.data_format, input_shape, sizes, *arguments)
        shape = _spatial.join_shape(input_shape[0], sizes, self.filters, self.data_format)
        return shape, [shape, shape]

    def get_config(self) -> Config:
        """Return the arguments that recreate this cell."""
        config = super().get_config()
        del config["units"]
        return config | {
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
            "unit_forget_bias": self.unit_forget_bias,
        }


def _convolve_inputs(
    x: jax.Array,
    kernel: jax.Array,
    bias: jax.Array | None,
    masks: jax.Array | None,
    data_format: str,
    *,
    rank: int,
    **options: Any,
) -> jax.Array:
    """Convolve `(batch, ...)` or `(batch, time, ...)` in either data format."""
    x = to_channels_last(x, data_format, -rank - 1)
    leading = x.shape[: x.ndim - rank - 1]
    if masks is not None and len(leading) == 2:
        masks = masks[:, :, None]

    def run(x: jax.Array, kernel: jax.Array) -> jax.Array:
        folded = x.reshape(-1, *x.shape[len(leading) :]).astype(kernel.dtype)
        out = convolve(folded, kernel, **options)
        return out.reshape(*leading, *out.shape[1:])

    if masks is None:
        product = run(x, kernel)
    else:
        parts = zip(masks, jnp.split(kernel, 4, axis=-1), strict=True)
        product = jnp.concatenate([run(x * mask, part) for mask, part in parts], axis=-1)
    return product if bias is None else product + bias


def _convolve_state(state: jax.Array, kernel: jax.Array, masks: jax.Array | None) -> jax.Array:
    options: dict[str, Any] = {
        "strides": (1,) * (state.ndim - 2),
        "padding": "same",
        "dilation": (1,) * (state.ndim - 2),
    }
    if masks is None:
        return convolve(state, kernel, **options)
    parts = zip(masks, jnp.split(kernel, 4, axis=-1), strict=True)
    return jnp.concatenate(
        [convolve(state * mask, part, **options) for mask, part in parts], axis=-1
    )


_STEP = Step(lstm_step, state_product=_convolve_state)
