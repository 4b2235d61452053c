"""Operations that summarise a tensor along axes: sums, extremes, statistics, positions of extremes,
running totals.

`axis` is an int, a tuple or list of ints, or `None` for all elements. Positions are int32.
"""

import math

import jax
import jax.numpy as jnp

from podium.core import standardize_dtype
from podium.ops._promotion import is_integer, result_type, to_float
from podium.ops._table import op, row


def _axes(axis):
    """`axis` as JAX takes it: lists become tuples."""
    return tuple(axis) if isinstance(axis, list) else axis


def _over(fn, prepare=lambda x: x):
    """`fn` as `(x, axis, keepdims)`."""
    return lambda x, axis, keepdims: fn(prepare(x), axis=_axes(axis), keepdims=keepdims)


def _quantile(fn):
    return lambda x, q, axis, method, keepdims: fn(
        to_float(x), to_float(q), axis=_axes(axis), method=method, keepdims=keepdims
    )


def _running(fn):
    return lambda x, axis, dtype: fn(
        x, axis=axis, dtype=None if dtype is None else standardize_dtype(dtype)
    )


def _mean(x, axis, keepdims):
    # Half precision overflows in the sum: add up in float32 at least.
    mean = jnp.mean(x, axis=_axes(axis), keepdims=keepdims, dtype=result_type(x.dtype, jnp.float32))
    return mean if is_integer(x) else mean.astype(x.dtype)


def _var(x, axis, keepdims):
    wide = jnp.var(x, axis=_axes(axis), keepdims=keepdims, dtype=result_type(x.dtype, jnp.float32))
    return wide.astype(result_type(jnp.real(x).dtype, float))


def _position(fn):
    """argmax and argmin: on CPU, XLA takes -0.0 and 0.0 for equal; Keras puts the negative one
    first.
    """

    def compute(x, axis, keepdims):
        if jnp.issubdtype(x.dtype, jnp.floating) and x.ndim and jax.default_backend() == "cpu":
            x = x.astype(result_type(x.dtype, jnp.float32))
            x = jnp.where((x == 0) & jnp.signbit(x), -jnp.finfo(x.dtype).tiny, x)
        return fn(x, axis=axis, keepdims=keepdims).astype("int32")

    return compute


def _extreme(fn):
    return lambda x, axis, keepdims, initial: fn(
        x, axis=_axes(axis), keepdims=keepdims, initial=initial
    )


_S = "(x, axis=None, keepdims=False)"
_X = "[[1, 2], [3, 4]]"
_NAN = "[[1.0, np.nan], [3.0, 4.0]]"

all = row(
    f"all{_S}",
    _over(jnp.all),
    "Whether all elements are true.",
    "ops.all([[True, False], [True, True]], axis=1)",
    "array([False,  True])",
)
amax = row(
    f"amax{_S}",
    _over(jnp.max),
    "Largest element.",
    f"ops.amax({_X}, axis=0)",
    "array([3, 4], dtype=int32)",
)
amin = row(
    f"amin{_S}",
    _over(jnp.min),
    "Smallest element.",
    f"ops.amin({_X}, axis=0)",
    "array([1, 2], dtype=int32)",
)
any = row(
    f"any{_S}",
    _over(jnp.any),
    "Whether any element is true.",
    "ops.any([[True, False], [False, False]], axis=1)",
    "array([ True, False])",
)
argmax = row(
    f"argmax{_S}",
    _position(jnp.argmax),
    "Position of the largest element.",
    "ops.argmax([[1, 9, 3], [7, 5, 6]], axis=1)",
    "array([1, 0], dtype=int32)",
)
argmin = row(
    f"argmin{_S}",
    _position(jnp.argmin),
    "Position of the smallest element.",
    "ops.argmin([[1, 9, 3], [7, 5, 6]], axis=1)",
    "array([0, 1], dtype=int32)",
)
cumprod = row(
    "cumprod(x, axis=None, dtype=None)",
    _running(jnp.cumprod),
    "Running product.",
    "ops.cumprod([1, 2, 3])",
    "array([1, 2, 6], dtype=int32)",
)
cumsum = row(
    "cumsum(x, axis=None, dtype=None)",
    _running(jnp.cumsum),
    "Running sum.",
    f"ops.cumsum({_X}, axis=1)",
    """array([[1, 3],
       [3, 7]], dtype=int32)""",
)
logsumexp = row(
    f"logsumexp{_S}",
    _over(jax.scipy.special.logsumexp, to_float),
    "Logarithm of the sum of exponentials, without overflow.",
    "ops.logsumexp([0.0, 0.0])",
    "array(0.6931472, dtype=float32)",
)
max = row(
    "max(x, axis=None, keepdims=False, initial=None)",
    _extreme(jnp.max),
    "Largest element.",
    f"ops.max({_X}, axis=1)",
    "array([2, 4], dtype=int32)",
)
mean = row(
    f"mean{_S}",
    _mean,
    "Average. Integers give a float.",
    f"ops.mean({_X}, axis=0)",
    "array([2., 3.], dtype=float32)",
)
median = row(
    f"median{_S}",
    _over(jnp.median, to_float),
    "Middle value.",
    "ops.median([1.0, 9.0, 2.0])",
    "array(2., dtype=float32)",
)
min = row(
    "min(x, axis=None, keepdims=False, initial=None)",
    _extreme(jnp.min),
    "Smallest element.",
    f"ops.min({_X}, axis=1)",
    "array([1, 3], dtype=int32)",
)
nanargmax = row(
    f"nanargmax{_S}",
    _over(jnp.nanargmax),
    "Position of the largest element that is not NaN.",
    f"ops.nanargmax({_NAN}, axis=1)",
    "array([0, 1], dtype=int32)",
)
nanargmin = row(
    f"nanargmin{_S}",
    _over(jnp.nanargmin),
    "Position of the smallest element that is not NaN.",
    f"ops.nanargmin({_NAN}, axis=1)",
    "array([0, 0], dtype=int32)",
)
nancumprod = row(
    "nancumprod(x, axis=None, dtype=None)",
    _running(jnp.nancumprod),
    "Running product, NaN counting as 1.",
    "ops.nancumprod([2.0, np.nan, 3.0])",
    "array([2., 2., 6.], dtype=float32)",
)
nancumsum = row(
    "nancumsum(x, axis=None, dtype=None)",
    _running(jnp.nancumsum),
    "Running sum, NaN counting as 0.",
    "ops.nancumsum([2.0, np.nan, 3.0])",
    "array([2., 2., 5.], dtype=float32)",
)
nanmax = row(
    f"nanmax{_S}",
    _over(jnp.nanmax),
    "Largest element that is not NaN.",
    f"ops.nanmax({_NAN}, axis=1)",
    "array([1., 4.], dtype=float32)",
)
nanmean = row(
    f"nanmean{_S}",
    _over(jnp.nanmean),
    "Average of the elements that are not NaN.",
    f"ops.nanmean({_NAN}, axis=1)",
    "array([1. , 3.5], dtype=float32)",
)
nanmedian = row(
    f"nanmedian{_S}",
    _over(jnp.nanmedian),
    "Middle one of the elements that are not NaN.",
    f"ops.nanmedian({_NAN}, axis=1)",
    "array([1. , 3.5], dtype=float32)",
)
nanmin = row(
    f"nanmin{_S}",
    _over(jnp.nanmin),
    "Smallest element that is not NaN.",
    f"ops.nanmin({_NAN}, axis=1)",
    "array([1., 3.], dtype=float32)",
)
nanprod = row(
    f"nanprod{_S}",
    _over(jnp.nanprod),
    "Product, NaN counting as 1.",
    f"ops.nanprod({_NAN}, axis=1)",
    "array([ 1., 12.], dtype=float32)",
)
nanstd = row(
    f"nanstd{_S}",
    _over(jnp.nanstd),
    "Standard deviation of the elements that are not NaN.",
    f"ops.nanstd({_NAN}, axis=1)",
    "array([0. , 0.5], dtype=float32)",
)
nansum = row(
    f"nansum{_S}",
    _over(jnp.nansum),
    "Sum, NaN counting as 0.",
    f"ops.nansum({_NAN}, axis=1)",
    "array([1., 7.], dtype=float32)",
)
nanvar = row(
    f"nanvar{_S}",
    _over(jnp.nanvar),
    "Variance of the elements that are not NaN.",
    f"ops.nanvar({_NAN}, axis=1)",
    "array([0.  , 0.25], dtype=float32)",
)
ptp = row(
    f"ptp{_S}",
    _over(jnp.ptp),
    "Largest minus smallest element.",
    "ops.ptp([3, 9, 4])",
    "array(6, dtype=int32)",
)
std = row(
    f"std{_S}",
    _over(jnp.std),
    "Standard deviation.",
    "ops.std([1.0, 3.0])",
    "array(1., dtype=float32)",
)
sum = row(
    f"sum{_S}", _over(jnp.sum), "Sum.", f"ops.sum({_X}, axis=0)", "array([4, 6], dtype=int32)"
)
var = row(f"var{_S}", _var, "Variance.", "ops.var([1.0, 3.0])", "array(1., dtype=float32)")
prod = row(
    "prod(x, axis=None, keepdims=False, dtype=None)",
    lambda x, axis, keepdims, dtype: jnp.prod(
        x,
        axis=_axes(axis),
        keepdims=keepdims,
        dtype=None if dtype is None else standardize_dtype(dtype),
    ),
    "Product.",
    f"ops.prod({_X}, axis=0)",
    "array([3, 8], dtype=int32)",
)

_Q = "(x, q, axis=None, method='linear', keepdims=False)"
_Q_MEANS = {"q": "Probabilities between 0 and 1, scalar or 1D."}
_P_MEANS = {"q": "Percentages between 0 and 100, scalar or 1D."}
nanpercentile = row(
    f"nanpercentile{_Q}",
    _quantile(jnp.nanpercentile),
    "Percentile, NaN left out.",
    "ops.nanpercentile([1.0, np.nan, 3.0], 50)",
    "array(2., dtype=float32)",
    **_P_MEANS,
)
nanquantile = row(
    f"nanquantile{_Q}",
    _quantile(jnp.nanquantile),
    "Quantile, NaN left out.",
    "ops.nanquantile([1.0, np.nan, 3.0], 0.5)",
    "array(2., dtype=float32)",
    **_Q_MEANS,
)
percentile = row(
    f"percentile{_Q}",
    _quantile(jnp.percentile),
    "The value below which `q` percent of the elements lie.",
    "ops.percentile([1.0, 2.0, 3.0], 50)",
    "array(2., dtype=float32)",
    **_P_MEANS,
)
quantile = row(
    f"quantile{_Q}",
    _quantile(jnp.quantile),
    "The value below which the fraction `q` of the elements lies.",
    "ops.quantile([1.0, 2.0, 3.0], 0.25)",
    "array(1.5, dtype=float32)",
    **_Q_MEANS,
)

count_nonzero = row(
    "count_nonzero(x, axis=None)",
    lambda x, axis: jnp.count_nonzero(x, axis=_axes(axis)).astype("int32"),
    "Number of elements that are not zero.",
    "ops.count_nonzero([[0, 1], [2, 3]], axis=1)",
    "array([1, 2], dtype=int32)",
)
corrcoef = row(
    "corrcoef(x)",
    lambda x: jnp.corrcoef(to_float(x)),
    "Correlation of the rows.",
    "ops.corrcoef([[1.0, 2.0], [2.0, 4.0]])",
    """array([[0.99999994, 0.99999994],
       [0.99999994, 0.99999994]], dtype=float32)""",
)
diff = row(
    "diff(a, n=1, axis=-1)",
    lambda a, n, axis: jnp.diff(a, n=n, axis=axis),
    "Differences of neighbours.",
    "ops.diff([1, 4, 9])",
    "array([3, 5], dtype=int32)",
)
trapezoid = row(
    "trapezoid(y, x=None, dx=1.0, axis=-1)",
    lambda y, x, dx, axis: jnp.trapezoid(y, x, dx=dx, axis=axis),
    "Integral by the trapezoidal rule.",
    "ops.trapezoid([1.0, 2.0, 3.0])",
    "array(4., dtype=float32)",
    "y x dx",
    y="Tensor of values.",
    x="Positions of the values. `None` means `dx` apart.",
)


@op("x weights")
def average(x, axis=None, weights=None):
    """Weighted average.

    Args:
        x: Input tensor.
        axis: Axis or axes to average over. `None` means all.
        weights: Weights, shaped like `x` or like its `axis`. `None` means equal weights.

    Example:
        >>> ops.average([1.0, 3.0], weights=[3.0, 1.0]).numpy()
        array(1.5, dtype=float32)
    """
    dtype = result_type(x, float) if weights is None else result_type(x, weights, float)
    weights = None if weights is None else weights.astype(dtype)
    return jnp.average(x.astype(dtype), axis=_axes(axis), weights=weights)


@op("x")
def ndim(x):
    """Number of axes, as an int.

    Args:
        x: Input tensor.

    Example:
        >>> ops.ndim([[1, 2], [3, 4]])
        2
    """
    return x.ndim


@op("x")
def size(x):
    """Number of elements, as an int.

    Args:
        x: Input tensor.

    Example:
        >>> ops.size([[1, 2], [3, 4]])
        4
    """
    return math.prod(x.shape)
