"""Adafactor: Adam's second mean kept as one row and one column, for large matrices."""

from __future__ import annotations

from typing import Any, Unpack

import jax
import jax.numpy as jnp

from podium.core import Variable
from podium.core.internal import check_number
from podium.optimizers._learning_rate import LearningRate
from podium.optimizers._optimizer import Optimizer, OptimizerOptions
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def adafactor(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Divide by a root mean square made of row and column means; limit the step, and scale it by
    the weights.
    """
    row, column, v = slots["row"], slots["column"], slots["velocity"]
    squares = jnp.square(gradient) + hyper.epsilon_1
    beta_2 = 1 - jnp.power(step, jnp.asarray(hyper.beta_2_decay, step.dtype))
    if value.ndim >= 2:
        row = beta_2 * row + (1 - beta_2) * jnp.mean(squares, axis=-1)
        column = beta_2 * column + (1 - beta_2) * jnp.mean(squares, axis=-2)
        v = (row / jnp.mean(row, axis=-1, keepdims=True))[..., None] * column[..., None, :]
    else:
        v = beta_2 * v + (1 - beta_2) * squares
    move = gradient / jnp.sqrt(v)
    move = move / jnp.maximum(1.0, _rms(move) / hyper.clip_threshold)
    rate = jnp.maximum(hyper.epsilon_2, _rms(value)) * jnp.minimum(
        learning_rate, 1 / jnp.sqrt(step)
    )
    return value - rate * move, {"row": row, "column": column, "velocity": v}


def _rms(x: Any) -> Any:
    return jnp.sqrt(jnp.mean(jnp.square(x)))


class Adafactor(Optimizer):
    """Steps in proportion to the weights, with the mean of squares factored into a row and a
    column.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function. The rate used is at most `1
            / sqrt(step)`.
        beta_2_decay: The power of the step by which the mean of squares takes in less and less.
        epsilon_1: A small number added to squared gradients.
        epsilon_2: The least size of weights that steps are in proportion to.
        clip_threshold: The greatest root mean square of a step before it is scaled.
        relative_step: Kept for Keras's signature: in Keras 3 the rate is limited by the step either
            way.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([[1.0, 2.0], [3.0, 4.0]])
        >>> podium.optimizers.Adafactor(0.1).apply([podium.Tensor([[1.0, 1.0], [1.0, -1.0]])], [w])
        >>> w.numpy().round(4)
        array([[0.7261, 1.7261],
               [2.7261, 4.2739]], dtype=float32)
    """

    _hyper = ("beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold", "relative_step")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, **options)
        self.beta_2_decay = check_number("beta_2_decay", beta_2_decay, None, 0)
        self.epsilon_1 = check_number("epsilon_1", epsilon_1, 0)
        self.epsilon_2 = check_number("epsilon_2", epsilon_2, 0)
        self.clip_threshold = check_number("clip_threshold", clip_threshold, 0)
        self.relative_step = bool(relative_step)

    def _rule_of(self, variable: Variable) -> Rule:
        return adafactor

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("row", "column", "velocity")]

    def _make_slot(self, variable: Variable, name: str) -> Variable | None:
        if name not in ("row", "column"):
            return self.add_variable_from_reference(variable, name)
        stem, shape = variable.path.replace("/", "_"), variable.shape
        if len(shape) < 2:  # an unused scalar, which Keras's files have too
            return self.add_variable((), dtype="int32", name=f"{stem}_{name}")
        shape = shape[:-1] if name == "row" else (*shape[:-2], shape[-1])
        return self.add_variable(shape, dtype=variable.stored.dtype, name=f"{stem}_{name}")
