"""`metric_function`: makes a public function on Tensors of a pure one on arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax.numpy as jnp

from podium.core import convert_to_tensor, dispatch, floatx

F = TypeVar("F", bound=Callable[..., Any])


def metric_function(pure: F) -> F:
    """Make a public function of a pure one of `(y_true, y_pred, ...)`.

    The pure one stays reachable as `raw`, so that the class form can sum up within the same
    operation.
    """

    @functools.wraps(pure)
    def public(y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
        return dispatch(pure, convert_to_tensor(y_true), convert_to_tensor(y_pred), *args, **kwargs)

    public.raw = pure  # type: ignore[attr-defined]
    return cast(F, public)


def to_float(values: Any) -> Any:
    """Return floats of 32 bits at least, so that thresholds are compared as written."""
    return values if values.dtype in (jnp.float32, jnp.float64) else values.astype(floatx())
