"""How a step runs on every replica at once: one trace of the step, mapped over the mesh by
`jax.shard_map`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from podium.core import Function, Tensor, Variable, check_numeric
from podium.core.internal import (
    ReplicaScope,
    VariableScope,
    aggregate_replicas,
    context,
    override,
    preserve_key_order,
    unwrap_result,
    wrap,
)
from podium.distribute._layout import Layout
from podium.distribute._sync_check import check_in_sync
from podium.distribute._values import PerReplica, is_per_replica


class Replicated:
    """Runs functions on all replicas of a layout.

    Attributes:
        running: How many replicas the step that is being traced has; 0 outside of steps.
    """

    def __init__(self, layout: Layout):
        self._layout = layout
        self._functions: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self.running = 0
        self._wrote: list[
            Variable
        ] = []  # Variables that the step traced last wrote without saying how replicas combine them

    def __call__(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        """Run a function. Outside of compiled functions it is compiled, once for each function and
        each shape.
        """
        if self.running:
            raise RuntimeError(
                "`strategy.run` was called inside of `strategy.run`. Call the function itself "
                "there."
            )
        if context.scope is not None:
            return self._traced(fn, args, kwargs)
        self._wrote = []
        result = self._compiled(fn)(*args, **kwargs)
        if self._wrote:  # it was traced just now
            check_in_sync(self._wrote)
        return result

    def _compiled(self, fn: Callable) -> Callable:
        owner, plain = (
            getattr(fn, "__self__", None),
            getattr(fn, "__func__", fn),
        )  # bound methods are made anew at each access
        known = self._functions.setdefault(plain, {})  # type: ignore[arg-type]
        key = id(owner)
        if key not in known:  # type: ignore[operator]
            reference = weakref.ref(plain)

            def run(*args: Any, **kwargs: Any) -> Any:
                now = reference()
                assert now is not None
                return self._traced(now if owner is None else now.__get__(owner), args, kwargs)

            known[key] = Function(run)  # type: ignore[index]
        return known[key]  # type: ignore[index]

    def _traced(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        """Trace a function for one replica, inside of whatever is being traced."""
        leaves, treedef = jax.tree.flatten(preserve_key_order((args, kwargs)), is_leaf=_is_leaf)
        given = [leaf.array for leaf in leaves if is_per_replica(leaf)]
        counts = {array.shape[0] for array in given}
        if not given and self._layout.mesh.size == 1:
            return self._alone(fn, args, kwargs)
        if len(counts) > 1 or not counts <= {1, self._layout.parts}:
            raise ValueError(
                f"`strategy.run` was given values for {sorted(counts)} replicas; this strategy has "
                f"{self._layout.parts}. Pass what its own distributed dataset gives."
            )
        outer, axes = context.scope, self._layout.batch_axes
        whole = counts == {1}  # a batch that does not divide: one replica computes all of it
        scope = VariableScope(parent=outer) if whole else ReplicaScope(parent=outer)
        made: list[Any] = []

        def body(*parts: Any) -> tuple[list, list]:
            found = iter(parts)
            own = [wrap(next(found)[0]) if is_per_replica(leaf) else leaf for leaf in leaves]
            with override(scope=scope, replica_axes=None if whole else axes, tapes=()):
                own_args, own_kwargs = jax.tree.unflatten(treedef, own)
                result = preserve_key_order(unwrap_result(fn(*own_args, **own_kwargs)))
                results, structure = jax.tree.flatten(result)
                made[:] = [structure, *results]
                stacked = [jnp.asarray(leaf)[None] for leaf in results if _is_number(leaf)]
                new = list(scope.writes.values())
                return stacked, [
                    value if whole else aggregate_replicas(variable, value)
                    for variable, value in new
                ]

        self.running = 1 if whole else self._layout.parts
        try:
            if whole:
                stacked, written = body(*given)
            else:
                split = PartitionSpec(axes)
                mapped = jax.shard_map(
                    body,
                    mesh=self._layout.mesh,
                    in_specs=split,
                    out_specs=(split, PartitionSpec()),
                    check_vma=False,
                )
                stacked, written = mapped(*given)
        finally:
            self.running = 0
            touched = (*scope.writes.values(), *scope.reads.values(), *scope.inputs.values())
            for variable, _ in touched:
                if isinstance(variable, Variable):
                    variable.source = None  # a tracer must not outlive its trace
        assert outer is not None
        for (variable, _), value in zip(scope.writes.values(), written, strict=True):
            outer.write(variable, value)
        self._wrote = [
            variable for variable, _ in scope.writes.values() if variable.aggregation == "none"
        ]
        found = iter(stacked)
        structure, *results = made
        return jax.tree.unflatten(
            structure, [PerReplica(wrap(next(found))) if _is_number(r) else r for r in results]
        )

    def _alone(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        """Trace a function for the only replica: nothing is split, so what it returns is the value
        of all.
        """
        self.running = 1
        try:
            return fn(*args, **kwargs)
        finally:
            self.running = 0


def _is_leaf(value: Any) -> bool:
    return is_per_replica(value) or isinstance(value, (Tensor, Variable))


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        check_numeric(value, "a result")
    return isinstance(value, (jax.Array, np.ndarray, np.generic, bool, int, float))
