"""ReplicaScope: Variables as one of several replicas sees them, and how what they wrote becomes one
value.

It is open while `Strategy.run` traces a step for all replicas at once; `context.replica_axes` names the
mesh axes between them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from podium.core._context import context, override
from podium.core.compile._variable_scope import VariableScope


class ReplicaScope(VariableScope):
    """A view of Variables for one replica.

    A Variable whose replicas are added up is kept in parts: the first replica has what was there
    before, the others start at zero. So adding adds, and setting to zero sets to zero.
    """

    def read(self, variable: Any) -> Any:
        """Return the variable's value as this replica sees it."""
        key = id(variable)
        if key not in self.writes and key not in self.inputs and key not in self.reads:
            value = super().read(variable)
            if not isinstance(
                value, jax.core.Tracer
            ):  # it is only being found out what is read: lies on a mesh of its own
                self.reads[key] = (variable, jnp.zeros(value.shape, value.dtype))
        if (
            variable.aggregation == "sum"
            and not variable.trainable
            and key not in self.writes
            and key not in self.inputs
        ):
            whole = super().read(variable)
            self.inputs[key] = (
                variable,
                jnp.where(_is_first(), whole, jnp.zeros(whole.shape, whole.dtype)),
            )
        return super().read(variable)


def aggregate_replicas(variable: Any, value: Any) -> Any:
    """Return the one value that the replicas' values of a Variable stand for."""
    axes = context.replica_axes
    if variable.aggregation == "sum" and not variable.trainable:
        return jax.lax.psum(value, axes).astype(value.dtype)
    if variable.aggregation == "mean":
        return jax.lax.pmean(value, axes).astype(value.dtype)
    if variable.aggregation == "only_first_replica":
        return jax.lax.psum(jnp.where(_is_first(), value, jnp.zeros_like(value)), axes).astype(
            value.dtype
        )
    return value  # the same on all replicas, or a mistake: see `Strategy.check_in_sync`


@contextlib.contextmanager
def read_aggregated(variables: Iterable[Any]) -> Iterator[None]:
    """Let the code inside see what the replicas have gathered together, as a metric's `result`
    wants it.
    """
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


def _is_first() -> Any:
    return jax.lax.axis_index(context.replica_axes) == 0
