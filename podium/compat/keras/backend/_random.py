"""Random values of `keras.backend`, and the switch between TensorFlow's two generators."""

from __future__ import annotations

from collections.abc import Sequence

from podium import ops, random
from podium._typing import DTypeLike, TensorLike
from podium.core import Tensor, Variable, floatx, warn_user


def random_normal_variable(
    shape: Sequence[int],
    mean: float,
    scale: float,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """Create a Variable with samples of a normal distribution.

    Args:
        shape: The shape.
        mean: The mean.
        scale: The standard deviation.
        dtype: The dtype; by default the default float dtype.
        name: The name of the Variable.
        seed: The seed of the samples.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.random_normal_variable((2, 3), 0.0, 1.0).shape
        (2, 3)
    """
    return Variable(random.normal(tuple(shape), mean, scale, dtype, seed), name=name)


def random_uniform_variable(
    shape: Sequence[int],
    low: float,
    high: float,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """Create a Variable with samples from an interval.

    Args:
        shape: The shape.
        low: The lower bound.
        high: The upper bound.
        dtype: The dtype; by default the default float dtype.
        name: The name of the Variable.
        seed: The seed of the samples.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.random_uniform_variable((2, 3), 0.0, 1.0).shape
        (2, 3)
    """
    return Variable(random.uniform(tuple(shape), low, high, dtype, seed), name=name)


def truncated_normal(
    shape: Sequence[int],
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """Sample a normal distribution without what is over two standard deviations from the mean.

    Example:
        >>> from podium.compat import keras
        >>> bool(abs(keras.backend.truncated_normal((100,)).numpy()).max() <= 2.0)
        True
    """
    return random.truncated_normal(tuple(shape), mean, stddev, dtype, seed)


def random_bernoulli(
    shape: Sequence[int],
    p: float = 0.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """Return ones with the probability `p`, and zeros.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.random_bernoulli((3,), p=1.0).numpy()
        array([1., 1., 1.], dtype=float32)
    """
    dtype = dtype or floatx()
    return ops.cast(ops.less_equal(random.uniform(tuple(shape), seed=seed), p), dtype)


def random_binomial(
    shape: Sequence[int],
    p: float = 0.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """Return ones with the probability `p`, and zeros: the old name of `random_bernoulli`.

    Example:
        >>> import warnings
        >>> from podium.compat import keras
        >>> with warnings.catch_warnings(action="ignore"):
        ...     keras.backend.random_binomial((2,), p=1.0).numpy()
        array([1., 1.], dtype=float32)
    """
    warn_user("keras.backend.random_binomial is deprecated: use random_bernoulli, its new name.")
    return random_bernoulli(shape, p, dtype, seed)


def dropout(
    x: TensorLike,
    level: float,
    noise_shape: Sequence[int | None] | None = None,
    seed: int | None = None,
) -> Tensor:
    """Set a random fraction of the elements to zero, and scale the others to keep the mean.

    Args:
        x: A value.
        level: The fraction to drop.
        noise_shape: The shape of what is drawn, broadcast against x.
        seed: The seed.

    Example:
        >>> from podium.compat import keras
        >>> dropped = keras.backend.dropout(np.ones(100, "float32"), level=0.5, seed=0)
        >>> sorted(set(dropped.numpy().tolist()))
        [0.0, 2.0]
    """
    return random.dropout(x, level, noise_shape, seed)


def is_tf_random_generator_enabled() -> bool:
    """Return True: layers draw from seed generators, whose state is saved with checkpoints.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.experimental.is_tf_random_generator_enabled()
        True
    """
    return True


def enable_tf_random_generator() -> None:
    """Do nothing: layers draw from seed generators in any case.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.experimental.enable_tf_random_generator()
    """


def disable_tf_random_generator() -> None:
    """Warn that there is no older generator to change to.

    Example:
        >>> import warnings
        >>> from podium.compat import keras
        >>> with warnings.catch_warnings(action="ignore"):
        ...     keras.backend.experimental.disable_tf_random_generator()
    """
    warn_user(
        "disable_tf_random_generator has no effect: layers draw from seed generators. Remove it."
    )
