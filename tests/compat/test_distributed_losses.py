"""`tf.nn.compute_average_loss` and `scale_regularization_loss` (values of TensorFlow 2.21)."""

import numpy as np
import pytest

from podium.compat import tensorflow as tf


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (([1.0, 3.0],), 2.0),
        (([1.0, 3.0], None, 4), 1.0),
        (([1.0, 3.0], [1, 2]), 3.5),
        (([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]), 8.5),
        (([1.0, 3.0], None, 0), 0.0),
    ],
)
def test_average_loss_divides_by_the_global_batch(arguments, expected):
    assert float(tf.nn.compute_average_loss(*arguments)) == expected


def test_average_loss_of_a_scalar_is_refused():
    with pytest.raises(ValueError, match="was given a scalar as per_example_loss; the loss of"):
        tf.nn.compute_average_loss(2.0)


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_losses_of_the_replicas_add_up(replicas):
    strategy = tf.distribute.MirroredStrategy(replicas)
    losses = np.arange(8.0, dtype="float32")

    def step(part):
        return tf.nn.compute_average_loss(part) + tf.nn.scale_regularization_loss([1.0, 2.0])

    with strategy.scope():
        (batch,) = tf.data.Dataset.from_tensors(losses)
        result = strategy.reduce("sum", strategy.run(step, args=(batch,)))
    assert float(result) == pytest.approx(3.5 + 3.0)
