"""The arithmetic of an update as pure functions of arrays: accumulating, clipping, a rule's step,
averaging.

Each is jitted, so that an eager update costs one call per variable, and is inlined into the program
of a compiled step, where each shape is traced once. `_update_pipeline.py` reads and assigns the
Variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import DTypeLike, Tree

# The slots of a variable by name, and the hyperparameters of a rule as a named tuple.
Slots: TypeAlias = dict[str, jax.Array]
Hyperparameters: TypeAlias = Any

# (gradient, value, slots, learning_rate, step, hyperparameters) -> (new value, new slots)
Rule: TypeAlias = Callable[
    [jax.Array, jax.Array, Slots, jax.Array, jax.Array, Hyperparameters], tuple[jax.Array, Slots]
]


# Below 2**31, so that rules can add to the number of updates without overflow.
LAST_ITERATION = 2**31 - 1024


class Plan(NamedTuple):
    """What is constant while a variable is updated: static arguments of the compiled step."""

    rule: Rule
    hyper: Hyperparameters
    weight_decay: float | None


def wide_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the dtype to compute an update in: at least float32.

    Adam's 0.999 is 1 in bfloat16, and 1 - 0.999 ** step is 0: in such dtypes the rules would make
    no progress or divide by zero.
    """
    dtype = jnp.dtype(dtype)
    return dtype if dtype.itemsize >= 4 else jnp.dtype("float32")


@functools.partial(jax.jit, static_argnums=0, inline=True)
def apply_rule(
    plan: Plan,
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    shared: Slots,
    rate: jax.Array,
    iteration: jax.Array,
    due: jax.Array | None,
) -> tuple[jax.Array, Slots]:
    """Return a variable's value and slots after one step of the rule, each in its own dtype.

    Args:
        plan: Rule, hyperparameters and weight decay.
        gradient: The gradient after clipping.
        value: The variable's value.
        slots: The variable's state by name.
        shared: State that all variables share, which the rule only reads.
        rate: The learning rate.
        iteration: How many updates were made before.
        due: Whether to change anything in this call, or None for always.
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
    if due is None:
        return new, state
    selected: tuple[jax.Array, Slots] = select_if(due, (new, state), (value, slots))
    return selected


@functools.partial(jax.jit, inline=True)
def select_if(chosen: jax.Array, new: Tree, old: Tree) -> Tree:
    """Return the arrays of `new` where `chosen` is true, otherwise those of `old`."""
    return jax.tree.map(lambda a, b: jnp.where(chosen, a, b), new, old)


@functools.partial(jax.jit, static_argnums=3, inline=True)
def accumulate_gradients(
    gradients: list[jax.Array], sums: list[jax.Array], due: jax.Array, count: int
) -> tuple[list[jax.Array], list[jax.Array]]:
    """Add gradients to their sums, and return the means, which are valid when `due`, and the new
    sums, which are zero when `due`.
    """
    totals = [
        gradient + total.astype(gradient.dtype)
        for gradient, total in zip(gradients, sums, strict=True)
    ]
    kept = [
        jnp.where(due, 0, total).astype(old.dtype) for total, old in zip(totals, sums, strict=True)
    ]
    return [total / count for total in totals], kept


@functools.partial(jax.jit, inline=True)
def accumulate_maximum(
    gradient: jax.Array, largest: jax.Array, value: jax.Array, due: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the new value of a variable that its gradient overwrites, which is the largest
    gradient when `due`, and the new maximum, which is zero when `due`.
    """
    maximum = jnp.maximum(gradient.astype(largest.dtype), largest)
    return (
        jnp.where(due, maximum.astype(value.dtype), value),
        jnp.where(due, jnp.zeros_like(maximum), maximum),
    )


@functools.partial(jax.jit, static_argnums=(1, 2, 3), inline=True)
def clip_gradients(
    gradients: list[jax.Array],
    clipnorm: float | None,
    clipvalue: float | None,
    global_clipnorm: float | None,
) -> list[jax.Array]:
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


def _clip_by_norm(gradient: jax.Array, clipnorm: float) -> jax.Array:
    norm = jnp.sqrt(jnp.sum(jnp.square(gradient)))
    return gradient * clipnorm / jnp.maximum(norm, clipnorm)


@functools.partial(jax.jit, static_argnums=(3, 4), inline=True)
def average_weights(
    value: jax.Array,
    moving_average: jax.Array,
    iteration: jax.Array,
    momentum: float,
    frequency: int | None,
) -> tuple[jax.Array, jax.Array]:
    """Update the moving average of a value; every `frequency` updates, the value becomes the
    average. Returns both.
    """
    dtype = wide_dtype(value.dtype)
    # The first value is taken as it is.
    weight = jnp.where(iteration == 0, 0.0, momentum).astype(dtype)
    new = weight * moving_average.astype(dtype) + (1 - weight) * value.astype(dtype)
    new = new.astype(moving_average.dtype)
    if frequency is None:
        return value, new
    return jnp.where((iteration + 1) % frequency == 0, new, value), new


@functools.partial(jax.jit, inline=True)
def all_finite(gradients: list[jax.Array]) -> jax.Array:
    """Return whether every element of every gradient is finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(gradient)) for gradient in gradients]))


@functools.partial(jax.jit, static_argnames=("period",), inline=True)
def next_iteration(iteration: jax.Array, period: int) -> jax.Array:
    """Return the number of updates after one more, as an int32 that does not wrap.

    From `LAST_ITERATION` on, the number repeats one period instead of growing: schedules keep their
    last value, and what happens every n updates continues to.

    Args:
        iteration: The number of updates so far.
        period: The number of updates after which everything periodic repeats.
    """
    is_last = iteration >= LAST_ITERATION
    return iteration + jnp.where(is_last, 1 - period, 1).astype(iteration.dtype)
