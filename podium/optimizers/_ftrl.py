"""Ftrl: follow the regularized leader, for large sparse linear models."""

from __future__ import annotations

from typing import Unpack

import jax
import jax.numpy as jnp

from podium import initializers
from podium.core import Variable
from podium.core.internal import check_number
from podium.optimizers._learning_rate import LearningRate
from podium.optimizers._optimizer import Optimizer, OptimizerOptions
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def ftrl(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Minimize the linear term so far plus penalties; with an L1 penalty, small weights become
    exactly zero.
    """
    old, exponent = slots["accumulator"], jnp.asarray(-hyper.learning_rate_power, value.dtype)
    new = old + jnp.square(gradient)
    pull = (jnp.power(new, exponent) - jnp.power(old, exponent)) / learning_rate
    shrunk = gradient + 2 * hyper.l2_shrinkage_regularization_strength * value
    linear = slots["linear"] + (shrunk - pull * value)
    l2 = hyper.l2_regularization_strength + hyper.beta / (2.0 * learning_rate)
    quadratic = jnp.power(new, exponent) / learning_rate + 2 * l2
    l1 = hyper.l1_regularization_strength
    return (jnp.clip(linear, -l1, l1) - linear) / quadratic, {"accumulator": new, "linear": linear}


class Ftrl(Optimizer):
    """Follow the regularized leader: for wide linear models, whose weights an L1 penalty sets to
    zero.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        learning_rate_power: How the rate falls with the sum of squares, at most 0; 0 for a fixed
            rate.
        initial_accumulator_value: Where the sums of squares start, at least 0.
        l1_regularization_strength: The L1 penalty, at least 0.
        l2_regularization_strength: The L2 penalty, at least 0.
        l2_shrinkage_regularization_strength: An L2 penalty on the gradient, at least 0.
        beta: A further L2 penalty, divided by the learning rate.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([0.0, 0.0])
        >>> optimizer = podium.optimizers.Ftrl(0.1, l1_regularization_strength=0.5)
        >>> optimizer.apply([podium.Tensor([3.0, -0.3])], [w])
        >>> w.numpy().round(4)
        array([-0.0829,  0.    ], dtype=float32)
    """

    _hyper = (
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
        "beta",
    )

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, **options)
        shrinkage = l2_shrinkage_regularization_strength
        self.learning_rate_power = check_number("learning_rate_power", learning_rate_power, None, 0)
        self.initial_accumulator_value = check_number(
            "initial_accumulator_value", initial_accumulator_value, 0
        )
        self.l1_regularization_strength = check_number(
            "l1_regularization_strength", l1_regularization_strength, 0
        )
        self.l2_regularization_strength = check_number(
            "l2_regularization_strength", l2_regularization_strength, 0
        )
        self.l2_shrinkage_regularization_strength = check_number(
            "l2_shrinkage_regularization_strength", shrinkage, 0
        )
        self.beta = check_number("beta", beta)

    def _rule_of(self, variable: Variable) -> Rule:
        return ftrl

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("accumulator", "linear")]

    def _make_slot(self, variable: Variable, name: str) -> Variable | None:
        first = self.initial_accumulator_value if name == "accumulator" else 0.0
        return self.add_variable_from_reference(variable, name, initializers.Constant(first))
