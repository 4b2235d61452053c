"""`tf.Variable`: TensorFlow's way of writing `podium.Variable`, which is what it makes."""

from typing import Any

from podium.compat.tensorflow._dtypes import canonical_dtype
from podium.core import Variable as PodiumVariable
from podium.core import check_choice


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
    """When replicas agree on a Variable. XLA keeps them in step, so the choice changes nothing.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.VariableSynchronization.AUTO
        'auto'
    """

    AUTO = "auto"
    NONE = "none"
    ON_WRITE = "on_write"
    ON_READ = "on_read"


class _MakesPodiumVariables(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> PodiumVariable:
        return _make(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, PodiumVariable)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, PodiumVariable)


class Variable(metaclass=_MakesPodiumVariables):
    """Make a `podium.Variable` with TensorFlow's arguments; every `podium.Variable` counts as an
    instance.

    Args:
        initial_value: Numbers, or a function without arguments that returns some.
        trainable: Whether gradient tapes watch it; True by default.
        name: A name.
        dtype: The type to keep; by default that of the value.
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


def _make(
    initial_value: Any = None,
    trainable: bool | None = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: str | None = None,
    variable_def: Any = None,
    dtype: Any = None,
    import_scope: Any = None,
    constraint: Any = None,
    synchronization: str = "auto",
    aggregation: str = "none",
    shape: Any = None,
    experimental_enable_variable_lifting: bool = True,
) -> PodiumVariable:
    if initial_value is None:
        raise ValueError(
            "tf.Variable() was given no initial_value; numbers or a function that returns some "
            "were expected."
        )
    return PodiumVariable(
        initial_value,
        dtype=None if dtype is None else canonical_dtype(dtype),
        trainable=True if trainable is None else trainable,
        name=None if name is None else name.replace("/", "_").replace(":", "_"),
        constraint=constraint,
        synchronization=synchronization,
        aggregation=check_choice(
            "aggregation", aggregation, ("none", "sum", "mean", "only_first_replica")
        ),
    )


class IndexedSlices:
    """Rows of a larger array and their places; here only so that `isinstance` can be asked:
    gradients are dense.

    Args:
        values: The rows.
        indices: Their places.
        dense_shape: The shape of the whole.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> isinstance(tf.constant(1.0), tf.IndexedSlices)
        False
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None):
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape
