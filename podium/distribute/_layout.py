"""Layout: how the Variables and batches of a strategy are placed on its mesh of devices.

Core calls it: Variables made in a strategy's scope get their `Placement` here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from podium._typing import Array, Shape
from podium.core import Placement, Variable, warn_user
from podium.core.internal import place_value

Spec = tuple[str | None, ...]  # the mesh axis of each dimension

_warned: set[str] = set()


def make_mesh(devices: Sequence[jax.Device], shape: Sequence[int], names: Sequence[str]) -> Mesh:
    """Return devices as a mesh with automatic axes."""
    return Mesh(
        np.asarray(devices).reshape(tuple(shape)),
        tuple(names),
        axis_types=(AxisType.Auto,) * len(names),
    )


class Layout:
    """How values are placed on a mesh.

    Args:
        mesh: The devices.
        batch_axes: The mesh axes along which a batch is split.
        spec_of: A function of a Variable and its shape that returns the mesh axis of each
            dimension, or None for a Variable that is replicated.
        gathered: Whether steps gather split Variables before they compute with them.
    """

    def __init__(
        self,
        mesh: Mesh,
        batch_axes: tuple[str, ...],
        spec_of: Callable[[Variable, Shape], Spec | None] | None = None,
        gathered: bool = False,
    ):
        self.mesh = mesh
        self.batch_axes = batch_axes
        self.replicated = NamedSharding(mesh, PartitionSpec())
        self.parts = int(np.prod([mesh.shape[axis] for axis in batch_axes]))
        self.scope = ""  # the repr of the strategy, for messages
        self._spec_of = spec_of
        self._gathered = self.replicated if gathered else None

    def placement_of(self, variable: Variable, value: Array) -> Placement:
        """Return how a new Variable is placed."""
        spec = None if self._spec_of is None else self._spec_of(variable, tuple(value.shape))
        if spec is None or not any(spec):
            return Placement(self.replicated, self.replicated, scope=self.scope)
        return Placement(
            NamedSharding(self.mesh, PartitionSpec(*spec)),
            self.replicated,
            self._gathered,
            self.scope,
        )

    def first_value(self, value: Array) -> Array:
        """Return the initial value of a new Variable."""
        return value

    def sharding_for(self, shape: Shape, axis: int = 0) -> NamedSharding:
        """Return the sharding of an array: split evenly along the samples, or replicated."""
        if len(shape) <= axis or shape[axis] == 0 or shape[axis] % self.parts:
            return self.replicated
        return NamedSharding(self.mesh, PartitionSpec(*[None] * axis, self.batch_axes))

    def place_batch(
        self, arrays: list[Any], axis: int = 0, quietly: bool = False
    ) -> list[jax.Array]:
        """Place the arrays of a batch on the devices: split along the axis of samples, or
        replicated if they do not divide evenly.
        """
        smallest = min(
            (array.shape[axis] for array in arrays if len(array.shape) > axis), default=self.parts
        )
        if smallest < self.parts and not quietly and "small" not in _warned:
            _warned.add("small")
            warn_user(
                f"A batch of {smallest} samples is smaller than the number of replicas, "
                f"{self.parts}: every device computes all "
                "of it, which is exact but wasteful. Use a batch size that is a "
                "multiple of the number of replicas."
            )
        shardings = [self.sharding_for(array.shape, axis) for array in arrays]
        if self.replicated.is_fully_addressable:
            placed: list[jax.Array] = jax.device_put(arrays, shardings)
            return placed
        return [
            place_value(array, sharding) for array, sharding in zip(arrays, shardings, strict=True)
        ]
