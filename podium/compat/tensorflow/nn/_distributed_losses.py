"""Losses of one replica, divided so that the sum over the replicas is that of the global batch."""

from __future__ import annotations

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor, convert_to_tensor
from podium.distribute import scale_loss_for_distribution
from podium.distribute.internal import num_traced_replicas


def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: int | None = None,
) -> Tensor:
    """Return the sum of the losses of samples, divided by the size of the global batch.

    Inside `strategy.run`, the sum of the results of the replicas is the mean loss of the batch,
    which is what optimizers minimize there.

    Args:
        per_example_loss: The loss of each sample of this replica.
        sample_weight: The weight of each sample.
        global_batch_size: The number of samples of all replicas; by default that of this replica
            times the number of replicas.

    Raises:
        ValueError: `per_example_loss` is a scalar.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.compute_average_loss([1.0, 3.0], global_batch_size=4).numpy()
        array(1., dtype=float32)
    """
    losses = convert_to_tensor(per_example_loss)
    if not losses.ndim:
        raise ValueError(
            "compute_average_loss was given a scalar as per_example_loss; the loss of each sample "
            "was expected. Use a loss that is not reduced, such as "
            "`MeanSquaredError(reduction=None)`."
        )
    size = (
        losses.shape[0] * num_traced_replicas() if global_batch_size is None else global_batch_size
    )
    if sample_weight is not None:
        weights = ops.cast(sample_weight, losses.dtype)
        losses = losses * ops.reshape(weights, weights.shape + (1,) * (losses.ndim - weights.ndim))
    return ops.divide_no_nan(ops.sum(losses), ops.cast(size, losses.dtype))


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Return the sum of regularization losses, divided by the number of replicas.

    Args:
        regularization_loss: One loss, or several.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.scale_regularization_loss([1.0, 2.0]).numpy()
        array(3., dtype=float32)
    """
    return scale_loss_for_distribution(ops.sum(convert_to_tensor(regularization_loss)))
