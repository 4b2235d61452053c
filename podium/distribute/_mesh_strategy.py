"""MeshStrategy: what all strategies of several devices share.

`fit` and its kin see one large device: batches are split along the mesh, XLA adds the collectives.
`run` is the other view, one replica at a time: see `_replicated.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from podium.core import check_choice, map_structure
from podium.core.internal import context, override, wrap
from podium.distribute._devices import default_device
from podium.distribute._distributed_dataset import DistributedDataset, FromFunction
from podium.distribute._layout import Layout
from podium.distribute._replica import InputContext
from podium.distribute._replicated import Replicated
from podium.distribute._strategy import Strategy
from podium.distribute._values import is_per_replica


class MeshStrategy(Strategy):
    """A strategy over a mesh of devices; the base of those with names.

    Args:
        layout: Where Variables and batches lie.

    Example:
        >>> isinstance(podium.distribute.MirroredStrategy(2), podium.distribute.MeshStrategy)
        True
    """

    def __init__(self, layout: Layout):
        self._layout = layout
        layout.scope = repr(self)
        self._replicated = Replicated(layout)

    @property
    def num_replicas_in_sync(self) -> int:
        """Into how many parts a batch is split; inside a run that was given one part, 1."""
        return self._replicated.running or self._layout.parts

    @property
    def placed_by(self) -> Layout | None:
        """What places Variables and batches; None on a single device, where there is nothing to
        place.
        """
        return self._layout if self.mesh.size > 1 else None

    @property
    def mesh(self) -> jax.sharding.Mesh:
        """The devices, as a JAX mesh."""
        return self._layout.mesh

    @property
    def _is_running(self) -> bool:  # type: ignore[override]
        return bool(self._replicated.running)

    def _placing(self) -> contextlib.AbstractContextManager:
        if self.placed_by is None:
            return default_device(self.mesh.devices.flat[0])
        return (
            override(layout=self._layout)
            if context.layout is not self._layout
            else contextlib.nullcontext()
        )

    def run(
        self, fn: Callable, args: tuple = (), kwargs: dict | None = None, options: Any = None
    ) -> Any:
        """Run a step on every replica at once, compiled.

        Inside, the code sees its replica's part: PerReplica arguments (as distributed datasets give
        them) come as that replica's value, others as they are. An optimizer's update takes the sum
        of all replicas' gradients, so that losses are to be divided by the global batch size. What
        is written to a Variable becomes one value as its `aggregation` says. A batch that does not
        divide runs as one replica: exact for losses made as above.

        Args:
            fn: The step. It is compiled for the shapes of its arguments, and compiled again if it
                is another function.
            args: Its arguments.
            kwargs: Its named arguments.
            options: Accepted for TensorFlow's signature.

        Returns:
            What it returned, with `PerReplica` in the place of arrays; on a single device, what it
            returned.

        Example:
            >>> strategy = podium.distribute.MirroredStrategy(2)
            >>> with strategy.scope():
            ...     total = podium.Variable(0.0, aggregation="sum")
            >>> def step(x):
            ...     total.assign_add(podium.ops.sum(x))
            ...     return podium.ops.max(x)
            >>> batches = podium.data.Dataset.from_tensor_slices(np.arange(6.0)).batch(6)
            >>> for batch in strategy.experimental_distribute_dataset(batches):
            ...     found = strategy.run(step, args=(batch,))
            >>> [float(value) for value in strategy.unwrap(found)], float(total)
            ([2.0, 5.0], 15.0)
        """
        with self.scope():
            return self._replicated(fn, args, kwargs or {})

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """Return the values of the replicas of this machine as a tuple; of a structure, a tuple of
        such structures.
        """
        leaves, treedef = jax.tree.flatten(value, is_leaf=_is_leaf)
        counts = {len(leaf.values) for leaf in leaves if is_per_replica(leaf)}
        if not counts:
            return (value,)
        rows = [leaf.values if is_per_replica(leaf) else (leaf,) * max(counts) for leaf in leaves]
        return tuple(jax.tree.unflatten(treedef, row) for row in zip(*rows, strict=True))

    def reduce(self, reduce_op: str, value: Any, axis: int | None = None) -> Any:
        """Combine what the replicas returned into one value.

        Args:
            reduce_op: "sum" or "mean".
            value: A result of `run`: PerReplica, or a structure of them. What is the same on all
                replicas is left as it is.
            axis: An axis of each replica's value to combine as well, usually 0 for the batch.
        """
        how = (
            jnp.sum
            if check_choice("reduce_op", str(reduce_op).lower(), ("sum", "mean")) == "sum"
            else jnp.mean
        )

        def reduced(leaf: Any) -> Any:
            if not is_per_replica(leaf):
                return leaf if axis is None else Strategy.reduce(self, reduce_op, leaf, axis)
            axes = (0,) if axis is None else (0, axis + 1 if axis >= 0 else leaf.array.ndim + axis)
            return wrap(self._on_all(lambda array: how(array, axes), leaf.array))

        return over_replicas(reduced, value)

    def gather(self, value: Any, axis: int) -> Any:
        """Join what the replicas returned along an axis, in the order of the replicas."""

        def gathered(leaf: Any) -> Any:
            if not is_per_replica(leaf):
                return leaf
            if leaf.array.ndim == 1:
                raise ValueError(
                    "gather was given numbers, which have no axis to join them along. Use "
                    "`reduce` or `unwrap`."
                )
            place = axis if axis >= 0 else leaf.array.ndim - 1 + axis

            def joined(array: Any) -> Any:
                moved = jnp.moveaxis(array, 0, place)
                shape = array.shape[1:]
                return moved.reshape(
                    *shape[:place], array.shape[0] * shape[place], *shape[place + 1 :]
                )

            return wrap(self._on_all(joined, leaf.array))

        return over_replicas(gathered, value)

    def _on_all(self, function: Callable, array: Any) -> Any:
        """Compute something from an array of all replicas, so that each process gets the result."""
        if isinstance(array, jax.core.Tracer) or self._layout.everywhere.is_fully_addressable:
            return function(array)
        return jax.jit(function, out_shardings=self._layout.everywhere)(array)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return the dataset such that each replica gets its part of every batch, as PerReplica
        values.

        Args:
            dataset: Anything that gives global batches; on a single device it is returned as it is.
            options: Accepted for TensorFlow's signature.
        """
        return dataset if self.placed_by is None else DistributedDataset(dataset, self._layout)

    def distribute_datasets_from_function(self, dataset_fn: Callable, options: Any = None) -> Any:
        """Call a function that makes the dataset of this worker, and distribute that.

        Args:
            dataset_fn: A function of an `InputContext`. Each worker's dataset gives its own part of
                the global batch: for all replicas of the worker together, where TensorFlow wants
                one replica's.
            options: Accepted for TensorFlow's signature.
        """
        context = InputContext(
            jax.process_count() if self.spans_processes else 1,
            self._worker,
            self.num_replicas_in_sync,
        )
        made = dataset_fn(context)
        return made if self.placed_by is None else FromFunction(made, self._layout)

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    @property
    def spans_processes(self) -> bool:
        """Whether several processes train together."""
        return not self._layout.everywhere.is_fully_addressable

    @property
    def _worker(self) -> int:
        return jax.process_index() if self.spans_processes else 0

    def __repr__(self) -> str:
        shape = ", ".join(f"{name}: {length}" for name, length in self.mesh.shape.items())
        return f"<podium.distribute.{type(self).__name__} {shape}>"


def _is_leaf(value: Any) -> bool:
    return is_per_replica(value) or hasattr(value, "_value")


def over_replicas(function: Callable, value: Any) -> Any:
    """Apply a function to each PerReplica, or other value, of a structure."""
    if is_per_replica(value):
        return function(value)
    if isinstance(value, dict):
        return {key: over_replicas(function, each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [over_replicas(function, each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return map_structure(function, value)
