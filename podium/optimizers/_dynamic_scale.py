"""DynamicScale: the factor of a LossScaleOptimizer, its adaptation, and its use by tapes.

Inside `LossScaleOptimizer.scale_tapes`, a tape multiplies the loss by the factor and divides the
gradients by it again. Invariant: where one of these gradients is not finite, all of them are NaN.
Clipping by value would turn an infinite gradient into a finite one, and the update, which skips
what is not finite, would be made. `tests/optimizers/test_scaled_tapes.py` guards it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from podium.core import Tensor, Variable, dispatch
from podium.core.internal import context, override
from podium.optimizers import _update_math

if TYPE_CHECKING:
    from podium.optimizers._optimizer import Optimizer


class DynamicScale:
    """Adapts a loss scale: halved when gradients overflow, doubled after a number of finite steps.

    Args:
        scale: The current factor.
        counter: Counts finite steps since the factor changed.
        growth_steps: The number of finite steps after which the factor is doubled.
    """

    def __init__(self, scale: Variable, counter: Variable, growth_steps: int):
        self.scale, self.counter, self.growth_steps = scale, counter, growth_steps
        self.has_scaled = False  # whether a tape has used it
        self.is_off = False  # whether the user scales losses

    # --- what tapes call

    def scales(self, sources: Sequence[Any]) -> bool:
        """Return whether gradients with respect to these are computed of a scaled loss: those of
        weights, which are wide enough for what is multiplied by the factor.
        """
        return not self.is_off and all(
            isinstance(source, Variable)
            and source.read(keep=False).dtype in (jnp.float32, jnp.float64)
            for source in sources
        )

    def make_seed(self, target: Tensor | Variable) -> Tensor:
        """Return what the backward pass begins with: the factor for each element of the loss."""
        self.has_scaled = True
        return Tensor(multiply_by_scale(jnp.ones(target.shape, target.dtype), self.scale.read()))

    def unscale(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        """Return gradients divided by the factor, or NaN if not all of them are finite."""
        present = [gradient for gradient in gradients if gradient is not None]
        if not present:
            return gradients
        unscaled = iter(dispatch(_unscale, present, self.scale))
        return [None if gradient is None else next(unscaled) for gradient in gradients]

    # --- updates

    def update_if_finite(
        self, optimizer: Optimizer, gradients: list[jax.Array], variables: list[Variable]
    ) -> None:
        """Make an update if all gradients are finite, and adapt the factor.

        Args:
            optimizer: Makes the update; it has the state for the variables.
            gradients: The gradients, not scaled and summed over the replicas.
            variables: The variables to change.
        """
        finite = _update_math.all_finite(gradients)
        scale = self.scale.read()
        state = [*optimizer._trainable_variables, *optimizer.variables]
        before = [variable.read() for variable in state]
        with override(replica_axes=None, loss_scaler=None):
            optimizer.apply(gradients, variables)
        for variable, value in zip(state, before, strict=True):
            variable.assign(Tensor(_update_math.select_if(finite, variable.read(), value)))
        count, scale = _adapt_scale(self.counter.read(), scale, finite, self.growth_steps)
        self.counter.assign(Tensor(count))
        self.scale.assign(Tensor(scale))


def active_scale() -> DynamicScale | None:
    """Return the scale that tapes have used in the running step; None if they have not."""
    scaler = context.loss_scaler
    return scaler if isinstance(scaler, DynamicScale) and scaler.has_scaled else None


def multiply_by_scale(loss: jax.Array, scale: jax.Array) -> jax.Array:
    """Return a loss times the scale, in at least float32."""
    dtype = _update_math.wide_dtype(loss.dtype)
    return loss.astype(dtype) * scale.astype(dtype)


def divide_by_scale(gradient: jax.Array, scale: jax.Array) -> jax.Array:
    """Return a gradient divided by the scale, in at least float32."""
    dtype = _update_math.wide_dtype(gradient.dtype)
    return gradient.astype(dtype) / scale.astype(dtype)


def _unscale(gradients: list[jax.Array], scale: jax.Array) -> list[jax.Array]:
    finite = _update_math.all_finite(gradients)
    return [jnp.where(finite, divide_by_scale(gradient, scale), jnp.nan) for gradient in gradients]


def _adapt_scale(
    count: jax.Array, scale: jax.Array, finite: jax.Array, growth_steps: int
) -> tuple[jax.Array, jax.Array]:
    """Return the new count of finite steps and the new scale, which stays finite and does not fall
    below 1.
    """
    grows = finite & (count + 1 >= growth_steps)
    doubled = jnp.where(jnp.isfinite(scale * 2), scale * 2, scale)
    halved = jnp.maximum(scale / 2, jnp.minimum(scale, 1))
    new_scale = jnp.where(finite, jnp.where(grows, doubled, scale), halved)
    return jnp.where(finite & ~grows, count + 1, 0), new_scale
