"""CategoryEncoding, and the encodings of indices that it shares with the other layers: one-hot,
multi-hot and counts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Config, DType, SymbolicShape
from podium.core import KerasTensor, Tensor, check_choice, dispatch, standardize_dtype
from podium.core.internal import check_int
from podium.layers._layer import Layer
from podium.layers.preprocessing._host_layer import is_traced

_MODES = ("one_hot", "multi_hot", "count")


class CategoryEncoding(Layer):
    """Encodes integers from 0 to `num_tokens - 1` as one-hot or multi-hot vectors, or counts them.

    An integer outside of that range raises an error in eager code. Compiled code cannot raise:
    there, as in Keras on JAX, it is encoded as zeros.

    Args:
        num_tokens: The number of different integers.
        output_mode: "one_hot" for one vector per integer (on the last axis if that has size 1, else
            on a new one); "multi_hot" for one vector per sample with 1 for each integer in it;
            "count" for the number of times each occurs. A sample is axis 1 of the inputs.
        sparse: Must be False: only dense values are supported.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.CategoryEncoding(4, output_mode="count")
        >>> layer(np.array([[0, 1], [3, 3]])).numpy()
        array([[1., 1., 0., 0.],
               [0., 0., 0., 2.]], dtype=float32)
    """

    def __init__(
        self,
        num_tokens: int | None = None,
        output_mode: str = "multi_hot",
        sparse: bool = False,
        **kwargs: Any,
    ):
        # Indices are not cast to the compute dtype: in bfloat16 257 would become 256.
        super().__init__(autocast=False, **kwargs)
        if num_tokens is None:
            raise ValueError(
                "num_tokens must be set to use this layer; an int was expected. If the number of "
                "tokens is not known, use IntegerLookup."
            )
        if isinstance(num_tokens, (int, np.integer)) and num_tokens < 1:
            raise ValueError(
                f"CategoryEncoding was given num_tokens={num_tokens}: `num_tokens` must be >= 1."
            )
        output_mode = "multi_hot" if output_mode == "binary" else output_mode
        if output_mode not in _MODES:
            raise ValueError(
                f"Unknown arg for output_mode: {output_mode}; one of {', '.join(_MODES)} was "
                "expected."
            )
        reject_sparse_outputs(self, sparse)
        self.num_tokens = check_int("num_tokens", num_tokens, owner=self)
        self.output_mode = output_mode
        self.sparse = False

    def call(self, inputs: Tensor, count_weights: Tensor | None = None) -> Tensor:
        """Encode the integers; `count_weights` has a weight for each of them, for "count"."""
        if count_weights is not None and self.output_mode != "count":
            raise ValueError(
                "`count_weights` is not used when `output_mode` is not 'count', and layer "
                f"{self.name!r} has output_mode={self.output_mode!r}. Omit it."
            )
        self._check_range(inputs)
        return encode_indices(
            inputs, self.output_mode, self.num_tokens, self.compute_dtype, count_weights
        )

    def _check_range(self, inputs: Tensor) -> None:
        """Raise for integers out of range, unless they are traced; waits for their values."""
        if is_traced(inputs) or np.size(inputs) == 0:
            return
        values = np.asarray(inputs)
        low, high = int(values.min()), int(values.max())
        if low < 0 or high >= self.num_tokens:
            raise ValueError(
                f"Layer {self.name!r} (CategoryEncoding) was given the value "
                f"{low if low < 0 else high}; integers from 0 to {self.num_tokens - 1} were "
                "expected. Increase `num_tokens`."
            )

    def compute_output_shape(
        self, input_shape: SymbolicShape, count_weights_shape: SymbolicShape | None = None
    ) -> SymbolicShape:
        """Return the shape of the encoded inputs."""
        return encoded_shape(input_shape, self.output_mode, self.num_tokens)

    def compute_output_spec(
        self, inputs: KerasTensor, count_weights: KerasTensor | None = None
    ) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        return KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        config = {"num_tokens": self.num_tokens, "output_mode": self.output_mode}
        return super().get_config() | config


def check_output_mode(layer: Layer, output_mode: str, choices: tuple[str, ...]) -> str:
    """Return a mode, with its present name for one of Keras 2's, if it is among the choices."""
    renamed = {"binary": "multi_hot", "tf-idf": "tf_idf"}.get(output_mode, output_mode)
    return check_choice(f"`output_mode` of {type(layer).__name__}", renamed, choices)


def reject_sparse_outputs(layer: Layer, sparse: bool) -> None:
    """Raise if sparse outputs were asked for."""
    if sparse:
        raise ValueError(
            f"{type(layer).__name__} was given sparse=True; `sparse=True` cannot be used: only "
            "dense values are supported. Omit it."
        )


def encode_indices(
    indices: Tensor,
    output_mode: str,
    depth: int,
    dtype: DType,
    weights: Tensor | None = None,
) -> Tensor:
    """Return indices in an encoding: "int" for none, "one_hot", "multi_hot" or "count".

    Args:
        indices: The indices; those outside of 0 to `depth - 1` are encoded as zeros.
        output_mode: The encoding.
        depth: The length of the encoded vectors.
        dtype: The dtype of the result.
        weights: Weights of the indices, for "count".
    """
    encoded: Tensor = dispatch(
        _encode, indices, output_mode, depth, standardize_dtype(dtype), weights
    )
    return encoded


def encoded_shape(shape: SymbolicShape, output_mode: str, depth: int | None) -> SymbolicShape:
    """Return the shape of what `encode_indices` returns for indices of a shape."""
    shape = tuple(shape)
    if output_mode == "int":
        return shape
    if output_mode == "one_hot":
        if not shape:
            return (1, depth)
        return (*(shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape), depth)
    return (*shape[:1], *shape[2:], depth) if len(shape) > 1 else (depth,)


def _encode(
    x: jax.Array, output_mode: str, depth: int, dtype: DType, weights: jax.Array | None
) -> jax.Array:
    if output_mode == "int":
        return x.astype(dtype)
    x = x.astype("int32")
    x = x[None] if x.ndim == 0 else x
    if output_mode == "one_hot":
        x = x[..., 0] if x.ndim > 1 and x.shape[-1] == 1 else x
        return jax.nn.one_hot(x, depth, dtype=dtype)
    counts = jnp.ones(x.shape, dtype) if weights is None else weights.astype(dtype)
    count: Callable[..., jax.Array] = functools.partial(_count_indices, depth=depth)
    for _ in range(x.ndim - 1):
        count = jax.vmap(count)
    if x.ndim > 1:  # a sample is axis 1, as in Keras
        x, counts = jnp.moveaxis(x, 1, -1), jnp.moveaxis(counts, 1, -1)
    result = count(x, counts)
    return jnp.minimum(result, 1).astype(dtype) if output_mode == "multi_hot" else result


def _count_indices(indices: jax.Array, counts: jax.Array, depth: int) -> jax.Array:
    """Return the sum of the counts of each index: the work is that of the indices alone."""
    outside = indices < 0  # a negative index would count from the end
    return (
        jnp.zeros(depth, counts.dtype)
        .at[jnp.where(outside, depth, indices)]
        .add(counts, mode="drop")
    )
