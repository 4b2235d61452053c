"""ReplicaRunner: runs a step on every replica at once. The step is traced once, and mapped over the
mesh by `jax.shard_map`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from podium._typing import Tree
from podium.core import Function, Variable, check_numeric, tree_leaves
from podium.core.internal import (
    ReplicaScope,
    StepResult,
    VariableScope,
    aggregate_replicas,
    context,
    override,
    preserve_key_order,
    unwrap_result,
    wrap,
)
from podium.distribute._layout import Layout
from podium.distribute._per_replica import PerReplica, is_per_replica
from podium.distribute._split_batches import find_batch_shape, is_replica_leaf, split_arguments
from podium.distribute._sync_check import check_in_sync


class ReplicaRunner:
    """Runs functions on all replicas of a layout.

    Attributes:
        num_running: The number of replicas of the step that is being traced; 0 outside of steps.
    """

    def __init__(self, layout: Layout):
        self._layout = layout
        # Compiled functions by function, then by the id of a bound method's object.
        self._functions: weakref.WeakKeyDictionary[
            Callable[..., Any], dict[int, Function[..., Tree]]
        ]
        self._functions = weakref.WeakKeyDictionary()
        self.num_running = 0
        # The Variables without an aggregation that the last traced step wrote.
        self._written: list[Variable] = []

    def __call__(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Tree:
        """Run a function. Outside of compiled functions it is compiled, once for each function and
        each shape.
        """
        if self.num_running:
            raise RuntimeError(
                "`strategy.run` was called inside of `strategy.run`. Call the function itself "
                "there."
            )
        if self._layout.mesh.size > 1:
            args, kwargs = split_arguments((args, kwargs), self._layout)
        if context.scope is not None:
            return self._trace(fn, args, kwargs)
        self._written = []
        result = self._compile(fn)(*args, **kwargs)
        if self._written:  # it was traced by this call
            check_in_sync(self._written)
        return result

    def _compile(self, fn: Callable[..., Any]) -> Function[..., Tree]:
        # A bound method is a new object at each access.
        owner, function = getattr(fn, "__self__", None), getattr(fn, "__func__", fn)
        compiled = self._functions.setdefault(function, {})
        key = id(owner)
        if key not in compiled:
            reference = weakref.ref(function)

            def run(*args: Any, **kwargs: Any) -> Tree:
                target = reference()
                assert target is not None
                return self._trace(target if owner is None else target.__get__(owner), args, kwargs)

            compiled[key] = Function(run)
        return compiled[key]

    def _trace(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tree:
        """Trace a function for one replica, inside the function that is being traced."""
        leaves, treedef = jax.tree.flatten(
            preserve_key_order((args, kwargs)), is_leaf=is_replica_leaf
        )
        arrays = [leaf.array for leaf in leaves if is_per_replica(leaf)]
        counts = {array.shape[0] for array in arrays}
        if not arrays and self._layout.mesh.size == 1:
            return self._trace_single(fn, args, kwargs)
        if len(counts) > 1 or not counts <= {1, self._layout.parts}:
            raise ValueError(
                f"`strategy.run` was given values for {sorted(counts)} replicas; this strategy has "
                f"{self._layout.parts}. Pass values of its own distributed dataset."
            )
        outer, axes = context.scope, self._layout.batch_axes
        is_single = counts == {1}  # a batch that does not divide: one replica computes all of it
        scope = VariableScope(parent=outer) if is_single else ReplicaScope(parent=outer)
        unsplit_shape = None if arrays else find_batch_shape(leaves)
        traced: list[Any] = []  # the structure of the result, and its leaves
        marks: dict[int, Any] = {}  # by position of a leaf: the value of the batch alone

        def body(*parts: Any) -> tuple[list[Any], list[Any]]:
            values = iter(parts)
            local = [wrap(next(values)[0]) if is_per_replica(leaf) else leaf for leaf in leaves]
            with override(
                scope=scope,
                replica_axes=None if is_single else axes,
                unsplit_shape=unsplit_shape,
                tapes=(),
            ):
                local_args, local_kwargs = jax.tree.unflatten(treedef, local)
                result = preserve_key_order(fn(*local_args, **local_kwargs))
                marks.clear()
                marks.update(_results_of_metrics(tree_leaves(result)))
                results, structure = jax.tree.flatten(preserve_key_order(unwrap_result(result)))
                traced[:] = [structure, *results]
                numbers = [leaf for leaf in results if _is_number(leaf)]
                stacked = [jnp.asarray(leaf)[None] for leaf in (*numbers, *marks.values())]
                return stacked, [
                    value if is_single else aggregate_replicas(variable, value)
                    for variable, value in scope.writes.values()
                ]

        self.num_running = 1 if is_single else self._layout.parts
        try:
            if is_single:
                stacked, written = body(*arrays)
            else:
                split = PartitionSpec(axes)
                mapped = jax.shard_map(
                    body,
                    mesh=self._layout.mesh,
                    in_specs=split,
                    out_specs=(split, PartitionSpec()),
                    check_vma=False,
                )
                stacked, written = mapped(*arrays)
        finally:
            self.num_running = 0
            used = (*scope.writes.values(), *scope.reads.values(), *scope.inputs.values())
            for variable, _ in used:
                if isinstance(variable, Variable):
                    variable.source = None  # a tracer must not outlive its trace
        assert outer is not None
        for (variable, _), value in zip(scope.writes.values(), written, strict=True):
            outer.write(variable, value)
        self._written = [
            variable for variable, _ in scope.writes.values() if variable.aggregation == "none"
        ]
        arrays_of_replicas = iter(stacked)
        structure, *results = traced
        values = [
            PerReplica(wrap(next(arrays_of_replicas))) if _is_number(leaf) else leaf
            for leaf in results
        ]
        for position in marks:
            batch = PerReplica(wrap(next(arrays_of_replicas)))
            context.metric_values[id(values[position])] = StepResult(values[position], batch)
        return jax.tree.unflatten(structure, values)

    def _trace_single(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Tree:
        """Trace a function for the only replica: nothing is split."""
        self.num_running = 1
        try:
            return fn(*args, **kwargs)
        finally:
            self.num_running = 0


def _results_of_metrics(leaves: list[Any]) -> dict[int, Any]:
    """Return, by position, the values for the batch alone of the leaves that metrics returned."""
    results = context.metric_values or {}
    return {
        position: unwrap_result(results[id(leaf)].batch)
        for position, leaf in enumerate(leaves)
        if id(leaf) in results
    }


def _is_number(value: object) -> bool:
    if isinstance(value, np.ndarray):
        check_numeric(value, "a result")
    return isinstance(value, (jax.Array, np.ndarray, np.generic, bool, int, float))
