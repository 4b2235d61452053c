"""Samples of random distributions.

`seed` is an int (the same values at every call), a `SeedGenerator` (new values at every call), or
`None` (the global generator). The key is drawn outside the recorded function, so replaying a
recorded call repeats its values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from podium._typing import DType, DTypeLike, TensorLike
from podium.core import (
    SeedGenerator,
    Tensor,
    check_choice,
    dispatch,
    draw_flat,
    draw_seed,
    floatx,
    is_float_dtype,
    standardize_dtype,
)

SeedLike: TypeAlias = int | SeedGenerator | None

_INTEGER_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _sample(fn: Callable[..., Array], seed: SeedLike, *args: TensorLike) -> Tensor:
    """Call `fn(key, *args)` with a key from `seed`, under standard promotion."""

    def run(key: Array, *values: ArrayLike) -> Array:
        with jax.numpy_dtype_promotion("standard"):
            return fn(key, *map(_convert_argument, values))

    samples: Tensor = dispatch(functools.partial(run, draw_seed(seed)), *args)
    return samples


def _convert_argument(value: Any) -> Array:
    array: Array = jnp.asarray(value) if isinstance(value, (list, float, int)) else value
    return array


def _float_dtype(dtype: DTypeLike | None) -> DType:
    dtype = standardize_dtype(dtype or floatx())
    if not is_float_dtype(dtype):
        raise ValueError(
            f"dtype={dtype!r} was given, and a float dtype was expected. For integers use "
            "`random.randint`."
        )
    return dtype


def _sample_between(
    sample: Callable[..., Array], shape: Sequence[int], dtype: DTypeLike
) -> Callable[[Array, Array, Array], Array]:
    """Return a function that samples between two bounds, which may be arrays of that shape."""

    def run(key: Array, low: Array, high: Array) -> Array:
        if jnp.ndim(low) or jnp.ndim(high):
            return sample(key, shape, dtype, low, high)
        return draw_flat(lambda flat: sample(key, flat, dtype, low, high), shape)

    return run


def normal(
    shape: Sequence[int],
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike | None = None,
    seed: SeedLike = None,
) -> Tensor:
    """Sample a normal distribution.

    Args:
        shape: Shape of the result.
        mean: Mean.
        stddev: Standard deviation.
        dtype: Float dtype. `None` means the default float dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Example:
        >>> tuple(podium.random.normal((2, 3), seed=0).shape)
        (2, 3)
    """
    dtype = _float_dtype(dtype)

    def sample(key: Array, mean: Array, stddev: Array) -> Array:
        standard = draw_flat(lambda flat: jax.random.normal(key, flat, dtype), shape)
        return (standard * stddev + mean).astype(dtype)

    return _sample(sample, seed, mean, stddev)


def truncated_normal(
    shape: Sequence[int],
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike | None = None,
    seed: SeedLike = None,
) -> Tensor:
    """Sample a normal distribution, truncated at two standard deviations from the mean.

    Args:
        shape: Shape of the result.
        mean: Mean.
        stddev: Standard deviation before truncation.
        dtype: Float dtype. `None` means the default float dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Example:
        >>> bool(abs(podium.random.truncated_normal((100,), seed=0).numpy()).max() <= 2.0)
        True
    """
    dtype = _float_dtype(dtype)

    def sample(key: Array, mean: Array, stddev: Array) -> Array:
        standard = draw_flat(
            lambda flat: jax.random.truncated_normal(key, -2.0, 2.0, flat, dtype), shape
        )
        return (standard * stddev + mean).astype(dtype)

    return _sample(sample, seed, mean, stddev)


def uniform(
    shape: Sequence[int],
    minval: TensorLike = 0.0,
    maxval: TensorLike = 1.0,
    dtype: DTypeLike | None = None,
    seed: SeedLike = None,
) -> Tensor:
    """Sample a uniform distribution.

    Args:
        shape: Shape of the result.
        minval: Lower bound, included.
        maxval: Upper bound, excluded.
        dtype: Float dtype. `None` means the default float dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Example:
        >>> x = podium.random.uniform((100,), 2.0, 3.0, seed=0).numpy()
        >>> bool(x.min() >= 2.0 and x.max() < 3.0)
        True
    """
    dtype = _float_dtype(dtype)
    return _sample(_sample_between(jax.random.uniform, shape, dtype), seed, minval, maxval)


def randint(
    shape: Sequence[int],
    minval: TensorLike,
    maxval: TensorLike,
    dtype: DTypeLike = "int32",
    seed: SeedLike = None,
) -> Tensor:
    """Sample integers uniformly.

    Args:
        shape: Shape of the result.
        minval: Lower bound, included.
        maxval: Upper bound, excluded.
        dtype: Integer dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Example:
        >>> sorted(set(podium.random.randint((100,), 0, 3, seed=0).numpy().tolist()))
        [0, 1, 2]
    """
    dtype = check_choice("dtype", standardize_dtype(dtype), _INTEGER_DTYPES)
    dtype = jax.dtypes.canonicalize_dtype(dtype)

    def sample(key: Array, flat: Sequence[int], dtype: DTypeLike, low: Array, high: Array) -> Array:
        return jax.random.randint(key, flat, low, high, dtype)

    return _sample(_sample_between(sample, shape, dtype), seed, minval, maxval)


def categorical(
    logits: TensorLike, num_samples: int, dtype: DTypeLike = "int32", seed: SeedLike = None
) -> Tensor:
    """Sample class indices with probabilities given as logits.

    Args:
        logits: Tensor `(batch, classes)`.
        num_samples: Number of samples per row.
        dtype: Integer dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Returns:
        Tensor `(batch, num_samples)`.

    Example:
        >>> podium.random.categorical([[0.0, 100.0]], 3, seed=0).numpy()
        array([[1, 1, 1]], dtype=int32)
    """
    dtype = check_choice("dtype", standardize_dtype(dtype), _INTEGER_DTYPES)

    def sample(key: Array, logits: Array) -> Array:
        if logits.ndim != 2:
            raise ValueError(
                "random.categorical: `logits` must be 2D, (batch, classes), and their shape is "
                f"{logits.shape}."
            )
        samples = jax.random.categorical(
            key, logits[:, None, :], axis=-1, shape=(logits.shape[0], num_samples)
        )
        return samples.astype(jax.dtypes.canonicalize_dtype(dtype))

    return _sample(sample, seed, logits)


def dropout(
    inputs: TensorLike,
    rate: float,
    noise_shape: Sequence[int | None] | None = None,
    seed: SeedLike = None,
) -> Tensor:
    """Set a random fraction of the elements to zero, and scale the others to keep the mean.

    Args:
        inputs: Input tensor.
        rate: Fraction to drop, between 0 and 1.
        noise_shape: Shape of the mask, broadcast against `inputs`; `None` entries mean the size of
            `inputs`.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Example:
        >>> x = podium.random.dropout(np.ones(100, "float32"), 0.5, seed=0)
        >>> sorted(set(x.numpy().tolist()))
        [0.0, 2.0]
    """
    if not 0 <= rate <= 1:
        raise ValueError(
            f"random.dropout: rate={rate!r} was given, and a number between 0 and 1 was expected."
        )
    if rate == 0:
        unchanged: Tensor = dispatch(_convert_argument, inputs)
        return unchanged
    if rate == 1:
        zeros: Tensor = dispatch(lambda x: jnp.zeros_like(_convert_argument(x)), inputs)
        return zeros

    def sample(key: Array, x: Array) -> Array:
        shape = x.shape
        if noise_shape is not None:
            shape = tuple(
                x.shape[i] if size is None else size for i, size in enumerate(noise_shape)
            )
        keep = draw_flat(lambda flat: jax.random.bernoulli(key, 1.0 - rate, flat), shape)
        return jnp.where(keep, x / (1.0 - rate), 0).astype(x.dtype)

    return _sample(sample, seed, inputs)


def shuffle(x: TensorLike, axis: int = 0, seed: SeedLike = None) -> Tensor:
    """Shuffle elements along an axis.

    Args:
        x: Input tensor.
        axis: Axis to shuffle.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Example:
        >>> sorted(podium.random.shuffle([1, 2, 3], seed=0).numpy().tolist())
        [1, 2, 3]
    """
    return _sample(lambda key, x: jax.random.permutation(key, x, axis, independent=True), seed, x)


def gamma(
    shape: Sequence[int],
    alpha: TensorLike,
    dtype: DTypeLike | None = None,
    seed: SeedLike = None,
) -> Tensor:
    """Sample a gamma distribution with scale 1.

    Args:
        shape: Shape of the result.
        alpha: Shape parameter, broadcast to `shape`.
        dtype: Float dtype. `None` means the default float dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Example:
        >>> bool(podium.random.gamma((100,), 2.0, seed=0).numpy().min() > 0)
        True
    """
    dtype = _float_dtype(dtype)
    return _sample(lambda key, a: jax.random.gamma(key, a, shape, dtype), seed, alpha)


def beta(
    shape: Sequence[int],
    alpha: TensorLike,
    beta: TensorLike,
    dtype: DTypeLike | None = None,
    seed: SeedLike = None,
) -> Tensor:
    """Sample a beta distribution.

    Args:
        shape: Shape of the result.
        alpha: First parameter, broadcast to `shape`.
        beta: Second parameter, broadcast to `shape`.
        dtype: Float dtype. `None` means the default float dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Example:
        >>> bool(podium.random.beta((100,), 2.0, 2.0, seed=0).numpy().max() < 1)
        True
    """
    dtype = _float_dtype(dtype)
    return _sample(lambda key, a, b: jax.random.beta(key, a, b, shape, dtype), seed, alpha, beta)


def binomial(
    shape: Sequence[int],
    counts: TensorLike,
    probabilities: TensorLike,
    dtype: DTypeLike | None = None,
    seed: SeedLike = None,
) -> Tensor:
    """Sample a binomial distribution.

    Args:
        shape: Shape of the result.
        counts: Number of trials, broadcast to `shape`.
        probabilities: Probability of the event, broadcast to `shape`.
        dtype: Float dtype. `None` means the default float dtype.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.

    Example:
        >>> bool(podium.random.binomial((100,), 5, 0.5, seed=0).numpy().max() <= 5)
        True
    """
    dtype = _float_dtype(dtype)

    def sample(key: Array, n: Array, p: Array) -> Array:
        return jax.random.binomial(key, n.astype(dtype), p.astype(dtype), shape, dtype)

    return _sample(sample, seed, counts, probabilities)
