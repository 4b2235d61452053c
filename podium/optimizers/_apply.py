"""The course of one update: which Variables are read, what is done with their values, and where
results go.

In order: unscale the gradients, accumulate, clip, decay the weights, take the rule's step, average,
constrain. The arithmetic is in `_transforms.py`; subclasses in files such as `_adam.py` bring the
rule and say which slots it wants.
"""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium.core import Tensor, Variable, convert_to_tensor
from podium.optimizers import _transforms
from podium.optimizers._optimizer_state import OptimizerState

_BASE_SLOTS = {"average", "gradient_accumulator"}  # kept for every rule, seen by none


class Updating(OptimizerState):
    """How an optimizer changes variables; `Optimizer` sets the options that are read here."""

    _rule: Callable | None = (
        None  # (gradient, value, slots, learning_rate, step, hyper) -> (value, slots)
    )
    _hyper: tuple[str, ...] = ()  # the attributes that the rule reads and that configs hold
    _builds_more = (
        False  # whether a `build` of a subclass's own may be called again with more variables
    )

    weight_decay: float | None
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    decay: float | None

    def __init__(self, learning_rate: Any, name: str | None):
        super().__init__(learning_rate, name)
        self._excluded: list[Variable] = []  # from weight decay
        self._excluded_names: list[str] = []

    @property
    def iterations(self) -> Any:
        """How many updates have been done: a whole-number Variable (a Tensor, if gradients are
        accumulated).
        """
        if self.gradient_accumulation_steps:
            return self._iterations // self.gradient_accumulation_steps
        return self._iterations

    # --- state beside the variables

    def build(self, var_list: Iterable[Variable]) -> None:
        """Make the state for variables that have none yet. The first update does it by itself."""
        variables = list(var_list)
        if wrong := [variable for variable in variables if not isinstance(variable, Variable)]:
            raise TypeError(
                f"{self.name!r} was given {wrong[0]!r} to train; a Variable was expected."
            )
        new = [variable for variable in variables if id(variable) not in self._index]
        for variable in new:
            self._index[id(variable)] = len(self._trainable_variables)
            self._trainable_variables.append(variable)
            self._slots.append({})
        for group in self._all_slot_groups():
            for variable in new:
                for name in group if not variable.overwrite_with_gradient else ():
                    slot = self._new_slot(variable, name)
                    if slot is not None:
                        self._slots_of(variable)[name] = slot
        self.built = True

    def _all_slot_groups(self) -> list[tuple[str, ...]]:
        groups = [("average",)] if self.use_ema else []
        groups += [("gradient_accumulator",)] if self.gradient_accumulation_steps else []
        return groups + self._slot_groups()

    def _slot_groups(self) -> list[tuple[str, ...]]:
        """Return the names of the rule's slots; those of one group stand side by side in
        `variables`.
        """
        return []

    def _new_slot(self, variable: Variable, name: str) -> Variable | None:
        """Make one slot of a variable, or return None if it needs none of this name."""
        return self.add_variable_from_reference(variable, name)

    def _slots_of(self, variable: Variable) -> dict[str, Variable]:
        return self._slots[self._get_variable_index(variable)]

    def _known_variables(self, grads: list, variables: Sequence[Variable] | None) -> list[Variable]:
        """Return the variables to change, with state for all of them."""
        if variables is None and not self.built:
            raise ValueError(
                f"{self.name!r} was given gradients without variables before it knows any. Call "
                "`optimizer.build(variables)` first, or `optimizer.apply(gradients, variables)`."
            )
        variables = list(self._trainable_variables if variables is None else variables)
        if len(variables) != len(grads):
            raise ValueError(
                f"{self.name!r} was given {len(grads)} gradients for {len(variables)} variables; "
                "one gradient (or None) for each variable was expected, in the same order."
            )
        if any(id(variable) not in self._index for variable in variables):
            if self.built and type(self).build is not Updating.build and not self._builds_more:
                raise ValueError(
                    f"{self.name!r} was given variables that it was not built with, and "
                    f"{type(self).__name__} makes its state "
                    "in a `build` of its own, once. Build it with all variables first, or use a "
                    "new optimizer."
                )
            self.build(variables)
        return variables

    # --- one update

    def _update(self, gradients: list, variables: list[Variable]) -> None:
        iteration, due = self._iterations.read(), None
        count = self.gradient_accumulation_steps
        gradients, variables = self._overwritten(gradients, variables)
        if variables:
            rate = self._rate(iteration)
            if self.loss_scale_factor is not None:
                gradients = [gradient / self.loss_scale_factor for gradient in gradients]
            local = iteration
            if count:
                due, local = (iteration + 1) % count == 0, iteration // count
                gradients = self._accumulate(gradients, variables, due, count)
            self._change(gradients, variables, rate, local, due)
        self._iterations.assign(Tensor(jax.lax.add(iteration, iteration.dtype.type(1))))

    def _change(
        self, gradients: list, variables: list[Variable], rate: Any, iteration: Any, due: Any
    ) -> None:
        """Clip, take the step, average and constrain."""
        if self.clipnorm or self.clipvalue or self.global_clipnorm:
            gradients = _transforms.clipped(
                gradients, self.clipnorm, self.clipvalue, self.global_clipnorm
            )
        self._step(gradients, variables, rate, iteration, due)
        if self.use_ema:
            self._average(iteration)
        for variable in variables:
            if variable.constraint is not None:
                variable.assign(variable.constraint(Tensor(variable.read())))

    def _flush(self, variables: list[Variable]) -> None:
        """Take the step of a group of gradients that is not complete, by the mean of those that
        there are.
        """
        count, iteration = self.gradient_accumulation_steps, self._iterations.read()
        variables = [
            v
            for v in variables
            if id(v) in self._index and "gradient_accumulator" in self._slots_of(v)
        ]
        if (
            not count or not variables or (found := int(iteration) % count) == 0
        ):  # waits for the value
            return
        sums = [self._slots_of(variable)["gradient_accumulator"] for variable in variables]
        means = [total.read() / found for total in sums]
        for total in sums:
            total.assign(Tensor(jnp.zeros_like(total.read())))
        self._change(means, variables, self._rate(iteration), iteration // count, None)
        self._iterations.assign(Tensor(iteration + (count - found)))  # the group is done

    def _rate(self, iteration: Any) -> Any:
        rate = self.learning_rate
        rate = rate.read() if isinstance(rate, Variable) else rate.value
        return (
            rate if self.decay is None else rate / (1 + self.decay * iteration.astype(rate.dtype))
        )

    def _overwritten(
        self, gradients: list, variables: list[Variable]
    ) -> tuple[list, list[Variable]]:
        """Assign gradients that are the new values themselves, and return the other pairs."""
        if not any(variable.overwrite_with_gradient for variable in variables):
            return gradients, variables
        others = []
        for gradient, variable in zip(gradients, variables, strict=True):
            if variable.overwrite_with_gradient:
                variable.assign(gradient.astype(variable.dtype))
            else:
                others.append((gradient, variable))
        return [gradient for gradient, _ in others], [variable for _, variable in others]

    def _accumulate(self, gradients: list, variables: list[Variable], due: Any, count: int) -> list:
        sums = [self._slots_of(variable)["gradient_accumulator"] for variable in variables]
        means, kept = _transforms.accumulated(
            gradients, [total.read() for total in sums], due, count
        )
        for total, value in zip(sums, kept, strict=True):
            total.assign(Tensor(value))
        return means

    def _step(
        self, gradients: list, variables: list[Variable], rate: Any, iteration: Any, due: Any
    ) -> None:
        """Change all variables: by the rule, or by the `update_step` of a subclass."""
        self._advance(iteration, due)
        if type(self).update_step is not Updating.update_step:
            return self._step_by_method(gradients, variables, rate, due)
        shared = self._shared()
        for gradient, variable in zip(gradients, variables, strict=True):
            self._step_one(
                gradient, variable, rate, iteration, due, shared, self._weight_decay_of(variable)
            )

    def _step_one(
        self,
        gradient: Any,
        variable: Variable,
        rate: Any,
        iteration: Any,
        due: Any,
        shared: dict,
        decay: float | None,
    ) -> None:
        slots = {
            name: slot for name, slot in self._slots_of(variable).items() if name not in _BASE_SLOTS
        }
        plan = _transforms.Plan(self._rule_of(variable), self._hyper_values(), decay)
        values = {name: slot.read() for name, slot in slots.items()}
        value, new = _transforms.updated(
            plan, gradient, variable.read(), values, shared, rate, iteration, due
        )
        variable.assign(Tensor(value))
        for name, slot in slots.items():
            slot.assign(Tensor(new[name]))

    def _step_by_method(
        self, gradients: list, variables: list[Variable], rate: Any, due: Any
    ) -> None:
        state = [*variables, *self.variables] if due is not None else []
        before = [variable.read() for variable in state]
        for variable in variables:
            if (decay := self._weight_decay_of(variable)) is not None:
                value = variable.read()
                variable.assign(Tensor(value - value * decay * rate.astype(value.dtype)))
        for gradient, variable in zip(gradients, variables, strict=True):
            self.update_step(Tensor(gradient.astype(variable.dtype)), variable, Tensor(rate))
        for variable, value in zip(state, before, strict=True):
            variable.assign(Tensor(_transforms.select(due, variable.read(), value)))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Change one variable by its gradient. A subclass may override it.

        Args:
            gradient: The gradient, a Tensor, with clipping and the like done.
            variable: The variable; weight decay is done.
            learning_rate: The learning rate, a Tensor.
        """
        iteration = convert_to_tensor(self.iterations).value
        gradient, rate = convert_to_tensor(gradient).value, convert_to_tensor(learning_rate).value
        self._step_one(gradient, variable, rate, iteration, None, self._shared(), None)

    def assign(self, variable: Variable, value: Any) -> None:
        """Assign a value to a variable: for `update_step`."""
        variable.assign(value)

    def assign_add(self, variable: Variable, value: Any) -> None:
        """Add a value to a variable: for `update_step`."""
        variable.assign_add(value)

    def assign_sub(self, variable: Variable, value: Any) -> None:
        """Subtract a value from a variable: for `update_step`."""
        variable.assign_sub(value)

    def _average(self, iteration: Any) -> None:
        for variable, slots in zip(self._trainable_variables, self._slots, strict=True):
            if "average" in slots:
                average = slots["average"]
                value, new = _transforms.averaged(
                    variable.read(),
                    average.read(),
                    iteration,
                    self.ema_momentum,
                    self.ema_overwrite_frequency,
                )
                average.assign(Tensor(new))
                if self.ema_overwrite_frequency is not None:
                    variable.assign(Tensor(value))

    # --- what rules may decide

    def _rule_of(self, variable: Variable) -> Callable:
        if self._rule is None:
            raise NotImplementedError(
                f"{type(self).__name__} has no `update_step`. Write `def update_step(self, "
                "gradient, variable, learning_rate)`."
            )
        return self._rule

    def _hyper_values(self) -> Any:
        return _hyper_type(self._hyper)(*(getattr(self, name) for name in self._hyper))

    def _weight_decay_of(self, variable: Variable) -> float | None:
        return self.weight_decay if self._decays(variable) else None

    def _decays(self, variable: Variable) -> bool:
        named = any(re.search(pattern, variable.name) for pattern in self._excluded_names)
        return not named and not any(variable is excluded for excluded in self._excluded)

    def _advance(self, iteration: Any, due: Any) -> None:
        """Change the state that all variables share, once per update."""

    def _shared(self) -> dict[str, jax.Array]:
        """Return the state that all variables share, for the rule to read."""
        return {}


@functools.cache
def _hyper_type(names: tuple[str, ...]) -> Any:
    return collections.namedtuple("Hyper", names)
