"""What happens to arrays in one update, as pure functions: unscaling, accumulating, clipping, a
rule's step, averaging.

They are compiled by themselves, so that an eager update costs one call per variable, and are
inlined into the program of a compiled step, where each shape is traced once. Which Variables the
arrays come from is `_optimizer.py`'s business.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Plan(NamedTuple):
    """What is fixed when a variable is updated: constants of the compiled step."""

    rule: Callable  # (gradient, value, slots, learning_rate, step, hyper) -> (value, slots)
    hyper: Any  # a named tuple of the optimizer's own numbers
    weight_decay: float | None


def wide_dtype(dtype: Any) -> Any:
    """Return the type to compute an update in: at least float32.

    Adam's 0.999 is 1 in bfloat16, and 1 - 0.999 ** step zero: in such types the rules would stand
    still or divide by zero.
    """
    return dtype if jnp.dtype(dtype).itemsize >= 4 else jnp.dtype("float32")


@functools.partial(jax.jit, static_argnums=0, inline=True)
def updated(
    plan: Plan,
    gradient: Any,
    value: Any,
    slots: dict,
    shared: dict,
    rate: Any,
    iteration: Any,
    due: Any,
) -> tuple:
    """Return a variable's value and slots after one step of the rule, each in the type it is kept
    in.

    Args:
        plan: Rule, hyperparameters, weight decay.
        gradient: The gradient, clipped and all.
        value: The variable's value.
        slots: Its own state by name.
        shared: State that all variables share, which the rule only reads.
        rate: The learning rate.
        iteration: How many updates have been done.
        due: Whether to change anything at all in this call, or None for always.
    """
    dtype = wide_dtype(value.dtype)
    wide = {name: slot.astype(dtype) for name, slot in (slots | shared).items()}
    rate, step, new = rate.astype(dtype), (iteration + 1).astype(dtype), value.astype(dtype)
    if plan.weight_decay is not None:
        new = new - new * plan.weight_decay * rate
    new, state = plan.rule(gradient.astype(dtype), new, wide, rate, step, plan.hyper)
    new, state = (
        new.astype(value.dtype),
        {name: state[name].astype(slot.dtype) for name, slot in slots.items()},
    )
    return (new, state) if due is None else select(due, (new, state), (value, slots))


@functools.partial(jax.jit, inline=True)
def select(chosen: Any, new: Any, old: Any) -> Any:
    """Return the arrays of `new` where `chosen` is true, and else those of `old`."""
    return jax.tree.map(lambda a, b: jnp.where(chosen, a, b), new, old)


@functools.partial(jax.jit, static_argnums=3, inline=True)
def accumulated(gradients: list, sums: list, due: Any, count: int) -> tuple[list, list]:
    """Add gradients to their sums. Returns the means, of use when `due`, and the sums to keep: zero
    when `due`.
    """
    totals = [
        gradient + total.astype(gradient.dtype)
        for gradient, total in zip(gradients, sums, strict=True)
    ]
    kept = [
        jnp.where(due, 0, total).astype(old.dtype) for total, old in zip(totals, sums, strict=True)
    ]
    return [total / count for total in totals], kept


@functools.partial(jax.jit, static_argnums=(1, 2, 3), inline=True)
def clipped(
    gradients: list, clipnorm: float | None, clipvalue: float | None, global_clipnorm: float | None
) -> list:
    """Clip each gradient by its norm or its values, or all of them by their common norm."""
    if clipnorm:
        return [_clip_by_norm(gradient, clipnorm) for gradient in gradients]
    if global_clipnorm:
        squares = [jnp.sum(jnp.square(gradient)).astype(jnp.float32) for gradient in gradients]
        norm = jnp.sqrt(jnp.sum(jnp.stack(squares)))
        # Gradients that are not finite make the factor, and with it the weights, NaN: visible
        # instead of hidden.
        factor = global_clipnorm * jnp.minimum(1.0 / norm, 1.0 / global_clipnorm) + (norm - norm)
        return [gradient * factor.astype(gradient.dtype) for gradient in gradients]
    if clipvalue:
        return [jnp.clip(gradient, -clipvalue, clipvalue) for gradient in gradients]
    return gradients


def _clip_by_norm(gradient: Any, clipnorm: float) -> Any:
    norm = jnp.sqrt(jnp.sum(jnp.square(gradient)))
    return gradient * clipnorm / jnp.maximum(norm, clipnorm)


@functools.partial(jax.jit, static_argnums=(3, 4), inline=True)
def averaged(
    value: Any, average: Any, iteration: Any, momentum: float, frequency: int | None
) -> tuple[Any, Any]:
    """Take a value into its moving average; every `frequency` updates, the value becomes the
    average.
    """
    dtype = wide_dtype(value.dtype)
    weight = jnp.where(iteration == 0, 0.0, momentum).astype(
        dtype
    )  # the first value is taken whole
    new = (weight * average.astype(dtype) + (1 - weight) * value.astype(dtype)).astype(
        average.dtype
    )
    if frequency is None:
        return value, new
    return jnp.where((iteration + 1) % frequency == 0, new, value), new


@functools.partial(jax.jit, inline=True)
def all_finite(gradients: list) -> Any:
    """Tell whether every number of every gradient is finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(gradient)) for gradient in gradients]))
