"""LossScaleOptimizer: a dynamic loss scale, for float16."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import jax

from podium import initializers
from podium._typing import TensorLike
from podium.core import GradientTape, Tensor, Variable, dispatch, warn_user
from podium.core.internal import (
    check_bool,
    check_int,
    check_number,
    context,
    count_gradients,
    override,
)
from podium.optimizers._dynamic_scale import (
    DynamicScale,
    active_scale,
    divide_by_scale,
    multiply_by_scale,
)
from podium.optimizers._gradients import match_gradients, split_pairs
from podium.optimizers._optimizer import Optimizer
from podium.optimizers._registry import add_optimizer, deserialize, get, serialize
from podium.optimizers._slots import VariableList

_DEFAULT_SCALE = 2.0**15
_DEFAULT_GROWTH_STEPS = 2000
_NOT_SCALED = (
    "A LossScaleOptimizer was given gradients of a loss that was not scaled: small ones may have "
    "become 0 in float16. Run the step in `with optimizer.scale_tapes():`, scale the loss that you "
    "differentiate, `loss = optimizer.scale_loss(loss)`, or call `optimizer.minimize(loss, "
    "variables, tape=tape)`."
)
_UNSCALED_TWICE = (
    "get_unscaled_gradients has divided gradients by the loss scale, and the loss was not "
    "multiplied by it. Differentiate `optimizer.get_scaled_loss(loss)`."
)
_NOT_UNSCALED = (
    "get_scaled_loss was called, and get_unscaled_gradients was not: apply_gradients takes the "
    "gradients for those of the scaled loss, and divides them by the loss scale. Pass it "
    "`optimizer.get_unscaled_gradients(tape.gradient(scaled_loss, variables))`."
)


@add_optimizer
class LossScaleOptimizer(Optimizer):
    """Wraps an optimizer with a dynamic loss scale: halved when gradients overflow, doubled after a
    number of finite steps.

    Small gradients underflow in float16. Therefore the loss is multiplied by a large factor, and
    the gradients are divided by it again. A step whose gradients are not all finite changes only
    the factor. `compile` wraps the optimizer of a model whose dtype policy is "mixed_float16" in
    one of these; `minimize`, and so the default `train_step`, does all of it.

    In a `train_step` of your own, tapes scale and unscale themselves; elsewhere open `scale_tapes`.
    Or scale the loss that you differentiate: `tape.gradient(optimizer.scale_loss(loss), weights)`,
    and `apply_gradients` divides the gradients; or use Keras 2's `get_scaled_loss` and
    `get_unscaled_gradients`, after which it does not. The gradients that a tape computed elsewhere
    of a loss that was not scaled are applied as they are, with a warning. Arrays
    from elsewhere are divided by `apply`, as in Keras 3, and not by `apply_gradients`, as in
    Keras 2.

    Args:
        inner_optimizer: The optimizer to wrap: an instance, a name or a config.
        initial_scale: The initial factor, 2**15 by default. Too large is corrected quickly, too
            small slowly. (Keras 2's second argument, `dynamic`, is accepted in its place.)
        dynamic_growth_steps: The number of consecutive finite steps after which the factor is
            doubled; 2000 by default.
        name: The name of the optimizer.
        dynamic: Whether the factor adapts. With False it is `initial_scale`, and every step is
            applied.
        **kwargs: Default values of the options of `Optimizer`, as old configs have them.

    Attributes:
        inner_optimizer: The wrapped optimizer.
        initial_scale: The initial factor.
        dynamic_scale: The Variable with the current factor.
        step_counter: The Variable that counts finite steps since the factor changed.

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
        initial_scale: float | None = None,
        dynamic_growth_steps: int | None = None,
        name: str | None = None,
        dynamic: bool = True,
        **kwargs: Any,
    ):
        if isinstance(initial_scale, bool):  # Keras 2: (inner, dynamic, initial_scale, steps)
            dynamic, initial_scale = initial_scale, dynamic_growth_steps
            dynamic_growth_steps = cast(int | None, name)
            name = None
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
        self.dynamic = check_bool("dynamic", dynamic, owner="LossScaleOptimizer")
        if not self.dynamic and (initial_scale is None or dynamic_growth_steps is not None):
            raise ValueError(
                "LossScaleOptimizer was given dynamic=False, "
                f"initial_scale={initial_scale}, dynamic_growth_steps={dynamic_growth_steps}; a "
                "fixed scale needs `initial_scale` and no `dynamic_growth_steps`."
            )
        self.initial_scale = check_number(
            "initial_scale", _DEFAULT_SCALE if initial_scale is None else initial_scale, 0
        )
        self.dynamic_growth_steps: int | None = None
        if self.dynamic:
            self.dynamic_growth_steps = check_int(
                "dynamic_growth_steps",
                _DEFAULT_GROWTH_STEPS if dynamic_growth_steps is None else dynamic_growth_steps,
                1,
                type_error=ValueError,
            )
        self.step_counter = self.add_variable((), dtype="int32", name="step_counter")
        self.dynamic_scale = self.add_variable(
            (), initializers.Constant(self.initial_scale), "float32", name="dynamic_scale"
        )
        self._scaler = (
            DynamicScale(self.dynamic_scale, self.step_counter, self.dynamic_growth_steps)
            if self.dynamic_growth_steps
            else None
        )
        self._loss_was_scaled = False  # whether the user has called `scale_loss`
        self._must_be_unscaled = False  # whether `get_scaled_loss` has been called
        self._gradients_were_unscaled = False  # and `get_unscaled_gradients`
        self._warned_about_scaling = False
        self._num_gradients = count_gradients()  # of all tapes before

    def build(self, var_list: Iterable[Variable]) -> None:
        """Create the state of variables that have none yet."""
        variables = list(var_list)
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

    @property
    def loss_scale(self) -> Tensor:
        """The current factor, under Keras 2's name."""
        return Tensor(self.dynamic_scale.read())

    @property
    def dynamic_counter(self) -> Variable | None:
        """The count of finite steps since the factor changed, under Keras 2's name; None if the
        factor is fixed.
        """
        return self.step_counter if self.dynamic else None

    # --- scaling

    def scale_loss(self, loss: Any) -> Any:
        """Return the loss times the current factor, in at least float32, where it cannot overflow.

        Gradients that are applied afterwards are divided by the factor again.
        """
        self._loss_was_scaled = True
        for scaler in (self._scaler, context.loss_scaler):
            if scaler is not None:
                scaler.is_off = True
        return dispatch(multiply_by_scale, loss, self.dynamic_scale)

    def scale_tapes(self) -> override[None]:
        """Return a context in which tapes scale losses themselves.

        `GradientTape.gradient` with respect to float32 Variables multiplies the loss by the
        factor, and divides the gradients: they are those of the loss as it is, and small ones do
        not become 0 in float16. Optimizers skip updates whose gradients are not all finite, and
        the factor adapts. Each `train_step` of a model compiled with this optimizer runs in it.
        It has no effect once `scale_loss` or `get_scaled_loss` has been called, or if the factor is
        fixed.

        Example:
            >>> w = podium.Variable(3.0)
            >>> optimizer = podium.optimizers.LossScaleOptimizer(podium.optimizers.SGD(0.5))
            >>> with optimizer.scale_tapes():
            ...     with podium.GradientTape() as tape:
            ...         loss = w * w
            ...     gradient = tape.gradient(loss, w)
            ...     _ = optimizer.apply_gradients([(gradient, w)])
            >>> float(gradient), float(w)
            (6.0, 0.0)
        """
        return override(loss_scaler=self._scaler)

    def get_scaled_loss(self, loss: Any) -> Any:
        """Return the loss times the current factor, or a function that does for a function: Keras
        2's name of `scale_loss`.

        Example:
            >>> w = podium.Variable(3.0)
            >>> optimizer = podium.optimizers.LossScaleOptimizer(podium.optimizers.SGD(0.5))
            >>> with podium.GradientTape() as tape:
            ...     loss = optimizer.get_scaled_loss(w * w)
            >>> gradients = optimizer.get_unscaled_gradients(tape.gradient(loss, [w]))
            >>> _ = optimizer.apply_gradients([(gradients[0], w)])
            >>> float(gradients[0]), float(w)
            (6.0, 0.0)
        """
        self._must_be_unscaled = True
        if callable(loss) and not isinstance(loss, (Tensor, Variable)):
            return lambda: self.scale_loss(loss())
        return self.scale_loss(loss)

    def get_unscaled_gradients(self, grads: Iterable[Any]) -> list[Any]:
        """Return gradients divided by the current factor, in at least float32; None stays None.
        `apply_gradients` does not divide them again.
        """
        self._gradients_were_unscaled = True
        return [
            None if gradient is None else dispatch(divide_by_scale, gradient, self.dynamic_scale)
            for gradient in grads
        ]

    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        tape: GradientTape | None = None,
    ) -> list[tuple[Tensor | None, Variable]]:
        """Return pairs of gradient and variable, computed from the scaled loss and divided by the
        factor.
        """
        scalers = [each for each in (self._scaler, context.loss_scaler) if each is not None]
        was_scaled, were_off = self._loss_was_scaled, [scaler.is_off for scaler in scalers]
        pairs = super().compute_gradients(loss, var_list, tape)
        self._loss_was_scaled = was_scaled
        for scaler, was_off in zip(scalers, were_off, strict=True):
            scaler.is_off = was_off
        return [
            (
                gradient
                if gradient is None or variable.overwrite_with_gradient
                else dispatch(divide_by_scale, gradient, self.dynamic_scale),
                variable,
            )
            for gradient, variable in pairs
        ]

    # --- updates

    def minimize(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        tape: GradientTape | None = None,
    ) -> Variable:
        """Compute gradients of the scaled loss, divide them by the factor and apply them; see
        `Optimizer.minimize`.
        """
        pairs = self.compute_gradients(loss, var_list, tape)
        self._apply([g for g, _ in pairs], [v for _, v in pairs], are_scaled=False)
        return self._iterations

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | None, Variable]],
        name: str | None = None,
        **kwargs: Any,
    ) -> Variable:
        """Apply gradients, if they are all finite; adapt the factor.

        They are divided by the factor if the loss is scaled by `scale_loss` or `get_scaled_loss`,
        and the gradients not by `get_unscaled_gradients`.

        Args:
            grads_and_vars: Pairs, usually `zip(gradients, variables)`.
            name: Accepted for Keras 2's signature.
            **kwargs: Accepted for Keras 2's signature.
        """
        pairs = split_pairs(grads_and_vars)
        grads, variables = [gradient for gradient, _ in pairs], [variable for _, variable in pairs]
        self._apply(grads, variables, self._are_scaled(default=False))
        return self._iterations

    def apply(
        self,
        grads: Sequence[TensorLike | None],
        trainable_variables: Sequence[Variable] | None = None,
    ) -> None:
        """Divide the gradients by the factor and apply them, if they are all finite; adapt the
        factor.

        Gradients that a tape has computed of a loss that was not scaled are not divided.

        Args:
            grads: The gradients of the scaled loss; None leaves its variable as it is.
            trainable_variables: The variables, by default those that the optimizer was built with.
        """
        is_from_tape = count_gradients() > self._num_gradients
        self._apply(grads, trainable_variables, self._are_scaled(default=not is_from_tape))

    def _are_scaled(self, default: bool) -> bool:
        """Return whether gradients must be divided by the factor.

        Args:
            default: The result if none of the methods that scale has been called.
        """
        is_unscaled = self._gradients_were_unscaled
        if self._loss_was_scaled:
            if self._must_be_unscaled and not is_unscaled and not self._warned_about_scaling:
                self._warned_about_scaling = True
                warn_user(_NOT_UNSCALED)
            return not is_unscaled
        if not is_unscaled and active_scale() is not None:
            return False
        if (is_unscaled or not default) and not self._warned_about_scaling:
            self._warned_about_scaling = True
            warn_user(_UNSCALED_TWICE if is_unscaled else _NOT_SCALED)
        return default and not is_unscaled

    def _apply(
        self,
        grads: Sequence[TensorLike | None],
        trainable_variables: Sequence[Variable] | None,
        are_scaled: bool,
    ) -> None:
        if not (grads := list(grads)):
            return
        with override(tapes=(), autocast_dtype=None, bare_arrays=False):
            variables = self._build_missing(grads, trainable_variables)
            gradients, variables = match_gradients(self.name, grads, variables, self._warned)
            if context.replica_axes is not None:
                # All replicas must agree on whether the gradients are finite.
                gradients = jax.lax.psum(gradients, context.replica_axes)
            scale = self.dynamic_scale.read()
            if are_scaled:
                gradients = [
                    g if variable.overwrite_with_gradient else g / scale.astype(g.dtype)
                    for g, variable in zip(gradients, variables, strict=True)
                ]
            scaler = active_scale() or self._scaler
            if scaler is None:
                with override(replica_axes=None):  # the gradients are summed already
                    self.inner_optimizer.apply(gradients, variables)
            else:
                scaler.update_if_finite(self.inner_optimizer, gradients, variables)

    def flush(self, var_list: Iterable[Variable] | None = None) -> None:
        """Apply the accumulated gradients of the inner optimizer; see `Optimizer.flush`."""
        self.inner_optimizer.flush(var_list)

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """Set variables to the inner optimizer's moving averages, if it keeps them."""
        self.inner_optimizer.finalize_variable_values(var_list)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this optimizer again, without its state."""
        config = {
            "name": self.name,
            "inner_optimizer": serialize(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }
        return config if self.dynamic else {**config, "dynamic": False}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> LossScaleOptimizer:
        """Make an optimizer from `get_config`'s result."""
        config = dict(config)
        return cls(deserialize(config.pop("inner_optimizer"), custom_objects), **config)
