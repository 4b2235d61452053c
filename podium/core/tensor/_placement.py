"""Placement of values on several devices: the shardings of Variables.

A strategy sets `context.layout` while its scope is open. New Variables get their Placement from it,
and compiled steps keep that placement. Without a layout, values stay where JAX stores them. The
layouts themselves belong to `podium.distribute`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.sharding import Sharding

from podium._typing import Array, Shape
from podium.core._context import context, override
from podium.core._public_repr import PublicRepr

if TYPE_CHECKING:
    from podium.core.tensor._variable import Variable

multiple_devices = [False]  # whether any value has been placed on several devices
_pending: list[Any] = []  # a value of the latest step on several CPU devices


class Placement(PublicRepr):
    """The shardings of one Variable.

    Args:
        sharding: The sharding in which the value is stored.
        replicated: The sharding with a full copy on each of the same devices.
        compute_sharding: The sharding in which steps compute with it; None for the stored one.
        scope: The description of the strategy, for messages.

    Example:
        >>> with podium.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        ...     w = podium.Variable([1.0, 2.0])
        >>> len(w.placement.sharding.device_set), w.value.is_fully_replicated
        (2, True)
    """

    def __init__(
        self,
        sharding: Sharding,
        replicated: Sharding,
        compute_sharding: Sharding | None = None,
        scope: str = "",
    ):
        self.sharding = sharding
        self.replicated = replicated
        self.compute_sharding = compute_sharding
        self.scope = scope
        multiple_devices[0] = True

    def place_value(self, value: Array) -> jax.Array:
        """Return a value in the sharding in which it is stored."""
        return place_value(value, self.sharding)

    def for_shape(self, variable_shape: Shape, shape: Shape) -> Placement:
        """Return the placement of a value that belongs to a Variable, such as an optimizer slot.

        It is sharded like the Variable if the shapes are equal, and replicated otherwise. It has no
        compute sharding, because slots are updated shard by shard.
        """
        sharding = self.sharding if variable_shape == shape else self.replicated
        return Placement(sharding, self.replicated, scope=self.scope)


def place_value(value: Array, sharding: Sharding) -> jax.Array:
    """Return a value as an array with a sharding.

    The sharding may span processes: each process passes the same value and stores its shards.
    """
    if isinstance(value, jax.Array) and value.sharding == sharding:
        return value
    if sharding.is_fully_addressable:
        with jax.ensure_compile_time_eval():  # Variables may be created during a trace
            placed: jax.Array = jax.device_put(value, sharding)
            return placed
    if context.chief_only_callback is not None:
        raise RuntimeError(
            f"{context.chief_only_callback} changes a Variable and runs on the chief only: the "
            "other workers would continue with another value. Set `every_worker = True` on the "
            "callback's class, so that all workers call it."
        )
    if (
        isinstance(value, jax.Array)
        and not value.is_fully_addressable
        and not value.is_fully_replicated
    ):
        resharded: jax.Array = jax.jit(lambda x: x, out_shardings=sharding)(value)
        return resharded
    host_value = np.asarray(value)
    return jax.make_array_from_callback(host_value.shape, sharding, lambda index: host_value[index])


def place_for_program(
    value: Array, placement: Placement | None, replicated: Sharding | None
) -> Array:
    """Return a Variable's value where a program takes it.

    Args:
        value: The stored value.
        placement: The Variable's placement, if it has one.
        replicated: The sharding of the program's other values, if it runs on several devices.
    """
    if placement is not None:
        return placement.place_value(value)
    if replicated is not None:
        return place_value(value, replicated)
    if isinstance(value, jax.Array) and len(value.sharding.device_set) > 1:
        # An earlier program ran on several devices; this one does not.
        return jax.numpy.asarray(np.asarray(value))
    return value


def constrain_sharding(value: jax.Array, sharding: Sharding | None) -> jax.Array:
    """Set the sharding of a value inside a trace; None leaves it to XLA."""
    return value if sharding is None else jax.lax.with_sharding_constraint(value, sharding)


def is_cpu(sharding: Sharding) -> bool:
    """Return whether a sharding is over CPU devices."""
    device: jax.Device = next(iter(sharding.device_set))
    return str(device.platform) == "cpu"


def wait_for_previous(values: list[jax.Array]) -> None:
    """Wait for the previous step on several CPU devices, and remember the values of this one.

    With many steps in flight all threads could wait in collectives for participants that get no
    thread: a deadlock.
    """
    previous, _pending[:] = _pending[:], values[:1]
    jax.block_until_ready(previous)


@contextlib.contextmanager
def colocate_with(variable: Variable) -> Iterator[None]:
    """Place Variables created inside the `with` block like another one, as optimizer slots need.

    Example:
        >>> with podium.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        ...     w = podium.Variable([1.0, 2.0])
        >>> with podium.core.colocate_with(w):
        ...     slot = podium.Variable([0.0, 0.0])
        >>> slot.value.sharding == w.value.sharding
        True
    """
    if variable.placement is None:
        yield
        return
    with override(layout=_ColocatedLayout(variable, context.layout)):
        yield


class _ColocatedLayout:
    """A layout that places new Variables like another one; otherwise the enclosing layout."""

    def __init__(self, variable: Variable, enclosing: Any):
        self._variable = variable
        self._enclosing = enclosing

    def placement_of(self, variable: Variable, value: Array) -> Placement:
        placement = self._variable.placement
        assert placement is not None
        return placement.for_shape(self._variable.shape, tuple(value.shape))

    def first_value(self, value: Array) -> Array:
        if self._enclosing is None:
            return value
        first: Array = self._enclosing.first_value(value)
        return first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._enclosing, name)
