"""Linear algebra over `jnp.linalg`. All take batches of matrices in the last two axes."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp

from podium.core import call_with_tensors, check_choice, dispatch_closure
from podium.ops._convolution import plain_convolutions
from podium.ops._promotion import to_float
from podium.ops._table import op, row


def _matrix(x, square=False, name="x"):
    """A float matrix (or a batch), checked."""
    if x.ndim < 2:
        raise ValueError(
            f"`{name}` must be a matrix or a batch of matrices, and its shape is {x.shape}."
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"`{name}` must be square, and its shape is {x.shape}.")
    return to_float(x)


def _square(fn):
    return lambda x: fn(_matrix(x, square=True))


def _check_system(a, b):
    if b.ndim < 1:
        raise ValueError("`b` must have at least one axis.")
    rows = b.shape[-1] if b.ndim == a.ndim - 1 else b.shape[-2] if b.ndim > 1 else b.shape[0]
    if rows != a.shape[-1]:
        raise ValueError(
            f"`b` of shape {b.shape} must have as many rows as `a` of shape {a.shape}."
        )


def _solve(a, b):
    a, b = _matrix(a, square=True, name="a"), to_float(b)
    _check_system(a, b)
    return jnp.linalg.solve(a, b)


def _solve_triangular(a, b, lower):
    a, b = _matrix(a, square=True, name="a"), to_float(b)
    _check_system(a, b)
    return jsp.linalg.solve_triangular(a, b, lower=lower)


def _cholesky(x, upper):
    x = _matrix(x, square=True)
    factor = jnp.linalg.cholesky(x, upper=upper)
    # Outside a trace the values are known, and a failure can be told instead of spreading NaN.
    if not isinstance(factor, jax.core.Tracer) and bool(jnp.any(jnp.isnan(factor))):
        raise ValueError(
            "the decomposition failed. `x` must be symmetric and positive definite; "
            "adding a small multiple of `ops.eye` often helps."
        )
    return factor


def _cholesky_inverse(x, upper):
    x = _matrix(x, square=True)
    inverse = jsp.linalg.solve_triangular(
        x, jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape), lower=not upper
    )
    other = jnp.swapaxes(inverse, -1, -2)
    return jnp.matmul(inverse, other) if upper else jnp.matmul(other, inverse)


def _lu_factor(x):
    x = _matrix(x)
    factor = jsp.linalg.lu_factor
    for _ in range(x.ndim - 2):
        factor = jax.vmap(factor)
    return factor(x)


def _qr(x, mode):
    return tuple(
        jnp.linalg.qr(_matrix(x), mode=check_choice("mode", mode, ("reduced", "complete")))
    )


def _svd(x, full_matrices, compute_uv):
    parts = jnp.linalg.svd(_matrix(x), full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(parts) if compute_uv else parts


def _norm(x, ord, axis, keepdims):
    return jnp.linalg.norm(
        to_float(x),
        ord=ord,
        axis=tuple(axis) if isinstance(axis, list) else axis,
        keepdims=keepdims,
    )


_S = "[[4.0, 0.0], [0.0, 9.0]]"

cholesky = row(
    "cholesky(x, upper=False)",
    _cholesky,
    "The triangular `L` with `L @ L.T == x`, for positive definite `x`.",
    f"ops.cholesky({_S})",
    """array([[2., 0.],
       [0., 3.]], dtype=float32)""",
)
cholesky_inverse = row(
    "cholesky_inverse(x, upper=False)",
    _cholesky_inverse,
    "The inverse of a matrix, given its Cholesky factor.",
    "ops.cholesky_inverse([[2.0, 0.0], [0.0, 4.0]])",
    """array([[0.25  , 0.    ],
       [0.    , 0.0625]], dtype=float32)""",
)
det = row(
    "det(x)",
    _square(jnp.linalg.det),
    "The determinant.",
    f"ops.det({_S})",
    "array(36., dtype=float32)",
)
eig = row(
    "eig(x)",
    lambda x: tuple(jnp.linalg.eig(_matrix(x, square=True))),
    "Eigenvalues and right eigenvectors (complex). On CPU only.",
    f"[float(v) for v in ops.eig({_S})[0].numpy().real]",
    "[4.0, 9.0]",
)
eigh = row(
    "eigh(x)",
    lambda x: tuple(jnp.linalg.eigh(_matrix(x, square=True))),
    "Eigenvalues and eigenvectors of a symmetric matrix.",
    f"[v.numpy().tolist() for v in ops.eigh({_S})]",
    "[[4.0, 9.0], [[1.0, 0.0], [0.0, 1.0]]]",
)
inv = row(
    "inv(x)",
    _square(jnp.linalg.inv),
    "The inverse.",
    f"ops.inv({_S})",
    """array([[0.25      , 0.        ],
       [0.        , 0.11111111]], dtype=float32)""",
)
logdet = row(
    "logdet(x)",
    _square(lambda x: jnp.linalg.slogdet(x)[1]),
    "Logarithm of the absolute determinant, without overflow.",
    f"ops.logdet({_S})",
    "array(3.583519, dtype=float32)",
)
lstsq = row(
    "lstsq(a, b, rcond=None)",
    lambda a, b, rcond: jnp.linalg.lstsq(_matrix(a, name="a"), to_float(b), rcond=rcond)[0],
    "The least-squares solution of `a @ x == b`.",
    f"ops.lstsq({_S}, [8.0, 9.0])",
    "array([2., 1.], dtype=float32)",
)
lu_factor = row(
    "lu_factor(x)",
    _lu_factor,
    "The LU decomposition, packed in one matrix, and its pivots.",
    f"[v.numpy().tolist() for v in ops.lu_factor({_S})]",
    "[[[4.0, 0.0], [0.0, 9.0]], [0, 1]]",
)
matrix_rank = row(
    "matrix_rank(x, tol=None)",
    lambda x, tol: jnp.linalg.matrix_rank(_matrix(x), rtol=tol).astype("int32"),
    "The rank, by counting singular values that are not tiny.",
    "ops.matrix_rank([[1.0, 2.0], [2.0, 4.0]])",
    "array(1, dtype=int32)",
)
norm = row(
    "norm(x, ord=None, axis=None, keepdims=False)",
    _norm,
    "Norm of vectors or matrices.",
    "ops.norm([3.0, 4.0])",
    "array(5., dtype=float32)",
    ord="Order of the norm: a number, `'fro'` or `'nuc'`. `None` means the root of the sum "
    "of squares.",
)
pinv = row(
    "pinv(x, rcond=None)",
    lambda x, rcond: jnp.linalg.pinv(_matrix(x), rtol=rcond),
    "The pseudo-inverse.",
    f"ops.pinv({_S})",
    """array([[0.25      , 0.        ],
       [0.        , 0.11111111]], dtype=float32)""",
)
qr = row(
    "qr(x, mode='reduced')",
    _qr,
    "An orthogonal `Q` and an upper triangular `R` with `Q @ R == x`.",
    f"abs(ops.qr({_S})[1].numpy()).tolist()",
    "[[4.0, 0.0], [0.0, 9.0]]",
    mode="`reduced` or `complete`: whether `Q` is square.",
)
slogdet = row(
    "slogdet(x)",
    lambda x: tuple(jnp.linalg.slogdet(_matrix(x, square=True))),
    "Sign of the determinant, and logarithm of its absolute value.",
    f"[float(v) for v in ops.slogdet({_S})]",
    "[1.0, 3.5835189819335938]",
)
solve = row(
    "solve(a, b)",
    _solve,
    "The `x` with `a @ x == b`.",
    f"ops.solve({_S}, [8.0, 9.0])",
    "array([2., 1.], dtype=float32)",
    a="Square matrix.",
    b="Right-hand side, a vector or a matrix.",
)
solve_triangular = row(
    "solve_triangular(a, b, lower=False)",
    _solve_triangular,
    "The `x` with `a @ x == b`, for a triangular `a`.",
    "ops.solve_triangular([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0])",
    "array([1., 2.], dtype=float32)",
    a="Triangular matrix.",
    b="Right-hand side, a vector or a matrix.",
)
svd = row(
    "svd(x, full_matrices=True, compute_uv=True)",
    _svd,
    "Singular values `S`, with `U` and `V.T` around them.",
    f"ops.svd({_S}, compute_uv=False)",
    "array([9., 4.], dtype=float32)",
)


@op()
def cdist(x, y):
    """Euclidean distances between the rows of two matrices.

    Args:
        x: Tensor `(..., points, size)`.
        y: Tensor `(..., other_points, size)`.

    Returns:
        Tensor `(..., points, other_points)`.

    Example:
        >>> ops.cdist([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]]).numpy()
        array([[5., 1.]], dtype=float32)
    """
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        raise ValueError(
            "both must be matrices (or batches) with the same last axis, and shapes are "
            f"{x.shape} and {y.shape}."
        )
    difference = to_float(x)[..., :, None, :] - to_float(y)[..., None, :, :]
    return jnp.sqrt(jnp.sum(jnp.square(difference), axis=-1))


def jvp(fun, primals, tangents, has_aux=False):
    """A function's value, and its derivative in a direction (forward mode).

    Args:
        fun: Function of Tensors.
        primals: Where to evaluate it: a tuple, one entry for each argument.
        tangents: The direction, shaped like `primals`.
        has_aux: Whether `fun` returns a pair of result and extra data.

    Returns:
        `(value, derivative)`, and the extra data if there is any.

    Example:
        >>> value, slope = ops.jvp(lambda x: x * x, (ops.array(3.0),), (ops.array(1.0),))
        >>> float(value), float(slope)
        (9.0, 6.0)
    """

    def run(primals, tangents):
        with plain_convolutions():  # the fast ones only know reverse mode
            return jax.jvp(call_with_tensors(fun), primals, tangents, has_aux=has_aux)

    return dispatch_closure(run, tuple(primals), tuple(tangents))
