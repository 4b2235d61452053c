"""Layers that disturb their inputs in training and pass them on otherwise: the Dropout family and
Gaussian noise.

They share one base that owns the seed. Each layer adds a pure function of `(key, inputs)`.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from podium.core import SeedGenerator, check_choice, dispatch, draw_flat, draw_seed
from podium.layers._argument_checks import fraction
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


class _Noise(Layer):
    """The base: draws a key in training and calls `_disturb`; nothing is drawn for an amount of
    zero.
    """

    def __init__(self, amount: float, seed: int | None, **kwargs: Any):
        super().__init__(**kwargs)
        self.seed = seed
        self.seed_generator = SeedGenerator(seed) if amount > 0 else None
        self.supports_masking = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Disturb the inputs in training; otherwise return them."""
        if not training or self.seed_generator is None:
            return inputs
        return dispatch(self._disturb, draw_seed(self.seed_generator), inputs)

    def _disturb(self, key: Any, x: Any) -> Any:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the inputs."""
        return input_shape


class Dropout(_Noise):
    """Sets a random part of the inputs to zero in training, and scales up the rest so that the sum
    stays.

    Args:
        rate: The share to drop, between 0 and 1.
        noise_shape: The shape of the random choice, 1 where it shall be shared, such as (None, 1,
            8); None for the input's own length.
        seed: A whole number for repeatable draws.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.Dropout(0.5, seed=1)
        >>> x = np.ones((1, 100), "float32")
        >>> sorted(set(layer(x, training=True).numpy()[0].tolist())), bool((layer(x).numpy() == 1).all())
        ([0.0, 2.0], True)
    """

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ):
        super().__init__(fraction(self, "rate", rate), seed, **kwargs)
        self.rate = rate
        self.noise_shape = _checked_noise_shape(self, noise_shape)

    def _disturb(self, key: Any, x: Any) -> Any:
        return drop(key, x, self.rate, self._noise_lengths(x))

    def _noise_lengths(self, x: Any) -> tuple:
        if self.noise_shape is None:
            return x.shape
        if len(self.noise_shape) != x.ndim:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) has noise_shape={self.noise_shape} "
                f"and was given inputs of shape {tuple(x.shape)}. Give `noise_shape` {x.ndim} "
                "entries, None for the input's own length."
            )
        return tuple(
            own if length is None else length
            for own, length in zip(x.shape, self.noise_shape, strict=True)
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {
            "rate": self.rate,
            "seed": self.seed,
            "noise_shape": self.noise_shape,
        }


def drop(key: Any, x: Any, rate: float, noise_shape: Any = None) -> Any:
    """Zero a share `rate` of an array and scale up the rest: a pure function of the key."""
    if rate >= 1:
        return jnp.zeros_like(x)
    keep = draw_flat(
        lambda flat: jax.random.bernoulli(key, 1.0 - rate, flat),
        x.shape if noise_shape is None else noise_shape,
    )
    return jnp.where(keep, x / (1.0 - rate), jnp.zeros((), x.dtype))


def _checked_noise_shape(layer: Any, noise_shape: Any) -> tuple | None:
    if noise_shape is None:
        return None
    entries = tuple(noise_shape) if isinstance(noise_shape, (list, tuple)) else ("",)
    if any(
        n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1) for n in entries
    ):
        raise ValueError(
            f"{type(layer).__name__} was given noise_shape={noise_shape!r}; a tuple of whole "
            "numbers above zero and None was expected, such as (None, 1, 8)."
        )
    return entries


class AlphaDropout(Dropout):
    """Dropout for self-normalizing networks (`selu`): keeps mean and variance of the inputs.

    Args:
        rate: The share to drop, between 0 and 1.
        noise_shape: The shape of the random choice, 1 where it shall be shared; None for the
            input's own length.
        seed: A whole number for repeatable draws.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.AlphaDropout(0.2, seed=1)
        >>> x = np.random.RandomState(0).normal(size=(1, 10000)).astype("float32")
        >>> bool(abs(layer(x, training=True).numpy().std() - 1) < 0.05)
        True
    """

    def _disturb(self, key: Any, x: Any) -> Any:
        if self.rate >= 1:
            return jnp.zeros_like(x)
        floor = -1.6732632423543772 * 1.0507009873554805  # what selu gives far below zero
        scale = ((1 - self.rate) * (1 + self.rate * floor**2)) ** -0.5
        keep = (
            draw_flat(lambda flat: jax.random.uniform(key, flat), self._noise_lengths(x))
            >= self.rate
        )
        return scale * jnp.where(keep, x, jnp.asarray(floor, x.dtype)) - scale * floor * self.rate


class GaussianDropout(_Noise):
    """Multiplies the inputs by random numbers around 1 in training.

    Args:
        rate: As in Dropout; the numbers spread by `sqrt(rate / (1 - rate))`.
        seed: A whole number for repeatable draws.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.GaussianDropout(0.5, seed=1)
        >>> bool(abs(layer(np.ones((1, 10000), "float32"), training=True).numpy().mean() - 1) < 0.05)
        True
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any):
        super().__init__(fraction(self, "rate", rate), seed, **kwargs)
        if rate == 1:
            raise ValueError(
                "GaussianDropout was given rate=1, which spreads without limit; a rate below 1 "
                "was expected."
            )
        self.rate = rate

    def _disturb(self, key: Any, x: Any) -> Any:
        spread = math.sqrt(self.rate / (1.0 - self.rate))
        return x * (
            1 + spread * draw_flat(lambda flat: jax.random.normal(key, flat, x.dtype), x.shape)
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"rate": self.rate, "seed": self.seed}


class GaussianNoise(_Noise):
    """Adds random numbers around 0 to the inputs in training.

    Args:
        stddev: Their standard deviation, between 0 and 1.
        seed: A whole number for repeatable draws.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.GaussianNoise(0.1, seed=1)
        >>> bool(abs(layer(np.zeros((1, 10000), "float32"), training=True).numpy().std() - 0.1) < 0.01)
        True
    """

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any):
        super().__init__(fraction(self, "stddev", stddev), seed, **kwargs)
        self.stddev = stddev

    def _disturb(self, key: Any, x: Any) -> Any:
        return x + self.stddev * draw_flat(
            lambda flat: jax.random.normal(key, flat, x.dtype), x.shape
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"stddev": self.stddev, "seed": self.seed}


class _SpatialDropout(Dropout):
    """Drops whole feature maps: one choice per sample and channel."""

    _rank = 1

    def __init__(
        self, rate: float, data_format: str | None = None, seed: int | None = None, **kwargs: Any
    ):
        super().__init__(rate, seed=seed, **kwargs)
        self.data_format = check_choice(
            "data_format", data_format or "channels_last", ["channels_last", "channels_first"]
        )
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _noise_lengths(self, x: Any) -> tuple:
        ones = (1,) * self._rank
        return (
            (*x.shape[:2], *ones)
            if self.data_format == "channels_first"
            else (x.shape[0], *ones, x.shape[-1])
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        config = super().get_config() | {"data_format": self.data_format}
        return {
            key: value for key, value in config.items() if key not in ("noise_shape", "trainable")
        }


class SpatialDropout1D(_SpatialDropout):
    """Drops whole features of sequences: inputs `(batch, time, features)`.

    Args:
        rate: The share to drop, between 0 and 1.
        seed: A whole number for repeatable draws.
        **kwargs: `name`, `dtype`.

    Example:
        >>> y = podium.layers.SpatialDropout1D(0.5, seed=1)(np.ones((1, 3, 8), "float32"), training=True).numpy()
        >>> bool((y[:, 0] == y[:, 2]).all())
        True
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any):
        super().__init__(rate, seed=seed, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        config = super().get_config()
        del config["data_format"]
        return config


class SpatialDropout2D(_SpatialDropout):
    """Drops whole channels of images: inputs `(batch, height, width, channels)`.

    Args:
        rate: The share to drop, between 0 and 1.
        data_format: "channels_last" (the default) or "channels_first".
        seed: A whole number for repeatable draws.
        **kwargs: `name`, `dtype`.

    Example:
        >>> y = podium.layers.SpatialDropout2D(0.5, seed=1)(np.ones((1, 2, 2, 8), "float32"), training=True).numpy()
        >>> bool((y[:, 0, 0] == y[:, 1, 1]).all())
        True
    """

    _rank = 2


class SpatialDropout3D(_SpatialDropout):
    """Drops whole channels of volumes: inputs `(batch, depth, height, width, channels)`.

    Args:
        rate: The share to drop, between 0 and 1.
        data_format: "channels_last" (the default) or "channels_first".
        seed: A whole number for repeatable draws.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.SpatialDropout3D(0.5)(np.ones((1, 2, 2, 2, 8), "float32"), training=True).shape
        (1, 2, 2, 2, 8)
    """

    _rank = 3
