"""How targets meet predictions: one float type, one rank, and never a silent broadcast.

Also `loss_function`, which makes a public function on Tensors of a pure one on arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import (
    KerasTensor,
    Tensor,
    Variable,
    convert_to_tensor,
    dispatch,
    floatx,
    promote_dtypes,
)

VALUE_TYPES = (Tensor, Variable, KerasTensor, jax.Array, np.ndarray)

F = TypeVar("F", bound=Callable[..., Any])


def loss_function(pure: F) -> F:
    """Make a public loss of a pure function of arrays: one entry on a tape, whatever happens
    inside.

    `pure` returns the values, or a pair of the values and the mask of those that count. The
    function on bare arrays stays reachable as `raw`, so that the class form can weigh and reduce
    within the same entry.
    """

    @promote_dtypes
    def raw(y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
        if y_true is None or y_pred is None:
            missing = "y_true" if y_true is None else "y_pred"
            raise ValueError(
                f"{pure.__name__} was given {missing}=None; it compares targets with predictions "
                "and needs both."
            )
        return pure(y_true, y_pred, *args, **kwargs)

    @functools.wraps(pure)
    def public(y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
        result = dispatch(raw, as_value(y_true), as_value(y_pred), *args, **kwargs)
        if not isinstance(result, tuple):
            return result
        values, mask = result
        if hasattr(
            values, "_keras_mask"
        ):  # bare arrays, inside a layer that asked for them, carry no mask
            values._keras_mask = mask
        return values

    public.raw = raw  # type: ignore[attr-defined]
    return cast(F, public)


def is_own(fn: Any) -> bool:
    """Tell whether `loss_function` made a function; operations of `podium.ops` have a `raw` too,
    but do not match ranks.
    """
    return hasattr(fn, "raw") and fn.__module__.startswith("podium.losses.")


def as_value(x: Any) -> Any:
    """Return what `dispatch` turns into an array: lists and numbers become a Tensor, the rest stays
    as it is.
    """
    return x if x is None or isinstance(x, VALUE_TYPES) else convert_to_tensor(x)


def to_float(x: Any) -> Any:
    """Cast integers and booleans to the default float type."""
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(floatx())


def same_rank(first: Any, second: Any) -> tuple[Any, Any]:
    """Drop or add a last axis of length 1 where the ranks differ by one: `(n,)` and `(n, 1)` become
    `(n, 1)` both.
    """
    if len(first.shape) < len(second.shape):
        second, first = same_rank(second, first)
        return first, second
    if len(first.shape) == len(second.shape) + 1 and first.shape[-1] == 1:
        return (first, second[..., None]) if len(second.shape) == 1 else (first[..., 0], second)
    return first, second


def matched(loss: str, y_true: Any, y_pred: Any, advice: str = "") -> tuple[Any, Any]:
    """Return targets and predictions in one float type and one shape, or refuse them.

    Args:
        loss: The loss's name, for the message.
        y_true: The targets.
        y_pred: The predictions.
        advice: How to mend it, where there is more to say.

    Raises:
        ValueError: If the shapes differ by more than a last axis of length 1.
    """
    y_pred = to_float(y_pred)
    true, pred = same_rank(y_true.astype(y_pred.dtype), y_pred)
    if true.shape != pred.shape:
        raise ValueError(
            f"{loss} was given y_true of shape {y_true.shape} and y_pred of shape "
            f"{y_pred.shape}; the same shape was expected: "
            "targets are never broadcast. "
            + (advice or "Reshape the targets, or give the model's last layer as many units.")
        )
    return true, pred


def mean_over(values: Any, axis: Any = -1) -> Any:
    """Average over an axis; a single number stays as it is."""
    return jnp.mean(values, axis=axis) if values.ndim else values
