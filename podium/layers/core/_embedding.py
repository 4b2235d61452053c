"""Embedding: a table of vectors, looked up by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops, regularizers
from podium._typing import (
    Config,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    Shape,
    SymbolicShape,
    TensorLike,
    Value,
)
from podium.core import KerasTensor, Tensor, dispatch
from podium.core.internal import check_int
from podium.layers import _layer_arguments
from podium.layers.core._int4_weights import (
    Int4Matrix,
    group_numbers,
    int4_block_size,
    num_groups,
    quantize_matrix_to_int4,
)
from podium.layers.core._quantizable_layer import (
    QuantizableLayer,
    QuantizedValues,
    scale_of_size,
)
from podium.quantizers import AbsMaxQuantizer, QuantizationConfig, pack_int4, unpack_int4
from podium.quantizers.internal import dequantize_with_groups


def _look_up(ids: jax.Array, table: jax.Array, dtype: str) -> jax.Array:
    ids = ids if ids.dtype in (jnp.int32, jnp.int64) else ids.astype("int32")
    return jnp.take(table, ids, axis=0).astype(dtype)


class Embedding(QuantizableLayer):
    """Converts indices to dense vectors of fixed size, looked up in a trained table.

    An index below 0, or of `input_dim` or more, raises an error in eager code, and if it is in an
    array, or a batch of a Dataset or generator, that `fit`, `evaluate` or `predict` pass to an
    Embedding of a functional or Sequential model, or of one inside it. Compiled code cannot raise:
    in subclassed models and behind other layers, as in Keras on JAX, the vector of an index of
    `input_dim` or more is NaN, and a negative index counts from the end.

    Args:
        input_dim: The size of the vocabulary: the largest index plus one.
        output_dim: The size of each vector.
        embeddings_initializer: Initializer of the embedding table.
        embeddings_regularizer: Regularizer of the embedding table.
        embeddings_constraint: Constraint of the embedding table, applied after updates.
        mask_zero: Whether index 0 is padding: the outputs then have a mask that is False there.
        weights: Initial values of the table, as an array or a list with one array.
        lora_rank: The rank of a trained product that is added to the frozen table, see
            `enable_lora`; None to train the table itself.
        lora_alpha: The product is multiplied by `lora_alpha / lora_rank`; by default by 1.
        quantization_config: How the table is quantized if the dtype policy says that it is, see
            `quantize`; by default the standard config of the mode.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Embedding(1000, 64)
        >>> layer(np.array([[4, 20], [7, 0]])).shape
        (2, 2, 64)
    """

    _weight_name = "embeddings"
    _embeddings: Any

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: InitializerLike = "uniform",
        embeddings_regularizer: RegularizerLike = None,
        embeddings_constraint: ConstraintLike = None,
        mask_zero: bool = False,
        weights: Sequence[TensorLike] | None = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        quantization_config: QuantizationConfig | Config | None = None,
        **kwargs: Any,
    ):
        # Indices are not cast to the compute dtype: in bfloat16 257 would become 256.
        super().__init__(
            autocast=False,
            lora_rank=lora_rank,
            lora_alpha=lora_alpha,
            quantization_config=quantization_config,
            **kwargs,
        )
        self.input_dim = check_int("input_dim", input_dim, owner=self, type_error=ValueError)
        self.output_dim = check_int("output_dim", output_dim, owner=self, type_error=ValueError)
        _layer_arguments.set_weight_options(
            self,
            embeddings_initializer=embeddings_initializer,
            embeddings_regularizer=embeddings_regularizer,
            embeddings_constraint=embeddings_constraint,
        )
        self.mask_zero = mask_zero
        self.supports_masking = bool(mask_zero)
        if weights is not None:
            self.build()
            self.built = True
            is_list = isinstance(weights, (list, tuple)) and len(weights) == 1
            self._embeddings.assign(weights[0] if is_list else weights)

    @property
    def embeddings(self) -> Any:
        """The table: a Variable, or with LoRA a Tensor that includes it; None before `build`."""
        return self._adapted_weight()

    @embeddings.setter
    def embeddings(self, value: Any) -> None:
        self._embeddings = value

    def build(self, input_shape: SymbolicShape | None = None) -> None:
        """Create the embedding table."""
        if self._weight is not None:
            return
        shape, options = (
            (self.input_dim, self.output_dim),
            _layer_arguments.weight_options(self, "embeddings"),
        )
        if self._build_quantized(shape):
            self._embeddings = self.add_weight(name="embeddings", shape=shape, **options)
        self._build_lora()

    def call(self, inputs: Tensor) -> Tensor:
        """Look up the vectors of the indices."""
        self._check_ids(inputs)
        outputs: Tensor = dispatch(_look_up, inputs, self.embeddings, self.compute_dtype)
        return outputs

    # --- quantized tables

    _quantization_modes = ("int8", "int4")

    @property
    def variable_serialization_spec(self) -> dict[str | None, list[str]]:
        """The names of the variables in files, in order, by quantization mode; None for none."""
        return {
            None: ["embeddings"],
            "int8": ["embeddings", "embeddings_scale"],
            "int4": ["embeddings", "embeddings_scale", "embeddings_zero", "g_idx"],
        }

    def _quantized_values(
        self, mode: str, config: QuantizationConfig | None, weight: Value | None = None
    ) -> QuantizedValues:
        weight = self._embeddings if weight is None else weight
        if mode == "int4":
            return self._int4_values(weight, config)
        quantizer = (config and config.weight_quantizer) or AbsMaxQuantizer(axis=-1)
        table, scale = quantizer(weight, to_numpy=True)
        scale = scale_of_size(scale, (self.input_dim,), self)
        return {"embeddings": table, "embeddings_scale": scale}

    def _int8_build(self, shape: Shape, config: QuantizationConfig | None) -> None:
        self._embeddings = self._add_constant("embeddings", shape, "zeros", "int8")
        self.embeddings_scale = self._add_constant("embeddings_scale", (self.input_dim,))

    def _int4_values(self, weight: Value, config: QuantizationConfig | None) -> QuantizedValues:
        """Return the quantized table: blocks are along the vectors, which are its rows."""
        quantizer = None if config is None else config.weight_quantizer
        if quantizer is not None:
            table, scale = quantizer(weight, to_numpy=True)
            quantized = Int4Matrix(ops.transpose(table), ops.transpose(scale), None)
        else:
            block_size = int4_block_size(self, config)
            quantized = quantize_matrix_to_int4(ops.transpose(weight), block_size)
        scale = ops.transpose(quantized.scale)
        if quantized.zero is None:
            scale = scale_of_size(scale, (self.input_dim,), self)
        packed = pack_int4(ops.transpose(quantized.values), axis=-1)[0]
        values = {"embeddings": packed, "embeddings_scale": scale}
        if quantized.zero is not None:
            values["embeddings_zero"] = ops.transpose(quantized.zero)
        return values

    def _int4_build(self, shape: Shape, config: QuantizationConfig | None) -> None:
        block_size = self._block_size = int4_block_size(self, config)
        self._float_shape, (rows, size) = shape, shape
        self._embeddings = self._add_constant(
            "embeddings", (rows, (size + 1) // 2), "zeros", "int8"
        )
        if block_size is None:
            self.embeddings_scale = self._add_constant("embeddings_scale", (rows,))
            return
        scale_shape = (rows, num_groups(size, block_size))
        self.embeddings_scale = self._add_constant("embeddings_scale", scale_shape)
        self.embeddings_zero = self._add_constant("embeddings_zero", scale_shape, "zeros", "int8")
        numbers = group_numbers(size, block_size)
        self.g_idx = self._add_constant("g_idx", (size,), numbers, "float32")

    def _dequantized_weight(self) -> Tensor:
        return self._vectors_of(ops.arange(self.input_dim))

    def _vectors_of(self, ids: Tensor) -> Tensor:
        """Return the floats behind the quantized vectors of indices."""
        rows = ops.take(self._embeddings, ids, axis=0)
        scale = ops.take(self.embeddings_scale, ids, axis=0)
        if self.quantization_mode == "int4":
            rows = unpack_int4(rows, self.output_dim, axis=-1)
        if self._block_size is None:
            floats = ops.cast(rows, self.compute_dtype)
            return ops.divide(floats, ops.expand_dims(scale, -1))
        zero = ops.take(self.embeddings_zero, ids, axis=0)
        vectors = dequantize_with_groups(rows, scale, zero, self.g_idx, group_axis=-1)
        return ops.cast(vectors, self.compute_dtype)

    def _int8_call(self, inputs: Tensor) -> Tensor:
        self._check_ids(inputs)
        ids = _as_ids(inputs)
        return self._add_lora_vectors(self._vectors_of(ids), ids)

    def _int4_call(self, inputs: Tensor) -> Tensor:
        return self._int8_call(inputs)

    def _add_lora_vectors(self, vectors: Tensor, ids: Tensor) -> Tensor:
        if not self.lora_enabled:
            return vectors
        return self._add_lora(vectors, ops.take(self._lora_matrices()[0], ids, axis=0))

    def _check_ids(self, inputs: Tensor) -> None:
        """Raise for indices outside the table, unless they are traced; waits for their values."""
        value = inputs.value if isinstance(inputs, Tensor) else inputs
        if isinstance(value, jax.core.Tracer) or value.size == 0:
            return
        check_indices(self, np.asarray(value))

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        """Return a mask that is False for index 0, if `mask_zero`."""
        return ops.not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        return (*input_shape, self.output_dim)

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        return KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "mask_zero": self.mask_zero,
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            **_layer_arguments.weight_options_config(self, "embeddings"),
            **self._quantization_options(),
        }


def _as_ids(inputs: Tensor) -> Tensor:
    return inputs if inputs.dtype in ("int32", "int64") else ops.cast(inputs, "int32")


def check_indices(layer: Embedding, indices: np.ndarray[Any, Any]) -> None:
    """Raise for indices outside the table of an Embedding."""
    low, high = indices.min(), indices.max()
    if low < 0 or high >= layer.input_dim:
        raise ValueError(
            f"Layer {layer.name!r} (Embedding) was given the index "
            f"{int(high if high >= layer.input_dim else low)}; it has "
            f"input_dim={layer.input_dim} vectors, for the indices 0 to {layer.input_dim - 1}. "
            "Use a larger input_dim (the largest index plus one), or map unknown tokens to a "
            "reserved index."
        )
