"""Functions of single numbers and of pairs: the elementwise part of `tf.math`."""

from typing import Any

import jax
import jax.numpy as jnp

from podium import ops
from podium.compat.tensorflow._table import alias
from podium.core import lift, promote_dtypes

# One argument: the same work as the function of `podium.ops` beside it.
abs = alias("abs(x, name=None)", ops.abs)
acos = alias("acos(x, name=None)", ops.arccos)
acosh = alias("acosh(x, name=None)", ops.arccosh)
angle = alias("angle(input, name=None)", ops.angle)
asin = alias("asin(x, name=None)", ops.arcsin)
asinh = alias("asinh(x, name=None)", ops.arcsinh)
atan = alias("atan(x, name=None)", ops.arctan)
atanh = alias("atanh(x, name=None)", ops.arctanh)
ceil = alias("ceil(x, name=None)", ops.ceil)
conj = alias("conj(x, name=None)", ops.conj)
cos = alias("cos(x, name=None)", ops.cos)
cosh = alias("cosh(x, name=None)", ops.cosh)
erf = alias("erf(x, name=None)", ops.erf)
erfc = alias("erfc(x, name=None)", ops.erfc)
erfinv = alias("erfinv(x, name=None)", ops.erfinv)
exp = alias("exp(x, name=None)", ops.exp)
expm1 = alias("expm1(x, name=None)", ops.expm1)
floor = alias("floor(x, name=None)", ops.floor)
imag = alias("imag(input, name=None)", ops.imag)
is_finite = alias("is_finite(x, name=None)", ops.isfinite)
is_inf = alias("is_inf(x, name=None)", ops.isinf)
is_nan = alias("is_nan(x, name=None)", ops.isnan)
log = alias("log(x, name=None)", ops.log)
log1p = alias("log1p(x, name=None)", ops.log1p)
log_sigmoid = alias("log_sigmoid(x, name=None)", ops.log_sigmoid)
logical_not = alias("logical_not(x, name=None)", ops.logical_not)
negative = alias("negative(x, name=None)", ops.negative)
real = alias("real(input, name=None)", ops.real)
reciprocal = alias("reciprocal(x, name=None)", ops.reciprocal)
round = alias("round(x, name=None)", ops.round)
rsqrt = alias("rsqrt(x, name=None)", ops.rsqrt)
sigmoid = alias("sigmoid(x, name=None)", ops.sigmoid)
sign = alias("sign(x, name=None)", ops.sign)
sin = alias("sin(x, name=None)", ops.sin)
sinh = alias("sinh(x, name=None)", ops.sinh)
softplus = alias("softplus(features, name=None)", ops.softplus)
softsign = alias("softsign(features, name=None)", ops.softsign)
sqrt = alias("sqrt(x, name=None)", ops.sqrt)
square = alias("square(x, name=None)", ops.square)
tan = alias("tan(x, name=None)", ops.tan)
tanh = alias("tanh(x, name=None)", ops.tanh)

# Two arguments.
add = alias("add(x, y, name=None)", ops.add)
atan2 = alias("atan2(y, x, name=None)", ops.arctan2)
divide = alias("divide(x, y, name=None)", ops.divide)
divide_no_nan = alias("divide_no_nan(x, y, name=None)", ops.divide_no_nan)
equal = alias("equal(x, y, name=None)", ops.equal)
floordiv = alias("floordiv(x, y, name=None)", ops.floor_divide)
floormod = alias("floormod(x, y, name=None)", ops.mod)
greater = alias("greater(x, y, name=None)", ops.greater)
greater_equal = alias("greater_equal(x, y, name=None)", ops.greater_equal)
less = alias("less(x, y, name=None)", ops.less)
less_equal = alias("less_equal(x, y, name=None)", ops.less_equal)
logical_and = alias("logical_and(x, y, name=None)", ops.logical_and)
logical_or = alias("logical_or(x, y, name=None)", ops.logical_or)
logical_xor = alias("logical_xor(x, y, name=None)", ops.logical_xor)
maximum = alias("maximum(x, y, name=None)", ops.maximum)
minimum = alias("minimum(x, y, name=None)", ops.minimum)
mod = alias("mod(x, y, name=None)", ops.mod)
multiply = alias("multiply(x, y, name=None)", ops.multiply)
nextafter = alias("nextafter(x1, x2, name=None)", ops.nextafter)
not_equal = alias("not_equal(x, y, name=None)", ops.not_equal)
pow = alias("pow(x, y, name=None)", ops.power)
subtract = alias("subtract(x, y, name=None)", ops.subtract)
truediv = alias("truediv(x, y, name=None)", ops.true_divide)

# What `podium.ops` does not have.


@promote_dtypes
def _multiply_no_nan(x: Any, y: Any) -> Any:
    x, y = jnp.asarray(x), jnp.asarray(y)
    return jnp.where(
        y == 0, 0, jnp.where(y == 0, 0, x) * y
    )  # the inner choice keeps NaN out of gradients too


@promote_dtypes
def _xdivy(x: Any, y: Any) -> Any:
    x, y = jnp.asarray(x), jnp.asarray(y)
    return jnp.where(x == 0, 0.0, x / jnp.where(x == 0, 1, y))


digamma = alias(
    "digamma(x, name=None)",
    lift(promote_dtypes(lambda x: jax.scipy.special.digamma(jnp.asarray(x, float)))),
    "tf.math.digamma(1.0).numpy().round(4)",
    "np.float32(-0.5772)",
    "The derivative of `lgamma`.",
)
lgamma = alias(
    "lgamma(x, name=None)",
    lift(promote_dtypes(lambda x: jax.scipy.special.gammaln(jnp.asarray(x, float)))),
    "tf.math.lgamma([1.0, 4.0]).numpy().round(4)",
    "array([0.    , 1.7918], dtype=float32)",
    "The logarithm of the absolute value of the gamma function.",
)
multiply_no_nan = alias(
    "multiply_no_nan(x, y, name=None)",
    lift(_multiply_no_nan),
    "tf.math.multiply_no_nan([float('inf'), 2.0], [0.0, 3.0]).numpy()",
    "array([0., 6.], dtype=float32)",
    "The product; 0 where `y` is 0, whatever `x` is.",
)
rint = alias("rint(x, name=None)", ops.round)
squared_difference = alias(
    "squared_difference(x, y, name=None)",
    lift(promote_dtypes(lambda x, y: jnp.square(jnp.subtract(jnp.asarray(x), jnp.asarray(y))))),
    "tf.math.squared_difference([1.0, 5.0], 3.0).numpy()",
    "array([4., 4.], dtype=float32)",
    "The square of `x - y`.",
)
xlogy = alias(
    "xlogy(x, y, name=None)",
    lift(
        promote_dtypes(
            lambda x, y: jax.scipy.special.xlogy(jnp.asarray(x, float), jnp.asarray(y, float))
        )
    ),
    "tf.math.xlogy([0.0, 1.0], [0.0, 1.0]).numpy()",
    "array([0., 0.], dtype=float32)",
    "`x * log(y)`, 0 where `x` is 0.",
)
xdivy = alias(
    "xdivy(x, y, name=None)",
    lift(_xdivy),
    "tf.math.xdivy([0.0, 1.0], [0.0, 2.0]).numpy()",
    "array([0. , 0.5], dtype=float32)",
    "`x / y`, 0 where `x` is 0.",
)
