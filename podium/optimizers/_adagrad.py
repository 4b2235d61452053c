"""Adagrad and Adadelta: steps divided by the root of all squared gradients so far, or of recent
ones.
"""

from __future__ import annotations

from typing import Any, Unpack

import jax.numpy as jnp

from podium import initializers
from podium.core import Variable
from podium.optimizers._argument_checks import number
from podium.optimizers._optimizer import Optimizer, Options


def adagrad(
    gradient: Any, value: Any, slots: dict, learning_rate: Any, step: Any, hyper: Any
) -> tuple[Any, dict]:
    """Divide by the root of the sum of all squared gradients."""
    accumulator = slots["accumulator"] + jnp.square(gradient)
    return value - learning_rate * gradient / jnp.sqrt(accumulator + hyper.epsilon), {
        "accumulator": accumulator
    }


class Adagrad(Optimizer):
    """Divides each step by the root of the sum of all squared gradients: rare features keep large
    steps.

    Args:
        learning_rate: A number, a schedule or a function.
        initial_accumulator_value: Where the sums start, at least 0.
        epsilon: A small number that keeps the division finite.
        **options: What all optimizers take; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0])
        >>> podium.optimizers.Adagrad(0.1, initial_accumulator_value=0.0).apply([podium.Tensor([4.0])], [w])
        >>> w.numpy()
        array([0.9], dtype=float32)
    """

    _rule = staticmethod(adagrad)
    _hyper = ("initial_accumulator_value", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ):
        super().__init__(learning_rate, **options)
        self.initial_accumulator_value = number(
            "initial_accumulator_value", initial_accumulator_value, 0
        )
        self.epsilon = number("epsilon", epsilon, 0)

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("accumulator",)]

    def _new_slot(self, variable: Variable, name: str) -> Variable | None:
        first = self.initial_accumulator_value if name == "accumulator" else 0.0
        return self.add_variable_from_reference(variable, name, initializers.Constant(first))


def adadelta(
    gradient: Any, value: Any, slots: dict, learning_rate: Any, step: Any, hyper: Any
) -> tuple[Any, dict]:
    """Scale steps by the root mean square of recent steps over that of recent gradients."""
    rho, epsilon = hyper.rho, hyper.epsilon
    squares = rho * slots["accumulated_grad"] + (1 - rho) * jnp.square(gradient)
    moves = slots["accumulated_delta_var"]
    move = jnp.sqrt(moves + epsilon) * gradient / jnp.sqrt(squares + epsilon)
    moves = rho * moves + (1 - rho) * jnp.square(move)
    return value - learning_rate * move, {
        "accumulated_grad": squares,
        "accumulated_delta_var": moves,
    }


class Adadelta(Optimizer):
    """Steps in the units of the weights: scaled by recent steps, divided by recent gradients.

    Args:
        learning_rate: A number, a schedule or a function; 1.0 is the paper's.
        rho: The share of the old means at each update, from 0 to 1.
        epsilon: A small number that keeps the division finite.
        **options: What all optimizers take; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0])
        >>> podium.optimizers.Adadelta(1.0, epsilon=1e-4).apply([podium.Tensor([4.0])], [w])
        >>> w.numpy().round(4)
        array([0.9553], dtype=float32)
    """

    _rule = staticmethod(adadelta)
    _hyper = ("rho", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ):
        super().__init__(learning_rate, **options)
        self.rho = number("rho", rho, 0, 1)
        self.epsilon = number("epsilon", epsilon, 0)

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("accumulated_grad", "accumulated_delta_var")]
