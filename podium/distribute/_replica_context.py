"""ReplicaContext: what code inside `Strategy.run` can use, and InputContext: the argument of
functions that make a worker's dataset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from podium._typing import Tree
from podium.core import Tensor, check_choice, dispatch, map_structure
from podium.core.internal import PublicRepr, context, wrap

if TYPE_CHECKING:
    from podium.distribute._strategy import Strategy


class InputContext(PublicRepr):
    """The argument of a function passed to `distribute_datasets_from_function`.

    Args:
        num_input_pipelines: The number of workers that make data.
        input_pipeline_id: The index of this worker.
        num_replicas_in_sync: The number of replicas that train together.

    Example:
        >>> podium.distribute.InputContext(num_replicas_in_sync=4).get_per_replica_batch_size(64)
        16
    """

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ):
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return the batch size of one replica; the global batch size must divide evenly."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"global_batch_size={global_batch_size} was given for "
                f"{self.num_replicas_in_sync} replicas; a "
                "multiple was expected."
            )
        return global_batch_size // self.num_replicas_in_sync


class ReplicaContext(PublicRepr):
    """For code inside `Strategy.run`: the index of the replica, and collectives.

    Args:
        strategy: The strategy that runs it.

    Example:
        >>> context = podium.distribute.get_replica_context()
        >>> context.replica_id_in_sync_group, context.num_replicas_in_sync
        (0, 1)
        >>> strategy = podium.distribute.MirroredStrategy(2)
        >>> def step():
        ...     context = podium.distribute.get_replica_context()
        ...     return context.all_reduce("sum", context.replica_id_in_sync_group + 1)
        >>> [int(value) for value in strategy.unwrap(strategy.run(step))]
        [3, 3]
    """

    def __init__(self, strategy: Strategy):
        self.strategy = strategy

    @property
    def replica_id_in_sync_group(self) -> int | Tensor:
        """The index of this replica; a Tensor if there are several."""
        return 0 if context.replica_axes is None else wrap(jax.lax.axis_index(context.replica_axes))

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that train together."""
        return self.strategy.num_replicas_in_sync

    def all_reduce(self, reduce_op: str, value: Tree, options: object = None) -> Tree:
        """Reduce the values of all replicas; each gets the result. It is differentiable.

        Args:
            reduce_op: "sum" or "mean".
            value: A value of this replica, or a structure of them.
            options: Accepted for TensorFlow's signature.
        """
        name = check_choice("reduce_op", str(reduce_op).lower(), ("sum", "mean"))
        axes = context.replica_axes
        if axes is None:
            return value
        combine: Callable[..., jax.Array] = jax.lax.psum if name == "sum" else jax.lax.pmean
        return map_structure(
            lambda leaf: dispatch(lambda x: combine(jnp.asarray(x), axes), leaf), value
        )

    def all_gather(self, value: Tree, axis: int, options: object = None) -> Tree:
        """Concatenate the values of all replicas along an axis; each gets the result.

        Args:
            value: A value of this replica, or a structure of them.
            axis: The axis.
            options: Accepted for TensorFlow's signature.
        """
        axes = context.replica_axes
        if axes is None:
            return value
        return map_structure(
            lambda leaf: dispatch(
                lambda x: jax.lax.all_gather(x, axes, axis=axis, tiled=True), leaf
            ),
            value,
        )

    def merge_call(
        self,
        merge_fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call `merge_fn(strategy, *args)` once for all replicas."""
        return merge_fn(self.strategy, *args, **(kwargs or {}))
