"""Operations on two tensors, element by element with broadcasting: a table over `jnp`."""

import jax.numpy as jnp

from podium.ops._promotion import is_integer, result_type, to_float
from podium.ops._table import op, row


def _real(fn):
    """`fn` of two real numbers: the common dtype is a float."""

    def compute(x1, x2):
        dtype = result_type(x1.dtype, x2.dtype, float)
        return fn(x1.astype(dtype), x2.astype(dtype))

    return compute


add = row("add(x1, x2)", jnp.add, "Add.", "ops.add([1, 2], 3)", "array([4, 5], dtype=int32)")
arctan2 = row(
    "arctan2(x1, x2)",
    _real(jnp.arctan2),
    "Angle of the point `(x2, x1)`.",
    "ops.arctan2([1.0, -1.0], 1.0)",
    "array([ 0.7853982, -0.7853982], dtype=float32)",
)
bitwise_and = row(
    "bitwise_and(x, y)",
    jnp.bitwise_and,
    "Bits set in both.",
    "ops.bitwise_and([6, 5], 3)",
    "array([2, 1], dtype=int32)",
)
bitwise_left_shift = row(
    "bitwise_left_shift(x, y)",
    jnp.left_shift,
    "Move bits of `x` to the left by `y`.",
    "ops.bitwise_left_shift([1, 3], 2)",
    "array([ 4, 12], dtype=int32)",
)
bitwise_or = row(
    "bitwise_or(x, y)",
    jnp.bitwise_or,
    "Bits set in either.",
    "ops.bitwise_or([6, 5], 3)",
    "array([7, 7], dtype=int32)",
)
bitwise_right_shift = row(
    "bitwise_right_shift(x, y)",
    jnp.right_shift,
    "Move bits of `x` to the right by `y`.",
    "ops.bitwise_right_shift([8, 5], 2)",
    "array([2, 1], dtype=int32)",
)
bitwise_xor = row(
    "bitwise_xor(x, y)",
    jnp.bitwise_xor,
    "Bits set in exactly one.",
    "ops.bitwise_xor([6, 5], 3)",
    "array([5, 6], dtype=int32)",
)
divide = row(
    "divide(x1, x2)",
    jnp.divide,
    "Divide; whole numbers give a float.",
    "ops.divide([1, 2], 4)",
    "array([0.25, 0.5 ], dtype=float32)",
)
equal = row(
    "equal(x1, x2)",
    jnp.equal,
    "Where the values are equal.",
    "ops.equal([1, 2], 2)",
    "array([False,  True])",
)
floor_divide = row(
    "floor_divide(x1, x2)",
    jnp.floor_divide,
    "Divide and round down.",
    "ops.floor_divide([7, -7], 2)",
    "array([ 3, -4], dtype=int32)",
)
fmax = row(
    "fmax(x1, x2)",
    jnp.fmax,
    "The larger value; a NaN loses to a number.",
    "ops.fmax([1.0, np.nan], 0.5)",
    "array([1. , 0.5], dtype=float32)",
)
fmin = row(
    "fmin(x1, x2)",
    jnp.fmin,
    "The smaller value; a NaN loses to a number.",
    "ops.fmin([1.0, np.nan], 0.5)",
    "array([0.5, 0.5], dtype=float32)",
)
fmod = row(
    "fmod(x1, x2)",
    jnp.fmod,
    "Remainder with the sign of `x1`.",
    "ops.fmod([7, -7], 3)",
    "array([ 1, -1], dtype=int32)",
)
gcd = row(
    "gcd(x1, x2)",
    jnp.gcd,
    "Greatest common divisor of integers.",
    "ops.gcd([12, 9], 6)",
    "array([6, 3], dtype=int32)",
)
greater = row(
    "greater(x1, x2)",
    jnp.greater,
    "Where `x1 > x2`.",
    "ops.greater([1, 3], 2)",
    "array([False,  True])",
)
greater_equal = row(
    "greater_equal(x1, x2)",
    jnp.greater_equal,
    "Where `x1 >= x2`.",
    "ops.greater_equal([1, 2], 2)",
    "array([False,  True])",
)
heaviside = row(
    "heaviside(x1, x2)",
    jnp.heaviside,
    "0 below zero, 1 above, `x2` at zero.",
    "ops.heaviside([-1.0, 0.0, 2.0], 0.5)",
    "array([0. , 0.5, 1. ], dtype=float32)",
)
hypot = row(
    "hypot(x1, x2)",
    jnp.hypot,
    "Length of the hypotenuse.",
    "ops.hypot([3.0], [4.0])",
    "array([5.], dtype=float32)",
)
lcm = row(
    "lcm(x1, x2)",
    jnp.lcm,
    "Least common multiple of integers.",
    "ops.lcm([4, 6], 10)",
    "array([20, 30], dtype=int32)",
)
left_shift = row(
    "left_shift(x, y)",
    jnp.left_shift,
    "Move bits of `x` to the left by `y`.",
    "ops.left_shift([1, 3], 2)",
    "array([ 4, 12], dtype=int32)",
)
less = row(
    "less(x1, x2)", jnp.less, "Where `x1 < x2`.", "ops.less([1, 3], 2)", "array([ True, False])"
)
less_equal = row(
    "less_equal(x1, x2)",
    jnp.less_equal,
    "Where `x1 <= x2`.",
    "ops.less_equal([2, 3], 2)",
    "array([ True, False])",
)
logaddexp = row(
    "logaddexp(x1, x2)",
    _real(jnp.logaddexp),
    "`log(exp(x1) + exp(x2))`, without overflow.",
    "ops.logaddexp([0.0], [0.0])",
    "array([0.6931472], dtype=float32)",
)
logaddexp2 = row(
    "logaddexp2(x1, x2)",
    _real(jnp.logaddexp2),
    "`log2(2**x1 + 2**x2)`, without overflow.",
    "ops.logaddexp2([1.0], [1.0])",
    "array([2.], dtype=float32)",
)
logical_and = row(
    "logical_and(x1, x2)",
    jnp.logical_and,
    "Where both are true.",
    "ops.logical_and([True, False], True)",
    "array([ True, False])",
)
logical_or = row(
    "logical_or(x1, x2)",
    jnp.logical_or,
    "Where either is true.",
    "ops.logical_or([True, False], False)",
    "array([ True, False])",
)
logical_xor = row(
    "logical_xor(x1, x2)",
    jnp.logical_xor,
    "Where exactly one is true.",
    "ops.logical_xor([True, False], True)",
    "array([False,  True])",
)
maximum = row(
    "maximum(x1, x2)",
    jnp.maximum,
    "The larger value; NaN wins.",
    "ops.maximum([1, 5], 3)",
    "array([3, 5], dtype=int32)",
)
minimum = row(
    "minimum(x1, x2)",
    jnp.minimum,
    "The smaller value; NaN wins.",
    "ops.minimum([1, 5], 3)",
    "array([1, 3], dtype=int32)",
)
mod = row(
    "mod(x1, x2)",
    jnp.mod,
    "Remainder with the sign of `x2`.",
    "ops.mod([7, -7], 3)",
    "array([1, 2], dtype=int32)",
)
multiply = row(
    "multiply(x1, x2)",
    jnp.multiply,
    "Multiply.",
    "ops.multiply([1, 2], 3)",
    "array([3, 6], dtype=int32)",
)
nextafter = row(
    "nextafter(x1, x2)",
    jnp.nextafter,
    "The next float after `x1`, towards `x2`.",
    "ops.nextafter([1.0], [2.0])",
    "array([1.0000001], dtype=float32)",
)
not_equal = row(
    "not_equal(x1, x2)",
    jnp.not_equal,
    "Where the values differ.",
    "ops.not_equal([1, 2], 2)",
    "array([ True, False])",
)
power = row(
    "power(x1, x2)",
    jnp.power,
    "Raise `x1` to the power `x2`.",
    "ops.power([2, 3], 2)",
    "array([4, 9], dtype=int32)",
)
right_shift = row(
    "right_shift(x, y)",
    jnp.right_shift,
    "Move bits of `x` to the right by `y`.",
    "ops.right_shift([8, 5], 2)",
    "array([2, 1], dtype=int32)",
)
subtract = row(
    "subtract(x1, x2)",
    jnp.subtract,
    "Subtract.",
    "ops.subtract([1, 2], 3)",
    "array([-2, -1], dtype=int32)",
)
true_divide = row(
    "true_divide(x1, x2)",
    jnp.divide,
    "Divide; same as `divide`.",
    "ops.true_divide([1, 2], 4)",
    "array([0.25, 0.5 ], dtype=float32)",
)
allclose = row(
    "allclose(x1, x2, rtol=1e-05, atol=1e-08, equal_nan=False)",
    jnp.allclose,
    "Whether all values are close to each other.",
    "bool(ops.allclose([1.0, 2.0], [1.0, 2.0 + 1e-7]))",
    "True",
)
isclose = row(
    "isclose(x1, x2, rtol=1e-05, atol=1e-08, equal_nan=False)",
    jnp.isclose,
    "Where the values are close to each other.",
    "ops.isclose([1.0, 2.0], [1.0, 2.1])",
    "array([ True, False])",
)
isin = row(
    "isin(x1, x2, assume_unique=False, invert=False)",
    lambda x1, x2, assume_unique, invert: jnp.isin(
        x1, x2, assume_unique=assume_unique, invert=invert
    ),
    "Where the values of `x1` are found in `x2`.",
    "ops.isin([1, 2, 3], [2, 4])",
    "array([False,  True, False])",
    x2="Tensor of values to look for.",
)


@op()
def divide_no_nan(x1, x2):
    """Divide, with 0 wherever the divisor is 0. The gradient there is 0 too.

    Args:
        x1: Tensor to be divided.
        x2: Divisor, broadcast against `x1`.

    Example:
        >>> ops.divide_no_nan([1.0, 2.0], [0.0, 4.0]).numpy()
        array([0. , 0.5], dtype=float32)
    """
    is_zero = x2 == 0
    # Divide by 1 where the divisor is 0: a `where` alone would still let NaN into the gradient.
    return jnp.where(is_zero, 0, jnp.divide(x1, jnp.where(is_zero, 1, x2)))


@op()
def ldexp(x1, x2):
    """`x1` times two to the power `x2`.

    Args:
        x1: Input tensor.
        x2: Integer tensor of exponents.

    Example:
        >>> ops.ldexp([1.0, 3.0], [2, 1]).numpy()
        array([4., 6.], dtype=float32)
    """
    if not jnp.issubdtype(x2.dtype, jnp.integer):
        raise TypeError(
            f"`x2` holds exponents and must be of an integer dtype, not {x2.dtype}. Cast it: "
            "`ops.cast(x2, 'int32')`."
        )
    return jnp.ldexp(to_float(x1) if is_integer(x1) else x1, x2)
