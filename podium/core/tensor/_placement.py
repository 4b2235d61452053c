"""Where values lie when there are several devices: shardings of Variables, and the layout that
gives them out.

A strategy sets `context.layout` while its scope is open. Variables made meanwhile ask it for a
Placement, compiled steps keep it, batches are placed by it. Without a layout, values lie where JAX
puts them, and nothing here costs anything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from podium.core._context import context, override

several_devices = [False]  # whether anything was ever placed on several devices
_under_way: list[Any] = []  # a value of the latest step on several CPU devices


class Placement:
    """Where the values of one Variable lie.

    Args:
        sharding: How they are spread over the devices.
        everywhere: The sharding that has the whole value on each of the same devices.
        gathered: The sharding that steps compute with; None for the one in which they lie.
        scope: What the strategy calls itself, for messages.

    Example:
        >>> with podium.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        ...     w = podium.Variable([1.0, 2.0])
        >>> len(w.placement.sharding.device_set), w.value.is_fully_replicated
        (2, True)
    """

    def __init__(self, sharding: Any, everywhere: Any, gathered: Any = None, scope: str = ""):
        self.sharding = sharding
        self.everywhere = everywhere
        self.gathered = gathered
        self.scope = scope
        several_devices[0] = True

    def place_value(self, value: Any) -> Any:
        """Return a value as an array that lies there."""
        return place_value(value, self.sharding)

    def for_shape(self, like: tuple[int, ...], shape: tuple[int, ...]) -> Placement:
        """Return the placement for a value beside one of shape `like`: the same if the shapes are,
        else everywhere.

        It is never gathered: what lies beside a weight is not computed with, only updated, part by
        part.
        """
        return Placement(
            self.sharding if like == shape else self.everywhere, self.everywhere, scope=self.scope
        )


def place_value(value: Any, sharding: Any) -> Any:
    """Return a value as an array of a sharding, which may span processes: each takes its part of
    the same value.
    """
    if getattr(value, "sharding", None) == sharding:
        return value
    if sharding.is_fully_addressable:
        with jax.ensure_compile_time_eval():  # Variables may be made while something is traced
            return jax.device_put(value, sharding)
    if context.chief_only_callback is not None:
        raise RuntimeError(
            f"{context.chief_only_callback} changes a Variable, and runs on the chief alone: the other workers "
            "would go on with another value. Set `every_worker = True` on the callback's class, so "
            "that all workers call it."
        )
    if (
        isinstance(value, jax.Array)
        and not value.is_fully_addressable
        and not value.is_fully_replicated
    ):
        return jax.jit(lambda x: x, out_shardings=sharding)(value)
    whole = np.asarray(value)
    return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])


def fitted(value: Any, placement: Placement | None, everywhere: Any) -> Any:
    """Return a Variable's value as a program wants it: in its placement, with the others, or on one
    device as ever.
    """
    if placement is not None:
        return placement.place_value(value)
    if everywhere is not None:
        return place_value(value, everywhere)
    if (
        isinstance(value, jax.Array) and len(value.sharding.device_set) > 1
    ):  # it was a guest in a program of many devices
        return jax.numpy.asarray(np.asarray(value))
    return value


def constrained(value: Any, sharding: Any) -> Any:
    """Tell XLA, inside a trace, how a value shall be spread."""
    return value if sharding is None else jax.lax.with_sharding_constraint(value, sharding)


def is_cpu(sharding: Any) -> bool:
    """Tell whether a sharding is over CPU devices."""
    return next(iter(sharding.device_set)).platform == "cpu"


def wait_for_previous(values: list) -> None:
    """Hear of a step on several CPU devices, and wait for the one before it.

    Threads of many steps, each waiting in a collective for a partner that finds no thread, would
    wait for ever.
    """
    previous, _under_way[:] = _under_way[:], values[:1]
    jax.block_until_ready(previous)


@contextlib.contextmanager
def colocate_with(variable: Any) -> Iterator[None]:
    """Give Variables that are made meanwhile the placement of another one, as optimizer slots want
    it.

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
    with override(layout=_Beside(variable, context.layout)):
        yield


class _Beside:
    """A layout that puts Variables beside another one, and is the layout around it in all else."""

    def __init__(self, variable: Any, around: Any):
        self._variable = variable
        self._around = around

    def placement_of(self, variable: Any, value: Any) -> Placement:
        return self._variable.placement.for_shape(self._variable.shape, tuple(value.shape))

    def first_value(self, value: Any) -> Any:
        return value if self._around is None else self._around.first_value(value)

    def __getattr__(self, name: str) -> Callable:
        return getattr(self._around, name)
