"""measure_all_reduce: what it takes to sum the gradients of the replicas, apart from a step.

In a step the collectives are part of one XLA program, whose time cannot be divided. So they are
measured alone: the same arrays are passed through two programs, one of which sums them over the
replicas; the difference of the medians is the time of the collectives.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from podium._typing import Shape
from podium.distribute._layout import Layout
from podium.telemetry.internal import clock

_WARMUP = 3


def measure_all_reduce(
    layout: Layout, specs: Sequence[tuple[Shape, np.dtype[Any]]], repeats: int = 30
) -> float:
    """Return the seconds that it takes to sum arrays over the replicas. All workers must call it.

    Args:
        layout: How the strategy places values.
        specs: The shape and dtype of each array, of which every replica has its own.
        repeats: How many times it is measured; the median counts.

    Example:
        >>> from podium.distribute.internal import measure_all_reduce
        >>> strategy = podium.distribute.MirroredStrategy(2)
        >>> measure_all_reduce(strategy.layout, [((1000,), np.dtype("float32"))]) > 0
        True
    """
    spec = PartitionSpec(layout.batch_axes)
    sharding = NamedSharding(layout.mesh, spec)

    def make_arrays() -> list[jax.Array]:
        return [jnp.ones((layout.parts, *shape), dtype) for shape, dtype in specs]

    def total(arrays: list[jax.Array]) -> list[jax.Array]:
        return [jnp.sum(array)[None] for array in arrays]

    def with_collectives(arrays: list[jax.Array]) -> list[jax.Array]:
        return total([jax.lax.psum(array, layout.batch_axes) for array in arrays])

    arrays = jax.jit(make_arrays, out_shardings=sharding)()
    programs = {
        program.__name__: jax.jit(
            jax.shard_map(program, mesh=layout.mesh, in_specs=spec, out_specs=spec, check_vma=False)
        )
        for program in (total, with_collectives)
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeats + _WARMUP):
        for name, program in programs.items():
            start = clock.seconds()
            jax.block_until_ready(program(arrays))
            seconds[name].append(clock.seconds() - start)
    without, collectives = (statistics.median(each[_WARMUP:]) for each in seconds.values())
    # Where the collectives cost less than the noise, they took no longer than the whole program.
    return collectives - without if collectives > without else min(seconds["with_collectives"])
