"""ReplicaScope: the view of Variables that one of several replicas has.

It is open while `Strategy.run` traces a step for all replicas; `context.replica_axes` names the
mesh axes of the replicas. This file also aggregates the values that the replicas wrote.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from podium.core._context import context, override
from podium.core._errors import warn_user
from podium.core.compile._variable_scope import VariableScope

if TYPE_CHECKING:
    from podium.core.tensor._variable import Variable


class ReplicaScope(VariableScope):
    """A view of Variables for one replica.

    A Variable with aggregation "sum" is split: the first replica has the previous value, the others
    start at zero. So adding adds once, and setting to zero sets to zero.
    """

    def read(self, variable: Variable) -> jax.Array:
        """Return the Variable's value on this replica."""
        key = id(variable)
        if key not in self.writes and key not in self.inputs and key not in self.reads:
            value = super().read(variable)
            if not isinstance(value, jax.core.Tracer):
                # Discovery reads the stored value, which is on another mesh.
                self.reads[key] = (variable, jnp.zeros(value.shape, value.dtype))
        if (
            variable.aggregation == "sum"
            and not variable.trainable
            and key not in self.writes
            and key not in self.inputs
        ):
            previous = super().read(variable)
            zeros = jnp.zeros(previous.shape, previous.dtype)
            self.inputs[key] = (variable, jnp.where(_is_first_replica(), previous, zeros))
        return super().read(variable)


def sum_gradients(gradients: list[Any]) -> list[Any]:
    """Return the sum of the replicas' gradients: one update for all of them.

    Warns if an argument of the step has rows and none was split: the replicas' gradients are equal.
    """
    if context.unsplit_shape is not None:
        warn_user(
            f"A step in `strategy.run` received a value of shape {context.unsplit_shape} on every "
            "replica, no value that is split among the replicas, and updates weights by the sum "
            "of all replicas' gradients: with n replicas that is n times the update of one device. "
            "Pass what an iterator of a dataset returned, or a batch of "
            "`strategy.experimental_distribute_dataset(dataset)`, as it is, and compute with it "
            "inside the step."
        )
    total: list[Any] = jax.lax.psum(gradients, context.replica_axes)
    return total


def aggregate_replicas(variable: Variable, value: jax.Array) -> jax.Array:
    """Return the aggregate of the replicas' values of a Variable."""
    axes = context.replica_axes
    if variable.aggregation == "sum" and not variable.trainable:
        total: jax.Array = jax.lax.psum(value, axes)
        return total.astype(value.dtype)
    if variable.aggregation == "mean":
        mean: jax.Array = jax.lax.pmean(value, axes)
        return mean.astype(value.dtype)
    if variable.aggregation == "only_first_replica":
        masked = jnp.where(_is_first_replica(), value, jnp.zeros_like(value))
        first: jax.Array = jax.lax.psum(masked, axes)
        return first.astype(value.dtype)
    return value  # equal on all replicas, or an error that `Strategy.check_in_sync` finds


@contextlib.contextmanager
def read_aggregated(variables: Iterable[Variable]) -> Iterator[None]:
    """Read Variables with the values of all replicas aggregated, as a metric's `result` needs."""
    if context.replica_axes is None:
        yield
        return
    scope = context.scope
    assert scope is not None
    inputs = {
        id(variable): (variable, aggregate_replicas(variable, scope.read(variable)))
        for variable in variables
    }
    with override(scope=VariableScope(inputs, scope), replica_axes=None):
        yield


def _is_first_replica() -> jax.Array:
    return jax.lax.axis_index(context.replica_axes) == 0
