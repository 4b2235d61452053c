"""Layers that rearrange their inputs: Flatten, Reshape, Permute, RepeatVector."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Config, ShapeLike, SymbolicShape
from podium.core import KerasTensor, Tensor, dispatch
from podium.core.internal import check_int
from podium.layers import _spatial
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


class _Rearrangement(Layer):
    """A layer whose outputs have the dtype of its inputs."""

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        return KerasTensor(self.compute_output_shape(inputs.shape), inputs.dtype)


def _flatten_samples(x: jax.Array, channels_first: bool) -> jax.Array:
    if channels_first and x.ndim > 1:
        x = jnp.moveaxis(x, 1, -1)
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


class Flatten(_Rearrangement):
    """Flattens the inputs, keeping the batch dimension.

    Args:
        data_format: "channels_last" (default), or "channels_first" to move the channels last before
            flattening, so that both data formats have the same result.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Flatten()(np.ones((2, 3, 4), "float32")).shape
        (2, 12)
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = _spatial.standardize_data_format(self, data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        outputs: Tensor = dispatch(_flatten_samples, inputs, self.data_format == "channels_first")
        return outputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        sizes = tuple(input_shape)[1:]
        known_sizes = [size for size in sizes if size is not None]
        return (input_shape[0], math.prod(known_sizes) if len(known_sizes) == len(sizes) else None)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"data_format": self.data_format}


class Reshape(_Rearrangement):
    """Reshapes the inputs, keeping the batch dimension.

    Args:
        target_shape: The new shape without the batch dimension; one size may be -1 and is inferred
            from the others.
        **kwargs: `name`, `dtype`, `trainable`.

    Raises:
        ValueError: If the samples do not have as many elements as the new shape.

    Example:
        >>> podium.layers.Reshape((-1, 2))(np.ones((5, 12), "float32")).shape
        (5, 6, 2)
    """

    def __init__(self, target_shape: ShapeLike, **kwargs: Any):
        super().__init__(**kwargs)
        if isinstance(target_shape, (int, np.integer)):
            target_shape = (target_shape,)
        inferred = (None, -1)
        sizes = tuple(target_shape)
        valid = all(
            n in inferred
            or (isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0)
            for n in sizes
        )
        if not valid or sum(n in inferred for n in sizes) > 1:
            raise ValueError(
                f"Reshape was given target_shape={target_shape!r}; ints were expected, of which "
                "at most one is -1 (inferred), such as (-1, 3). Omit the batch dimension."
            )
        self.target_shape = tuple(n if n is None else int(n) for n in sizes)

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs; raise if the number of elements differs."""
        sizes = tuple(input_shape)[1:]
        known = math.prod(n for n in self.target_shape if n not in (None, -1))
        infers = any(n in (None, -1) for n in self.target_shape)
        static_sizes = [size for size in sizes if isinstance(size, int)]
        if len(static_sizes) < len(sizes):
            return (input_shape[0], *(None if n == -1 else n for n in self.target_shape))
        num_elements = math.prod(static_sizes)
        if num_elements != known and not (infers and known and num_elements % known == 0):
            expected = f"a multiple of {known}" if infers else known
            raise ValueError(
                f"Layer {self.name!r} (Reshape) was called with shape {tuple(input_shape)}, "
                f"{num_elements} elements per sample; its target_shape={self.target_shape} has "
                f"{expected}. Change target_shape, or the layer before it."
            )
        size = num_elements // known if known else 0
        return (input_shape[0], *(size if n in (None, -1) else n for n in self.target_shape))

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        shape = self.compute_output_shape(inputs.shape)
        outputs: Tensor = dispatch(
            jnp.reshape, inputs, tuple(-1 if n is None else n for n in shape)
        )
        return outputs

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"target_shape": self.target_shape}


class Permute(_Rearrangement):
    """Permutes the dimensions of the inputs, keeping the batch dimension.

    Args:
        dims: The new order, counted from 1; `(2, 1)` swaps the first two dimensions after the
            batch.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Permute((2, 1))(np.ones((5, 10, 64), "float32")).shape
        (5, 64, 10)
    """

    def __init__(self, dims: Any, **kwargs: Any):
        super().__init__(**kwargs)
        try:
            self.dims = tuple(int(dim) for dim in dims)
        except TypeError:
            self.dims = ()
        if not self.dims or sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                f"Permute was given dims={dims!r}; each int from 1 to the number of "
                "dimensions was expected once, such as (2, 1). The batch dimension stays first and "
                "is not counted."
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        outputs: Tensor = dispatch(jnp.transpose, inputs, (0, *self.dims))
        return outputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        return (input_shape[0], *(input_shape[dim] for dim in self.dims))

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"dims": self.dims}


def _repeat_vector(x: jax.Array, n: int) -> jax.Array:
    return jnp.repeat(x[:, None, :], n, axis=1)


class RepeatVector(_Rearrangement):
    """Repeats the inputs `n` times.

    Args:
        n: The number of repetitions.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.RepeatVector(3)(np.ones((2, 32), "float32")).shape
        (2, 3, 32)
    """

    def __init__(self, n: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.n = check_int("n", n, owner=self, type_error=ValueError)
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Tensor) -> Tensor:
        """Compute the outputs."""
        outputs: Tensor = dispatch(_repeat_vector, inputs, self.n)
        return outputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        return (input_shape[0], self.n, input_shape[1])

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"n": self.n}
