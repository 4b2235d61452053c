"""`loss_function`, which makes a public function on Tensors from a pure one on arrays, and the
alignment of targets with predictions: one float dtype, one rank, and never a silent broadcast.
"""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import TensorLike
from podium.core import (
    KerasTensor,
    Tensor,
    Variable,
    convert_to_tensor,
    dispatch,
    floatx,
    promote_dtypes,
    warn_user,
)
from podium.core.internal import in_tensorflow_mode
from podium.ops.internal import prefer_logits

# A value as callers of a loss pass it (`TensorLike`); `loss_function` converts it to a `jax.Array`
# before the body of a loss runs.
Values: TypeAlias = Any

VALUE_TYPES = (Tensor, Variable, KerasTensor, jax.Array, np.ndarray)

P = ParamSpec("P")
R = TypeVar("R")

# The values of a loss, or a pair of the values and the mask of valid ones.
MaskedValues: TypeAlias = jax.Array | tuple[jax.Array, jax.Array]


def loss_function(pure: Callable[P, MaskedValues]) -> Callable[P, Tensor]:
    """Make a public loss from a pure function of arrays: a call is a single entry on a tape.

    `pure` returns the values, or a pair of the values and the mask of valid ones. The function on
    arrays is available as `raw`, so that the class form can weight and reduce in the same entry.
    """

    @promote_dtypes
    def raw(y_true: Values, y_pred: Values, *args: Any, **kwargs: Any) -> Any:
        if y_true is None or y_pred is None:
            missing = "y_true" if y_true is None else "y_pred"
            raise ValueError(
                f"{pure.__name__} was given {missing}=None; it compares targets with predictions "
                "and needs both."
            )
        return pure(y_true, y_pred, *args, **kwargs)

    @functools.wraps(pure)
    def public(y_true: Values, y_pred: Values, *args: Any, **kwargs: Any) -> Any:
        y_pred, args, kwargs = replace_by_logits(public, y_pred, args, kwargs)
        result = dispatch(raw, to_dispatchable(y_true), to_dispatchable(y_pred), *args, **kwargs)
        if not isinstance(result, tuple):
            return result
        values, mask = result
        # Arrays, inside a layer that works on them, have no mask.
        if hasattr(values, "_keras_mask"):
            values._keras_mask = mask
        return values

    public.raw = raw  # type: ignore[attr-defined]
    return cast(Callable[P, Tensor], public)


def inverts(activation: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a loss function that computes with the logits if it is given the outputs of this
    activation: a decorator without a wrapper.
    """

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        vars(fn)["activation"] = activation
        return fn

    return decorate


def replace_by_logits(
    fn: Callable[..., Any], y_pred: Values, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Values, tuple[Any, ...], dict[str, Any]]:
    """Return the predictions and the further arguments for a call of a loss function; the logits
    instead of the outputs of the activation that `fn` inverts.
    """
    activation = getattr(fn, "activation", None)
    if activation is None or getattr(y_pred, "_keras_logits", None) is None:
        return y_pred, args, kwargs
    bound = inspect.signature(fn).bind_partial(None, y_pred, *args, **kwargs)
    bound.apply_defaults()
    options = dict(list(bound.arguments.items())[2:])
    axis = options["axis"] if activation == "softmax" else None
    y_pred, options["from_logits"] = prefer_logits(
        fn.__name__, activation, y_pred, options["from_logits"], axis
    )
    return y_pred, (), options


def is_loss_function(fn: Callable[..., Any]) -> bool:
    """Return whether `loss_function` made a function. Operations of `podium.ops` have a `raw` too,
    but do not match ranks.
    """
    return hasattr(fn, "raw") and fn.__module__.startswith("podium.losses.")


def to_dispatchable(x: TensorLike | None) -> Values:
    """Return a value that `dispatch` converts to an array: lists and numbers become a Tensor."""
    return x if x is None or isinstance(x, VALUE_TYPES) else convert_to_tensor(x)


def check_result(kind: str, description: str, values: object) -> None:
    """Raise for what a loss or metric function cannot return: anything but a value."""
    if values is None:
        raise ValueError(
            f"The {kind} {description} returned None; one value for each sample was expected. Is a "
            "`return` missing at the end of it?"
        )
    if not isinstance(values, (*VALUE_TYPES, numbers.Number, np.generic)):
        what = f"{values!r:.80} ({type(values).__name__})"
        raise TypeError(
            f"The {kind} {description} returned {what}; one value for each sample was expected: a "
            "Tensor computed from y_true and y_pred."
        )


def cast_to_float(x: jax.Array) -> jax.Array:
    """Cast integers and booleans to the default float dtype."""
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(floatx())


def squeeze_or_expand_to_same_rank(first: Values, second: Values) -> tuple[Values, Values]:
    """Remove or add a last axis of size 1 where the ranks differ by one: `(n,)` and `(n, 1)` both
    become `(n, 1)`.
    """
    if len(first.shape) < len(second.shape):
        second, first = squeeze_or_expand_to_same_rank(second, first)
        return first, second
    if len(first.shape) == len(second.shape) + 1 and first.shape[-1] == 1:
        return (first, second[..., None]) if len(second.shape) == 1 else (first[..., 0], second)
    return first, second


def align_targets(
    loss: str, y_true: Values, y_pred: Values, advice: str = "", keras_broadcasts: bool = True
) -> tuple[jax.Array, jax.Array]:
    """Return targets and predictions in one float dtype and one shape.

    Shapes that broadcast are an error, since they are a mistake in most cases. TensorFlow's scripts
    get a warning, and the broadcast values that Keras computes.

    Args:
        loss: The loss's name, for the message.
        y_true: The targets.
        y_pred: The predictions.
        advice: A fix to suggest in the message.
        keras_broadcasts: Whether Keras accepts shapes that broadcast.

    Raises:
        ValueError: The shapes differ by more than a last axis of size 1.
    """
    y_pred = cast_to_float(y_pred)
    true, pred = squeeze_or_expand_to_same_rank(y_true.astype(y_pred.dtype), y_pred)
    if true.shape == pred.shape:
        return true, pred
    shapes = f"{loss} was given y_true of shape {y_true.shape} and y_pred of shape {y_pred.shape}"
    advice = advice or "Reshape the targets, or set the number of units of the model's last layer."
    if keras_broadcasts and in_tensorflow_mode() and _broadcasts(true.shape, pred.shape):
        warn_user(f"{shapes}, which are broadcast, as Keras does. {advice}")
        true, pred = jnp.broadcast_arrays(true, pred)
        return true, pred
    raise ValueError(
        f"{shapes}; the same shape was expected: targets are never broadcast. {advice}"
    )


def _broadcasts(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def mean_over_axis(values: jax.Array, axis: int = -1) -> jax.Array:
    """Average over an axis; a scalar is returned unchanged."""
    return jnp.mean(values, axis=axis) if values.ndim else values
