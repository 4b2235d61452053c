"""The pipeline of one update: a list of transforms, each from an `Update` to an `Update`.

In order: assign overwriting gradients, unscale, accumulate, clip, take the rule's step, average,
constrain. `Optimizer` composes the list from its options. The functions here read and assign
Variables; their arithmetic is pure and in `_update_math.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import jax

from podium.core import Tensor, Variable
from podium.optimizers import _update_math
from podium.optimizers._slots import SlotTable

AVERAGE, ACCUMULATOR = "average", "gradient_accumulator"  # slots that transforms keep, not rules


@dataclasses.dataclass(frozen=True)
class Update:
    """An update on its way through the pipeline.

    Attributes:
        gradients: A gradient for each variable.
        variables: The variables to change.
        learning_rate: The learning rate; None where a rule keeps its own.
        iteration: How many updates were made before this one.
        due: Whether to change anything in this call, or None for always.
    """

    gradients: list[jax.Array]
    variables: list[Variable]
    learning_rate: jax.Array | None
    iteration: jax.Array
    due: jax.Array | None = None


Transform: TypeAlias = Callable[[Update], Update]


def run_pipeline(pipeline: Iterable[Transform], update: Update) -> None:
    """Pass an update through all transforms, in order."""
    for transform in pipeline:
        update = transform(update)


def assign_overwrites(
    gradients: Sequence[jax.Array],
    variables: Sequence[Variable],
    slots: SlotTable,
    iteration: jax.Array,
    count: int | None,
) -> tuple[list[jax.Array], list[Variable]]:
    """Assign gradients that are new values themselves, and return the other pairs.

    While gradients are accumulated over `count` calls, the last call assigns their maximum, as in
    Keras.
    """
    remaining = []
    for gradient, variable in zip(gradients, variables, strict=True):
        if not variable.overwrite_with_gradient:
            remaining.append((gradient, variable))
        elif not count:
            variable.assign(gradient.astype(variable.dtype))
        else:
            largest = slots.slots_of(variable)[ACCUMULATOR]
            value, kept = _update_math.accumulate_maximum(
                gradient, largest.read(), variable.read(), (iteration + 1) % count == 0
            )
            variable.assign(Tensor(value))
            largest.assign(Tensor(kept))
    return [gradient for gradient, _ in remaining], [variable for _, variable in remaining]


def unscale(factor: float) -> Transform:
    """Divide gradients by the loss scale."""

    def transform(update: Update) -> Update:
        scaled = [gradient / factor for gradient in update.gradients]
        return dataclasses.replace(update, gradients=scaled)

    return transform


def accumulate_gradients(slots: SlotTable, count: int) -> Transform:
    """Add gradients up over `count` calls; only the last call is due, with their mean."""

    def transform(update: Update) -> Update:
        due = (update.iteration + 1) % count == 0
        sums = [slots.slots_of(variable)[ACCUMULATOR] for variable in update.variables]
        means, new_sums = _update_math.accumulate_gradients(
            update.gradients, [total.read() for total in sums], due, count
        )
        for total, value in zip(sums, new_sums, strict=True):
            total.assign(Tensor(value))
        iteration = update.iteration // count
        return dataclasses.replace(update, gradients=means, iteration=iteration, due=due)

    return transform


def clip_gradients(
    clipnorm: float | None, clipvalue: float | None, global_clipnorm: float | None
) -> Transform:
    """Clip gradients by norm or by value."""

    def transform(update: Update) -> Update:
        clipped = _update_math.clip_gradients(
            update.gradients, clipnorm, clipvalue, global_clipnorm
        )
        return dataclasses.replace(update, gradients=clipped)

    return transform


def average_weights(
    slots: SlotTable, momentum: float, overwrite_frequency: int | None
) -> Transform:
    """Update the moving averages of all trained variables."""

    def transform(update: Update) -> Update:
        for variable, variable_slots in slots:
            if AVERAGE not in variable_slots:
                continue
            moving_average = variable_slots[AVERAGE]
            value, new_average = _update_math.average_weights(
                variable.read(),
                moving_average.read(),
                update.iteration,
                momentum,
                overwrite_frequency,
            )
            moving_average.assign(Tensor(new_average))
            if overwrite_frequency is not None:
                variable.assign(Tensor(value))
        return update

    return transform


def constrain(update: Update) -> Update:
    """Apply the constraints of variables to their new values."""
    for variable in update.variables:
        if variable.constraint is not None:
            variable.assign(variable.constraint(Tensor(variable.read())))
    return update
