"""Optimizer: the base of all optimizers.

It owns what users call, the options that all optimizers share, and the order of the transforms of
an update. The transforms are in `_update_pipeline.py`, slots in `_slots.py`; a file such as
`_adam.py` holds one rule.
"""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Self, TypedDict

import jax
import jax.numpy as jnp
import numpy as np

from podium import initializers
from podium._typing import Array, Config, DTypeLike, TensorLike
from podium.core import (
    GradientTape,
    Tensor,
    Variable,
    auto_name,
    closest_match,
    colocate_with,
    convert_to_tensor,
    floatx,
    snake_case,
)
from podium.core.internal import (
    VariableScope,
    check_number,
    context,
    layer_name_scope,
    override,
    sum_gradients,
    unwrap_result,
)
from podium.optimizers import _update_math, _update_pipeline
from podium.optimizers._dynamic_scale import active_scale
from podium.optimizers._gradients import match_gradients, split_pairs
from podium.optimizers._learning_rate import (
    LearningRate,
    assign_learning_rate,
    evaluate_schedule,
)
from podium.optimizers._option_checks import (
    check_learning_rate,
    check_optional_int,
    check_optional_number,
    check_single_clipping,
)
from podium.optimizers._slots import SlotTable, VariableList
from podium.optimizers._update_math import Hyperparameters, Rule, Slots
from podium.optimizers._update_pipeline import Transform, Update
from podium.optimizers.schedules import LearningRateSchedule, serialize
from podium.optimizers.schedules._registry import function_config, rate_from_config
from podium.state import OwnState, keras_order

_ZEROS = initializers.Zeros()
_IGNORED = {"jit_compile", "is_legacy_optimizer"}  # in configs that Keras 2 wrote
_PIPELINE_SLOTS = {_update_pipeline.AVERAGE, _update_pipeline.ACCUMULATOR}  # not seen by rules


class OptimizerOptions(TypedDict, total=False):
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
    lr: LearningRate
    decay: float | None


class Optimizer:
    """Updates variables by their gradients. The base class: use `Adam`, `SGD`, ..., or subclass it.

    All optimizers work eagerly and inside `podium.function`, on any subset of variables; state for
    a variable is created at its first update. The learning rate may be set between steps without
    recompilation; other settings are constants of a compiled step.

    A subclass creates its state in `build(variables)` and implements `update_step(gradient,
    variable, learning_rate)`.

    Args:
        learning_rate: A number, a `LearningRateSchedule`, or a function of the iteration or without
            arguments.
        weight_decay: The fraction of each weight that is subtracted per unit of learning rate; None
            for no weight decay.
        clipnorm: The maximum norm of each gradient by itself.
        clipvalue: The maximum absolute value in gradients.
        global_clipnorm: The maximum norm of all gradients together.
        use_ema: Whether to keep an exponential moving average of the variables.
        ema_momentum: The weight of the old average at each update.
        ema_overwrite_frequency: The number of updates after which variables are set to their
            averages; None for only by `finalize_variable_values`.
        loss_scale_factor: The factor that `scale_loss` multiplies the loss by, and that gradients
            are divided by.
        gradient_accumulation_steps: Update the weights only every this many calls, by the mean of
            the gradients; the last group, if incomplete, is applied at the end of `fit`, see
            `flush`.
        name: The name of the optimizer.
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

    _hyper: tuple[str, ...] = ()  # the attributes that the rule reads and that configs hold
    _builds_more = False  # whether an overridden `build` may be called again with more variables

    def __init__(
        self,
        learning_rate: LearningRate,
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
        self.name = name or auto_name(snake_case(type(self).__name__))
        self.built = False
        self._variables: list[Variable] = []  # in the order in which Keras writes them to files
        self._saved_source = ""
        self._saved_values: list[jax.Array] = []  # of variables that will be created
        self._slots = SlotTable()
        self._iterations = self.add_variable(
            (), dtype="int32", aggregation="only_first_replica", name="iteration"
        )
        self._learning_rate = self._make_learning_rate(learning_rate if rate is None else rate)
        for unknown in kwargs.keys() - _IGNORED:
            close = closest_match(unknown, (*self._hyper, *OptimizerOptions.__annotations__))
            hint = f" Did you mean {close!r}?" if close else ""
            raise TypeError(
                f"{type(self).__name__} was given {unknown}={kwargs[unknown]!r}, which is "
                f"not one of its arguments.{hint}"
            )
        check_single_clipping(clipnorm, clipvalue, global_clipnorm)
        self.decay = check_optional_number("decay", decay or None)
        self.weight_decay = check_optional_number("weight_decay", weight_decay)
        self.clipnorm = check_optional_number("clipnorm", clipnorm)
        self.clipvalue = check_optional_number("clipvalue", clipvalue)
        self.global_clipnorm = check_optional_number("global_clipnorm", global_clipnorm)
        self.use_ema = bool(use_ema)
        self.ema_momentum = check_number("ema_momentum", ema_momentum, 0, 1)
        self.ema_overwrite_frequency = check_optional_int(
            "ema_overwrite_frequency", ema_overwrite_frequency
        )
        self.loss_scale_factor = check_optional_number("loss_scale_factor", loss_scale_factor)
        self.gradient_accumulation_steps = check_optional_int(
            "gradient_accumulation_steps", gradient_accumulation_steps or None, 2
        )
        self._excluded: list[Variable] = []  # from weight decay
        self._excluded_names: list[str] = []
        self._warned: set[str] = set()  # variables whose missing gradients were mentioned

    # --- what users call

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | None, Variable]],
        name: str | None = None,
        **kwargs: Any,
    ) -> Variable:
        """Update variables by their gradients.

        Args:
            grads_and_vars: Pairs, usually `zip(gradients, variables)`. Where the gradient is None,
                the variable is not changed.
            name: Accepted for Keras 2's signature.
            **kwargs: Accepted for Keras 2's signature, such as `skip_gradients_aggregation`.

        Returns:
            The Variable that counts calls, as in Keras.

        Raises:
            ValueError: All gradients are None, or one has another shape than its variable.
        """
        pairs = split_pairs(grads_and_vars)
        self.apply([gradient for gradient, _ in pairs], [variable for _, variable in pairs])
        return self._iterations

    def apply(
        self,
        grads: Sequence[TensorLike | None],
        trainable_variables: Sequence[Variable] | None = None,
    ) -> None:
        """Update variables by their gradients, given as two lists.

        Args:
            grads: The gradients; where one is None, its variable is not changed.
            trainable_variables: The variables; by default those that the optimizer was built with.
        """
        grads = list(grads)
        if not grads:
            return
        # An update is not part of what tapes differentiate.
        with override(tapes=(), autocast_dtype=None, bare_arrays=False):
            variables = self._build_missing(grads, trainable_variables)
            gradients, variables = match_gradients(self.name, grads, variables, self._warned)
            if context.replica_axes is not None:
                gradients = sum_gradients(gradients)
            if (scaler := active_scale()) is not None:
                scaler.update_if_finite(self, gradients, variables)
            else:
                self._update(gradients, variables)

    def minimize(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        tape: GradientTape | None = None,
    ) -> Variable:
        """Compute gradients of a loss and apply them.

        Args:
            loss: A Tensor computed on `tape`, or, without a tape, a function without arguments that
                computes it.
            var_list: The variables to update.
            tape: The tape that recorded the loss.

        Returns:
            The Variable that counts calls, as in Keras.

        Example:
            >>> w = podium.Variable(3.0)
            >>> optimizer = podium.optimizers.SGD(0.1)
            >>> _ = optimizer.minimize(lambda: w * w, [w])
            >>> round(float(w), 4)
            2.4
        """
        return self.apply_gradients(self.compute_gradients(loss, var_list, tape))

    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        tape: GradientTape | None = None,
    ) -> list[tuple[Tensor | None, Variable]]:
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

    def scale_loss(self, loss: Tensor) -> Tensor:
        """Return the loss times `loss_scale_factor`; `apply` divides its gradients by it again."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Exclude variables from weight decay. Call it before the first update.

        Args:
            var_list: The variables.
            var_names: Patterns: a variable is excluded if its name contains one of them, such as
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
        """Apply accumulated gradients whose group is incomplete, by the mean of those present.

        It has no effect if there are none, or if `gradient_accumulation_steps` is not set. Call it
        between compiled steps, not inside. `fit` calls it at its end; groups continue across
        epochs.

        Args:
            var_list: The variables; by default those that the optimizer was built with.

        Example:
            >>> w = podium.Variable(1.0)
            >>> optimizer = podium.optimizers.SGD(0.5, gradient_accumulation_steps=4)
            >>> optimizer.apply([podium.Tensor(1.0)], [w])
            >>> float(w), optimizer.flush(), float(w)
            (1.0, None, 0.5)
        """
        with override(tapes=(), autocast_dtype=None, bare_arrays=False):
            self._apply_accumulated(
                list(self._trainable_variables if var_list is None else var_list)
            )

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """Set variables to their moving averages, if `use_ema`. Call it after the last update;
        `fit` does.
        """
        if self.use_ema:
            for variable in var_list:
                average = self._slots.slots_of(variable).get(_update_pipeline.AVERAGE)
                if average is not None:
                    variable.assign(average)

    def stateless_apply(
        self,
        optimizer_variables: Sequence[TensorLike],
        grads: Sequence[TensorLike | None],
        trainable_variables: Sequence[TensorLike],
    ) -> tuple[list[jax.Array], list[jax.Array]]:
        """Update without changing any state: values in, values out, for raw JAX transformations.

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
                f"trainable variables and {len(self.variables)} state variables. Call "
                "`optimizer.build(trainable_variables)` first."
            )
        inputs = {
            id(v): (v, unwrap_result(convert_to_tensor(value)))
            for v, value in zip(variables, values, strict=True)
        }
        scope = VariableScope(inputs, context.scope)
        with override(scope=scope, tapes=()):
            self.apply(grads, self._trainable_variables)
        new = [scope.read(variable) for variable in variables]
        return new[: len(trainable_variables)], new[len(trainable_variables) :]

    # --- the learning rate

    def _make_learning_rate(self, learning_rate: LearningRate) -> Any:
        """Return what is kept: a Variable for a number, a schedule or function as it is."""
        if isinstance(learning_rate, Variable) or callable(learning_rate):
            return learning_rate
        return self.add_variable(
            (),
            initializers.Constant(check_learning_rate(learning_rate)),
            floatx(),
            aggregation="only_first_replica",
            name="learning_rate",
        )

    @property
    def learning_rate(self) -> Any:
        """The current learning rate: a Variable, or the value of the schedule at this iteration.

        Set it to a number between steps (`optimizer.learning_rate = 0.01`): compiled steps read it
        at every call. Setting it to a schedule or a function replaces it for steps that are
        compiled afterwards.
        """
        if isinstance(self._learning_rate, Variable):
            return self._learning_rate
        return evaluate_schedule(self._learning_rate, Tensor(self._iterations.read()))

    @learning_rate.setter
    def learning_rate(self, learning_rate: LearningRate) -> None:
        if callable(learning_rate):
            previous = self._learning_rate
            self._variables = [kept for kept in self._variables if kept is not previous]
            self._learning_rate = learning_rate
            return
        if not isinstance(self._learning_rate, Variable):
            kind = (
                "schedule" if isinstance(self._learning_rate, LearningRateSchedule) else "function"
            )
            raise TypeError(
                f"learning_rate={learning_rate!r} was set on an optimizer whose learning rate "
                f"follows a {kind}, {type(self._learning_rate).__name__}: the schedule would "
                "overrule the number. Make the optimizer with a number as `learning_rate`, or set "
                "another schedule."
            )
        assign_learning_rate(self._learning_rate, learning_rate)

    @property
    def lr(self) -> Any:
        """The same as `learning_rate`, under Keras 2's short name."""
        return self.learning_rate

    @lr.setter
    def lr(self, learning_rate: LearningRate) -> None:
        self.learning_rate = learning_rate

    @property
    def iterations(self) -> Variable | Tensor:
        """How many updates were made: an int32 Variable (a Tensor, if gradients are accumulated).

        It does not wrap: at 2.1e9 it stops growing.
        """
        if self.gradient_accumulation_steps:
            updates: Tensor = self._iterations // self.gradient_accumulation_steps
            return updates
        return self._iterations

    # --- state Variables

    @property
    def variables(self) -> VariableList:
        """All state, in the order in which Keras stores it in files: the iteration, the learning
        rate, the slots.
        """
        variables = list(self._variables)
        for name, value in vars(self).items():  # those that a subclass made without `add_variable`
            if isinstance(value, Variable):
                variables.append(value)
            elif isinstance(value, list) and name != "_excluded":
                variables.extend(item for item in value if isinstance(item, Variable))
        return VariableList({id(variable): variable for variable in variables}.values())

    @property
    def weights(self) -> VariableList:
        """The same as `variables`."""
        return self.variables

    @property
    def _trainable_variables(self) -> list[Variable]:
        """The variables that the optimizer was built with, under Keras's name."""
        return self._slots.variables

    def _get_variable_index(self, variable: Variable) -> int:
        """Return the position of a trained variable, under Keras's name for subclasses."""
        return self._slots.index_of(variable)

    def add_variable(
        self,
        shape: Sequence[int],
        initializer: Any = "zeros",
        dtype: DTypeLike | None = None,
        aggregation: str = "none",
        layout: object = None,
        name: str | None = None,
    ) -> Variable:
        """Create a state Variable, zero by default.

        Args:
            shape: The shape.
            initializer: The initial value: a name, an initializer, or a function of `(shape,
                dtype)`.
            dtype: The dtype, by default the default float dtype.
            aggregation: How replicas combine it.
            layout: Accepted for Keras's signature.
            name: The name.
        """
        with layer_name_scope(self.name):
            variable = Variable(
                self._saved_value(tuple(shape)) or initializers.get(initializer) or _ZEROS,
                tuple(shape),
                dtype,
                trainable=False,
                aggregation=aggregation,
                name=name,
            )
        self._variables.append(variable)
        return variable

    def restore_when_created(self, values: Sequence[Array], source: str) -> None:
        """Restore the values of variables that the optimizer has not created yet, when it does.

        Args:
            values: The values, in the order of `variables`, after those that exist.
            source: A description of their origin, for messages.

        Example:
            >>> w, optimizer = podium.Variable([1.0]), podium.optimizers.SGD(momentum=0.5)
            >>> optimizer.restore_when_created([np.float32([2.0])], "An array")
            >>> optimizer.build([w])
            >>> optimizer.variables[-1].numpy()
            array([2.], dtype=float32)
        """
        self._saved_values = [jnp.array(value) for value in values]
        self._saved_source = source

    def _saved_value(self, shape: tuple[int, ...]) -> Callable[..., jax.Array] | None:
        """Return an initializer with the saved value of the next variable; None if there is none.

        Raises:
            ValueError: Its shape differs.
        """
        if not self._saved_values:
            return None
        value = self._saved_values.pop(0)
        if value.shape != shape:
            raise ValueError(
                f"{self._saved_source} has a value of shape {value.shape} for variable "
                f"{len(self._variables)} of {self.name!r}, which has shape {shape}. Train the "
                "variables that were trained when it was saved, in the same order."
            )
        return lambda shape, dtype: value.astype(dtype)

    def add_variable_from_reference(
        self, reference_variable: Variable, name: str | None = None, initializer: Any = "zeros"
    ) -> Variable:
        """Create a state Variable with the shape and dtype of a trained variable, named after it.

        Args:
            reference_variable: The trained variable.
            name: What it holds, such as "momentum".
            initializer: The initial value.
        """
        stem = reference_variable.path.replace("/", "_")
        dtype = reference_variable.stored.dtype
        with colocate_with(reference_variable):
            return self.add_variable(
                reference_variable.shape, initializer, dtype, name=f"{stem}_{name or 'var'}"
            )

    def add_optimizer_variables(
        self,
        trainable_variables: Iterable[Variable],
        name: str | Sequence[str],
        initializer: Any = "zeros",
    ) -> list[Variable] | tuple[list[Variable], ...]:
        """Create one state Variable, or one for each of several names, per trained variable.

        Args:
            trainable_variables: The trained variables.
            name: A name or a list of names.
            initializer: An initial value, or one for each name.

        Returns:
            A list of Variables, or a tuple with one list for each name.
        """
        names = [name] if isinstance(name, str) else list(name)
        initial = (
            list(initializer)
            if isinstance(initializer, (list, tuple))
            else [initializer] * len(names)
        )
        lists: tuple[list[Variable], ...] = tuple([] for _ in names)
        for variable in trainable_variables:
            for created, each_name, value in zip(lists, names, initial, strict=True):
                created.append(self.add_variable_from_reference(variable, each_name, value))
        return lists[0] if isinstance(name, str) else lists

    def build(self, var_list: Iterable[Variable]) -> None:
        """Create the state of variables that have none yet. The first update calls it."""
        variables = list(var_list)
        if wrong := [variable for variable in variables if not isinstance(variable, Variable)]:
            raise TypeError(
                f"{self.name!r} was given {wrong[0]!r} to train; a Variable was expected."
            )
        new = self._slots.add(variables)
        for group in self._all_slot_groups():
            for variable in new:
                for name in group:
                    if variable.overwrite_with_gradient and name != _update_pipeline.ACCUMULATOR:
                        continue
                    slot = self._make_slot(variable, name)
                    if slot is not None:
                        self._slots.slots_of(variable)[name] = slot
        self.built = True

    def _all_slot_groups(self) -> list[tuple[str, ...]]:
        groups: list[tuple[str, ...]] = [(_update_pipeline.AVERAGE,)] if self.use_ema else []
        if self.gradient_accumulation_steps:
            groups.append((_update_pipeline.ACCUMULATOR,))
        return groups + self._slot_groups()

    def _build_missing(
        self, grads: Sequence[TensorLike | None], variables: Sequence[Variable] | None
    ) -> list[Variable]:
        """Return the variables to update, after creating state for new ones."""
        if variables is None and not self.built:
            raise ValueError(
                f"{self.name!r} was given gradients without variables before it was built. Call "
                "`optimizer.build(variables)` first, or `optimizer.apply(gradients, variables)`."
            )
        variables = list(self._trainable_variables if variables is None else variables)
        if len(variables) != len(grads):
            raise ValueError(
                f"{self.name!r} was given {len(grads)} gradients for {len(variables)} variables; "
                "one gradient (or None) for each variable was expected, in the same order."
            )
        if any(variable not in self._slots for variable in variables):
            if self.built and type(self).build is not Optimizer.build and not self._builds_more:
                raise ValueError(
                    f"{self.name!r} was given variables that it was not built with, and "
                    f"{type(self).__name__} creates its state once, in its `build`. Build "
                    "it with all variables first, or use a new optimizer."
                )
            self.build(variables)
        return variables

    # --- one update

    def _update(self, gradients: list[jax.Array], variables: list[Variable]) -> None:
        iteration = self._iterations.read()
        gradients, variables = _update_pipeline.assign_overwrites(
            gradients, variables, self._slots, iteration, self.gradient_accumulation_steps
        )
        if variables:
            update = Update(gradients, variables, self._read_learning_rate(iteration), iteration)
            _update_pipeline.run_pipeline(self._update_transforms(), update)
        period = (self.gradient_accumulation_steps or 1) * (self.ema_overwrite_frequency or 1)
        self._iterations.assign(Tensor(_update_math.next_iteration(iteration, period)))

    def _update_transforms(self) -> Iterator[Transform]:
        """Yield the transforms of an update. Options are read at each update, so that they
        can be changed until a step is compiled.
        """
        if self.loss_scale_factor is not None:
            yield _update_pipeline.unscale(self.loss_scale_factor)
        if self.gradient_accumulation_steps:
            yield _update_pipeline.accumulate_gradients(
                self._slots, self.gradient_accumulation_steps
            )
        yield from self._step_transforms()

    def _step_transforms(self) -> Iterator[Transform]:
        """Yield the transforms that follow accumulation: clip, step, average, constrain."""
        if self.clipnorm or self.clipvalue or self.global_clipnorm:
            yield _update_pipeline.clip_gradients(
                self.clipnorm, self.clipvalue, self.global_clipnorm
            )
        yield self._take_step
        if self.use_ema:
            yield _update_pipeline.average_weights(
                self._slots, self.ema_momentum, self.ema_overwrite_frequency
            )
        yield _update_pipeline.constrain

    def _apply_accumulated(self, variables: list[Variable]) -> None:
        """Take the step of an incomplete group of gradients, by the mean of those present."""
        count, iteration = self.gradient_accumulation_steps, self._iterations.read()
        variables = [
            variable
            for variable in variables
            if variable in self._slots
            and not variable.overwrite_with_gradient
            and _update_pipeline.ACCUMULATOR in self._slots.slots_of(variable)
        ]
        if not count or not variables:
            return
        present = int(iteration) % count  # waits for the value
        if present == 0:
            return
        sums = [
            self._slots.slots_of(variable)[_update_pipeline.ACCUMULATOR] for variable in variables
        ]
        means = [total.read() / present for total in sums]
        for total in sums:
            total.assign(Tensor(jnp.zeros_like(total.read())))
        rate = self._read_learning_rate(iteration)
        update = Update(means, variables, rate, iteration // count)
        _update_pipeline.run_pipeline(self._step_transforms(), update)
        self._iterations.assign(Tensor(iteration + (count - present)))  # the group is complete

    def _read_learning_rate(self, iteration: jax.Array) -> jax.Array | None:
        rate = self.learning_rate
        value: jax.Array = rate.read() if isinstance(rate, Variable) else rate.value
        if self.decay is None:
            return value
        return value / (1 + self.decay * iteration.astype(value.dtype))

    def _take_step(self, update: Update) -> Update:
        """Update all variables: by the rule, or by the `update_step` of a subclass."""
        self._advance(update.iteration, update.due)
        if type(self).update_step is not Optimizer.update_step:
            self._call_update_step(update)
            return update
        assert update.learning_rate is not None
        shared = self._shared_state()
        for gradient, variable in zip(update.gradients, update.variables, strict=True):
            self._apply_rule(
                gradient,
                variable,
                update.learning_rate,
                update.iteration,
                update.due,
                shared,
                self._weight_decay_of(variable),
            )
        return update

    def _apply_rule(
        self,
        gradient: jax.Array,
        variable: Variable,
        learning_rate: jax.Array,
        iteration: jax.Array,
        due: jax.Array | None,
        shared: Slots,
        weight_decay: float | None,
    ) -> None:
        slots = {
            name: slot
            for name, slot in self._slots.slots_of(variable).items()
            if name not in _PIPELINE_SLOTS
        }
        plan = _update_math.Plan(self._rule_of(variable), self._hyperparameters(), weight_decay)
        values = {name: slot.read() for name, slot in slots.items()}
        value, new_slots = _update_math.apply_rule(
            plan, gradient, variable.read(), values, shared, learning_rate, iteration, due
        )
        variable.assign(Tensor(value))
        for name, slot in slots.items():
            slot.assign(Tensor(new_slots[name]))

    def _call_update_step(self, update: Update) -> None:
        """Call `update_step` for each variable; where the update is not due, restore the state."""
        rate, due = update.learning_rate, update.due
        assert rate is not None
        state = [*update.variables, *self.variables] if due is not None else []
        before = [variable.read() for variable in state]
        for variable in update.variables:
            if (decay := self._weight_decay_of(variable)) is not None:
                value = variable.read()
                variable.assign(Tensor(value - value * decay * rate.astype(value.dtype)))
        for gradient, variable in zip(update.gradients, update.variables, strict=True):
            self.update_step(Tensor(gradient.astype(variable.dtype)), variable, Tensor(rate))
        if due is not None:
            for variable, value in zip(state, before, strict=True):
                variable.assign(Tensor(_update_math.select_if(due, variable.read(), value)))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Update one variable by its gradient. A subclass may override it.

        Args:
            gradient: The gradient, a Tensor, after clipping and the like.
            variable: The variable, after weight decay.
            learning_rate: The learning rate, a Tensor.
        """
        iteration = convert_to_tensor(self.iterations).value
        gradient, rate = convert_to_tensor(gradient).value, convert_to_tensor(learning_rate).value
        self._apply_rule(gradient, variable, rate, iteration, None, self._shared_state(), None)

    def assign(self, variable: Variable, value: TensorLike) -> None:
        """Assign a value to a variable: for `update_step`."""
        variable.assign(value)

    def assign_add(self, variable: Variable, value: TensorLike) -> None:
        """Add a value to a variable: for `update_step`."""
        variable.assign_add(value)

    def assign_sub(self, variable: Variable, value: TensorLike) -> None:
        """Subtract a value from a variable: for `update_step`."""
        variable.assign_sub(value)

    # --- what a rule may override

    def _slot_groups(self) -> list[tuple[str, ...]]:
        """Return the names of the rule's slots; those of one group are adjacent in `variables`."""
        return []

    def _make_slot(self, variable: Variable, name: str) -> Variable | None:
        """Create one slot of a variable, or return None if it needs none of this name."""
        return self.add_variable_from_reference(variable, name)

    def _rule_of(self, variable: Variable) -> Rule:
        """Return the rule for a variable."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `update_step`. Write `def update_step(self, "
            "gradient, variable, learning_rate)`."
        )

    def _hyperparameters(self) -> Hyperparameters:
        """Return the hyperparameters of the rule as a named tuple."""
        return _hyperparameters_type(self._hyper)(*(getattr(self, name) for name in self._hyper))

    def _weight_decay_of(self, variable: Variable) -> float | None:
        """Return the weight decay of a variable, or None."""
        return self.weight_decay if self._decays(variable) else None

    def _decays(self, variable: Variable) -> bool:
        """Return whether a variable is not excluded from weight decay."""
        by_name = any(re.search(pattern, variable.name) for pattern in self._excluded_names)
        return not by_name and not any(variable is excluded for excluded in self._excluded)

    def _advance(self, iteration: jax.Array, due: jax.Array | None) -> None:
        """Update the state that all variables share, once per update."""

    def _shared_state(self) -> Slots:
        """Return the state that all variables share, for the rule to read."""
        return {}

    # --- files and configs

    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """Return the values of `variables` as NumPy arrays."""
        return [variable.numpy() for variable in self.variables]

    def set_weights(self, weights: Sequence[TensorLike]) -> None:
        """Assign values to `variables`, in order.

        Raises:
            RuntimeError: The optimizer has no slots yet.
            ValueError: The number of values differs from that of `variables`.
        """
        if not self.built:
            raise RuntimeError(
                f"set_weights was called on {self.name!r} before it has slots. Call "
                "`optimizer.build(trainable_variables)` first."
            )
        if len(weights) != len(self.variables):
            raise ValueError(
                f"set_weights was given {len(weights)} values for {len(self.variables)} "
                f"Variables of {self.name!r}."
            )
        for variable, value in zip(self.variables, weights, strict=True):
            variable.assign(jnp.asarray(value).astype(variable.dtype))

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Write the values into a dictionary under "0", "1", ..., Keras's layout for files."""
        for index, value in enumerate(self.get_weights()):
            store[str(index)] = value

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Read the values from a dictionary that `save_own_variables` filled."""
        self.set_weights([store[str(index)] for index in range(len(store.keys()))])

    def _own_state(self) -> OwnState:
        """Return the state of this optimizer without wrapped ones; see `podium.state`."""
        return OwnState(
            snake_case(type(self).__name__), self._own_variables(), keras_order(vars(self)), []
        )

    def _own_variables(self) -> list[Variable]:
        """Return the variables without those of a wrapped optimizer."""
        return list(self.variables)

    def get_config(self) -> Config:
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
            for name in OptimizerOptions.__annotations__
            if name not in ("name", "lr", "decay")
        }
        config = {"name": self.name, "learning_rate": rate, **options}
        if self.decay is not None:
            config["decay"] = self.decay
        return config | {name: getattr(self, name) for name in self._hyper}

    @classmethod
    def from_config(cls, config: Config, custom_objects: Mapping[str, Any] | None = None) -> Self:
        """Make an optimizer from `get_config`'s result."""
        config = dict(config)
        for name in ("learning_rate", "lr"):
            if name in config:
                config[name] = rate_from_config(config[name], custom_objects)
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


@functools.cache
def _hyperparameters_type(names: tuple[str, ...]) -> Callable[..., Hyperparameters]:
    return collections.namedtuple("Hyperparameters", names)
