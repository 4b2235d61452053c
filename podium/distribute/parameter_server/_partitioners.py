"""Partitioners: into how many shards a Variable is split among parameter servers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.core import standardize_dtype
from podium.core.internal import check_int


class Partitioner(Protocol):
    """A function from the shape and dtype of a Variable to the number of shards along each axis."""

    def __call__(self, shape: Sequence[int], dtype: DTypeLike, axis: int = 0) -> list[int]:
        """Return the number of shards along each axis; all are 1 except that of `axis`."""
        ...


class FixedShardsPartitioner:
    """Splits each Variable into a fixed number of shards, at most one for each row.

    Args:
        num_shards: The number of shards.

    Example:
        >>> podium.distribute.FixedShardsPartitioner(2)((10, 3), "float32")
        [2, 1]
    """

    def __init__(self, num_shards: int):
        self.num_shards = check_int("num_shards", num_shards)

    def __call__(self, shape: Sequence[int], dtype: DTypeLike, axis: int = 0) -> list[int]:
        """Return the number of shards along each axis."""
        return _along(axis, shape, self.num_shards)

    def __repr__(self) -> str:
        return f"FixedShardsPartitioner(num_shards={self.num_shards})"


class MinSizePartitioner:
    """Splits Variables into as many shards as possible that have a minimum size.

    Args:
        min_shard_bytes: The minimum size of a shard, 256 KiB by default.
        max_shards: The maximum number of shards.
        bytes_per_string: Accepted for TensorFlow's signature: there are no Variables of strings.

    Example:
        >>> partitioner = podium.distribute.MinSizePartitioner(min_shard_bytes=100, max_shards=8)
        >>> partitioner((10, 16), "float32")
        [6, 1]
    """

    def __init__(
        self, min_shard_bytes: int = 256 << 10, max_shards: int = 1, bytes_per_string: int = 16
    ):
        self.min_shard_bytes = check_int("min_shard_bytes", min_shard_bytes)
        self.max_shards = check_int("max_shards", max_shards)

    def __call__(self, shape: Sequence[int], dtype: DTypeLike, axis: int = 0) -> list[int]:
        """Return the number of shards along each axis."""
        count = max(1, _size_in_bytes(shape, dtype) // self.min_shard_bytes)
        return _along(axis, shape, min(count, self.max_shards))

    def __repr__(self) -> str:
        return (
            f"MinSizePartitioner(min_shard_bytes={self.min_shard_bytes}, "
            f"max_shards={self.max_shards})"
        )


class MaxSizePartitioner:
    """Splits Variables into as few shards as possible that have a maximum size.

    Args:
        max_shard_bytes: The maximum size of a shard.
        max_shards: The maximum number of shards, which may make them larger; None for no maximum.
        bytes_per_string: Accepted for TensorFlow's signature: there are no Variables of strings.

    Example:
        >>> podium.distribute.MaxSizePartitioner(max_shard_bytes=300)((10, 16), "float32")
        [3, 1]
    """

    def __init__(
        self, max_shard_bytes: int, max_shards: int | None = None, bytes_per_string: int = 16
    ):
        self.max_shard_bytes = check_int("max_shard_bytes", max_shard_bytes)
        self.max_shards = None if max_shards is None else check_int("max_shards", max_shards)

    def __call__(self, shape: Sequence[int], dtype: DTypeLike, axis: int = 0) -> list[int]:
        """Return the number of shards along each axis."""
        count = max(1, math.ceil(_size_in_bytes(shape, dtype) / self.max_shard_bytes))
        return _along(
            axis, shape, count if self.max_shards is None else min(count, self.max_shards)
        )

    def __repr__(self) -> str:
        return (
            f"MaxSizePartitioner(max_shard_bytes={self.max_shard_bytes}, "
            f"max_shards={self.max_shards})"
        )


def _size_in_bytes(shape: Sequence[int], dtype: DTypeLike) -> int:
    return math.prod(shape) * jnp.dtype(standardize_dtype(dtype)).itemsize


def _along(axis: int, shape: Sequence[int], count: int) -> list[int]:
    """Return the number of shards along each axis: `count` along `axis`, fewer if it is short."""
    return [max(1, min(count, size)) if i == axis else 1 for i, size in enumerate(shape)]
