"""Circle loss: embeddings of one class close together, those of different classes far apart."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import MaskedValues, Values, cast_to_float, loss_function


@loss_function
def circle(
    y_true: Values,
    y_pred: Values,
    ref_labels: Any = None,
    ref_embeddings: Any = None,
    remove_diagonal: bool = True,
    gamma: float = 80,
    margin: float = 0.4,
) -> MaskedValues:
    """Circle loss of embeddings of length 1, over all pairs of a batch.

    Args:
        y_true: Class indices, one for each sample.
        y_pred: Embeddings `(batch, features)`, of length 1 each.
        ref_labels: Class indices of the embeddings to compare with; by default those of the batch.
        ref_embeddings: The embeddings to compare with; by default those of the batch.
        remove_diagonal: Whether to ignore pairs of a sample with itself.
        gamma: The scale of similarities.
        margin: The margin between the similarities of pairs of one class and of two classes.

    Returns:
        One value for each sample, 0 for one without pairs of both kinds; a mask of values above 0
        is attached.

    Example:
        >>> embeddings = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> podium.losses.circle([0, 0, 1], embeddings, gamma=1.0).numpy().round(4)
        array([0.5459, 0.5459, 0.    ], dtype=float32)
    """
    y_pred = cast_to_float(y_pred)
    reference = y_pred if ref_embeddings is None else jnp.asarray(ref_embeddings, y_pred.dtype)
    labels = _labels(y_true, y_pred)
    reference_labels = labels if ref_labels is None else _labels(jnp.asarray(ref_labels), reference)
    distances = jnp.maximum(1.0 - y_pred @ reference.T, 0.0)
    alike = labels[:, None] == reference_labels[None, :]
    unlike = ~alike
    alike = (
        alike & ~jnp.eye(alike.shape[0], alike.shape[1], dtype=bool) if remove_diagonal else alike
    )
    pull = gamma * jnp.maximum(margin + distances, 0.0) * (distances - margin)
    push = gamma * jnp.maximum(1.0 + margin - distances, 0.0) * (1.0 - margin - distances)
    has_pairs = jnp.any(alike, axis=1) & jnp.any(unlike, axis=1)
    exponent = _log_sum(pull, alike) + _log_sum(push, unlike)
    values = jnp.where(has_pairs, jax.nn.softplus(exponent), 0.0)
    return values, values > 0


def _log_sum(scores: Any, where: Any) -> Any:
    """Return the logarithm of the sum of exponents of the chosen scores; 0, with a gradient of 0,
    for a row without any.
    """
    chosen = where | ~jnp.any(where, axis=1, keepdims=True)
    return jax.nn.logsumexp(jnp.where(where, scores, jnp.where(chosen, 0.0, -jnp.inf)), axis=1)


def _labels(y_true: Any, embeddings: Any) -> Any:
    labels = y_true.astype("int32")
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if embeddings.ndim != 2 or labels.shape != embeddings.shape[:1]:
        raise ValueError(
            f"circle was given labels of shape {y_true.shape} and embeddings of shape "
            f"{embeddings.shape}; one class index for "
            "each row of a matrix of embeddings was expected. Turn one-hot targets into numbers "
            "with `podium.ops.argmax`."
        )
    return labels


class Circle(BuiltInLoss):
    """Circle loss: embeddings of one class close together, those of different classes far apart.

    Embeddings must have length 1 each; `UnitNormalization` as the last layer sees to that.

    Args:
        gamma: The scale of similarities.
        margin: The margin between the similarities of pairs of one class and of two classes.
        remove_diagonal: Whether to ignore pairs of a sample with itself.
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> embeddings = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> round(float(podium.losses.Circle(gamma=1.0)([0, 0, 1], embeddings)), 4)
        0.5459
    """

    def __init__(
        self,
        gamma: float = 80.0,
        margin: float = 0.4,
        remove_diagonal: bool = True,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "circle",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(
            circle,
            reduction,
            name,
            dtype,
            gamma=gamma,
            margin=margin,
            remove_diagonal=remove_diagonal,
        )
