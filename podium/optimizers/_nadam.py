"""Nadam: Adam with Nesterov momentum."""

from __future__ import annotations

from collections.abc import Iterable

import jax
import jax.numpy as jnp

from podium.core import Tensor, Variable
from podium.optimizers._adam import AdamBase, decay_power
from podium.optimizers._update_math import Hyperparameters, Rule, Slots, select_if, wide_dtype


def nadam(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Take Adam's step with the momentum of the next step; the momentum follows a schedule."""
    m, v, product = slots["momentum"], slots["velocity"], slots["u_product"]
    now, later = scheduled_momentum(hyper.beta_1, step), scheduled_momentum(hyper.beta_1, step + 1)
    beta_1, beta_2 = (
        jnp.asarray(beta, value.dtype) for beta in (hyper.beta_1, hyper.beta_2)
    )  # rounded first, as in Keras
    m = m + (gradient - m) * (1 - beta_1)
    v = v + (jnp.square(gradient) - v) * (1 - beta_2)
    mean = later * m / (1 - product * later) + (1 - now) * gradient / (1 - product)
    spread = jnp.sqrt(v / (1 - decay_power(hyper.beta_2, step)))
    return value - mean * learning_rate / (spread + hyper.epsilon), {"momentum": m, "velocity": v}


def scheduled_momentum(beta_1: float, step: jax.Array) -> jax.Array:
    """Return Nadam's momentum at a step: it rises from half of beta_1 to all of it."""
    return beta_1 * (1.0 - 0.5 * decay_power(0.96, step))


class Nadam(AdamBase):
    """Adam with Nesterov momentum.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        beta_1: The decay rate of the mean of gradients, from 0 to below 1.
        beta_2: The decay rate of the mean of squared gradients, from 0 to below 1.
        epsilon: A small constant for numerical stability.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> podium.optimizers.Nadam(0.1).apply([podium.Tensor([3.0, -0.3])], [w])
        >>> w.numpy().round(4)
        array([0.8937, 2.1063], dtype=float32)
    """

    def _rule_of(self, variable: Variable) -> Rule:
        return nadam

    _builds_more = True
    _u_product: Variable | None = None  # the product of all momentums so far

    def build(self, var_list: Iterable[Variable]) -> None:
        """Create the state of variables that have none yet, and the product of momentums that all
        share.
        """
        variables = list(var_list)
        super().build(variables)
        if self._u_product is None:
            dtype = wide_dtype(variables[0].stored.dtype) if variables else None
            self._u_product = self.add_variable((), "ones", dtype, name="u_product")

    def _advance(self, iteration: jax.Array, due: jax.Array | None) -> None:
        assert self._u_product is not None
        old = self._u_product.read()
        new = old * scheduled_momentum(self.beta_1, (iteration + 1).astype(old.dtype))
        self._u_product.assign(Tensor(new if due is None else select_if(due, new, old)))

    def _shared_state(self) -> Slots:
        return {} if self._u_product is None else {"u_product": self._u_product.read()}
