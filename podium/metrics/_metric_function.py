"""`metric_function`: makes a public function on Tensors from a pure one on arrays. The registry of
such functions by name is here too; `_registry.py` fills it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeAlias, cast

import jax
import jax.numpy as jnp

from podium.core import NameRegistry, Tensor, convert_to_tensor, dispatch, floatx

# A value as callers of a metric function pass it (`TensorLike`); `metric_function` converts it to a
# `jax.Array` before the body runs.
Values: TypeAlias = Any

# A name may mean a function here, and a class in the registry of metrics.
functions_by_name = NameRegistry("metric function", module="keras.metrics")

P = ParamSpec("P")


def metric_function(pure: Callable[P, jax.Array]) -> Callable[P, Tensor]:
    """Make a public function from a pure one of `(y_true, y_pred, ...)`.

    The pure one is available as `raw`, so that the class form can sum in the same operation.
    """

    @functools.wraps(pure)
    def public(y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
        return dispatch(pure, convert_to_tensor(y_true), convert_to_tensor(y_pred), *args, **kwargs)

    public.raw = pure  # type: ignore[attr-defined]
    return cast(Callable[P, Tensor], public)


def function_name_of(config: Any) -> str | None:
    """Return the name in a config that Keras 3 wrote for a function; None for other values."""
    if not isinstance(config, Mapping) or config.get("class_name") != "function":
        return None
    key = "config" if isinstance(config.get("config"), str) else "registered_name"
    name: str | None = config[key]
    return name


def to_wide_float(values: jax.Array) -> jax.Array:
    """Return floats of at least 32 bits, so that thresholds are compared exactly."""
    return values if values.dtype in (jnp.float32, jnp.float64) else values.astype(floatx())
