"""`tf.Variable`: creates a `podium.Variable` from TensorFlow's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium._typing import DTypeLike, ShapeLike, TensorLike
from podium.compat.tensorflow._dtypes import canonical_dtype_or_none
from podium.core import Tensor, check_choice
from podium.core import Variable as PodiumVariable
from podium.core.internal import PublicRepr


class VariableAggregation:
    """How replicas combine a Variable: the names of `podium.Variable`'s `aggregation`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.VariableAggregation.ONLY_FIRST_REPLICA
        'only_first_replica'
    """

    NONE = "none"
    SUM = "sum"
    MEAN = "mean"
    ONLY_FIRST_REPLICA = "only_first_replica"


class VariableSynchronization:
    """When replicas synchronize a Variable. XLA keeps them equal, so the choice has no effect.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.VariableSynchronization.AUTO
        'auto'
    """

    AUTO = "auto"
    NONE = "none"
    ON_WRITE = "on_write"
    ON_READ = "on_read"


class _VariableFactory(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> PodiumVariable:
        return _create_variable(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, PodiumVariable)

    def __subclasscheck__(cls, subclass: type[Any]) -> bool:
        return issubclass(subclass, PodiumVariable)


class Variable(metaclass=_VariableFactory):
    """Create a `podium.Variable` with TensorFlow's arguments.

    Every `podium.Variable` counts as an instance.

    Args:
        initial_value: The value, or a function without arguments that returns it.
        trainable: Whether gradient tapes watch it; True by default.
        name: A name.
        dtype: The dtype to store; by default that of the value.
        constraint: A function of the value that optimizers apply after an update.
        synchronization: Accepted and unused.
        aggregation: How replicas combine it: a name of `tf.VariableAggregation`.
        shape: Accepted; the shape is always that of the value.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> v = tf.Variable(initial_value=[1.0, 2.0], trainable=False, name="v")
        >>> v.assign_add([1.0, 1.0]).numpy()
        array([2., 3.], dtype=float32)
        >>> isinstance(v, tf.Variable), type(v) is podium.Variable
        (True, True)
    """


def _create_variable(
    initial_value: TensorLike | Callable[[], TensorLike] | None = None,
    trainable: bool | None = None,
    validate_shape: bool = True,
    caching_device: str | None = None,
    name: str | None = None,
    variable_def: object = None,
    dtype: DTypeLike | None = None,
    import_scope: str | None = None,
    constraint: Callable[[Tensor], Tensor] | None = None,
    synchronization: str = "auto",
    aggregation: str = "none",
    shape: ShapeLike | None = None,
    experimental_enable_variable_lifting: bool = True,
) -> PodiumVariable:
    if initial_value is None:
        raise ValueError(
            "tf.Variable() was given no initial_value; a value or a function that returns one was "
            "expected."
        )
    return PodiumVariable(
        initial_value,
        dtype=canonical_dtype_or_none(dtype),
        trainable=True if trainable is None else trainable,
        name=None if name is None else name.replace("/", "_").replace(":", "_"),
        constraint=constraint,
        synchronization=synchronization,
        aggregation=check_choice(
            "aggregation", aggregation, ("none", "sum", "mean", "only_first_replica")
        ),
    )


class IndexedSlices(PublicRepr):
    """Rows of a larger array and their indices.

    Exists for `isinstance` checks only: gradients are dense.

    Args:
        values: The rows.
        indices: The index of each row.
        dense_shape: The shape of the larger array.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> isinstance(tf.constant(1.0), tf.IndexedSlices)
        False
    """

    def __init__(
        self, values: TensorLike, indices: TensorLike, dense_shape: ShapeLike | None = None
    ) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape
