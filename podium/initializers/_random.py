"""Initializers that sample a distribution, and their base class, which owns the seed."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from podium import random
from podium._typing import Config, DTypeLike, ShapeLike
from podium.core import SeedGenerator, Tensor
from podium.core.internal import make_default_seed
from podium.initializers._initializer import Initializer, check_shape

SeedOrConfig: TypeAlias = int | SeedGenerator | Config | None


class RandomInitializer(Initializer):
    """Base class of random initializers, which owns the seed.

    Without a seed, one is drawn when the object is created (`podium.utils.set_random_seed` makes it
    reproducible). So an object returns the same values at every call, and two objects return
    different ones; only a SeedGenerator draws new values at every call.

    Args:
        seed: None, an int, a SeedGenerator or the config of one.
    """

    def __init__(self, seed: SeedOrConfig = None):
        if isinstance(seed, dict):
            seed = SeedGenerator.from_config(seed["config"])
        if isinstance(seed, bool) or not isinstance(
            seed, (int, np.integer, SeedGenerator, type(None))
        ):
            raise TypeError(
                f"seed={seed!r} was given; None, an int or a SeedGenerator was expected."
            )
        self._seed_argument = int(seed) if isinstance(seed, np.integer) else seed
        self.seed = make_default_seed() if seed is None else self._seed_argument

    def get_config(self) -> Config:
        """Return the arguments of the constructor; without a `seed` argument it stays None."""
        if not isinstance(self._seed_argument, SeedGenerator):
            return {"seed": self._seed_argument}
        config = self._seed_argument.get_config()
        generator = {
            "module": "keras.random",
            "class_name": "SeedGenerator",
            "config": config,
            "registered_name": None,
        }
        return {"seed": generator}


class RandomNormal(RandomInitializer):
    """Samples of a normal distribution.

    Args:
        mean: Mean of the distribution.
        stddev: Standard deviation of the distribution.
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.

    Example:
        >>> values = podium.initializers.RandomNormal(mean=1.0, stddev=0.1, seed=0)((1000,)).numpy()
        >>> bool(abs(values.mean() - 1.0) < 0.01), bool(abs(values.std() - 0.1) < 0.01)
        (True, True)
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: SeedOrConfig = None):
        self.mean = mean
        self.stddev = stddev
        super().__init__(seed)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return a random Tensor of the given shape."""
        return random.normal(check_shape(shape), self.mean, self.stddev, dtype, self.seed)

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "mean": self.mean, "stddev": self.stddev}


class TruncatedNormal(RandomInitializer):
    """Samples of a normal distribution, truncated at two standard deviations from the mean.

    Args:
        mean: Mean of the distribution.
        stddev: Standard deviation before truncation.
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.

    Example:
        >>> values = podium.initializers.TruncatedNormal(stddev=1.0, seed=0)((1000,)).numpy()
        >>> bool(abs(values).max() <= 2.0)
        True
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: SeedOrConfig = None):
        self.mean = mean
        self.stddev = stddev
        super().__init__(seed)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return a random Tensor of the given shape."""
        return random.truncated_normal(check_shape(shape), self.mean, self.stddev, dtype, self.seed)

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "mean": self.mean, "stddev": self.stddev}


class RandomUniform(RandomInitializer):
    """Samples of a uniform distribution.

    Args:
        minval: Lower bound, included.
        maxval: Upper bound, excluded.
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.

    Example:
        >>> initializer = podium.initializers.RandomUniform(-1.0, 1.0, seed=0)
        >>> bool(abs(initializer((1000,)).numpy()).max() <= 1.0)
        True
        >>> bool((initializer((3,)).numpy() == initializer((3,)).numpy()).all())
        True
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: SeedOrConfig = None):
        self.minval = minval
        self.maxval = maxval
        super().__init__(seed)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return a random Tensor of the given shape."""
        return random.uniform(check_shape(shape), self.minval, self.maxval, dtype, self.seed)

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "minval": self.minval, "maxval": self.maxval}
