"""Orthogonal: random matrices that keep lengths and angles."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from podium import random
from podium.core import Tensor, convert_to_tensor, dispatch, standardize_dtype
from podium.initializers._initializer import checked_shape
from podium.initializers._random import RandomInitializer


class Orthogonal(RandomInitializer):
    """A random matrix with orthonormal columns (rows, if there are fewer of them), for recurrent
    layers.

    A weight with more dimensions is filled from a matrix whose rows are all its axes but the last.

    Args:
        gain: A factor for the matrix.
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.

    Example:
        >>> q = podium.initializers.Orthogonal(seed=0)((4, 3)).numpy()
        >>> bool(np.allclose(q.T @ q, np.eye(3), atol=1e-6))
        True
    """

    def __init__(self, gain: float = 1.0, seed: Any = None):
        self.gain = gain
        super().__init__(seed)

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Draw a Tensor of the shape.

        Raises:
            ValueError: If `shape` has fewer than two dimensions.
        """
        shape, dtype = checked_shape(shape), standardize_dtype(dtype)
        if len(shape) < 2:
            raise ValueError(
                f"Orthogonal was asked for shape={shape}; at least two dimensions were expected. "
                "For vectors use Zeros, Ones or RandomNormal."
            )
        rows, columns = math.prod(shape[:-1]), shape[-1]
        # The decomposition does not exist in 16 bits, so short types are cast at the end.
        draw_dtype = "float32" if dtype in ("float16", "bfloat16") else dtype
        draws = random.normal(
            (max(rows, columns), min(rows, columns)), dtype=draw_dtype, seed=self.seed
        )
        matrix = dispatch(_orthonormal, draws, rows < columns)
        return convert_to_tensor(dispatch(_scaled, matrix, self.gain, shape), dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this initializer again."""
        return {**super().get_config(), "gain": self.gain}


def _orthonormal(draws: Any, transpose: bool) -> Any:
    q, r = jnp.linalg.qr(draws)
    # Signs from the diagonal make all orthogonal matrices equally likely.
    q = q * jnp.sign(jnp.diag(r))
    return q.T if transpose else q


def _scaled(matrix: Any, gain: float, shape: tuple[int, ...]) -> Any:
    return gain * jnp.reshape(matrix, shape)
