"""Validation of matrices, shared by the operations of linear algebra."""

from __future__ import annotations

from jax import Array

from podium.ops._promotion import to_float


def as_matrix(x: Array, square: bool = False, name: str = "x") -> Array:
    """Return a matrix, or a batch of matrices, of floats; raise if the shape is another one."""
    if x.ndim < 2:
        raise ValueError(
            f"`{name}` must be a matrix or a batch of matrices, and its shape is {x.shape}."
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"`{name}` must be square, and its shape is {x.shape}.")
    return to_float(x)
