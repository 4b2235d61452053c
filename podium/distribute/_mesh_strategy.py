"""MeshStrategy: the base of all strategies of several devices.

`fit`, `evaluate` and `predict` have a global view: batches are split along the mesh, and XLA adds
the collectives. `run` has the view of one replica: see `_replica_runner.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import Tree
from podium.core import check_choice, map_structure
from podium.core.internal import context, override, wrap
from podium.distribute._devices import default_device
from podium.distribute._distributed_dataset import (
    DistributedDataset,
    DistributedDatasetFromFunction,
)
from podium.distribute._layout import Layout
from podium.distribute._per_replica import is_per_replica
from podium.distribute._replica_context import InputContext
from podium.distribute._replica_runner import ReplicaRunner
from podium.distribute._strategy import Strategy
from podium.metrics import LogValue


class MeshStrategy(Strategy):
    """A strategy over a mesh of devices; the base of `MirroredStrategy` and others.

    Args:
        layout: How Variables and batches are placed.

    Example:
        >>> isinstance(podium.distribute.MirroredStrategy(2), podium.distribute.MeshStrategy)
        True
    """

    def __init__(self, layout: Layout):
        self._layout = layout
        layout.scope = repr(self)
        self._runner = ReplicaRunner(layout)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of parts of a batch; 1 inside a `run` with a batch that is not split."""
        return self._runner.num_running or self._layout.parts

    @property
    def layout(self) -> Layout | None:
        """How Variables and batches are placed; None on a single device."""
        return self._layout if self.mesh.size > 1 else None

    @property
    def mesh(self) -> jax.sharding.Mesh:
        """The devices, as a JAX mesh."""
        return self._layout.mesh

    @property
    def _is_running(self) -> bool:  # type: ignore[override]
        return bool(self._runner.num_running)

    def _placement_scope(self) -> contextlib.AbstractContextManager[object]:
        if self.layout is None:
            return default_device(self.mesh.devices.flat[0])
        return (
            override(layout=self._layout)
            if context.layout is not self._layout
            else contextlib.nullcontext()
        )

    def run(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        options: object = None,
    ) -> Tree:
        """Run a step on every replica at once, compiled.

        The function receives its replica's part: PerReplica arguments (as distributed datasets
        return them) become that replica's value, others are passed as they are. An optimizer uses
        the sum of all replicas' gradients, so losses must be divided by the global batch size. The
        values that replicas write to a Variable are combined according to its `aggregation`. A
        batch that does not divide evenly runs as one replica: exact for losses computed as above.

        Args:
            fn: The step. It is compiled once for each function and for the shapes of its
                arguments.
            args: Its arguments.
            kwargs: Its named arguments.
            options: Accepted for TensorFlow's signature.

        Returns:
            Its result, with `PerReplica` instead of arrays; on a single device, its result.

        Example:
            >>> strategy = podium.distribute.MirroredStrategy(2)
            >>> with strategy.scope():
            ...     total = podium.Variable(0.0, aggregation="sum")
            >>> def step(x):
            ...     total.assign_add(podium.ops.sum(x))
            ...     return podium.ops.max(x)
            >>> batches = podium.data.Dataset.from_tensor_slices(np.arange(6.0)).batch(6)
            >>> for batch in strategy.experimental_distribute_dataset(batches):
            ...     result = strategy.run(step, args=(batch,))
            >>> [float(value) for value in strategy.unwrap(result)], float(total)
            ([2.0, 5.0], 15.0)
        """
        with self.scope():
            return self._runner(fn, args, kwargs or {})

    def unwrap(self, value: Tree) -> tuple[Tree, ...]:
        """Return the values of the replicas of this machine as a tuple; for a structure, a tuple of
        structures.
        """
        leaves, treedef = jax.tree.flatten(value, is_leaf=_is_array_leaf)
        counts = {len(leaf.values) for leaf in leaves if is_per_replica(leaf)}
        if not counts:
            return (value,)
        rows = [leaf.values if is_per_replica(leaf) else (leaf,) * max(counts) for leaf in leaves]
        return tuple(jax.tree.unflatten(treedef, row) for row in zip(*rows, strict=True))

    def reduce(self, reduce_op: str, value: Tree, axis: int | None = None) -> Tree:
        """Reduce the results of the replicas to one value.

        Args:
            reduce_op: "sum" or "mean".
            value: A result of `run`: PerReplica, or a structure of them. Other values are returned
                as they are.
            axis: An axis of each replica's value to reduce as well, usually 0 for the batch.
        """
        name = check_choice("reduce_op", str(reduce_op).lower(), ("sum", "mean"))
        reduce = jnp.sum if name == "sum" else jnp.mean

        def reduce_leaf(leaf: Any) -> Any:
            if not is_per_replica(leaf):
                return leaf if axis is None else Strategy.reduce(self, reduce_op, leaf, axis)
            axes = (0,) if axis is None else (0, axis + 1 if axis >= 0 else leaf.array.ndim + axis)
            return wrap(self._compute_replicated(lambda array: reduce(array, axes), leaf.array))

        return map_replicas(reduce_leaf, value)

    def gather(self, value: Tree, axis: int) -> Tree:
        """Concatenate the results of the replicas along an axis, in the order of the replicas."""

        def gather_leaf(leaf: Any) -> Any:
            if not is_per_replica(leaf):
                return leaf
            if leaf.array.ndim == 1:
                raise ValueError(
                    "gather was given scalars, which have no axis to concatenate along. Use "
                    "`reduce` or `unwrap`."
                )
            dim = axis if axis >= 0 else leaf.array.ndim - 1 + axis

            def concatenate(array: jax.Array) -> jax.Array:
                moved = jnp.moveaxis(array, 0, dim)
                shape = array.shape[1:]
                return moved.reshape(*shape[:dim], array.shape[0] * shape[dim], *shape[dim + 1 :])

            return wrap(self._compute_replicated(concatenate, leaf.array))

        return map_replicas(gather_leaf, value)

    def _compute_replicated(
        self, function: Callable[[jax.Array], jax.Array], array: jax.Array
    ) -> jax.Array:
        """Apply a function to an array of all replicas, so that each process gets the result."""
        if isinstance(array, jax.core.Tracer) or self._layout.replicated.is_fully_addressable:
            return function(array)
        replicated: jax.Array = jax.jit(function, out_shardings=self._layout.replicated)(array)
        return replicated

    def experimental_distribute_dataset(
        self, dataset: Iterable[Tree], options: object = None
    ) -> Iterable[Tree]:
        """Return a dataset from which each replica gets its part of every batch, as PerReplica
        values.

        Args:
            dataset: An iterable of global batches; on a single device it is returned as it is.
            options: Accepted for TensorFlow's signature.
        """
        return dataset if self.layout is None else DistributedDataset(dataset, self._layout)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Iterable[Tree]], options: object = None
    ) -> Iterable[Tree]:
        """Call a function that makes the dataset of this worker, and distribute that.

        Args:
            dataset_fn: A function of an `InputContext`. Each worker's dataset returns its part of
                the global batch: for all replicas of the worker together, whereas TensorFlow
                expects that of one replica.
            options: Accepted for TensorFlow's signature.
        """
        context = InputContext(
            jax.process_count() if self.spans_processes else 1,
            self._worker,
            self.num_replicas_in_sync,
        )
        dataset = dataset_fn(context)
        if self.layout is None:
            return dataset
        return DistributedDatasetFromFunction(dataset, self._layout)

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    @property
    def spans_processes(self) -> bool:
        """Whether several processes train together."""
        return not self._layout.replicated.is_fully_addressable

    @property
    def _worker(self) -> int:
        return jax.process_index() if self.spans_processes else 0

    def __repr__(self) -> str:
        shape = ", ".join(f"{name}: {length}" for name, length in self.mesh.shape.items())
        return f"<podium.distribute.{type(self).__name__} {shape}>"


def _is_array_leaf(value: object) -> bool:
    return is_per_replica(value) or hasattr(value, "_value")


def map_replicas(function: Callable[[Any], Any], value: Tree) -> Tree:
    """Apply a function to each PerReplica, LogValue and each other leaf of a structure."""
    if is_per_replica(value) or isinstance(value, LogValue):
        return function(value)
    if isinstance(value, dict):
        return {key: map_replicas(function, part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [map_replicas(function, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return map_structure(function, value)
