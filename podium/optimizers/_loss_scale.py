"""LossScaleOptimizer: a dynamic loss scale, for float16."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from podium import initializers
from podium.core import Tensor, Variable, dispatch
from podium.core.internal import check_int, check_number, override
from podium.optimizers import _update_math
from podium.optimizers._gradients import match_gradients
from podium.optimizers._optimizer import Optimizer
from podium.optimizers._registry import add_optimizer, deserialize, get, serialize
from podium.optimizers._slots import VariableList


@add_optimizer
class LossScaleOptimizer(Optimizer):
    """Wraps an optimizer with a dynamic loss scale: halved when gradients overflow, doubled after a
    number of finite steps.

    Small gradients underflow in float16. Therefore the loss is multiplied by a large factor
    (`scale_loss`), and the gradients are divided by it again. A step whose gradients are not all
    finite changes only the factor.

    Args:
        inner_optimizer: The optimizer to wrap: an instance, a name or a config.
        initial_scale: The initial factor. Too large is corrected quickly, too small slowly.
        dynamic_growth_steps: The number of consecutive finite steps after which the factor is
            doubled.
        name: The name of the optimizer.
        **kwargs: `dynamic=True`, and default values of the options of `Optimizer`, as old configs
            have them.

    Example:
        >>> w = podium.Variable(1.0)
        >>> optimizer = podium.optimizers.LossScaleOptimizer("sgd", initial_scale=8.0)
        >>> optimizer.apply([podium.Tensor(np.float32("inf"))], [w])
        >>> float(w), float(optimizer.dynamic_scale)
        (1.0, 4.0)
    """

    _builds_more = True

    def __init__(
        self,
        inner_optimizer: Any,
        initial_scale: float = 2.0**15,
        dynamic_growth_steps: int = 2000,
        name: str | None = None,
        **kwargs: Any,
    ):
        if not kwargs.pop("dynamic", True):
            raise ValueError(
                "LossScaleOptimizer was given dynamic=False; it always adapts its scale. For a "
                "fixed scale, set `loss_scale_factor` on the optimizer itself."
            )
        super().__init__(0.0, name=name, **kwargs)
        for option, value in kwargs.items():
            if value not in (None, False) and option != "ema_momentum":
                raise ValueError(
                    f"LossScaleOptimizer was given {option}={value!r}; set it on the inner "
                    "optimizer."
                )
        inner = get(inner_optimizer)
        if inner is None or isinstance(inner, LossScaleOptimizer):
            raise TypeError(
                f"inner_optimizer={inner_optimizer!r} was given; an optimizer without a loss "
                "scale was expected."
            )
        self.inner_optimizer = inner
        self.inner_optimizer.loss_scale_factor = None  # gradients would be divided twice
        self.initial_scale = check_number("initial_scale", initial_scale, 0)
        self.dynamic_growth_steps = check_int(
            "dynamic_growth_steps", dynamic_growth_steps, 1, type_error=ValueError
        )
        self.step_counter: Variable | None = None
        self.dynamic_scale: Variable | None = None

    def build(self, var_list: Iterable[Variable]) -> None:
        """Create the state of variables that have none yet."""
        variables = list(var_list)
        if self.dynamic_scale is None:
            first = initializers.Constant(self.initial_scale)
            self.step_counter = self.add_variable((), dtype="int32", name="step_counter")
            self.dynamic_scale = self.add_variable((), first, "float32", name="dynamic_scale")
        self.inner_optimizer.build(variables)
        super().build(variables)

    @property
    def variables(self) -> VariableList:
        """All state; that of the inner optimizer follows its own."""
        return VariableList([*super().variables, *self.inner_optimizer.variables])

    def _own_variables(self) -> list[Variable]:
        return list(super().variables)

    @property
    def learning_rate(self) -> Any:
        """The inner optimizer's learning rate."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        self.inner_optimizer.learning_rate = learning_rate

    @property
    def iterations(self) -> Any:
        """How many updates the inner optimizer has done; skipped steps do not count."""
        return self.inner_optimizer.iterations

    def scale_loss(self, loss: Any) -> Any:
        """Return the loss times the current factor, in at least float32, where it cannot
        overflow.
        """
        scale = self.initial_scale if self.dynamic_scale is None else self.dynamic_scale
        return dispatch(
            lambda loss, scale: loss.astype(_update_math.wide_dtype(loss.dtype)) * scale,
            loss,
            scale,
        )

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None
    ) -> None:
        """Divide the gradients by the factor and apply them, if they are all finite; adapt the
        factor.

        Args:
            grads: The gradients of the scaled loss; None leaves its variable as it is.
            trainable_variables: The variables, by default those that the optimizer was built with.
        """
        if not (grads := list(grads)):
            return
        with override(tapes=(), autocast_dtype=None, bare_arrays=False):
            variables = self._build_missing(grads, trainable_variables)
            gradients, variables = match_gradients(self.name, grads, variables, self._warned)
            finite = _update_math.all_finite(gradients)
            assert self.dynamic_scale is not None
            scale = self.dynamic_scale.read()
            overwritten = [variable.overwrite_with_gradient for variable in variables]
            gradients = [
                g if keep else g / scale.astype(g.dtype)
                for g, keep in zip(gradients, overwritten, strict=True)
            ]
            state = [*self.inner_optimizer._trainable_variables, *self.inner_optimizer.variables]
            before = [variable.read() for variable in state]
            self.inner_optimizer.apply(gradients, variables)
            for variable, value in zip(state, before, strict=True):
                variable.assign(Tensor(_update_math.select_if(finite, variable.read(), value)))
            self._adapt(finite, scale)

    def _adapt(self, finite: Any, scale: Any) -> None:
        assert self.step_counter is not None and self.dynamic_scale is not None
        count = self.step_counter.read()
        grows = finite & (count == self.dynamic_growth_steps - 1)
        self.step_counter.assign(Tensor(jnp.where(finite & ~grows, count + 1, 0)))
        self.dynamic_scale.assign(
            Tensor(scale * jnp.where(finite, jnp.where(grows, 2.0, 1.0), 0.5))
        )

    def flush(self, var_list: Iterable[Variable] | None = None) -> None:
        """Apply the accumulated gradients of the inner optimizer; see `Optimizer.flush`."""
        self.inner_optimizer.flush(var_list)

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """Set variables to the inner optimizer's moving averages, if it keeps them."""
        self.inner_optimizer.finalize_variable_values(var_list)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this optimizer again, without its state."""
        return {
            "name": self.name,
            "inner_optimizer": serialize(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> LossScaleOptimizer:
        """Make an optimizer from `get_config`'s result."""
        config = dict(config)
        return cls(deserialize(config.pop("inner_optimizer"), custom_objects), **config)
