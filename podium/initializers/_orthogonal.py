"""The initializer `Orthogonal`: random matrices with orthonormal columns."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array

from podium import random
from podium._typing import Config, DTypeLike, Shape, ShapeLike
from podium.core import Tensor, convert_to_tensor, dispatch, standardize_dtype
from podium.initializers._initializer import check_shape
from podium.initializers._random import RandomInitializer, SeedOrConfig


class Orthogonal(RandomInitializer):
    """A random orthogonal matrix, as used for recurrent layers.

    The columns are orthonormal, or the rows if there are fewer of them. A weight with more than two
    dimensions is reshaped from a matrix whose columns are its last axis.

    Args:
        gain: Factor of the matrix.
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.

    Example:
        >>> q = podium.initializers.Orthogonal(seed=0)((4, 3)).numpy()
        >>> bool(np.allclose(q.T @ q, np.eye(3), atol=1e-6))
        True
    """

    def __init__(self, gain: float = 1.0, seed: SeedOrConfig = None):
        self.gain = gain
        super().__init__(seed)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return a random Tensor of the given shape.

        Raises:
            ValueError: If `shape` has fewer than two dimensions.
        """
        shape, dtype = check_shape(shape), standardize_dtype(dtype)
        if len(shape) < 2:
            raise ValueError(
                f"Orthogonal was called with shape={shape}; at least two dimensions were expected. "
                "For vectors use Zeros, Ones or RandomNormal."
            )
        rows, columns = math.prod(shape[:-1]), shape[-1]
        # The decomposition does not support 16 bits, so half precision is cast at the end.
        draw_dtype = "float32" if dtype in ("float16", "bfloat16") else dtype
        samples = random.normal(
            (max(rows, columns), min(rows, columns)), dtype=draw_dtype, seed=self.seed
        )
        matrix = dispatch(_orthonormalize, samples, rows < columns)
        weights = dispatch(_scale_and_reshape, matrix, self.gain, shape)
        result: Tensor = convert_to_tensor(weights, dtype)
        return result

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "gain": self.gain}


def _orthonormalize(samples: Array, transpose: bool) -> Array:
    q, r = jnp.linalg.qr(samples)
    # Signs from the diagonal make all orthogonal matrices equally likely.
    q = q * jnp.sign(jnp.diag(r))
    return q.T if transpose else q


def _scale_and_reshape(matrix: Array, gain: float, shape: Shape) -> Array:
    return gain * jnp.reshape(matrix, shape)
