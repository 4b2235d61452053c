"""Operations that work on one tensor, element by element: a table over `jnp`.

Integers given to a function of real numbers become the default float, as in Keras.
"""

import jax
import jax.numpy as jnp
from jax import lax

from podium.core import standardize_dtype
from podium.ops._promotion import is_integer, to_float
from podium.ops._table import op, row


def _real(fn):
    """`fn` of a real number: counts are cast to the default float first."""
    return lambda x: fn(to_float(x))


absolute = row(
    "absolute(x)",
    jnp.absolute,
    "Absolute value.",
    "ops.absolute([-1.5, 2.0])",
    "array([1.5, 2. ], dtype=float32)",
)
abs = row(
    "abs(x)",
    jnp.absolute,
    "Absolute value; short for `absolute`.",
    "ops.abs([-3, 4])",
    "array([3, 4], dtype=int32)",
)
angle = row(
    "angle(x)",
    _real(jnp.angle),
    "Angle of complex numbers, in radians.",
    "ops.angle([1.0 + 1.0j, -1.0])",
    "array([0.7853982, 3.1415927], dtype=float32)",
)
arccos = row(
    "arccos(x)",
    _real(jnp.arccos),
    "Inverse cosine, in radians.",
    "ops.arccos([1.0, 0.0])",
    "array([0.       , 1.5707964], dtype=float32)",
)
arccosh = row(
    "arccosh(x)",
    _real(jnp.arccosh),
    "Inverse hyperbolic cosine.",
    "ops.arccosh([1.0, 2.0])",
    "array([0.      , 1.316958], dtype=float32)",
)
arcsin = row(
    "arcsin(x)",
    _real(jnp.arcsin),
    "Inverse sine, in radians.",
    "ops.arcsin([0.0, 1.0])",
    "array([0.       , 1.5707964], dtype=float32)",
)
arcsinh = row(
    "arcsinh(x)",
    _real(jnp.arcsinh),
    "Inverse hyperbolic sine.",
    "ops.arcsinh([0.0, 1.0])",
    "array([0.        , 0.88137364], dtype=float32)",
)
arctan = row(
    "arctan(x)",
    _real(jnp.arctan),
    "Inverse tangent, in radians.",
    "ops.arctan([0.0, 1.0])",
    "array([0.       , 0.7853981], dtype=float32)",
)
arctanh = row(
    "arctanh(x)",
    _real(jnp.arctanh),
    "Inverse hyperbolic tangent.",
    "ops.arctanh([0.0, 0.5])",
    "array([0.        , 0.54930615], dtype=float32)",
)
bitwise_invert = row(
    "bitwise_invert(x)",
    jnp.invert,
    "Flip every bit.",
    "ops.bitwise_invert([0, 5])",
    "array([-1, -6], dtype=int32)",
)
bitwise_not = row(
    "bitwise_not(x)",
    jnp.invert,
    "Flip every bit; same as `bitwise_invert`.",
    "ops.bitwise_not([0, 5])",
    "array([-1, -6], dtype=int32)",
)
cbrt = row(
    "cbrt(x)",
    _real(jnp.cbrt),
    "Cube root, also of negative numbers.",
    "ops.cbrt([-8.0, 27.0])",
    "array([-2.,  3.], dtype=float32)",
)
ceil = row(
    "ceil(x)",
    _real(jnp.ceil),
    "Round up to a whole number, as a float.",
    "ops.ceil([-1.5, 1.2])",
    "array([-1.,  2.], dtype=float32)",
)
conj = row(
    "conj(x)",
    jnp.conjugate,
    "Complex conjugate; short for `conjugate`.",
    "ops.conj([1.0 + 2.0j])",
    "array([1.-2.j], dtype=complex64)",
)
conjugate = row(
    "conjugate(x)",
    jnp.conjugate,
    "Complex conjugate.",
    "ops.conjugate([1.0 + 2.0j])",
    "array([1.-2.j], dtype=complex64)",
)
copy = row("copy(x)", jnp.copy, "A copy.", "ops.copy([1, 2])", "array([1, 2], dtype=int32)")
cos = row(
    "cos(x)",
    _real(jnp.cos),
    "Cosine of radians.",
    "ops.cos([0.0, 1.0])",
    "array([1.       , 0.5403023], dtype=float32)",
)
cosh = row(
    "cosh(x)",
    _real(jnp.cosh),
    "Hyperbolic cosine.",
    "ops.cosh([0.0, 1.0])",
    "array([1.       , 1.5430806], dtype=float32)",
)
deg2rad = row(
    "deg2rad(x)",
    _real(jnp.deg2rad),
    "Degrees to radians.",
    "ops.deg2rad([0.0, 180.0])",
    "array([0.       , 3.1415927], dtype=float32)",
)
erf = row(
    "erf(x)",
    _real(lax.erf),
    "The error function.",
    "ops.erf([0.0, 1.0])",
    "array([0.        , 0.84270084], dtype=float32)",
)
erfc = row(
    "erfc(x)",
    _real(lax.erfc),
    "One minus the error function, exact in the tail.",
    "ops.erfc([0.0, 1.0])",
    "array([1.        , 0.15729924], dtype=float32)",
)
erfinv = row(
    "erfinv(x)",
    _real(lax.erf_inv),
    "Inverse of the error function.",
    "ops.erfinv([0.0, 0.5])",
    "array([0.        , 0.47693628], dtype=float32)",
)
exp = row(
    "exp(x)",
    _real(jnp.exp),
    "Exponential.",
    "ops.exp([0.0, 1.0])",
    "array([1.       , 2.7182817], dtype=float32)",
)
exp2 = row(
    "exp2(x)",
    _real(jnp.exp2),
    "Two to the power of `x`.",
    "ops.exp2([0.0, 3.0])",
    "array([1., 8.], dtype=float32)",
)
expm1 = row(
    "expm1(x)",
    _real(jnp.expm1),
    "Exponential minus one, exact near zero.",
    "ops.round(ops.expm1([0.0, 1.0]), 3)",
    "array([0.   , 1.718], dtype=float32)",
)
floor = row(
    "floor(x)",
    _real(jnp.floor),
    "Round down to a whole number, as a float.",
    "ops.floor([-1.5, 1.2])",
    "array([-2.,  1.], dtype=float32)",
)
i0 = row(
    "i0(x)",
    _real(jnp.i0),
    "Modified Bessel function of order 0.",
    "ops.i0([0.0, 1.0])",
    "array([1.0000001, 1.266066 ], dtype=float32)",
)
imag = row(
    "imag(x)", jnp.imag, "Imaginary part.", "ops.imag([1.0 + 2.0j])", "array([2.], dtype=float32)"
)
isfinite = row(
    "isfinite(x)",
    jnp.isfinite,
    "Where the values are neither infinite nor NaN.",
    "ops.isfinite([1.0, np.inf])",
    "array([ True, False])",
)
isinf = row(
    "isinf(x)",
    jnp.isinf,
    "Where the values are infinite.",
    "ops.isinf([1.0, -np.inf])",
    "array([False,  True])",
)
isnan = row(
    "isnan(x)",
    jnp.isnan,
    "Where the values are NaN.",
    "ops.isnan([1.0, np.nan])",
    "array([False,  True])",
)
isneginf = row(
    "isneginf(x)",
    jnp.isneginf,
    "Where the values are minus infinity.",
    "ops.isneginf([np.inf, -np.inf])",
    "array([False,  True])",
)
isposinf = row(
    "isposinf(x)",
    jnp.isposinf,
    "Where the values are plus infinity.",
    "ops.isposinf([np.inf, -np.inf])",
    "array([ True, False])",
)
isreal = row(
    "isreal(x)",
    jnp.isreal,
    "Where the imaginary part is zero.",
    "ops.isreal([1.0 + 0.0j, 1.0j])",
    "array([ True, False])",
)
log = row(
    "log(x)",
    _real(jnp.log),
    "Natural logarithm.",
    "ops.log([1.0, 10.0])",
    "array([0.       , 2.3025851], dtype=float32)",
)
log10 = row(
    "log10(x)",
    _real(jnp.log10),
    "Logarithm to base 10.",
    "ops.log10([1.0, 100.0])",
    "array([0., 2.], dtype=float32)",
)
log1p = row(
    "log1p(x)",
    _real(jnp.log1p),
    "Logarithm of one plus `x`, exact near zero.",
    "ops.log1p([0.0, 1.0])",
    "array([0.       , 0.6931472], dtype=float32)",
)
log2 = row(
    "log2(x)",
    _real(jnp.log2),
    "Logarithm to base 2.",
    "ops.log2([1.0, 8.0])",
    "array([0., 3.], dtype=float32)",
)
logical_not = row(
    "logical_not(x)",
    jnp.logical_not,
    "Logical negation.",
    "ops.logical_not([True, False])",
    "array([False,  True])",
)
nan_to_num = row(
    "nan_to_num(x, nan=0.0, posinf=None, neginf=None)",
    lambda x, nan, posinf, neginf: jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf),
    "Replace NaN and infinities by numbers.",
    "ops.nan_to_num([1.0, np.nan, np.inf], posinf=9.0)",
    "array([1., 0., 9.], dtype=float32)",
)
negative = row(
    "negative(x)",
    jnp.negative,
    "Change the sign.",
    "ops.negative([1, -2])",
    "array([-1,  2], dtype=int32)",
)
rad2deg = row(
    "rad2deg(x)",
    _real(jnp.rad2deg),
    "Radians to degrees.",
    "ops.rad2deg([0.0, np.pi])",
    "array([  0., 180.], dtype=float32)",
)
real = row(
    "real(x)", jnp.real, "Real part.", "ops.real([1.0 + 2.0j])", "array([1.], dtype=float32)"
)
reciprocal = row(
    "reciprocal(x)",
    _real(jnp.reciprocal),
    "One divided by `x`.",
    "ops.reciprocal([2.0, 4.0])",
    "array([0.5 , 0.25], dtype=float32)",
)
rsqrt = row(
    "rsqrt(x)",
    _real(lax.rsqrt),
    "One divided by the square root.",
    "ops.rsqrt([1.0, 4.0])",
    "array([1. , 0.5], dtype=float32)",
)
sign = row(
    "sign(x)",
    jnp.sign,
    "The sign: -1, 0 or 1.",
    "ops.sign([-3, 0, 5])",
    "array([-1,  0,  1], dtype=int32)",
)
signbit = row(
    "signbit(x)",
    jnp.signbit,
    "Where the sign bit is set.",
    "ops.signbit([-1.0, 2.0])",
    "array([ True, False])",
)
sin = row(
    "sin(x)",
    _real(jnp.sin),
    "Sine of radians.",
    "ops.sin([0.0, 1.0])",
    "array([0.        , 0.84147096], dtype=float32)",
)
sinc = row(
    "sinc(x)",
    _real(jnp.sinc),
    "`sin(pi x) / (pi x)`, and 1 at zero.",
    "ops.round(ops.sinc([0.0, 0.5]), 3)",
    "array([1.   , 0.637], dtype=float32)",
)
sinh = row(
    "sinh(x)",
    _real(jnp.sinh),
    "Hyperbolic sine.",
    "ops.sinh([0.0, 1.0])",
    "array([0.       , 1.1752012], dtype=float32)",
)
sqrt = row(
    "sqrt(x)", _real(jnp.sqrt), "Square root.", "ops.sqrt([4, 9])", "array([2., 3.], dtype=float32)"
)
square = row(
    "square(x)", jnp.square, "Square.", "ops.square([2, -3])", "array([4, 9], dtype=int32)"
)
tan = row(
    "tan(x)",
    _real(jnp.tan),
    "Tangent of radians.",
    "ops.tan([0.0, 1.0])",
    "array([0.       , 1.5574077], dtype=float32)",
)
tanh = row(
    "tanh(x)",
    _real(jnp.tanh),
    "Hyperbolic tangent.",
    "ops.tanh([0.0, 1.0])",
    "array([0.       , 0.7615942], dtype=float32)",
)
trunc = row(
    "trunc(x)",
    lambda x: x if is_integer(x) else jnp.trunc(x),
    "Drop the fraction.",
    "ops.trunc([-1.7, 1.7])",
    "array([-1.,  1.], dtype=float32)",
)


@op()
def fabs(x):
    """Absolute value of real numbers, as a float.

    Args:
        x: Real tensor. Integers become floats.

    Example:
        >>> ops.fabs([-1, 2]).numpy()
        array([1., 2.], dtype=float32)
    """
    if jnp.iscomplexobj(x):
        raise TypeError("expected real numbers. For complex numbers use `ops.absolute`.")
    return jnp.fabs(to_float(x))


@op()
def round(x, decimals=0):
    """Round to a number of decimals; halves go to the even neighbour.

    Args:
        x: Input tensor. Integers stay integers.
        decimals: Number of decimals to keep. Negative rounds to tens, hundreds and so on.

    Example:
        >>> ops.round([1.25, 2.5, -0.7]).numpy()
        array([ 1.,  2., -1.], dtype=float32)
        >>> ops.round([123, 168], decimals=-1).numpy()
        array([120, 170], dtype=int32)
    """
    if is_integer(x) and decimals < 0:  # jnp.round refuses this case
        factor = 10.0**decimals
        return (jnp.round(to_float(x) * factor) / factor).astype(x.dtype)
    return jnp.round(x, decimals=decimals)


@op("x x_min x_max")
def clip(x, x_min, x_max):
    """Limit values to an interval.

    Args:
        x: Input tensor. Booleans become integers.
        x_min: Lower bound, broadcast against `x`. `None` means no bound.
        x_max: Upper bound, broadcast against `x`. `None` means no bound.

    Example:
        >>> ops.clip([-1, 5, 9], 0, 6).numpy()
        array([0, 5, 6], dtype=int32)
    """
    x = x.astype("int32") if x.dtype == jnp.bool_ else x
    return jnp.clip(x, x_min, x_max)


@op("x")
def view(x, dtype=None):
    """Read the same bytes as another dtype.

    Args:
        x: Input tensor.
        dtype: The new dtype. If its size differs, the last axis grows or shrinks.

    Example:
        >>> ops.view(ops.convert_to_tensor([1.0], dtype="float32"), "int32").numpy()
        array([1065353216], dtype=int32)
    """
    return x if dtype is None else x.view(standardize_dtype(dtype))


@op("x")
def view_as_complex(x):
    """Join pairs of real and imaginary parts (the last axis) into complex numbers.

    Args:
        x: Real tensor whose last axis has size 2.

    Example:
        >>> ops.view_as_complex([[1.0, 2.0]]).numpy()
        array([1.+2.j], dtype=complex64)
    """
    if x.ndim < 1 or x.shape[-1] != 2:
        raise ValueError(
            f"expected a last axis of size 2 (real, imaginary) and got shape {x.shape}."
        )
    x = x.astype("float32")
    return lax.complex(x[..., 0], x[..., 1])


@op("x")
def view_as_real(x):
    """Split complex numbers into a last axis of real and imaginary parts.

    Args:
        x: Complex tensor.

    Example:
        >>> ops.view_as_real([1.0 + 2.0j]).numpy()
        array([[1., 2.]], dtype=float32)
    """
    return jnp.stack((jnp.real(x), jnp.imag(x)), axis=-1)


@op()
def polar(abs_, angle):
    """Complex numbers from magnitudes and angles.

    Args:
        abs_: Tensor of magnitudes.
        angle: Tensor of angles in radians.

    Example:
        >>> ops.polar([2.0], [0.0]).numpy()
        array([2.+0.j], dtype=complex64)
    """
    abs_, angle = to_float(abs_), to_float(angle)
    return jax.lax.complex(abs_ * jnp.cos(angle), abs_ * jnp.sin(angle))
