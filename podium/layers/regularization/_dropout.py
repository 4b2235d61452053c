"""Dropout and noise layers: they change their inputs at random in training only.

The base class owns the seed generator. Each layer adds a pure function of `(key, inputs)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import Config, SymbolicShape
from podium.core import SeedGenerator, Tensor, check_choice, dispatch, draw_flat, draw_seed
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer
from podium.layers._layer_arguments import check_rate


class _RandomLayer(Layer):
    """Calls `_perturb` with a random key in training; returns the inputs otherwise.

    No seed generator is created for an amount of zero.
    """

    _needs_no_build = True

    def __init__(self, amount: float, seed: int | None, **kwargs: Any):
        super().__init__(**kwargs)
        self.seed = seed
        self.seed_generator = SeedGenerator(seed) if amount > 0 else None
        self.supports_masking = True

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """Apply the noise in training; otherwise return the inputs."""
        if not training or self.seed_generator is None:
            return inputs
        outputs: Tensor = dispatch(self._perturb, draw_seed(self.seed_generator), inputs)
        return outputs

    def _perturb(self, key: jax.Array, x: jax.Array) -> jax.Array:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape


class Dropout(_RandomLayer):
    """Applies dropout to the inputs: sets a random fraction of them to zero in training.

    The other inputs are scaled by `1 / (1 - rate)`, so that the expected sum is unchanged.

    Args:
        rate: The fraction of the inputs to drop, between 0 and 1.
        noise_shape: The shape of the dropout mask, with 1 for axes along which it is shared and
            None for the size of the inputs, such as (None, 1, 8).
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.Dropout(0.5, seed=1)
        >>> x = np.ones((1, 100), "float32")
        >>> sorted(set(layer(x, training=True).numpy()[0].tolist()))
        [0.0, 2.0]
        >>> bool((layer(x).numpy() == 1).all())
        True
    """

    def __init__(
        self,
        rate: float,
        noise_shape: Sequence[int | None] | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(check_rate(self, "rate", rate), seed, **kwargs)
        self.rate = rate
        self.noise_shape = _check_noise_shape(self, noise_shape)

    def _perturb(self, key: jax.Array, x: jax.Array) -> jax.Array:
        return drop(key, x, self.rate, self._mask_shape(x))

    def _mask_shape(self, x: jax.Array) -> tuple[Any, ...]:
        if self.noise_shape is None:
            return x.shape
        if len(self.noise_shape) != x.ndim:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) has noise_shape={self.noise_shape} "
                f"and was given inputs of shape {tuple(x.shape)}. Pass a `noise_shape` of {x.ndim} "
                "entries, with None for the size of the inputs."
            )
        return tuple(
            input_size if size is None else size
            for input_size, size in zip(x.shape, self.noise_shape, strict=True)
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "rate": self.rate,
            "seed": self.seed,
            "noise_shape": self.noise_shape,
        }


def drop(
    key: jax.Array, x: jax.Array, rate: float, noise_shape: Sequence[int] | None = None
) -> jax.Array:
    """Set a fraction `rate` of an array to zero and scale the others: a pure function of `key`."""
    if rate >= 1:
        return jnp.zeros_like(x)
    keep = draw_flat(
        lambda flat: jax.random.bernoulli(key, 1.0 - rate, flat),
        x.shape if noise_shape is None else noise_shape,
    )
    return jnp.where(keep, x / (1.0 - rate), jnp.zeros((), x.dtype))


def _check_noise_shape(
    layer: Layer, noise_shape: Sequence[int | None] | None
) -> tuple[int | None, ...] | None:
    if noise_shape is None:
        return None
    entries = tuple(noise_shape) if isinstance(noise_shape, (list, tuple)) else ("",)
    if any(
        n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1) for n in entries
    ):
        raise ValueError(
            f"{type(layer).__name__} was given noise_shape={noise_shape!r}; a tuple of positive "
            "ints and None was expected, such as (None, 1, 8)."
        )
    return entries


class AlphaDropout(Dropout):
    """Alpha dropout, for self-normalizing networks (`selu`): keeps mean and variance of the inputs.

    Args:
        rate: The fraction of the inputs to drop, between 0 and 1.
        noise_shape: The shape of the dropout mask, with 1 for axes along which it is shared and
            None for the size of the inputs.
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.AlphaDropout(0.2, seed=1)
        >>> x = np.random.RandomState(0).normal(size=(1, 10000)).astype("float32")
        >>> bool(abs(layer(x, training=True).numpy().std() - 1) < 0.05)
        True
    """

    def _perturb(self, key: jax.Array, x: jax.Array) -> jax.Array:
        if self.rate >= 1:
            return jnp.zeros_like(x)
        minimum = -1.6732632423543772 * 1.0507009873554805  # the limit of selu for low inputs
        scale = ((1 - self.rate) * (1 + self.rate * minimum**2)) ** -0.5
        keep = (
            draw_flat(lambda flat: jax.random.uniform(key, flat), self._mask_shape(x)) >= self.rate
        )
        result: jax.Array = scale * jnp.where(keep, x, jnp.asarray(minimum, x.dtype)) - (
            scale * minimum * self.rate
        )
        return result


class GaussianDropout(_RandomLayer):
    """Multiplies the inputs by one-centered Gaussian noise in training.

    Args:
        rate: As in Dropout; the standard deviation of the noise is `sqrt(rate / (1 - rate))`.
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.GaussianDropout(0.5, seed=1)
        >>> outputs = layer(np.ones((1, 10000), "float32"), training=True)
        >>> bool(abs(outputs.numpy().mean() - 1) < 0.05)
        True
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any):
        super().__init__(check_rate(self, "rate", rate), seed, **kwargs)
        if rate == 1:
            raise ValueError(
                "GaussianDropout was given rate=1, for which the noise is unbounded; a rate below "
                "1 was expected."
            )
        self.rate = rate

    def _perturb(self, key: jax.Array, x: jax.Array) -> jax.Array:
        stddev = math.sqrt(self.rate / (1.0 - self.rate))
        return x * (
            1 + stddev * draw_flat(lambda flat: jax.random.normal(key, flat, x.dtype), x.shape)
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"rate": self.rate, "seed": self.seed}


class GaussianNoise(_RandomLayer):
    """Adds zero-centered Gaussian noise to the inputs in training.

    Args:
        stddev: The standard deviation of the noise, between 0 and 1.
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.GaussianNoise(0.1, seed=1)
        >>> outputs = layer(np.zeros((1, 10000), "float32"), training=True)
        >>> bool(abs(outputs.numpy().std() - 0.1) < 0.01)
        True
    """

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any):
        super().__init__(check_rate(self, "stddev", stddev), seed, **kwargs)
        self.stddev = stddev

    def _perturb(self, key: jax.Array, x: jax.Array) -> jax.Array:
        return x + self.stddev * draw_flat(
            lambda flat: jax.random.normal(key, flat, x.dtype), x.shape
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"stddev": self.stddev, "seed": self.seed}


class _SpatialDropout(Dropout):
    """Drops entire feature maps: one random decision per sample and channel."""

    _rank = 1

    def __init__(
        self, rate: float, data_format: str | None = None, seed: int | None = None, **kwargs: Any
    ):
        super().__init__(rate, seed=seed, **kwargs)
        self.data_format = check_choice(
            "data_format", data_format or "channels_last", ["channels_last", "channels_first"]
        )
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _mask_shape(self, x: jax.Array) -> tuple[Any, ...]:
        ones = (1,) * self._rank
        return (
            (*x.shape[:2], *ones)
            if self.data_format == "channels_first"
            else (x.shape[0], *ones, x.shape[-1])
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        config = super().get_config() | {"data_format": self.data_format}
        return {
            key: value for key, value in config.items() if key not in ("noise_shape", "trainable")
        }


class SpatialDropout1D(_SpatialDropout):
    """Spatial 1D dropout: drops entire feature maps of inputs `(batch, time, features)`.

    Args:
        rate: The fraction of the inputs to drop, between 0 and 1.
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.SpatialDropout1D(0.5, seed=1)
        >>> y = layer(np.ones((1, 3, 8), "float32"), training=True).numpy()
        >>> bool((y[:, 0] == y[:, 2]).all())
        True
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any):
        super().__init__(rate, seed=seed, **kwargs)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        config = super().get_config()
        del config["data_format"]
        return config


class SpatialDropout2D(_SpatialDropout):
    """Spatial 2D dropout: drops entire channels of `(batch, height, width, channels)`.

    Args:
        rate: The fraction of the inputs to drop, between 0 and 1.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.SpatialDropout2D(0.5, seed=1)
        >>> y = layer(np.ones((1, 2, 2, 8), "float32"), training=True).numpy()
        >>> bool((y[:, 0, 0] == y[:, 1, 1]).all())
        True
    """

    _rank = 2


class SpatialDropout3D(_SpatialDropout):
    """Spatial 3D dropout: drops entire channels of `(batch, depth, height, width, channels)`.

    Args:
        rate: The fraction of the inputs to drop, between 0 and 1.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.SpatialDropout3D(0.5)
        >>> layer(np.ones((1, 2, 2, 2, 8), "float32"), training=True).shape
        (1, 2, 2, 2, 8)
    """

    _rank = 3
