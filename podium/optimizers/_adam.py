"""Adam, and AdamW with weight decay."""

from __future__ import annotations

from typing import Any, Unpack

import jax
import jax.numpy as jnp

from podium.core import Variable
from podium.core.internal import check_number
from podium.optimizers._learning_rate import LearningRate
from podium.optimizers._optimizer import Optimizer, OptimizerOptions
from podium.optimizers._option_checks import check_decay_rate
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def adam(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Step by the mean gradient over the root mean square; epsilon is added before the bias
    correction.
    """
    m, v = slots["momentum"], slots["velocity"]
    m = m + (gradient - m) * (1 - hyper.beta_1)
    v = v + (jnp.square(gradient) - v) * (1 - hyper.beta_2)
    new = {"momentum": m, "velocity": v}
    if "velocity_hat" in slots:
        new["velocity_hat"] = v = jnp.maximum(slots["velocity_hat"], v)
    rate = (
        learning_rate
        * jnp.sqrt(1 - decay_power(hyper.beta_2, step))
        / (1 - decay_power(hyper.beta_1, step))
    )
    return value - m * rate / (jnp.sqrt(v) + hyper.epsilon), new


def decay_power(beta: float, step: jax.Array) -> jax.Array:
    """Return `beta ** step` in the dtype of the step."""
    return jnp.power(jnp.asarray(beta, step.dtype), step)


class AdamBase(Optimizer):
    """The hyperparameters that Adam and its variants share. Abstract: it has no rule."""

    _hyper: tuple[str, ...] = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, **options)
        self.beta_1 = check_decay_rate("beta_1", beta_1)
        self.beta_2 = check_decay_rate("beta_2", beta_2)
        self.epsilon = check_number("epsilon", epsilon, 0)

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum", "velocity")]


class Adam(AdamBase):
    """Adam: adaptive estimates of the first and second moments of gradients.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        beta_1: The decay rate of the mean of gradients, from 0 to below 1.
        beta_2: The decay rate of the mean of squared gradients, from 0 to below 1.
        epsilon: A small constant for numerical stability.
        amsgrad: Whether to divide by the maximum of the means of squares so far (AMSGrad).
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> podium.optimizers.Adam(0.1).apply([podium.Tensor([3.0, -0.3])], [w])
        >>> w.numpy().round(4)
        array([0.9, 2.1], dtype=float32)
    """

    _hyper: tuple[str, ...] = ("beta_1", "beta_2", "epsilon", "amsgrad")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.amsgrad = bool(amsgrad)

    def _rule_of(self, variable: Variable) -> Rule:
        return adam

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum", "velocity")] + ([("velocity_hat",)] if self.amsgrad else [])


class AdamW(Adam):
    """Adam with decoupled weight decay.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        weight_decay: The fraction of each weight that is subtracted per unit of learning rate.
        beta_1: The decay rate of the mean of gradients, from 0 to below 1.
        beta_2: The decay rate of the mean of squared gradients, from 0 to below 1.
        epsilon: A small constant for numerical stability.
        amsgrad: Whether to divide by the maximum of the means of squares so far (AMSGrad).
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([10.0])
        >>> podium.optimizers.AdamW(0.1, weight_decay=0.5).apply([podium.Tensor([3.0])], [w])
        >>> w.numpy().round(4)
        array([9.4], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Any,
    ):
        if weight_decay is None:
            raise TypeError(
                "weight_decay=None was given to AdamW; a number was expected. For no weight "
                "decay, use Adam."
            )
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **options
        )
