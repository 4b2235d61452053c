"""Random draws. `seed` is an int (the same draw every time), a `SeedGenerator` (a new draw each
call), or `None` (the global generator).

The key is taken outside the recorded function, so replaying a draw repeats it.
"""

import functools

import jax
import jax.numpy as jnp

from podium.core import (
    check_choice,
    dispatch,
    draw_flat,
    draw_seed,
    floatx,
    is_float_dtype,
    standardize_dtype,
)

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _draw(fn, seed, *args):
    """Run `fn(key, *args)` with a key from `seed`, in standard promotion whatever mode JAX is
    in.
    """

    def run(key, *values):
        with jax.numpy_dtype_promotion("standard"):
            return fn(key, *map(_array, values))

    return dispatch(functools.partial(run, draw_seed(seed)), *args)


def _array(value):
    return jnp.asarray(value) if isinstance(value, (list, float, int)) else value


def _float(dtype):
    dtype = standardize_dtype(dtype or floatx())
    if not is_float_dtype(dtype):
        raise ValueError(
            f"dtype={dtype!r} was given, and a float dtype was expected. For whole numbers use "
            "`random.randint`."
        )
    return dtype


def _between(draw, shape, dtype):
    """A draw between two bounds; bounds that are arrays themselves need the draw in their shape."""

    def run(key, low, high):
        if jnp.ndim(low) or jnp.ndim(high):
            return draw(key, shape, dtype, low, high)
        return draw_flat(lambda flat: draw(key, flat, dtype, low, high), shape)

    return run


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Draw from a normal distribution.

    Args:
        shape: Shape of the result.
        mean: Mean.
        stddev: Standard deviation.
        dtype: Float dtype. `None` means the default float.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Example:
        >>> tuple(podium.random.normal((2, 3), seed=0).shape)
        (2, 3)
    """
    dtype = _float(dtype)
    return _draw(
        lambda key, m, s: (
            draw_flat(lambda flat: jax.random.normal(key, flat, dtype), shape) * s + m
        ).astype(dtype),
        seed,
        mean,
        stddev,
    )


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Draw from a normal distribution cut off at two standard deviations.

    Args:
        shape: Shape of the result.
        mean: Mean.
        stddev: Standard deviation before the cut.
        dtype: Float dtype. `None` means the default float.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Example:
        >>> bool(abs(podium.random.truncated_normal((100,), seed=0).numpy()).max() <= 2.0)
        True
    """
    dtype = _float(dtype)

    def draw(key, m, s):
        return (
            draw_flat(lambda flat: jax.random.truncated_normal(key, -2.0, 2.0, flat, dtype), shape)
            * s
            + m
        ).astype(dtype)

    return _draw(draw, seed, mean, stddev)


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Draw evenly from an interval.

    Args:
        shape: Shape of the result.
        minval: Lower end, included.
        maxval: Upper end, not included.
        dtype: Float dtype. `None` means the default float.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Example:
        >>> x = podium.random.uniform((100,), 2.0, 3.0, seed=0).numpy()
        >>> bool(x.min() >= 2.0 and x.max() < 3.0)
        True
    """
    dtype = _float(dtype)
    return _draw(_between(jax.random.uniform, shape, dtype), seed, minval, maxval)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    """Draw whole numbers evenly.

    Args:
        shape: Shape of the result.
        minval: Smallest number.
        maxval: End, not included.
        dtype: Integer dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Example:
        >>> sorted(set(podium.random.randint((100,), 0, 3, seed=0).numpy().tolist()))
        [0, 1, 2]
    """
    dtype = check_choice("dtype", standardize_dtype(dtype), _INTEGERS)
    dtype = jax.dtypes.canonicalize_dtype(dtype)

    def draw(key, flat, dtype, low, high):
        return jax.random.randint(key, flat, low, high, dtype)

    return _draw(_between(draw, shape, dtype), seed, minval, maxval)


def categorical(logits, num_samples, dtype="int32", seed=None):
    """Draw class numbers with probabilities given as logits.

    Args:
        logits: Tensor `(batch, classes)`.
        num_samples: Number of draws for each row.
        dtype: Integer dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Returns:
        Tensor `(batch, num_samples)`.

    Example:
        >>> podium.random.categorical([[0.0, 100.0]], 3, seed=0).numpy()
        array([[1, 1, 1]], dtype=int32)
    """
    dtype = check_choice("dtype", standardize_dtype(dtype), _INTEGERS)

    def draw(key, logits):
        if logits.ndim != 2:
            raise ValueError(
                "random.categorical: `logits` must be 2D, (batch, classes), and their shape is "
                f"{logits.shape}."
            )
        samples = jax.random.categorical(
            key, logits[:, None, :], axis=-1, shape=(logits.shape[0], num_samples)
        )
        return samples.astype(jax.dtypes.canonicalize_dtype(dtype))

    return _draw(draw, seed, logits)


def dropout(inputs, rate, noise_shape=None, seed=None):
    """Zero a random part of the elements, and scale the others up so that the mean stays.

    Args:
        inputs: Input tensor.
        rate: Fraction to drop, between 0 and 1.
        noise_shape: Shape of the mask, broadcast against `inputs`; `None` entries mean the size of
            `inputs`.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Example:
        >>> sorted(set(podium.random.dropout(np.ones(100, "float32"), 0.5, seed=0).numpy().tolist()))
        [0.0, 2.0]
    """
    if not 0 <= rate <= 1:
        raise ValueError(
            f"random.dropout: rate={rate!r} was given, and a number between 0 and 1 was expected."
        )
    if rate == 0:
        return dispatch(_array, inputs)
    if rate == 1:
        return dispatch(lambda x: jnp.zeros_like(_array(x)), inputs)

    def draw(key, x):
        shape = x.shape
        if noise_shape is not None:
            shape = tuple(
                x.shape[i] if size is None else size for i, size in enumerate(noise_shape)
            )
        keep = draw_flat(lambda flat: jax.random.bernoulli(key, 1.0 - rate, flat), shape)
        return jnp.where(keep, x / (1.0 - rate), 0).astype(x.dtype)

    return _draw(draw, seed, inputs)


def shuffle(x, axis=0, seed=None):
    """Put slices along an axis in random order.

    Args:
        x: Input tensor.
        axis: Axis to shuffle.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Example:
        >>> sorted(podium.random.shuffle([1, 2, 3], seed=0).numpy().tolist())
        [1, 2, 3]
    """
    return _draw(lambda key, x: jax.random.permutation(key, x, axis, independent=True), seed, x)


def gamma(shape, alpha, dtype=None, seed=None):
    """Draw from a gamma distribution with scale 1.

    Args:
        shape: Shape of the result.
        alpha: Shape parameter, broadcast to `shape`.
        dtype: Float dtype. `None` means the default float.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Example:
        >>> bool(podium.random.gamma((100,), 2.0, seed=0).numpy().min() > 0)
        True
    """
    dtype = _float(dtype)
    return _draw(lambda key, a: jax.random.gamma(key, a, shape, dtype), seed, alpha)


def beta(shape, alpha, beta, dtype=None, seed=None):
    """Draw from a beta distribution.

    Args:
        shape: Shape of the result.
        alpha: First parameter, broadcast to `shape`.
        beta: Second parameter, broadcast to `shape`.
        dtype: Float dtype. `None` means the default float.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Example:
        >>> bool(podium.random.beta((100,), 2.0, 2.0, seed=0).numpy().max() < 1)
        True
    """
    dtype = _float(dtype)
    return _draw(lambda key, a, b: jax.random.beta(key, a, b, shape, dtype), seed, alpha, beta)


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    """Draw how often an event happens in a number of trials.

    Args:
        shape: Shape of the result.
        counts: Number of trials, broadcast to `shape`.
        probabilities: Probability of the event, broadcast to `shape`.
        dtype: Float dtype. `None` means the default float.
        seed: An int, a `SeedGenerator`, or `None` for the global one.

    Example:
        >>> bool(podium.random.binomial((100,), 5, 0.5, seed=0).numpy().max() <= 5)
        True
    """
    dtype = _float(dtype)

    def draw(key, n, p):
        return jax.random.binomial(key, n.astype(dtype), p.astype(dtype), shape, dtype)

    return _draw(draw, seed, counts, probabilities)
