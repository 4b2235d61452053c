"""Products and sums of products: matmul and its relatives."""

import jax.numpy as jnp

from podium.ops._promotion import as_array
from podium.ops._table import op, row

dot = row(
    "dot(x1, x2)",
    jnp.dot,
    "Dot product; matrix product for matrices.",
    "ops.dot([1, 2], [3, 4])",
    "array(11, dtype=int32)",
    x2="Second tensor.",
)
inner = row(
    "inner(x1, x2)",
    jnp.inner,
    "Products of the last axes, added up.",
    "ops.inner([1, 2], [3, 4])",
    "array(11, dtype=int32)",
    x2="Second tensor.",
)
kron = row(
    "kron(x1, x2)",
    jnp.kron,
    "The Kronecker product.",
    "ops.kron([1, 2], [1, 1])",
    "array([1, 1, 2, 2], dtype=int32)",
    x2="Second tensor.",
)
outer = row(
    "outer(x1, x2)",
    jnp.outer,
    "All products of elements of the two.",
    "ops.outer([1, 2], [3, 4])",
    """array([[3, 4],
       [6, 8]], dtype=int32)""",
    x2="Second tensor.",
)
vdot = row(
    "vdot(x1, x2)",
    jnp.vdot,
    "Dot product of the flattened tensors, the first conjugated.",
    "ops.vdot([1, 2], [3, 4])",
    "array(11, dtype=int32)",
    x2="Second tensor.",
)
cross = row(
    "cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None)",
    jnp.cross,
    "The cross product of 3-vectors.",
    "ops.cross([1, 0, 0], [0, 1, 0])",
    "array([0, 0, 1], dtype=int32)",
    axis="One axis for all three, instead of `axisa`, `axisb` and `axisc`.",
)
correlate = row(
    "correlate(x1, x2, mode='valid')",
    lambda x1, x2, mode: jnp.correlate(x1, x2, mode),
    "Cross-correlation of two 1D tensors.",
    "ops.correlate([1, 2, 3], [1, 1])",
    "array([3., 5.], dtype=float32)",
    mode="`valid`, `same` or `full`: which overlaps to keep.",
    x2="Second 1D tensor.",
)


@op()
def matmul(x1, x2):
    """Matrix product, over leading batch axes with broadcasting.

    Args:
        x1: Tensor `(..., rows, inner)`, or a vector.
        x2: Tensor `(..., inner, columns)`, or a vector.

    Returns:
        Tensor `(..., rows, columns)`. Two int8 tensors give int32.

    Example:
        >>> ops.matmul([[1, 2], [3, 4]], [[1, 0], [0, 2]]).numpy()
        array([[1, 4],
               [3, 8]], dtype=int32)
    """
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError(
            "expected at least one axis on both sides. To scale by a number, use `ops.multiply`."
        )
    rows = x2.shape[-2] if x2.ndim > 1 else x2.shape[0]
    if x1.shape[-1] != rows:
        raise ValueError(
            "the last axis of x1 must be as long as the "
            f"{'second to last' if x2.ndim > 1 else 'only'} axis of x2, "
            f"and shapes {x1.shape} and {x2.shape} have {x1.shape[-1]} and {rows}. Transpose one "
            "of them, or check what feeds it."
        )
    both_int8 = x1.dtype == x2.dtype == jnp.int8
    return jnp.matmul(x1, x2, preferred_element_type=jnp.int32 if both_int8 else None)


@op("x1 x2")
def tensordot(x1, x2, axes=2):
    """Add up products over chosen axes.

    Args:
        x1: First tensor.
        x2: Second tensor.
        axes: How many of the last axes of `x1` meet the first of `x2`, or a pair of lists of axes.

    Example:
        >>> ops.tensordot([[1, 2], [3, 4]], [1, 1], axes=1).numpy()
        array([3, 7], dtype=int32)
    """
    return jnp.tensordot(x1, x2, axes=axes)


@op("")
def einsum(subscripts, *operands, **kwargs):
    """Sums of products, written in Einstein's notation.

    Args:
        subscripts: Letters for the axes of each operand, and of the result: `"ij,jk->ik"`.
        *operands: One tensor for each group of letters.
        **kwargs: Options of `jnp.einsum`, such as `optimize`.

    Example:
        >>> ops.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]).numpy()
        array([3, 7], dtype=int32)
    """
    arrays = list(map(as_array, operands))
    groups = subscripts.split("->")[0].split(",")
    if len(groups) != len(arrays):
        raise ValueError(
            f"{subscripts!r} names {len(groups)} operands, and {len(arrays)} were given."
        )
    if {x.dtype.name for x in arrays} == {"int8"}:
        kwargs["preferred_element_type"] = jnp.int32
    try:
        return jnp.einsum(subscripts, *arrays, **kwargs)
    except (TypeError, ValueError) as error:
        shapes = ", ".join(f"{g.strip()}: {x.shape}" for g, x in zip(groups, arrays, strict=True))
        raise ValueError(
            f"the shapes do not fit {subscripts!r} ({shapes}): a letter for each axis, and one "
            f"size for each letter. JAX says: {error}"
        ) from error
