"""Connectionist temporal classification: label sequences without an alignment to the outputs."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike
from podium.losses._function_wrapper import BuiltInLoss
from podium.losses._loss_function import Values, loss_function
from podium.ops.internal import raw_ctc_loss


@loss_function
def ctc(y_true: Values, y_pred: Values) -> jax.Array:
    """The CTC loss: negative log-likelihood of label sequences, over all their alignments.

    Args:
        y_true: Class indices `(batch, labels)`, filled up with 0, which means blank.
        y_pred: Logits `(batch, time, classes)`.

    Returns:
        One value for each sample.

    Example:
        >>> podium.losses.ctc([[1]], np.zeros((1, 3, 2), "float32")).numpy().round(4)
        array([0.2877], dtype=float32)
    """
    if y_true.ndim != 2 or y_pred.ndim != 3 or y_true.shape[0] != y_pred.shape[0]:
        raise ValueError(
            f"ctc was given y_true of shape {y_true.shape} and y_pred of shape {y_pred.shape}; "
            "class indices of shape (batch, labels) and logits of shape (batch, time, classes) "
            "were expected."
        )
    labels = y_true.astype("int32")
    lengths = jnp.sum(labels != 0, axis=-1, dtype="int32")
    steps = jnp.full(y_pred.shape[:1], y_pred.shape[1], "int32")
    return raw_ctc_loss(labels, y_pred, lengths, steps, mask_index=0)


class CTC(BuiltInLoss):
    """Connectionist temporal classification: for label sequences without an alignment to the
    outputs.

    Args:
        reduction: How to reduce the values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation; `podium.core.floatx()` by default.

    Example:
        >>> round(float(podium.losses.CTC()([[1]], np.zeros((1, 3, 2), "float32"))), 4)
        0.2877
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "ctc",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(ctc, reduction, name, dtype)
