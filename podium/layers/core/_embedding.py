"""Embedding: a table of vectors, looked up by number."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops, regularizers
from podium.core import KerasTensor, Tensor, dispatch
from podium.layers import _argument_checks
from podium.layers._layer import Layer


def _looked_up(ids: Any, table: Any, dtype: str) -> Any:
    ids = ids if ids.dtype in (jnp.int32, jnp.int64) else ids.astype("int32")
    return jnp.take(table, ids, axis=0).astype(dtype)


class Embedding(Layer):
    """Looks up a trained vector for every whole number, such as the number of a word.

    Numbers below zero count from the end, as in NumPy. A number of `input_dim` or more is refused
    where it can be seen; in compiled code it gives a vector of NaN, as in Keras on JAX.

    Args:
        input_dim: How many vectors there are: the largest number that occurs, plus one.
        output_dim: How long each vector is.
        embeddings_initializer: How the vectors start.
        embeddings_regularizer: A penalty on the vectors.
        embeddings_constraint: Applied to the vectors after updates.
        mask_zero: Whether 0 means padding: the output then carries a mask that is false there.
        weights: Vectors to start with, as an array or a list with one array.
        lora_rank: Must be None; low-rank adaptation is not available.
        lora_alpha: Must be None.
        quantization_config: Must be None; quantization is not available.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Embedding(1000, 64)
        >>> layer(np.array([[4, 20], [7, 0]])).shape
        (2, 2, 64)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        weights: Any = None,
        lora_rank: None = None,
        lora_alpha: None = None,
        quantization_config: None = None,
        **kwargs: Any,
    ):
        # Ids are not cast to the compute type: in bfloat16 257 would become 256.
        super().__init__(autocast=False, **kwargs)
        missing = {
            "lora_rank": lora_rank,
            "lora_alpha": lora_alpha,
            "quantization_config": quantization_config,
        }
        for argument, value in missing.items():
            if value is not None:
                raise ValueError(
                    f"Embedding was given {argument}={value!r}, which Podium does not have. "
                    "Leave it out."
                )
        self.input_dim = _argument_checks.whole_number(self, "input_dim", input_dim)
        self.output_dim = _argument_checks.whole_number(self, "output_dim", output_dim)
        _argument_checks.set_weight_options(
            self,
            embeddings_initializer=embeddings_initializer,
            embeddings_regularizer=embeddings_regularizer,
            embeddings_constraint=embeddings_constraint,
        )
        self.mask_zero = mask_zero
        self.supports_masking = bool(mask_zero)
        self.embeddings: Any = None
        if weights is not None:
            self.build()
            self.built = True
            self.set_weights(
                weights if isinstance(weights, (list, tuple)) and len(weights) == 1 else [weights]
            )

    def build(self, input_shape: Any = None) -> None:
        """Make the table."""
        if self.embeddings is not None:
            return
        shape, options = (
            (self.input_dim, self.output_dim),
            _argument_checks.weight_options(self, "embeddings"),
        )
        self.embeddings = self.add_weight(name="embeddings", shape=shape, **options)

    def call(self, inputs: Any) -> Any:
        """Look the numbers up."""
        self._check_ids(inputs)
        return dispatch(_looked_up, inputs, self.embeddings, self.compute_dtype)

    def _check_ids(self, inputs: Any) -> None:
        """Refuse numbers that are not in the table, if there are numbers yet; waits for the ids
        only.
        """
        value = inputs.value if isinstance(inputs, Tensor) else inputs
        if isinstance(value, jax.core.Tracer) or value.size == 0:
            return
        ids = np.asarray(value)
        low, high = ids.min(), ids.max()
        if low < -self.input_dim or high >= self.input_dim:
            raise ValueError(
                f"Layer {self.name!r} (Embedding) was given the number "
                f"{int(high if high >= self.input_dim else low)}; it has "
                f"input_dim={self.input_dim} vectors, for the numbers 0 to {self.input_dim - 1}. "
                "Make input_dim larger (the largest number plus one), or map unknown numbers to "
                "one that is free."
            )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return where the numbers are not 0, if `mask_zero`."""
        return ops.not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs."""
        return (*input_shape, self.output_dim)

    def compute_output_spec(self, inputs: Any) -> KerasTensor:
        """Return what a call on a symbolic input gives."""
        return KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "mask_zero": self.mask_zero,
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            **_argument_checks.weight_options_config(self, "embeddings"),
        }
