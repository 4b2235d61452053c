"""What code that runs on a replica may ask about itself, and what a function that makes its input
data is told.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from podium.core import check_choice, dispatch, map_structure
from podium.core.internal import context, wrap


class InputContext:
    """What a function given to `distribute_datasets_from_function` knows about the data it shall
    make.

    Args:
        num_input_pipelines: How many workers make data.
        input_pipeline_id: Which of them this is.
        num_replicas_in_sync: How many replicas train together.

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
        """Return the share of one replica; the global batch size must divide evenly."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"global_batch_size={global_batch_size} was given for "
                f"{self.num_replicas_in_sync} replicas; a "
                "multiple was expected."
            )
        return global_batch_size // self.num_replicas_in_sync


class ReplicaContext:
    """What code inside `Strategy.run` may ask: which replica it is and how to meet the others.

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

    def __init__(self, strategy: Any):
        self.strategy = strategy

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica: a Tensor where there are several."""
        return 0 if context.replica_axes is None else wrap(jax.lax.axis_index(context.replica_axes))

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas train together."""
        return self.strategy.num_replicas_in_sync

    def all_reduce(self, reduce_op: str, value: Any, options: Any = None) -> Any:
        """Combine the values of all replicas; each gets the result. Gradients pass through it.

        Args:
            reduce_op: "sum" or "mean".
            value: A value of this replica, or a structure of them.
            options: Accepted for TensorFlow's signature.
        """
        how = check_choice("reduce_op", str(reduce_op).lower(), ("sum", "mean"))
        axes = context.replica_axes
        if axes is None:
            return value
        combine = jax.lax.psum if how == "sum" else jax.lax.pmean
        return map_structure(
            lambda each: dispatch(lambda x: combine(jnp.asarray(x), axes), each), value
        )

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """Join the values of all replicas along an axis; each gets the result.

        Args:
            value: A value of this replica, or a structure of them.
            axis: The axis.
            options: Accepted for TensorFlow's signature.
        """
        axes = context.replica_axes
        if axes is None:
            return value
        return map_structure(
            lambda each: dispatch(
                lambda x: jax.lax.all_gather(x, axes, axis=axis, tiled=True), each
            ),
            value,
        )

    def merge_call(self, merge_fn: Callable, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Call `merge_fn(strategy, *args)` once for all replicas."""
        return merge_fn(self.strategy, *args, **(kwargs or {}))
