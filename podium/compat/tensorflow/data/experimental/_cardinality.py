"""The few functions of `tf.data.experimental` that scripts still use."""

from collections.abc import Callable
from typing import Any


def cardinality(dataset: Any) -> Any:
    """Return the number of elements of a dataset.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> int(tf.data.experimental.cardinality(tf.data.Dataset.range(3)))
        3
    """
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: int) -> Callable[[Any], Any]:
    """Return a transformation for `Dataset.apply` that promises a number of elements and takes no
    more.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> promised = tf.data.Dataset.range(3).apply(tf.data.experimental.assert_cardinality(3))
        >>> int(promised.cardinality())
        3
    """
    return lambda dataset: dataset.take(int(expected_cardinality))
