"""A penalty on vectors that point the same way."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium.core import check_choice, dispatch, epsilon
from podium.regularizers._norms import checked_factor
from podium.regularizers._regularizer import Regularizer


class OrthogonalRegularizer(Regularizer):
    """Pushes the rows (or columns) of a matrix to be orthogonal to each other.

    The penalty is `factor` times the mean, over all pairs, of the size of the cosine between two
    vectors. A matrix with a single vector costs nothing.

    Args:
        factor: The factor, zero or more.
        mode: `"rows"` or `"columns"`.

    Example:
        >>> regularizer = podium.regularizers.OrthogonalRegularizer(factor=0.5)
        >>> float(regularizer(podium.convert_to_tensor([[1.0, 0.0], [0.0, 2.0]])))
        0.0
        >>> float(regularizer(podium.convert_to_tensor([[1.0, 0.0], [2.0, 0.0]])))
        0.5
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows"):
        self.factor = checked_factor("factor", factor)
        self.mode = check_choice("mode", mode, ("rows", "columns"))

    def __call__(self, x: Any) -> Any:
        """Return the penalty for a matrix.

        Raises:
            ValueError: If `x` has not two dimensions.
        """
        if len(x.shape) != 2:
            raise ValueError(
                f"OrthogonalRegularizer was given a value of shape {tuple(x.shape)}; a matrix, "
                "so two dimensions, was expected."
            )
        return dispatch(_penalty, x, self.factor, self.mode == "columns", epsilon())

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this regularizer again."""
        return {"factor": self.factor, "mode": self.mode}


def _penalty(x: Any, factor: float, columns: bool, smallest: float) -> Any:
    vectors = x.T if columns else x
    # The bound stands inside the root, so that a row of zeros has a finite gradient.
    squares = jnp.maximum(jnp.sum(jnp.square(vectors), axis=1, keepdims=True), smallest**2)
    vectors = vectors * jax.lax.rsqrt(squares)
    count = vectors.shape[0]
    cosines = jnp.where(jnp.eye(count, dtype=bool), 0.0, vectors @ vectors.T)
    pairs = max(count * (count - 1) / 2, 1)  # one vector alone has no pairs
    return factor * 0.5 * jnp.sum(jnp.abs(cosines)) / pairs
