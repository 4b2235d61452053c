"""Optimizer: the base of all optimizers.

This file owns what users call and the options that all optimizers share. The state is in
`_optimizer_state.py`, the course of one update in `_apply.py`, its arithmetic in `_transforms.py`;
a file such as `_adam.py` holds one rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

import jax
import jax.numpy as jnp

from podium.core import GradientTape, Tensor, Variable, closest_match, convert_to_tensor, snake_case
from podium.core.internal import VariableScope, context, override
from podium.optimizers._apply import Updating
from podium.optimizers._argument_checks import number, only_one_clipping, optional, whole_number
from podium.optimizers._gradients import checked_pairs
from podium.optimizers.schedules import LearningRateSchedule, serialize
from podium.optimizers.schedules._registry import function_config, rate_from_config
from podium.state import OwnState, keras_order

_IGNORED = {"jit_compile", "is_legacy_optimizer"}  # in configs that Keras 2 wrote


class Options(TypedDict, total=False):
    """The arguments that all optimizers take by name; see `Optimizer`."""

    weight_decay: float | None
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    name: str | None
    lr: Any
    decay: float | None


class Optimizer(Updating):
    """Changes variables by their gradients. The base class: use `Adam`, `SGD`, ..., or subclass it.

    All optimizers work in plain Python and inside `podium.function`, on any subset of variables;
    state for a variable is made when it is first met. The learning rate may be set between steps
    without compiling anew; other settings are constants of a compiled step.

    A subclass makes its state in `build(variables)` and writes `update_step(gradient, variable,
    learning_rate)`.

    Args:
        learning_rate: A number, a `LearningRateSchedule`, or a function of the step or of nothing.
        weight_decay: How much of each weight is taken away per unit of learning rate; None for
            nothing.
        clipnorm: The greatest norm of each gradient by itself.
        clipvalue: The greatest absolute value in gradients.
        global_clipnorm: The greatest norm of all gradients together.
        use_ema: Whether to keep a moving average of the variables.
        ema_momentum: The share of the old average at each update.
        ema_overwrite_frequency: After how many updates variables are set to their averages; None
            for only by `finalize_variable_values`.
        loss_scale_factor: A factor that `scale_loss` multiplies by, and that gradients are divided
            by.
        gradient_accumulation_steps: Change weights only every so many calls, by the mean of the
            gradients; a last group that is not complete is taken at the end of `fit`, see `flush`.
        name: A name.
        **kwargs: Keras 2's `lr` (the learning rate) and `decay` (divides it by `1 + decay *
            iterations`).

    Example:
        >>> class Signs(podium.optimizers.Optimizer):
        ...     def update_step(self, gradient, variable, learning_rate):
        ...         variable.assign_sub(learning_rate * podium.ops.sign(gradient))
        >>> w = podium.Variable([1.0, 2.0])
        >>> Signs(0.5).apply([podium.Tensor([3.0, -4.0])], [w])
        >>> w.numpy()
        array([0.5, 2.5], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        rate, decay = kwargs.pop("lr", None), kwargs.pop("decay", None)
        super().__init__(learning_rate if rate is None else rate, name)
        for unknown in kwargs.keys() - _IGNORED:
            close = closest_match(unknown, (*self._hyper, *Options.__annotations__))
            hint = f" Did you mean {close!r}?" if close else ""
            raise TypeError(
                f"{type(self).__name__} was given {unknown}={kwargs[unknown]!r}, which it does "
                f"not know.{hint}"
            )
        only_one_clipping(clipnorm, clipvalue, global_clipnorm)
        self.decay = optional(number, "decay", decay or None, 0)
        self.weight_decay = optional(number, "weight_decay", weight_decay, 0)
        self.clipnorm = optional(number, "clipnorm", clipnorm, 0)
        self.clipvalue = optional(number, "clipvalue", clipvalue, 0)
        self.global_clipnorm = optional(number, "global_clipnorm", global_clipnorm, 0)
        self.use_ema = bool(use_ema)
        self.ema_momentum = number("ema_momentum", ema_momentum, 0, 1)
        self.ema_overwrite_frequency = optional(
            whole_number, "ema_overwrite_frequency", ema_overwrite_frequency, 1
        )
        self.loss_scale_factor = optional(number, "loss_scale_factor", loss_scale_factor, 0)
        self.gradient_accumulation_steps = optional(
            whole_number, "gradient_accumulation_steps", gradient_accumulation_steps or None, 2
        )
        self._warned: set[str] = set()  # variables whose missing gradients were mentioned

    # --- what users call

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], name: str | None = None, **kwargs: Any
    ) -> Variable:
        """Change variables by their gradients.

        Args:
            grads_and_vars: Pairs, usually `zip(gradients, variables)`. A gradient may be None: its
                variable stays.
            name: Accepted for Keras 2's signature.
            **kwargs: Accepted for Keras 2's signature, such as `skip_gradients_aggregation`.

        Returns:
            The count of calls, as Keras does.

        Raises:
            ValueError: All gradients are None, or one has another shape than its variable.
        """
        pairs = [tuple(pair) for pair in grads_and_vars]
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError(
                "apply_gradients takes pairs of a gradient and its variable: `zip(gradients, "
                "variables)`."
            )
        self.apply([gradient for gradient, _ in pairs], [variable for _, variable in pairs])
        return self._iterations

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None
    ) -> None:
        """Change variables by their gradients, given as two lists.

        Args:
            grads: The gradients; None leaves its variable as it is.
            trainable_variables: The variables, by default those that the optimizer was built with.
        """
        grads = list(grads)
        if not grads:
            return
        with override(
            tapes=(), autocast_dtype=None, bare_arrays=False
        ):  # an update is no part of what tapes differentiate
            variables = self._known_variables(grads, trainable_variables)
            gradients, variables = checked_pairs(self.name, grads, variables, self._warned)
            if (
                context.replica_axes is not None
            ):  # in `Strategy.run`: one update for all replicas, by the sum of their gradients
                gradients = jax.lax.psum(gradients, context.replica_axes)
            self._update(gradients, variables)

    def minimize(self, loss: Any, var_list: Any, tape: GradientTape | None = None) -> Variable:
        """Compute gradients of a loss and apply them.

        Args:
            loss: A Tensor computed on `tape`, or, without a tape, a function of nothing that
                computes it.
            var_list: The variables to change.
            tape: The tape that recorded the loss.

        Returns:
            The count of calls, as Keras does.

        Example:
            >>> w = podium.Variable(3.0)
            >>> optimizer = podium.optimizers.SGD(0.1)
            >>> _ = optimizer.minimize(lambda: w * w, [w])
            >>> round(float(w), 4)
            2.4
        """
        return self.apply_gradients(self.compute_gradients(loss, var_list, tape))

    def compute_gradients(
        self, loss: Any, var_list: Any, tape: GradientTape | None = None
    ) -> list[tuple[Any, Variable]]:
        """Return pairs of gradient and variable for `apply_gradients`; see `minimize`."""
        if not callable(loss) and tape is None:
            raise ValueError(
                f"minimize was given the loss {loss!r} without the tape that recorded it. Pass "
                "`tape=`, or a function that computes the loss: `optimizer.minimize(lambda: ..., "
                "variables)`."
            )
        if callable(loss) and not isinstance(loss, (Tensor, Variable)):
            tape = tape or GradientTape()
            with tape:
                loss = loss()
        assert tape is not None
        variables = list(var_list()) if callable(var_list) else list(var_list)
        # Scaling the seed of the gradients is scaling the loss, and needs no open tape.
        seed = self.scale_loss(Tensor(jnp.ones(loss.shape, loss.dtype)))
        scaled = (
            self.loss_scale_factor is not None or type(self).scale_loss is not Optimizer.scale_loss
        )
        gradients = tape.gradient(loss, variables, output_gradients=seed if scaled else None)
        return list(zip(gradients, variables, strict=True))

    def scale_loss(self, loss: Any) -> Any:
        """Return the loss times `loss_scale_factor`; compute gradients of that, and `apply` divides
        by it again.
        """
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Leave some variables out of weight decay. Call it before the first update.

        Args:
            var_list: The variables.
            var_names: Patterns: a variable is left out if one of them is found in its name, such as
                "bias".
        """
        if self.built:
            raise RuntimeError(
                f"exclude_from_weight_decay was called on {self.name!r} after its first update, "
                "when compiled steps may have been made without it. Call it right after making the "
                "optimizer."
            )
        self._excluded = list(var_list or [])
        self._excluded_names = [var_names] if isinstance(var_names, str) else list(var_names or [])

    def flush(self, var_list: Iterable[Variable] | None = None) -> None:
        """Take the step of accumulated gradients whose group is not complete, by the mean of those
        that there are.

        Nothing happens if none are waiting, or if `gradient_accumulation_steps` is not set. Not for
        compiled steps: call it between them. `fit` does it at its end; groups go on from epoch to
        epoch.

        Args:
            var_list: The variables, by default those that the optimizer was built with.

        Example:
            >>> w = podium.Variable(1.0)
            >>> optimizer = podium.optimizers.SGD(0.5, gradient_accumulation_steps=4)
            >>> optimizer.apply([podium.Tensor(1.0)], [w])
            >>> float(w), optimizer.flush(), float(w)
            (1.0, None, 0.5)
        """
        with override(tapes=(), autocast_dtype=None, bare_arrays=False):
            self._flush(list(self._trainable_variables if var_list is None else var_list))

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """Set variables to their moving averages, if `use_ema`. Call it after the last update;
        `fit` does.
        """
        if self.use_ema:
            for variable in var_list:
                if (average := self._slots_of(variable).get("average")) is not None:
                    variable.assign(average)

    def stateless_apply(
        self,
        optimizer_variables: Sequence[Any],
        grads: Sequence[Any],
        trainable_variables: Sequence[Any],
    ) -> tuple:
        """Update without touching any state: values in, values out, for use with raw JAX
        transformations.

        Args:
            optimizer_variables: Values for `variables`, in order.
            grads: Gradients.
            trainable_variables: Values for the variables that the optimizer was built with, in
                order.

        Returns:
            `(new_trainable_values, new_optimizer_values)`, as lists of jax.Arrays.
        """
        variables = [*self._trainable_variables, *self.variables]
        values = [*trainable_variables, *optimizer_variables]
        if not self.built or len(values) != len(variables):
            raise ValueError(
                f"stateless_apply on {self.name!r} was given {len(trainable_variables)} and "
                f"{len(optimizer_variables)} values; it has {len(self._trainable_variables)} "
                f"variables to train and {len(self.variables)} of its own. Call "
                "`optimizer.build(trainable_variables)` first."
            )
        inputs = {
            id(v): (v, convert_to_tensor(value).value)
            for v, value in zip(variables, values, strict=True)
        }
        scope = VariableScope(inputs, context.scope)
        with override(scope=scope, tapes=()):
            self.apply(grads, self._trainable_variables)
        new = [scope.read(variable) for variable in variables]
        return new[: len(trainable_variables)], new[len(trainable_variables) :]

    # --- state, for files and checkpoints

    def _own_state(self) -> OwnState:
        """Return what this optimizer owns itself; see `podium.state`."""
        return OwnState(
            snake_case(type(self).__name__), self._own_variables(), keras_order(vars(self)), []
        )

    def _own_variables(self) -> list[Variable]:
        """Return the variables without those of a wrapped optimizer."""
        return list(self.variables)

    # --- configs

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this optimizer again, without its state."""
        rate = self._learning_rate
        if isinstance(rate, Variable):
            rate = float(str(rate.numpy()))  # 0.001, not 0.0010000000474974513: the same float32
        elif isinstance(rate, LearningRateSchedule):
            rate = serialize(rate)
        else:
            rate = function_config(rate)
        options = {
            name: getattr(self, name)
            for name in Options.__annotations__
            if name not in ("name", "lr", "decay")
        }
        config = {"name": self.name, "learning_rate": rate, **options}
        if self.decay is not None:
            config["decay"] = self.decay
        return config | {name: getattr(self, name) for name in self._hyper}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Optimizer:
        """Make an optimizer from `get_config`'s result."""
        config = dict(config)
        for name in ("learning_rate", "lr"):
            if name in config:
                config[name] = rate_from_config(config[name], custom_objects)
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"
