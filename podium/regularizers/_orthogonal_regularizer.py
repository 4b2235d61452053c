"""The orthogonality penalty, on vectors that are not orthogonal to each other."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from podium import ops
from podium._typing import Config, TensorLike
from podium.core import Tensor, check_choice, dispatch, epsilon
from podium.core.internal import check_number
from podium.regularizers._regularizers import Regularizer


class OrthogonalRegularizer(Regularizer):
    """Penalty on rows (or columns) of a matrix that are not orthogonal to each other.

    The penalty is `factor` times the mean, over all pairs, of the absolute cosine between two
    vectors. It is zero for a matrix with a single vector.

    Args:
        factor: Factor of the penalty, zero or more.
        mode: `"rows"` or `"columns"`.

    Example:
        >>> regularizer = podium.regularizers.OrthogonalRegularizer(factor=0.5)
        >>> float(regularizer(podium.convert_to_tensor([[1.0, 0.0], [0.0, 2.0]])))
        0.0
        >>> float(regularizer(podium.convert_to_tensor([[1.0, 0.0], [2.0, 0.0]])))
        0.5
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows"):
        self.factor = check_number("factor", factor, 0)
        self.mode = check_choice("mode", mode, ("rows", "columns"))

    def __call__(self, x: TensorLike) -> Tensor:
        """Return the penalty for a matrix.

        Raises:
            ValueError: If `x` does not have two dimensions.
        """
        shape = ops.shape(x)
        if len(shape) != 2:
            raise ValueError(
                f"OrthogonalRegularizer was given a value of shape {shape}; a matrix, "
                "so two dimensions, was expected."
            )
        penalty: Tensor = dispatch(
            _orthogonality_penalty, x, self.factor, self.mode == "columns", epsilon()
        )
        return penalty

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {"factor": self.factor, "mode": self.mode}


def _orthogonality_penalty(x: Array, factor: float, columns: bool, epsilon: float) -> Array:
    vectors = x.T if columns else x
    # The bound is applied inside the root, so that a row of zeros has a finite gradient.
    squares = jnp.maximum(jnp.sum(jnp.square(vectors), axis=1, keepdims=True), epsilon**2)
    vectors = vectors * jax.lax.rsqrt(squares)
    count = vectors.shape[0]
    cosines = jnp.where(jnp.eye(count, dtype=bool), 0.0, vectors @ vectors.T)
    pairs = max(count * (count - 1) / 2, 1)  # a single vector has no pairs
    return factor * 0.5 * jnp.sum(jnp.abs(cosines)) / pairs
