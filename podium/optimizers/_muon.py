"""Muon: orthogonalized momentum for matrices, AdamW for all other variables."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp

from podium.core import Variable
from podium.core.internal import check_int, check_number
from podium.optimizers._adam import decay_power
from podium.optimizers._learning_rate import LearningRate
from podium.optimizers._optimizer import Optimizer
from podium.optimizers._option_checks import check_decay_rate, check_optional_number
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def muon(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Step along the momentum with all its singular values near 1."""
    momentum = slots["momentum"]
    momentum = momentum + (gradient + momentum * (hyper.momentum - 1))
    direction = gradient + hyper.momentum * momentum if hyper.nesterov else momentum
    move = learning_rate * orthogonalize(direction, hyper)
    if hyper.rms_rate is not None:
        move = move * jnp.sqrt(jnp.asarray(max(value.shape), value.dtype)) * hyper.rms_rate
    return value - move, {"momentum": momentum}


def orthogonalize(x: jax.Array, hyper: Hyperparameters) -> jax.Array:
    """Bring the singular values of a matrix near 1, by Newton-Schulz steps with a fifth-degree
    polynomial.
    """
    tall = x.shape[-2] > x.shape[-1]
    x = x.T if tall else x
    x = x / (jnp.sqrt(jnp.sum(jnp.square(x))) + 1e-7)
    for _ in range(hyper.ns_steps):
        square = x @ x.T
        x = hyper.muon_a * x + (hyper.muon_b * square + hyper.muon_c * square @ square) @ x
    return x.T if tall else x


def muon_adam(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Take Adam's step, for variables that are not matrices."""
    m, v = slots["momentum"], slots["velocity"]
    m = m + (gradient - m) * (1 - hyper.adam_beta_1)
    v = v + (jnp.square(gradient) - v) * (1 - hyper.adam_beta_2)
    rate = learning_rate * hyper.adam_lr_ratio
    rate = (
        rate
        * jnp.sqrt(1 - decay_power(hyper.adam_beta_2, step))
        / (1 - decay_power(hyper.adam_beta_1, step))
    )
    return value - m * rate / (jnp.sqrt(v) + hyper.epsilon), {"momentum": m, "velocity": v}


class Muon(Optimizer):
    """Orthogonalized momentum for the matrices inside a network; AdamW for all other variables.

    Leave the output layer out by `exclude_layers`; embeddings are left out by themselves.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        adam_beta_1: Adam's `beta_1`.
        adam_beta_2: Adam's `beta_2`.
        adam_weight_decay: The weight decay of variables that Adam changes; None for nothing.
        epsilon: Adam's `epsilon`.
        weight_decay: The weight decay of matrices; None for nothing.
        exclude_layers: Patterns: variables whose path has one go to Adam.
        exclude_embeddings: Whether variables with "embedding" in their path go to Adam.
        muon_a: The first coefficient of the polynomial.
        muon_b: The second.
        muon_c: The third.
        adam_lr_ratio: What the learning rate is multiplied by for Adam.
        momentum: The momentum: the fraction of the last step that is repeated.
        ns_steps: How many Newton-Schulz steps to take.
        nesterov: Whether to use Nesterov momentum.
        rms_rate: The size of a step, times the root of the longer side; None for no scaling.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable(np.zeros((2, 2)))
        >>> optimizer = podium.optimizers.Muon(0.1, rms_rate=None)
        >>> optimizer.apply([podium.Tensor([[5.0, 0.0], [0.0, 5.0]])], [w])
        >>> w.numpy().round(2)
        array([[-0.11,  0.  ],
               [ 0.  , -0.11]], dtype=float32)
    """

    _hyper = (
        "adam_beta_1",
        "adam_beta_2",
        "epsilon",
        "muon_a",
        "muon_b",
        "muon_c",
        "adam_lr_ratio",
        "momentum",
        "ns_steps",
        "nesterov",
        "rms_rate",
    )

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        adam_beta_1: float = 0.9,
        adam_beta_2: float = 0.999,
        adam_weight_decay: float | None = 0.004,
        epsilon: float = 1e-7,
        weight_decay: float | None = 0.004,
        exclude_layers: list[str] | None = None,
        exclude_embeddings: bool = True,
        muon_a: float = 3.4445,
        muon_b: float = -4.7750,
        muon_c: float = 2.0315,
        adam_lr_ratio: float = 1,
        momentum: float = 0.95,
        ns_steps: int = 5,
        nesterov: bool = True,
        rms_rate: float | None = 0.2,
        **options: Any,
    ):
        super().__init__(learning_rate, weight_decay=weight_decay, **options)
        self.adam_beta_1 = check_decay_rate("adam_beta_1", adam_beta_1)
        self.adam_beta_2 = check_decay_rate("adam_beta_2", adam_beta_2)
        self.adam_weight_decay = check_optional_number("adam_weight_decay", adam_weight_decay)
        self.epsilon = check_number("epsilon", epsilon, 0)
        self.exclude_layers = list(exclude_layers or [])
        self.exclude_embeddings = bool(exclude_embeddings)
        self.muon_a, self.muon_b, self.muon_c = (
            check_number("muon_a", muon_a),
            check_number("muon_b", muon_b),
            check_number("muon_c", muon_c),
        )
        self.adam_lr_ratio = check_number("adam_lr_ratio", adam_lr_ratio, 0)
        self.momentum = check_number("momentum", momentum, 0, 1)
        self.ns_steps = check_int("ns_steps", ns_steps, 1, type_error=ValueError)
        self.nesterov = bool(nesterov)
        self.rms_rate = check_optional_number("rms_rate", rms_rate)

    def _goes_to_adam(self, variable: Variable) -> bool:
        if variable.ndim != 2 or (self.exclude_embeddings and "embedding" in variable.path.lower()):
            return True
        return any(re.search(pattern, variable.path) for pattern in self.exclude_layers)

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum", "velocity")]

    def _make_slot(self, variable: Variable, name: str) -> Variable | None:
        if name == "velocity" and not self._goes_to_adam(variable):
            return None
        return self.add_variable_from_reference(variable, name)

    def _rule_of(self, variable: Variable) -> Rule:
        return muon_adam if self._goes_to_adam(variable) else muon

    def _weight_decay_of(self, variable: Variable) -> float | None:
        decay = self.adam_weight_decay if self._goes_to_adam(variable) else self.weight_decay
        return decay if self._decays(variable) else None

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this optimizer again, without its state."""
        config = {
            name: getattr(self, name)
            for name in ("adam_weight_decay", "exclude_layers", "exclude_embeddings")
        }
        return super().get_config() | config
