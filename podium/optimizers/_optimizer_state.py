"""What an optimizer keeps: the learning rate, the count of updates, and slots beside each variable,
all in Variables.

`_optimizer.py` builds on this and owns what an optimizer does; rules such as Adam's say which slots
they want.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from podium import initializers
from podium.core import (
    Tensor,
    Variable,
    auto_name,
    colocate_with,
    convert_to_tensor,
    floatx,
    snake_case,
)
from podium.core.internal import layer_name_scope
from podium.optimizers._argument_checks import number
from podium.optimizers.schedules import LearningRateSchedule

_MODEL_VARIABLES = (
    "_trainable_variables",
    "_excluded",
)  # attributes that list other people's Variables


class VariableList(list):
    """A list that may be called, as Keras 2 code does: `optimizer.variables()`."""

    def __call__(self) -> list:
        return self


class OptimizerState:
    """The state of an optimizer and the ways to reach it."""

    def __init__(self, learning_rate: Any, name: str | None):
        self.name = name or auto_name(snake_case(type(self).__name__))
        self.built = False
        self._variables: list[Variable] = []  # in the order in which Keras writes them to files
        self._trainable_variables: list[Variable] = []
        self._slots: list[dict[str, Variable]] = []  # one dictionary for each of those
        self._index: dict[int, int] = {}  # id of a variable -> its place in the two lists
        self._iterations = self.add_variable(
            (), dtype="int32", aggregation="only_first_replica", name="iteration"
        )
        self._learning_rate: Any = self._kept_rate(learning_rate)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the state of a copy, whose variables have identities of their own."""
        vars(self).update(state)
        self._index = {
            id(variable): place for place, variable in enumerate(self._trainable_variables)
        }

    # --- the learning rate

    def _kept_rate(self, learning_rate: Any) -> Any:
        if isinstance(learning_rate, Variable) or callable(learning_rate):
            return learning_rate
        rate = _checked_rate(learning_rate)
        return self.add_variable(
            (),
            initializers.Constant(rate),
            floatx(),
            aggregation="only_first_replica",
            name="learning_rate",
        )

    @property
    def learning_rate(self) -> Any:
        """The learning rate now: a Variable, or the value of the schedule at this step.

        Set it to a number between steps (`optimizer.learning_rate = 0.01`): compiled steps read it
        anew each time. Setting it to a schedule or a function replaces it for steps that are
        compiled from then on.
        """
        if isinstance(self._learning_rate, Variable):
            return self._learning_rate
        return self._scheduled_rate()

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        if callable(learning_rate):
            self._drop_variable(self._learning_rate)
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
        assign_rate(self._learning_rate, learning_rate)

    @property
    def lr(self) -> Any:
        """The same as `learning_rate`, under Keras 2's short name."""
        return self.learning_rate

    @lr.setter
    def lr(self, learning_rate: Any) -> None:
        self.learning_rate = learning_rate

    def _scheduled_rate(self) -> Tensor:
        function = self._learning_rate
        step = Tensor(self._iterations.read())
        rate = function(step) if _takes_a_step(function) else function()
        return convert_to_tensor(rate, floatx())

    # --- Variables

    @property
    def variables(self) -> VariableList:
        """All state, in the order in which Keras keeps it in files: the step, the learning rate,
        the slots.
        """
        found = list(self._variables)
        for name, value in vars(self).items():  # those that a subclass made by itself
            if isinstance(value, Variable):
                found.append(value)
            elif isinstance(value, list) and name not in _MODEL_VARIABLES:
                found.extend(item for item in value if isinstance(item, Variable))
        return VariableList({id(variable): variable for variable in found}.values())

    @property
    def weights(self) -> VariableList:
        """The same as `variables`."""
        return self.variables

    def add_variable(
        self,
        shape: Sequence[int],
        initializer: Any = "zeros",
        dtype: Any = None,
        aggregation: str = "none",
        layout: Any = None,
        name: str | None = None,
    ) -> Variable:
        """Make a state Variable, zero by default.

        Args:
            shape: Its shape.
            initializer: Its first value: a name, an initializer, or a function of `(shape, dtype)`.
            dtype: Its type, by default the default float type.
            aggregation: How replicas combine it.
            layout: Accepted for Keras's signature.
            name: A name.
        """
        with layer_name_scope(self.name):
            variable = Variable(
                initializers.get(initializer),
                tuple(shape),
                dtype,
                trainable=False,
                aggregation=aggregation,
                name=name,
            )
        self._variables.append(variable)
        return variable

    def add_variable_from_reference(
        self, reference_variable: Variable, name: str | None = None, initializer: Any = "zeros"
    ) -> Variable:
        """Make a state Variable with the shape and type of a variable to train, named after it.

        Args:
            reference_variable: The variable to train.
            name: What it keeps, such as "momentum".
            initializer: Its first value.
        """
        stem = reference_variable.path.replace("/", "_")
        dtype = reference_variable.stored.dtype
        with colocate_with(reference_variable):
            return self.add_variable(
                reference_variable.shape, initializer, dtype, name=f"{stem}_{name or 'var'}"
            )

    def add_optimizer_variables(
        self, trainable_variables: Iterable[Variable], name: Any, initializer: Any = "zeros"
    ) -> Any:
        """Make one state Variable, or one for each of several names, beside each variable to train.

        Args:
            trainable_variables: The variables to train.
            name: A name or a list of names.
            initializer: A first value, or one for each name.

        Returns:
            A list of Variables, or a tuple with one list for each name.
        """
        names = [name] if isinstance(name, str) else list(name)
        firsts = (
            list(initializer)
            if isinstance(initializer, (list, tuple))
            else [initializer] * len(names)
        )
        lists: tuple[list[Variable], ...] = tuple([] for _ in names)
        for variable in trainable_variables:
            for made, name_, first in zip(lists, names, firsts, strict=True):
                made.append(self.add_variable_from_reference(variable, name_, first))
        return lists[0] if isinstance(name, str) else lists

    def _drop_variable(self, variable: Any) -> None:
        self._variables = [kept for kept in self._variables if kept is not variable]

    def _get_variable_index(self, variable: Variable) -> int:
        return self._index[id(variable)]

    # --- values in and out

    def get_weights(self) -> list[np.ndarray]:
        """Return the values of `variables` as NumPy arrays."""
        return [variable.numpy() for variable in self.variables]

    def set_weights(self, weights: Sequence[Any]) -> None:
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

    def save_own_variables(self, store: Any) -> None:
        """Put the values into a dictionary under "0", "1", ..., which is Keras's form for files."""
        for place, value in enumerate(self.get_weights()):
            store[str(place)] = value

    def load_own_variables(self, store: Any) -> None:
        """Take the values from a dictionary that `save_own_variables` filled."""
        self.set_weights([store[str(place)] for place in range(len(store.keys()))])


def assign_rate(variable: Variable, learning_rate: Any) -> None:
    """Assign a learning rate: a number, which is checked, or an array that may be known only inside
    a compiled step.
    """
    plain = isinstance(learning_rate, np.generic) or not hasattr(learning_rate, "shape")
    variable.assign(_checked_rate(learning_rate) if plain else learning_rate)


def _checked_rate(learning_rate: Any) -> float:
    try:
        return number("learning_rate", learning_rate, 0)
    except TypeError:
        raise TypeError(
            f"learning_rate={learning_rate!r} was given; a number of at least 0, a "
            "LearningRateSchedule or a function of the "
            "step was expected, such as learning_rate=0.001."
        ) from None


def _takes_a_step(function: Callable) -> bool:
    """Tell whether to call a learning rate with the step, or with nothing, as Keras does with plain
    functions.
    """
    if isinstance(function, LearningRateSchedule):
        return True
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in parameters
    )
