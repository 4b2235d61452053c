"""ReversibleEmbedding: an Embedding that also computes logits from vectors."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium._typing import (
    Config,
    ConstraintLike,
    DTypeLike,
    InitializerLike,
    RegularizerLike,
    Shape,
    SymbolicShape,
    Tree,
    Value,
)
from podium.core import Tensor, Variable
from podium.layers._layer_arguments import weight_options
from podium.layers.core._embedding import Embedding
from podium.layers.core._int4_weights import num_groups, quantize_matrix_to_int4
from podium.layers.core._quantizable_layer import (
    INTEGER_MODES,
    QuantizedValues,
    quantized_matmul,
    scale_of_size,
)
from podium.quantizers import AbsMaxQuantizer, QuantizationConfig, pack_int4, unpack_int4
from podium.quantizers.internal import dequantize_with_groups


class ReversibleEmbedding(Embedding):
    """Converts indices to vectors, and vectors back to a logit for each index.

    Called with `reverse=True`, as at the end of a language model, the layer multiplies vectors by
    the transposed table.

    Args:
        input_dim: The size of the vocabulary: the largest index plus one.
        output_dim: The size of each vector.
        tie_weights: Whether the table is used in both directions; otherwise the reverse direction
            has a matrix of its own.
        embeddings_initializer: Initializer of the table, and of that matrix.
        embeddings_regularizer: Regularizer of the table.
        embeddings_constraint: Constraint of the table, applied after updates.
        mask_zero: Whether index 0 is padding: the vectors then have a mask that is False there.
        reverse_dtype: The dtype of the reverse direction; by default the compute dtype.
        logit_soft_cap: Keeps logits between -logit_soft_cap and logit_soft_cap, by a tanh.
        **kwargs: Further arguments of `Embedding`.

    Example:
        >>> layer = podium.layers.ReversibleEmbedding(100, 8)
        >>> vectors = layer(np.array([[4, 20, 7]]))
        >>> vectors.shape, layer(vectors, reverse=True).shape
        ((1, 3, 8), (1, 3, 100))
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        tie_weights: bool = True,
        embeddings_initializer: InitializerLike = "uniform",
        embeddings_regularizer: RegularizerLike = None,
        embeddings_constraint: ConstraintLike = None,
        mask_zero: bool = False,
        reverse_dtype: DTypeLike | None = None,
        logit_soft_cap: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(
            input_dim,
            output_dim,
            embeddings_initializer=embeddings_initializer,
            embeddings_regularizer=embeddings_regularizer,
            embeddings_constraint=embeddings_constraint,
            mask_zero=mask_zero,
            **kwargs,
        )
        self.tie_weights = tie_weights
        self.reverse_dtype = reverse_dtype
        self.logit_soft_cap = logit_soft_cap

    # The matrix of the reverse direction, if weights are not tied; and what int8 and int4 add.
    reverse_embeddings: Variable
    reverse_embeddings_scale: Variable
    reverse_embeddings_zero: Variable

    def build(self, input_shape: SymbolicShape | None = None) -> None:
        """Create the table, and the matrix of the reverse direction."""
        is_first = self._weight is None
        super().build(input_shape)
        if is_first and not self.tie_weights and self.quantization_mode not in INTEGER_MODES:
            self.reverse_embeddings = self.add_weight(
                name="reverse_embeddings",
                shape=(self.output_dim, self.input_dim),
                initializer=weight_options(self, "embeddings")["initializer"],
            )

    def call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        """Look up the vectors of the indices; or compute the logits of vectors."""
        if not reverse:
            return self._with_mask(super().call(inputs), inputs)
        kernel = ops.transpose(self.embeddings) if self.tie_weights else self.reverse_embeddings
        if self.reverse_dtype is not None:
            inputs = ops.cast(inputs, self.reverse_dtype)
            kernel = ops.cast(kernel, self.reverse_dtype)
        return self._cap(ops.matmul(inputs, kernel))

    def _with_mask(self, vectors: Tensor, ids: Tensor) -> Tensor:
        vectors._keras_mask = super().compute_mask(ids)
        return vectors

    def _cap(self, logits: Tensor) -> Tensor:
        cap = self.logit_soft_cap
        if cap is None:
            return logits
        return ops.multiply(ops.tanh(ops.divide(logits, cap)), cap)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        """Return None: `call` sets the mask of vectors, since logits have none."""

    def _declared_outputs(self, arguments: dict[str, Any]) -> Tree | None:
        return None  # the mask is known by tracing `call`

    def compute_output_shape(
        self, input_shape: SymbolicShape, reverse: bool = False
    ) -> SymbolicShape:
        """Return the shape of the outputs."""
        if reverse:
            return (*input_shape[:-1], self.input_dim)
        return (*input_shape, self.output_dim)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "tie_weights": self.tie_weights,
            "reverse_dtype": self.reverse_dtype,
            "logit_soft_cap": self.logit_soft_cap,
        }

    # --- quantized tables

    _quantization_modes = ("int8", "int4")

    @property
    def variable_serialization_spec(self) -> dict[str | None, list[str]]:
        """The names of the variables in files, in order, by quantization mode; None for none."""
        spec = super().variable_serialization_spec
        if self.tie_weights:
            return spec
        quantized = ["reverse_embeddings", "reverse_embeddings_scale"]
        return {
            None: [*spec[None], "reverse_embeddings"],
            "int8": spec["int8"] + quantized,
            "int4": spec["int4"] + [*quantized, "reverse_embeddings_zero"],
        }

    def _quantized_values(
        self, mode: str, config: QuantizationConfig | None, weight: Value | None = None
    ) -> QuantizedValues:
        values = super()._quantized_values(mode, config, weight)
        if self.tie_weights or weight is not None:
            return values
        quantizer = None if config is None else config.weight_quantizer
        if mode == "int8":
            integers, scale = (quantizer or AbsMaxQuantizer(axis=0))(
                self.reverse_embeddings, to_numpy=True
            )
            zero = None
        else:
            block_size = getattr(config, "block_size", None)
            block_size = None if block_size == -1 else block_size
            integers, scale, zero = quantize_matrix_to_int4(
                self.reverse_embeddings, block_size, quantizer
            )
            integers = pack_int4(integers, axis=0)[0]
        if zero is None:
            scale = scale_of_size(scale, (self.input_dim,), self)
        else:
            values["reverse_embeddings_zero"] = ops.cast(zero, self.variable_dtype)
        values["reverse_embeddings"], values["reverse_embeddings_scale"] = integers, scale
        return values

    def _remove_float_weights(self) -> None:
        super()._remove_float_weights()
        if not self.tie_weights:
            del self.reverse_embeddings

    def _int8_build(self, shape: Shape, config: QuantizationConfig | None) -> None:
        super()._int8_build(shape, config)
        self._add_reverse_variables(self.output_dim, config)

    def _int4_build(self, shape: Shape, config: QuantizationConfig | None) -> None:
        super()._int4_build(shape, config)
        self._add_reverse_variables((self.output_dim + 1) // 2, config)

    def _add_reverse_variables(self, rows: int, config: QuantizationConfig | None) -> None:
        quantizer = AbsMaxQuantizer(axis=-1) if config is None else config.activation_quantizer
        self.inputs_quantizer = quantizer
        if self.tie_weights:
            return
        size, block_size = self.input_dim, self._block_size
        add, name = self._add_constant, "reverse_embeddings"
        self.reverse_embeddings = add(name, (rows, size), "zeros", "int8")
        shape = (size,) if block_size is None else (num_groups(self.output_dim, block_size), size)
        self.reverse_embeddings_scale = add(f"{name}_scale", shape)
        if block_size is not None:
            self.reverse_embeddings_zero = add(f"{name}_zero", shape, "zeros")

    def _int8_call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        if not reverse:
            return self._with_mask(super()._int8_call(inputs), inputs)
        kernel, scale = self._reverse_kernel()
        logits = quantized_matmul(inputs, kernel, scale, self.inputs_quantizer, self.compute_dtype)
        if self.lora_enabled and self.tie_weights:
            a, b = map(ops.transpose, self._lora_matrices())
            lora = ops.matmul(ops.matmul(inputs, b), a)
            logits = ops.cast(ops.add(logits, self._lora_scale() * lora), self.compute_dtype)
        return self._cap(logits)

    def _int4_call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        return self._int8_call(inputs, reverse)

    def _reverse_kernel(self) -> tuple[Value, Value]:
        """Return the integers of the reverse direction and their scale; with blocks the floats."""
        if self.tie_weights:
            if self._block_size is None:
                return ops.transpose(self._unpacked_weight()), self.embeddings_scale
            floats = ops.transpose(self._dequantized_weight())
            return floats, ops.ones((), self.compute_dtype)
        kernel: Value = self.reverse_embeddings
        if self.quantization_mode == "int4":
            kernel = unpack_int4(kernel, self.output_dim, axis=0)
        if self._block_size is None:
            return kernel, self.reverse_embeddings_scale
        scale, zero = self.reverse_embeddings_scale, self.reverse_embeddings_zero
        floats = dequantize_with_groups(kernel, scale, zero, self.g_idx, group_axis=0)
        return ops.cast(floats, self.compute_dtype), ops.ones((), self.compute_dtype)
