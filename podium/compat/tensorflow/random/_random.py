"""Random values in `tf.random`.

As in TensorFlow, an int `seed` names a sequence: each call with it continues the sequence, and
`set_seed` restarts all sequences.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium import random
from podium._typing import DTypeLike, ShapeLike, TensorLike
from podium.compat.tensorflow._decorators import lift_with_promotion
from podium.compat.tensorflow._dtypes import canonical_dtype
from podium.compat.tensorflow._shapes import static_shape
from podium.core import SeedGenerator, Tensor, Variable, draw_seed, set_random_seed
from podium.core.internal import PublicRepr

_generators: dict[tuple[str, int], SeedGenerator] = {}


def seed_generator(operation: str, seed: int | SeedGenerator | None) -> SeedGenerator | None:
    """Return the generator of an operation and a seed; None for the global generator."""
    if seed is None or isinstance(seed, SeedGenerator):
        return seed
    key = (operation, int(seed))
    if key not in _generators:
        _generators[key] = SeedGenerator(int(seed))
    return _generators[key]


def set_seed(seed: int) -> None:
    """Set the seeds of Python, NumPy and Podium, and restart the sequences of operation seeds.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.set_seed(1)
        >>> a = float(tf.random.normal(()))
        >>> tf.random.set_seed(1)
        >>> a == float(tf.random.normal(()))
        True
    """
    set_random_seed(seed)
    # The Variables stay and are set: compiled functions hold them.
    for generator in _generators.values():
        generator.state.assign(jnp.asarray([generator.initial_seed % 2**32, 0], "uint32"))


def normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed: int | SeedGenerator | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample from a normal distribution.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.normal(shape=(tf.shape(tf.zeros((4, 2)))[0], 3)).shape
        (4, 3)
    """
    sample: Tensor = random.normal(
        static_shape(shape), mean, stddev, canonical_dtype(dtype), seed_generator("normal", seed)
    )
    return sample


def truncated_normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed: int | SeedGenerator | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample from a normal distribution truncated at two standard deviations.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.truncated_normal([2, 3]).shape
        (2, 3)
    """
    sample: Tensor = random.truncated_normal(
        static_shape(shape), mean, stddev, canonical_dtype(dtype), seed_generator("truncated", seed)
    )
    return sample


def uniform(
    shape: ShapeLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed: int | SeedGenerator | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample uniformly from `minval` to `maxval`, which is excluded.

    Samples are floats in [0, 1) by default, and ints for an integer dtype.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> dice = tf.random.uniform((100,), 1, 7, dtype=tf.int32).numpy()
        >>> int(dice.min()), int(dice.max())
        (1, 6)
    """
    sample_dtype, generator = canonical_dtype(dtype), seed_generator("uniform", seed)
    if "int" in sample_dtype:
        if maxval is None:
            raise ValueError(
                "tf.random.uniform was given an integer dtype and no maxval; pass both minval "
                "and maxval."
            )
        ints: Tensor = random.randint(static_shape(shape), minval, maxval, sample_dtype, generator)
        return ints
    sample: Tensor = random.uniform(
        static_shape(shape), minval, 1.0 if maxval is None else maxval, sample_dtype, generator
    )
    return sample


def gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed: int | SeedGenerator | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample from a gamma distribution: `shape` samples for each parameter.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.gamma([5], [0.5, 2.0]).shape
        (5, 2)
    """
    sample_dtype, key = canonical_dtype(dtype), draw_seed(seed_generator("gamma", seed))

    @lift_with_promotion
    def sample(alpha: TensorLike, beta: TensorLike | None) -> jax.Array:
        alpha, beta = jnp.broadcast_arrays(
            jnp.asarray(alpha, sample_dtype),
            jnp.asarray(1.0 if beta is None else beta, sample_dtype),
        )
        sizes = static_shape(shape) + alpha.shape
        return jax.random.gamma(key, alpha, sizes, sample_dtype) / beta

    return sample(alpha, beta)


def poisson(
    shape: ShapeLike,
    lam: TensorLike,
    dtype: DTypeLike = "float32",
    seed: int | SeedGenerator | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample from a Poisson distribution: `shape` samples for each rate.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.poisson([5], [0.5, 2.0]).shape
        (5, 2)
    """
    key = draw_seed(seed_generator("poisson", seed))

    @lift_with_promotion
    def sample(lam: TensorLike) -> jax.Array:
        lam = jnp.asarray(lam, "float32")
        samples = jax.random.poisson(key, lam, static_shape(shape) + lam.shape)
        return samples.astype(canonical_dtype(dtype))

    return sample(lam)


def categorical(
    logits: TensorLike,
    num_samples: int,
    dtype: DTypeLike | None = None,
    seed: int | SeedGenerator | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample class indices with probabilities given as logits, `num_samples` for each row.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.categorical([[0.0, 100.0]], 3).numpy()
        array([[1, 1, 1]], dtype=int32)
    """
    sample_dtype = "int32" if dtype is None else canonical_dtype(dtype)
    sample: Tensor = random.categorical(
        logits, int(num_samples), sample_dtype, seed_generator("categorical", seed)
    )
    return sample


def shuffle(
    value: TensorLike, seed: int | SeedGenerator | None = None, name: str | None = None
) -> Tensor:
    """Shuffle slices along the first axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> sorted(tf.random.shuffle([1, 2, 3]).numpy().tolist())
        [1, 2, 3]
    """
    key = draw_seed(seed_generator("shuffle", seed))

    @lift_with_promotion
    def permute(x: TensorLike) -> jax.Array:
        return jax.random.permutation(key, jnp.asarray(x))

    return permute(value)


def _stateless_key(seed: TensorLike) -> jax.Array:
    """Return the key for TensorFlow's pair of seeds, which may be traced values."""

    @lift_with_promotion
    def as_uint32(seed: TensorLike) -> jax.Array:
        return jnp.asarray(seed).astype("uint32")

    key: jax.Array = jax.random.wrap_key_data(as_uint32(seed)._value, impl="threefry2x32")
    return key


def stateless_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    alg: str | None = None,
) -> Tensor:
    """Sample from a normal distribution; the same pair of seeds produces the same values.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> first = tf.random.stateless_normal([3], seed=(1, 2))
        >>> second = tf.random.stateless_normal([3], seed=(1, 2))
        >>> bool(tf.reduce_all(first == second))
        True
    """
    key, sizes = _stateless_key(seed), static_shape(shape)

    @lift_with_promotion
    def sample(mean: TensorLike, stddev: TensorLike) -> jax.Array:
        values = jax.random.normal(key, sizes, canonical_dtype(dtype))
        return values * jnp.asarray(stddev) + jnp.asarray(mean)

    return sample(mean, stddev)


def stateless_uniform(
    shape: ShapeLike,
    seed: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    alg: str | None = None,
) -> Tensor:
    """Sample uniformly between bounds; the same pair of seeds produces the same values.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> first = tf.random.stateless_uniform([3], seed=(1, 2))
        >>> second = tf.random.stateless_uniform([3], seed=(1, 2))
        >>> bool(tf.reduce_all(first == second))
        True
    """
    key, sizes = _stateless_key(seed), static_shape(shape)
    sample_dtype = jnp.dtype(canonical_dtype(dtype))

    @lift_with_promotion
    def sample(low: TensorLike, high: TensorLike) -> jax.Array:
        low, high = jnp.asarray(low), jnp.asarray(high)
        values: jax.Array
        if sample_dtype.kind in "iu":
            values = jax.random.randint(key, sizes, low, high, sample_dtype)
        else:
            values = jax.random.uniform(key, sizes, sample_dtype, low, high)
        return values

    return sample(minval, 1.0 if maxval is None else maxval)


class Generator(PublicRepr):
    """A random number generator with its own state.

    Args:
        seed: An int; None for a random seed.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> generator = tf.random.Generator.from_seed(1)
        >>> generator.normal((2, 3)).shape, generator.uniform([4]).shape
        ((2, 3), (4,))
    """

    def __init__(self, seed: int | None = None) -> None:
        self._seeds = SeedGenerator(seed)

    @classmethod
    def from_seed(cls, seed: int, alg: str | None = None) -> Generator:
        """Create a generator with a seed."""
        return cls(seed)

    @classmethod
    def from_non_deterministic_state(cls, alg: str | None = None) -> Generator:
        """Create a generator with a random seed."""
        return cls()

    @property
    def state(self) -> Variable:
        """The Variable that holds the state of the generator."""
        return self._seeds.state

    def normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Sample from a normal distribution."""
        return normal(shape, mean, stddev, dtype, self._seeds)

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Sample from a normal distribution truncated at two standard deviations."""
        return truncated_normal(shape, mean, stddev, dtype, self._seeds)

    def uniform(
        self,
        shape: ShapeLike,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Sample uniformly between bounds."""
        return uniform(shape, minval, maxval, dtype, self._seeds)

    def make_seeds(self, count: int = 1) -> Tensor:
        """Return pairs of seeds for the stateless functions, as a tensor `(2, count)`."""
        return uniform((2, count), 0, 2**31 - 1, "int32", self._seeds)
