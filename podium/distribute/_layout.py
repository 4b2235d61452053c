"""Layout: where Variables and batches of a strategy lie on its mesh of devices.

It speaks to `podium/core/tensor/_placement.py`: Variables made in a strategy's scope get their
placement here, batches too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from podium.core import Placement, warn_user
from podium.core.internal import place_value

_warned: set[str] = set()


def make_mesh(devices: Sequence[Any], shape: Sequence[int], names: Sequence[str]) -> Mesh:
    """Return devices as a mesh whose axes XLA handles by itself."""
    return Mesh(
        np.asarray(devices).reshape(tuple(shape)),
        tuple(names),
        axis_types=(AxisType.Auto,) * len(names),
    )


class Layout:
    """Where values lie on a mesh.

    Args:
        mesh: The devices.
        batch_axes: The mesh axes along which a batch is split.
        spec_of: Says how a Variable is split: a function of the Variable and its shape to a tuple
            of mesh axes, one for each dimension, or None for a Variable that lies whole on each
            device.
        gathered: Whether steps compute with whole Variables, however they lie.
    """

    def __init__(
        self,
        mesh: Mesh,
        batch_axes: tuple[str, ...],
        spec_of: Callable[[Any, tuple[int, ...]], Any] | None = None,
        gathered: bool = False,
    ):
        self.mesh = mesh
        self.batch_axes = batch_axes
        self.everywhere = NamedSharding(mesh, PartitionSpec())
        self.parts = int(np.prod([mesh.shape[axis] for axis in batch_axes]))
        self.scope = ""  # what the strategy calls itself, for messages
        self._spec_of = spec_of
        self._gathered = self.everywhere if gathered else None

    def placement_of(self, variable: Any, value: Any) -> Placement:
        """Return where a new Variable lies."""
        spec = None if self._spec_of is None else self._spec_of(variable, tuple(value.shape))
        if spec is None or not any(spec):
            return Placement(self.everywhere, self.everywhere, scope=self.scope)
        return Placement(
            NamedSharding(self.mesh, PartitionSpec(*spec)),
            self.everywhere,
            self._gathered,
            self.scope,
        )

    def first_value(self, value: Any) -> Any:
        """Return the first value of a new Variable; across processes it would have to be made
        equal.
        """
        return value

    def sharding_for(self, shape: tuple[int, ...], axis: int = 0) -> NamedSharding:
        """Return how an array is split along its axis of samples: evenly, or not at all."""
        if len(shape) <= axis or shape[axis] == 0 or shape[axis] % self.parts:
            return self.everywhere
        return NamedSharding(self.mesh, PartitionSpec(*[None] * axis, self.batch_axes))

    def place_batch(self, arrays: list[Any], axis: int = 0, quietly: bool = False) -> list[Any]:
        """Put the arrays of a batch on the devices: split along the axis of samples, or whole if
        they do not divide.
        """
        smallest = min(
            (array.shape[axis] for array in arrays if len(array.shape) > axis), default=self.parts
        )
        if smallest < self.parts and not quietly and "small" not in _warned:
            _warned.add("small")
            warn_user(
                f"A batch of {smallest} samples is smaller than the number of replicas, "
                f"{self.parts}: every device computes all "
                "of it, which is exact and wastes the others. Use a batch size that is a "
                "multiple of the number of replicas."
            )
        shardings = [self.sharding_for(array.shape, axis) for array in arrays]
        if self.everywhere.is_fully_addressable:
            return jax.device_put(arrays, shardings)
        return [
            place_value(array, sharding) for array, sharding in zip(arrays, shardings, strict=True)
        ]
