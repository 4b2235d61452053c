"""Cardinality functions of `tf.data.experimental`."""

from collections.abc import Callable

from podium.data import Dataset


def cardinality(dataset: Dataset) -> int:
    """Return the number of elements of a dataset.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> int(tf.data.experimental.cardinality(tf.data.Dataset.range(3)))
        3
    """
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: int) -> Callable[[Dataset], Dataset]:
    """Return a transformation for `Dataset.apply` that limits and declares the cardinality.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> promised = tf.data.Dataset.range(3).apply(tf.data.experimental.assert_cardinality(3))
        >>> int(promised.cardinality())
        3
    """
    return lambda dataset: dataset.take(int(expected_cardinality))
