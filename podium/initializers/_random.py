"""Initializers that draw every number from one distribution, and the rule for seeds that all random
ones share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium import random
from podium.core import SeedGenerator, Tensor
from podium.core.internal import make_default_seed
from podium.initializers._initializer import Initializer, checked_shape


class RandomInitializer(Initializer):
    """The base of initializers that draw. It owns the seed.

    Without a seed, one is drawn when the object is made (`podium.utils.set_random_seed` fixes
    which). So one object gives the same numbers at every call, and two objects give different ones;
    only a SeedGenerator gives new numbers at every call.

    Args:
        seed: None, a whole number, a SeedGenerator or the config of one.
    """

    def __init__(self, seed: Any = None):
        if isinstance(seed, dict):
            seed = SeedGenerator.from_config(seed["config"])
        if isinstance(seed, bool) or not isinstance(
            seed, (int, np.integer, SeedGenerator, type(None))
        ):
            raise TypeError(
                f"seed={seed!r} was given; None, a whole number or a SeedGenerator was expected."
            )
        self._given_seed = int(seed) if isinstance(seed, np.integer) else seed
        self.seed = make_default_seed() if seed is None else self._given_seed

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this initializer again; a seed that was not given stays
        None.
        """
        if not isinstance(self._given_seed, SeedGenerator):
            return {"seed": self._given_seed}
        config = self._given_seed.get_config()
        generator = {
            "module": "keras.random",
            "class_name": "SeedGenerator",
            "config": config,
            "registered_name": None,
        }
        return {"seed": generator}


class RandomNormal(RandomInitializer):
    """Draws from a normal distribution.

    Args:
        mean: The mean of the draws.
        stddev: Their standard deviation.
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.

    Example:
        >>> values = podium.initializers.RandomNormal(mean=1.0, stddev=0.1, seed=0)((1000,)).numpy()
        >>> bool(abs(values.mean() - 1.0) < 0.01), bool(abs(values.std() - 0.1) < 0.01)
        (True, True)
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Any = None):
        self.mean = mean
        self.stddev = stddev
        super().__init__(seed)

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Draw a Tensor of the shape."""
        return random.normal(checked_shape(shape), self.mean, self.stddev, dtype, self.seed)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this initializer again."""
        return {**super().get_config(), "mean": self.mean, "stddev": self.stddev}


class TruncatedNormal(RandomInitializer):
    """Draws from a normal distribution, without anything further than two deviations from the mean.

    Args:
        mean: The mean of the draws.
        stddev: The standard deviation before the cut.
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.

    Example:
        >>> values = podium.initializers.TruncatedNormal(stddev=1.0, seed=0)((1000,)).numpy()
        >>> bool(abs(values).max() <= 2.0)
        True
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Any = None):
        self.mean = mean
        self.stddev = stddev
        super().__init__(seed)

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Draw a Tensor of the shape."""
        return random.truncated_normal(
            checked_shape(shape), self.mean, self.stddev, dtype, self.seed
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this initializer again."""
        return {**super().get_config(), "mean": self.mean, "stddev": self.stddev}


class RandomUniform(RandomInitializer):
    """Draws evenly from an interval.

    Args:
        minval: The lower end, included.
        maxval: The upper end, not included.
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.

    Example:
        >>> initializer = podium.initializers.RandomUniform(-1.0, 1.0, seed=0)
        >>> bool(abs(initializer((1000,)).numpy()).max() <= 1.0)
        True
        >>> bool((initializer((3,)).numpy() == initializer((3,)).numpy()).all())
        True
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: Any = None):
        self.minval = minval
        self.maxval = maxval
        super().__init__(seed)

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Draw a Tensor of the shape."""
        return random.uniform(checked_shape(shape), self.minval, self.maxval, dtype, self.seed)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this initializer again."""
        return {**super().get_config(), "minval": self.minval, "maxval": self.maxval}
