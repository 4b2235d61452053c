"""Operations that make tensors from shapes and numbers. `dtype=None` means the default float, as in
Keras.
"""

import jax
import jax.numpy as jnp
from jax import export

from podium.core import floatx, standardize_dtype
from podium.ops._promotion import as_array, result_type
from podium.ops._table import op, row


def _default(dtype):
    return standardize_dtype(dtype or floatx())


def _or_none(dtype):
    return None if dtype is None else standardize_dtype(dtype)


def _window(fn):
    """Windows come in the default float."""
    return lambda x, *rest: fn(x if isinstance(x, int) else int(x), *rest).astype(floatx())


_SIZE = {"x": "Number of points."}

bartlett = row(
    "bartlett(x)",
    _window(jnp.bartlett),
    "A triangular window.",
    "ops.bartlett(3)",
    "array([0., 1., 0.], dtype=float32)",
    "",
    **_SIZE,
)
blackman = row(
    "blackman(x)",
    _window(jnp.blackman),
    "The Blackman window.",
    "tuple(ops.blackman(3).shape)",
    "(3,)",
    "",
    **_SIZE,
)
hamming = row(
    "hamming(x)",
    _window(jnp.hamming),
    "The Hamming window.",
    "ops.hamming(3)",
    "array([0.08000001, 1.        , 0.08000001], dtype=float32)",
    "",
    **_SIZE,
)
hanning = row(
    "hanning(x)",
    _window(jnp.hanning),
    "The Hann window.",
    "ops.hanning(3)",
    "array([0., 1., 0.], dtype=float32)",
    "",
    **_SIZE,
)
kaiser = row(
    "kaiser(x, beta)",
    _window(jnp.kaiser),
    "The Kaiser window.",
    "ops.kaiser(3, 0.0)",
    "array([1., 1., 1.], dtype=float32)",
    "",
    **_SIZE,
)

array = row(
    "array(x, dtype=None)",
    lambda x, dtype: jnp.array(x, dtype=_or_none(dtype)),
    "A new tensor from a list, number or tensor.",
    "ops.array([1, 2], dtype='float32')",
    "array([1., 2.], dtype=float32)",
    "",
)
empty = row(
    "empty(shape, dtype=None)",
    lambda shape, dtype: jnp.empty(shape, _default(dtype)),
    "A tensor whose values mean nothing (they are zeros).",
    "tuple(ops.empty((2, 3)).shape)",
    "(2, 3)",
    "",
)
empty_like = row(
    "empty_like(x, dtype=None)",
    lambda x, dtype: jnp.empty_like(x, dtype=_or_none(dtype)),
    "A tensor shaped like `x` whose values mean nothing.",
    "tuple(ops.empty_like([1, 2]).shape)",
    "(2,)",
)
full = row(
    "full(shape, fill_value, dtype=None)",
    lambda shape, fill_value, dtype: jnp.full(shape, fill_value, _default(dtype)),
    "A tensor filled with one value.",
    "ops.full((2,), 7)",
    "array([7., 7.], dtype=float32)",
    "fill_value",
)
full_like = row(
    "full_like(x, fill_value, dtype=None)",
    lambda x, fill_value, dtype: jnp.full_like(x, fill_value, dtype=_or_none(dtype)),
    "A tensor shaped like `x`, filled with one value.",
    "ops.full_like([1, 2], 7)",
    "array([7, 7], dtype=int32)",
)
identity = row(
    "identity(n, dtype=None)",
    lambda n, dtype: jnp.identity(n, _default(dtype)),
    "The identity matrix.",
    "ops.identity(2)",
    """array([[1., 0.],
       [0., 1.]], dtype=float32)""",
    "",
    n="Number of rows and columns.",
)
ones = row(
    "ones(shape, dtype=None)",
    lambda shape, dtype: jnp.ones(shape, _default(dtype)),
    "A tensor of ones.",
    "ops.ones((2, 2))",
    """array([[1., 1.],
       [1., 1.]], dtype=float32)""",
    "",
)
ones_like = row(
    "ones_like(x, dtype=None)",
    lambda x, dtype: jnp.ones_like(x, dtype=_or_none(dtype)),
    "Ones, shaped like `x`.",
    "ops.ones_like([3, 4])",
    "array([1, 1], dtype=int32)",
)
tri = row(
    "tri(N, M=None, k=0, dtype=None)",
    lambda N, M, k, dtype: jnp.tri(N, M, k, _default(dtype)),
    "Ones at and below a diagonal, zeros above.",
    "ops.tri(2)",
    """array([[1., 0.],
       [1., 1.]], dtype=float32)""",
    "",
)
zeros = row(
    "zeros(shape, dtype=None)",
    lambda shape, dtype: jnp.zeros(shape, _default(dtype)),
    "A tensor of zeros.",
    "ops.zeros((2, 2))",
    """array([[0., 0.],
       [0., 0.]], dtype=float32)""",
    "",
)
zeros_like = row(
    "zeros_like(x, dtype=None)",
    lambda x, dtype: jnp.zeros_like(x, dtype=_or_none(dtype)),
    "Zeros, shaped like `x`.",
    "ops.zeros_like([3, 4])",
    "array([0, 0], dtype=int32)",
)

geomspace = row(
    "geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0)",
    lambda start, stop, num, endpoint, dtype, axis: jnp.geomspace(
        start, stop, num=num, endpoint=endpoint, dtype=_or_none(dtype), axis=axis
    ),
    "Numbers with a constant ratio between `start` and `stop`.",
    "ops.geomspace(1.0, 8.0, num=4)",
    "array([1.       , 2.       , 4.0000005, 8.       ], dtype=float32)",
)
linspace = row(
    "linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0)",
    lambda start, stop, num, endpoint, retstep, dtype, axis: jnp.linspace(
        start, stop, num=num, endpoint=endpoint, retstep=retstep, dtype=_or_none(dtype), axis=axis
    ),
    "Numbers with a constant distance between `start` and `stop`.",
    "ops.linspace(0.0, 1.0, num=3)",
    "array([0. , 0.5, 1. ], dtype=float32)",
)
logspace = row(
    "logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0)",
    lambda start, stop, num, endpoint, base, dtype, axis: jnp.logspace(
        start, stop, num=num, endpoint=endpoint, base=base, dtype=_or_none(dtype), axis=axis
    ),
    "`base` to the power of evenly spaced numbers.",
    "ops.logspace(0.0, 2.0, num=3)",
    "array([  1.,  10., 100.], dtype=float32)",
)


@op("")
def arange(start, stop=None, step=None, dtype=None):
    """Numbers from `start` up to, but not including, `stop`.

    Args:
        start: First value; with one argument, the end (and the first value is 0).
        stop: End of the interval.
        step: Distance between values. Defaults to 1.
        dtype: Dtype of the result. `None` means that of the arguments.

    Example:
        >>> ops.arange(3).numpy(), ops.arange(0, 1, 0.5).numpy()
        (array([0, 1, 2], dtype=int32), array([0. , 0.5], dtype=float32))
    """
    if dtype is None:
        dtype = result_type(*(_type_of(v) for v in (start, stop, step) if v is not None))
    return jnp.arange(start, stop, step=step, dtype=standardize_dtype(dtype))


def _type_of(value):
    if export.is_symbolic_dim(value) or isinstance(value, int):
        return jnp.int32
    return jnp.dtype(floatx()) if isinstance(value, float) else as_array(value).dtype


@op("")
def eye(N, M=None, k=0, dtype=None):
    """Ones on a diagonal, zeros elsewhere.

    Args:
        N: Number of rows.
        M: Number of columns. Defaults to `N`.
        k: Which diagonal: 0 is the main one, positive is above.
        dtype: Dtype of the result. `None` means the default float.

    Example:
        >>> ops.eye(2, 3).numpy()
        array([[1., 0., 0.],
               [0., 1., 0.]], dtype=float32)
    """
    for name, value in (("N", N), ("M", M)):
        if isinstance(value, float) or (
            isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating)
        ):
            raise TypeError(f"`{name}` counts and must be an integer.")
    return jnp.eye(N, M=M, k=k, dtype=_default(dtype))


@op("x")
def vander(x, N=None, increasing=False):
    """The Vandermonde matrix: powers of a vector as columns.

    Args:
        x: 1D tensor.
        N: Number of columns. Defaults to the length of `x`.
        increasing: Whether powers grow from left to right.

    Example:
        >>> ops.vander([1, 2, 3], 2).numpy()
        array([[1, 1],
               [2, 1],
               [3, 1]], dtype=int32)
    """
    if x.ndim != 1:
        raise ValueError(f"expected a 1D tensor and got shape {x.shape}.")
    if N is not None and not isinstance(N, int):
        raise TypeError(f"`N` must be an int, not {type(N).__name__}.")
    if N is not None and N < 0:
        raise ValueError("`N` must not be negative.")
    return jnp.vander(x, N=N, increasing=increasing)


@op("")
def meshgrid(*x, indexing="xy"):
    """Coordinate grids from coordinate vectors.

    Args:
        *x: 1D tensors, one for each axis.
        indexing: `xy` (the first vector runs along columns) or `ij` (along rows).

    Returns:
        A list with one grid for each vector.

    Example:
        >>> rows, columns = ops.meshgrid([0, 1], [5, 6, 7], indexing="ij")
        >>> columns.numpy()
        array([[5, 6, 7],
               [5, 6, 7]], dtype=int32)
    """
    return jnp.meshgrid(*map(as_array, x), indexing=indexing)
