"""`tf.random`: draws in TensorFlow's way, where a `seed` starts a sequence and each call goes on
with it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium import random
from podium.compat.tensorflow._dtypes import number_type
from podium.compat.tensorflow._sizes import sizes
from podium.core import SeedGenerator, dispatch, draw_seed, set_random_seed

_sequences: dict[tuple[str, int], SeedGenerator] = {}


def _sequence(kind: str, seed: Any) -> Any:
    """The generator of one kind of draw and one seed; None for the global one."""
    if seed is None or isinstance(seed, SeedGenerator):
        return seed
    key = (kind, int(seed))
    if key not in _sequences:
        _sequences[key] = SeedGenerator(int(seed))
    return _sequences[key]


def set_seed(seed: int) -> None:
    """Fix the seeds of Python, NumPy and Podium, and start the sequences of draws with seeds of
    their own anew.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.set_seed(1)
        >>> a = float(tf.random.normal(()))
        >>> tf.random.set_seed(1)
        >>> a == float(tf.random.normal(()))
        True
    """
    set_random_seed(seed)
    for generator in (
        _sequences.values()
    ):  # compiled functions know these Variables, so they stay and start again
        generator.state.assign(jnp.asarray([generator.initial_seed % 2**32, 0], "uint32"))


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw from a normal distribution.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.normal(shape=(tf.shape(tf.zeros((4, 2)))[0], 3)).shape
        (4, 3)
    """
    return random.normal(sizes(shape), mean, stddev, number_type(dtype), _sequence("normal", seed))


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw from a normal distribution cut off at two standard deviations.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.truncated_normal([2, 3]).shape
        (2, 3)
    """
    return random.truncated_normal(
        sizes(shape), mean, stddev, number_type(dtype), _sequence("truncated", seed)
    )


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw evenly from `minval` to `maxval` (left out): floats from 0 to 1, or whole numbers of an
    integer dtype.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> dice = tf.random.uniform((100,), 1, 7, dtype=tf.int32).numpy()
        >>> int(dice.min()), int(dice.max())
        (1, 6)
    """
    kind, generator = number_type(dtype), _sequence("uniform", seed)
    if "int" in kind:
        if maxval is None:
            raise ValueError(
                "tf.random.uniform was given an integer dtype and no maxval; give both minval "
                "and maxval."
            )
        return random.randint(sizes(shape), minval, maxval, kind, generator)
    return random.uniform(sizes(shape), minval, 1.0 if maxval is None else maxval, kind, generator)


def gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw from a gamma distribution: `shape` draws for each parameter.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.gamma([5], [0.5, 2.0]).shape
        (5, 2)
    """
    kind, key = number_type(dtype), draw_seed(_sequence("gamma", seed))

    def draw(alpha: Any, beta: Any) -> Any:
        alpha, beta = jnp.broadcast_arrays(
            jnp.asarray(alpha, kind), jnp.asarray(1.0 if beta is None else beta, kind)
        )
        return jax.random.gamma(key, alpha, sizes(shape) + alpha.shape, kind) / beta

    return dispatch(draw, alpha, beta)


def poisson(
    shape: Any, lam: Any, dtype: Any = "float32", seed: int | None = None, name: str | None = None
) -> Any:
    """Draw from a Poisson distribution: `shape` draws for each rate.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.poisson([5], [0.5, 2.0]).shape
        (5, 2)
    """
    key = draw_seed(_sequence("poisson", seed))

    def draw(lam: Any) -> Any:
        lam = jnp.asarray(lam, "float32")
        return jax.random.poisson(key, lam, sizes(shape) + lam.shape).astype(number_type(dtype))

    return dispatch(draw, lam)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw class numbers with probabilities given as logits, `num_samples` for each row.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.random.categorical([[0.0, 100.0]], 3).numpy()
        array([[1, 1, 1]], dtype=int32)
    """
    kind = "int32" if dtype is None else number_type(dtype)
    return random.categorical(logits, int(num_samples), kind, _sequence("categorical", seed))


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Put slices along the first axis in random order.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> sorted(tf.random.shuffle([1, 2, 3]).numpy().tolist())
        [1, 2, 3]
    """
    key = draw_seed(_sequence("shuffle", seed))
    return dispatch(lambda x: jax.random.permutation(key, jnp.asarray(x)), value)


def _stateless(seed: Any) -> Any:
    """A key from TensorFlow's pair of numbers, which may be values of a running program."""
    return dispatch(lambda seed: jnp.asarray(seed).astype("uint32"), seed)._value


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = None,
) -> Any:
    """Draw from a normal distribution; the same pair of seeds gives the same numbers.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> bool(tf.reduce_all(tf.random.stateless_normal([3], (1, 2)) == tf.random.stateless_normal([3], (1, 2))))
        True
    """
    key, lengths = jax.random.wrap_key_data(_stateless(seed), impl="threefry2x32"), sizes(shape)
    return dispatch(
        lambda mean, stddev: jax.random.normal(key, lengths, number_type(dtype)) * stddev + mean,
        mean,
        stddev,
    )


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = None,
) -> Any:
    """Draw evenly between bounds; the same pair of seeds gives the same numbers.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> bool(tf.reduce_all(tf.random.stateless_uniform([3], (1, 2)) == tf.random.stateless_uniform([3], (1, 2))))
        True
    """
    key, lengths = jax.random.wrap_key_data(_stateless(seed), impl="threefry2x32"), sizes(shape)
    kind = jax.dtypes.canonicalize_dtype(number_type(dtype))
    draw = jax.random.randint if kind.kind in "iu" else jax.random.uniform
    high = 1.0 if maxval is None else maxval

    def run(low: Any, high: Any) -> Any:
        arguments = (low, high, kind) if draw is jax.random.randint else (kind, low, high)
        return draw(key, lengths, *arguments)

    return dispatch(run, minval, high)


class Generator:
    """A stream of random numbers with its own state.

    Args:
        seed: A whole number.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> generator = tf.random.Generator.from_seed(1)
        >>> generator.normal((2, 3)).shape, generator.uniform([4]).shape
        ((2, 3), (4,))
    """

    def __init__(self, seed: int | None = None):
        self._seeds = SeedGenerator(seed)

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        """Make a generator with a seed."""
        return cls(seed)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Make a generator whose seed nobody chose."""
        return cls()

    @property
    def state(self) -> Any:
        """The Variable that holds its place."""
        return self._seeds.state

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Draw from a normal distribution."""
        return normal(shape, mean, stddev, dtype, self._seeds)  # type: ignore[arg-type]

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Draw from a normal distribution cut off at two standard deviations."""
        return truncated_normal(shape, mean, stddev, dtype, self._seeds)  # type: ignore[arg-type]

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Draw evenly between bounds."""
        return uniform(shape, minval, maxval, dtype, self._seeds)  # type: ignore[arg-type]

    def make_seeds(self, count: int = 1) -> Any:
        """Return pairs of seeds for the stateless functions, as a tensor `(2, count)`."""
        return uniform((2, count), 0, 2**31 - 1, "int32", self._seeds)  # type: ignore[arg-type]
