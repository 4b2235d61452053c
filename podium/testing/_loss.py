"""check_loss: the contract of every loss."""

from __future__ import annotations

import numpy as np

from podium import core
from podium._typing import TensorLike
from podium.core import Tensor, convert_to_numpy
from podium.losses import Loss
from podium.testing._contract import Contract

_RTOL = 1e-5


def check_loss(loss: Loss, y_true: TensorLike, y_pred: TensorLike) -> None:
    """Check that a loss keeps the contract of losses.

    Checked are: one value per sample; the reductions `"sum_over_batch_size"`, `"sum"` and `"none"`;
    sample weights; that compiled and eager calls agree; a gradient for the predictions; and
    `get_config` with `from_config`.

    Args:
        loss: The loss.
        y_true: Example targets, with at least two samples.
        y_pred: Example predictions.

    Raises:
        ContractError: The loss breaks the contract; the message states how.

    Example:
        >>> class Cubic(podium.losses.Loss):
        ...     def call(self, y_true, y_pred):
        ...         return podium.ops.mean(podium.ops.abs(y_true - y_pred) ** 3, axis=-1)
        >>> podium.testing.check_loss(Cubic(), np.zeros((4, 2)), np.ones((4, 2)))
    """
    contract = Contract("check_loss", loss)
    contract.require(
        isinstance(loss, Loss),
        f"a {type(loss).__name__} is not a loss.",
        "Pass an instance of a subclass of `podium.losses.Loss`.",
    )
    values = _check_values(contract, loss, y_true, y_pred)
    _check_reductions(contract, loss, y_true, y_pred, values)
    _check_sample_weights(contract, loss, y_true, y_pred, values)
    with contract.succeeds("the compiled loss", "Use `podium.ops` in `call`."):
        compiled = core.function(loss)(y_true, y_pred)
    contract.require_equal(
        compiled,
        loss(y_true, y_pred),
        "the compiled loss differs from the eager one.",
        "Use `podium.ops` in `call`, and keep no state in it.",
        rtol=_RTOL,
    )
    _check_gradient(contract, loss, y_true, y_pred)
    copy = contract.rebuild(loss)
    contract.require_equal(
        copy(y_true, y_pred),
        loss(y_true, y_pred),
        "a loss made from the config returns something else.",
        "Return every argument from `get_config`.",
        rtol=_RTOL,
    )


def _check_values(
    contract: Contract, loss: Loss, y_true: TensorLike, y_pred: TensorLike
) -> np.ndarray:
    with contract.succeeds("a call with the example values", "Do they fit the loss?"):
        values = convert_to_numpy(_with_reduction(loss, "none", y_true, y_pred))
    samples = len(convert_to_numpy(y_pred))
    contract.require(
        values.ndim >= 1 and values.shape[0] == samples,
        f"`call` returned shape {values.shape} for {samples} samples.",
        "Return one value per sample: reduce the last axis only, as in `mean(..., axis=-1)`.",
    )
    contract.require(
        bool(np.all(np.isfinite(values))),
        "`call` returned NaN or infinity for the example values.",
        "Keep logarithms and divisions away from zero.",
    )
    return values


def _with_reduction(
    loss: Loss, reduction: str | None, y_true: TensorLike, y_pred: TensorLike, **options: TensorLike
) -> Tensor:
    """Return the result of the same loss with another reduction."""
    before, loss.reduction = loss.reduction, reduction
    try:
        result: Tensor = loss(y_true, y_pred, **options)
        return result
    finally:
        loss.reduction = before


def _check_reductions(
    contract: Contract, loss: Loss, y_true: TensorLike, y_pred: TensorLike, values: np.ndarray
) -> None:
    for reduction, expected in (("sum_over_batch_size", values.mean()), ("sum", values.sum())):
        contract.require_equal(
            _with_reduction(loss, reduction, y_true, y_pred),
            expected,
            f"reduction={reduction!r} does not reduce the values of `call`.",
            "Leave the reduction to `Loss.__call__`, and override `call` only.",
            rtol=_RTOL,
        )


def _check_sample_weights(
    contract: Contract, loss: Loss, y_true: TensorLike, y_pred: TensorLike, values: np.ndarray
) -> None:
    weights = np.linspace(0.0, 2.0, len(values), dtype="float32")
    per_sample = weights.reshape(-1, *[1] * (values.ndim - 1))
    contract.require_equal(
        _with_reduction(loss, "none", y_true, y_pred, sample_weight=weights),
        values * per_sample,
        "a sample_weight does not multiply the value of its sample.",
        "Leave the weights to `Loss.__call__`.",
        rtol=_RTOL,
    )


def _check_gradient(contract: Contract, loss: Loss, y_true: TensorLike, y_pred: TensorLike) -> None:
    predictions = core.convert_to_tensor(y_pred, core.floatx())
    with core.GradientTape() as tape:
        tape.watch(predictions)
        value = loss(y_true, predictions)
    with contract.succeeds(
        "the gradient for the predictions",
        "Compute with `podium.ops`, do not convert to NumPy, and stop no gradients.",
    ):
        gradient = tape.gradient(value, predictions)
    contract.require(
        bool(np.all(np.isfinite(convert_to_numpy(gradient)))),
        "the gradient for the example predictions holds NaN or infinity.",
        "Use `podium.ops.where` with a safe value on both sides.",
    )
