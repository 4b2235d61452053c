"""Relatives of Adam: Adamax (greatest gradients instead of squares), Nadam (looks ahead), Lamb (a
rate per layer).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import jax.numpy as jnp

from podium.core import Tensor, Variable
from podium.optimizers._adam import power
from podium.optimizers._argument_checks import fraction, number
from podium.optimizers._optimizer import Optimizer, Options
from podium.optimizers._transforms import select, wide_dtype


class _TwoMeans(Optimizer):
    """What the three share: two decay rates and epsilon."""

    _hyper = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ):
        super().__init__(learning_rate, **options)
        self.beta_1 = fraction("beta_1", beta_1)
        self.beta_2 = fraction("beta_2", beta_2)
        self.epsilon = number("epsilon", epsilon, 0)

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum", "velocity")]


def adamax(
    gradient: Any, value: Any, slots: dict, learning_rate: Any, step: Any, hyper: Any
) -> tuple[Any, dict]:
    """Divide the mean gradient by the greatest recent one."""
    m, u = slots["momentum"], slots["norm"]
    m = m + (gradient - m) * (1 - hyper.beta_1)
    u = jnp.maximum(hyper.beta_2 * u, jnp.abs(gradient))
    move = learning_rate * m / ((1 - power(hyper.beta_1, step)) * (u + hyper.epsilon))
    return value - move, {"momentum": m, "norm": u}


class Adamax(_TwoMeans):
    """Adam with the greatest recent gradient in place of the root mean square.

    Args:
        learning_rate: A number, a schedule or a function.
        beta_1: The share of the old mean of gradients at each update, from 0 to below 1.
        beta_2: How much of the greatest gradient is left at the next update, from 0 to below 1.
        epsilon: A small number that keeps the division finite.
        **options: What all optimizers take; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> podium.optimizers.Adamax(0.1).apply([podium.Tensor([3.0, -0.3])], [w])
        >>> w.numpy().round(4)
        array([0.9, 2.1], dtype=float32)
    """

    _rule = staticmethod(adamax)

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum", "norm")]


def nadam(
    gradient: Any, value: Any, slots: dict, learning_rate: Any, step: Any, hyper: Any
) -> tuple[Any, dict]:
    """Take Adam's step from where the momentum will be next; the momentum itself warms up
    slowly.
    """
    m, v, product = slots["momentum"], slots["velocity"], slots["u_product"]
    now, later = warming(hyper.beta_1, step), warming(hyper.beta_1, step + 1)
    beta_1, beta_2 = (
        jnp.asarray(beta, value.dtype) for beta in (hyper.beta_1, hyper.beta_2)
    )  # rounded first, as in Keras
    m = m + (gradient - m) * (1 - beta_1)
    v = v + (jnp.square(gradient) - v) * (1 - beta_2)
    mean = later * m / (1 - product * later) + (1 - now) * gradient / (1 - product)
    spread = jnp.sqrt(v / (1 - power(hyper.beta_2, step)))
    return value - mean * learning_rate / (spread + hyper.epsilon), {"momentum": m, "velocity": v}


def warming(beta_1: float, step: Any) -> Any:
    """Return Nadam's momentum at a step: half of beta_1 at first, and all of it in the end."""
    return beta_1 * (1.0 - 0.5 * power(0.96, step))


class Nadam(_TwoMeans):
    """Adam with Nesterov momentum: it looks ahead along the mean gradient.

    Args:
        learning_rate: A number, a schedule or a function.
        beta_1: The share of the old mean of gradients at each update, from 0 to below 1.
        beta_2: The share of the old mean of squares at each update, from 0 to below 1.
        epsilon: A small number that keeps the division finite.
        **options: What all optimizers take; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> podium.optimizers.Nadam(0.1).apply([podium.Tensor([3.0, -0.3])], [w])
        >>> w.numpy().round(4)
        array([0.8937, 2.1063], dtype=float32)
    """

    _rule = staticmethod(nadam)
    _builds_more = True
    _u_product: Variable | None = None  # the product of all momentums so far

    def build(self, var_list: Iterable[Variable]) -> None:
        """Make the state for variables that have none yet, and the product of momentums that all
        share.
        """
        variables = list(var_list)
        super().build(variables)
        if self._u_product is None:
            dtype = wide_dtype(variables[0].stored.dtype) if variables else None
            self._u_product = self.add_variable((), "ones", dtype, name="u_product")

    def _advance(self, iteration: Any, due: Any) -> None:
        assert self._u_product is not None
        old = self._u_product.read()
        new = old * warming(self.beta_1, (iteration + 1).astype(old.dtype))
        self._u_product.assign(Tensor(new if due is None else select(due, new, old)))

    def _shared(self) -> dict:
        return {} if self._u_product is None else {"u_product": self._u_product.read()}


def lamb(
    gradient: Any, value: Any, slots: dict, learning_rate: Any, step: Any, hyper: Any
) -> tuple[Any, dict]:
    """Take Adam's direction, as long as the weights are: each variable gets a learning rate of its
    own.
    """
    m, v = slots["momentum"], slots["velocity"]
    m = m + (gradient - m) * (1 - hyper.beta_1)
    v = v + (jnp.square(gradient) - v) * (1 - hyper.beta_2)
    spread = jnp.sqrt(v / (1.0 - power(hyper.beta_2, step))) + hyper.epsilon
    move = m / (1.0 - power(hyper.beta_1, step)) / spread
    weight_norm, move_norm = (
        jnp.sqrt(jnp.sum(jnp.square(value))),
        jnp.sqrt(jnp.sum(jnp.square(move))),
    )
    ratio = jnp.where((weight_norm > 0) & (move_norm > 0), weight_norm / move_norm, 1.0)
    return value - ratio * learning_rate * move, {"momentum": m, "velocity": v}


class Lamb(_TwoMeans):
    """Adam with steps in proportion to the norm of each variable: for very large batches.

    Args:
        learning_rate: A number, a schedule or a function.
        beta_1: The share of the old mean of gradients at each update, from 0 to below 1.
        beta_2: The share of the old mean of squares at each update, from 0 to below 1.
        epsilon: A small number that keeps the division finite.
        **options: What all optimizers take; see `Optimizer`.

    Example:
        >>> w = podium.Variable([3.0, 4.0])
        >>> podium.optimizers.Lamb(0.1).apply([podium.Tensor([1.0, -1.0])], [w])
        >>> w.numpy().round(4)
        array([2.6464, 4.3536], dtype=float32)
    """

    _rule = staticmethod(lamb)
