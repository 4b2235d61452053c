"""OptaxOptimizer: any optax transformation as an optimizer, its state in Variables.

optax itself is not imported: a transformation is a pair of functions, `init` and `update`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

from podium.core import Tensor, Variable, snake_case
from podium.core.internal import override
from podium.optimizers._optimizer import Optimizer
from podium.optimizers._optimizer_state import assign_rate
from podium.optimizers._transforms import select


def is_transformation(value: Any) -> bool:
    """Tell whether a value is an optax GradientTransformation: a named tuple of `init` and
    `update`.
    """
    return (
        isinstance(value, tuple)
        and callable(getattr(value, "init", None))
        and callable(getattr(value, "update", None))
    )


class OptaxOptimizer(Optimizer):
    """An optax transformation as an optimizer.

    The transformation sees its parameters as a dictionary by the paths of variables, so masks and
    labels can go by name. A variable without a gradient stays as it is. The learning rate can be
    read and set if it was injected: `optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)`.

    Args:
        transformation: An optax GradientTransformation.
        **options: What all optimizers take, but for weight decay, which optax has transformations
            for; see `Optimizer`.

    Example:
        >>> import optax
        >>> optimizer = podium.optimizers.OptaxOptimizer(optax.inject_hyperparams(optax.sgd)(learning_rate=0.5))
        >>> w = podium.Variable(1.0)
        >>> optimizer.apply([podium.Tensor(1.0)], [w])
        >>> optimizer.learning_rate = 0.25
        >>> optimizer.apply([podium.Tensor(1.0)], [w])
        >>> float(w)
        0.25
    """

    def __init__(self, transformation: Any, **options: Any):
        if not is_transformation(transformation):
            raise TypeError(
                f"transformation={transformation!r} was given; an optax GradientTransformation "
                "was expected."
            )
        self.transformation = transformation
        self._structure: Any = None  # of the transformation's state; its leaves are in _state
        self._state: list[Any] = []  # a Variable for each array, anything else as it is
        self._names: list[str] = []  # the keys under which the transformation knows the variables
        super().__init__(None, **options)
        if self.weight_decay is not None:
            raise ValueError(
                f"weight_decay={self.weight_decay!r} was given for an optax transformation; put it "
                "in the chain: `optax.chain(..., optax.add_decayed_weights(...))`, or use "
                "`optax.adamw`."
            )

    def _kept_rate(self, learning_rate: Any) -> Any:
        """Find the injected learning rate, so that it can be read and set before the first
        update.
        """
        try:
            state = self.transformation.init({})
        except (
            Exception
        ):  # some cannot start from nothing; those have their learning rate after the first update
            return None
        leaves = jax.tree_util.tree_flatten_with_path(state)[0]
        rates = [leaf for path, leaf in leaves if _is_injected_rate(path, state)]
        return self._variable_of(rates[0], "learning_rate") if rates else None

    @property
    def learning_rate(self) -> Any:
        """The injected learning rate, a Variable; refused if there is none."""
        if self._learning_rate is None:
            raise AttributeError(
                "This optax transformation has no learning rate that can be read or set. Make it "
                "with `optax.inject_hyperparams(optax.adam)(learning_rate=0.001)`, where the rate "
                "is a number."
            )
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        if callable(learning_rate):
            raise TypeError(
                "A schedule cannot replace the learning rate inside an optax transformation; "
                "give it to optax."
            )
        if self._learning_rate is None:
            raise TypeError(
                f"learning_rate={learning_rate!r} was set on an optax transformation whose rate is "
                "fixed or follows a schedule. Make it with "
                "`optax.inject_hyperparams(optax.adam)(learning_rate=0.001)`, where the rate is a "
                "number."
            )
        assign_rate(self._learning_rate, learning_rate)

    def build(self, var_list: Iterable[Variable]) -> None:
        """Make the transformation's state for all variables, once."""
        variables = list(var_list)
        known = self.built
        super().build(variables)
        if known:
            return
        for place, variable in enumerate(self._trainable_variables):
            self._names.append(
                variable.path if variable.path not in self._names else f"{variable.path}_{place}"
            )
        with (
            jax.ensure_compile_time_eval(),
            override(scope=None, tapes=()),
        ):  # first values, outside of every trace
            parameters = {
                name: v.read()
                for name, v in zip(self._names, self._trainable_variables, strict=True)
            }
            state = self.transformation.init(parameters)
        leaves, self._structure = jax.tree_util.tree_flatten_with_path(state)
        self._state = [self._leaf_variable(path, leaf, state) for path, leaf in leaves]

    def _leaf_variable(self, path: Any, leaf: Any, state: Any) -> Any:
        if self._learning_rate is not None and _is_injected_rate(path, state):
            return self._learning_rate
        if not isinstance(leaf, jax.Array):
            return leaf
        name = snake_case(
            "_".join(jax.tree_util.keystr((key,), simple=True) for key in path).replace("/", "_")
        )
        return self._variable_of(leaf, name or "state")

    def _variable_of(self, value: jax.Array, name: str) -> Variable:
        return self.add_variable(value.shape, lambda shape, dtype: value, value.dtype, name=name)

    def _rate(self, iteration: Any) -> Any:
        return None  # it is part of the transformation's state

    def _step(
        self, gradients: list, variables: list[Variable], rate: Any, iteration: Any, due: Any
    ) -> None:
        given = {
            id(variable): gradient for variable, gradient in zip(variables, gradients, strict=True)
        }
        named = list(zip(self._names, self._trainable_variables, strict=True))
        values = {name: variable.read() for name, variable in named}
        everything = {
            name: given[id(variable)].astype(values[name].dtype)
            if id(variable) in given
            else jnp.zeros_like(values[name])
            for name, variable in named
        }
        old = [leaf.read() if isinstance(leaf, Variable) else leaf for leaf in self._state]
        state = jax.tree.unflatten(self._structure, old)
        with jax.numpy_dtype_promotion(
            "standard"
        ):  # optax mixes types, whatever mode the user asked for
            new_values, new_state = _transformed(self.transformation, everything, state, values)
        new = jax.tree.leaves(new_state)
        if due is not None:
            new_values, new = select(due, (new_values, new), (values, old))
        for leaf, value in zip(self._state, new, strict=True):
            if isinstance(leaf, Variable):
                leaf.assign(Tensor(value))
        for name, variable in named:
            if id(variable) in given:
                variable.assign(Tensor(new_values[name]))

    def get_config(self) -> dict[str, Any]:
        """Refused: a transformation is made of functions, which no config can hold."""
        raise NotImplementedError(
            "An optax transformation is made of functions and has no config, so it cannot be saved "
            "as a description. Save the weights, and pass the transformation again when the model "
            "is compiled."
        )


@functools.partial(jax.jit, static_argnums=0, inline=True)
def _transformed(
    transformation: Any, gradients: dict, state: Any, values: dict
) -> tuple[dict, Any]:
    updates, state = transformation.update(gradients, state, values)
    return {
        name: (value + updates[name].astype(value.dtype)) for name, value in values.items()
    }, state


def _is_injected_rate(path: Any, state: Any) -> bool:
    """Tell whether a leaf is a learning rate injected as a number; one that follows a schedule is
    set by the schedule.
    """
    keys = [getattr(key, "name", getattr(key, "key", getattr(key, "idx", None))) for key in path]
    if keys[-2:] != ["hyperparams", "learning_rate"]:
        return False
    for key in keys[:-2]:
        state = getattr(state, key) if isinstance(key, str) and hasattr(state, key) else state[key]
    return "learning_rate" not in getattr(state, "hyperparams_states", {})


def from_optax(transformation: Any, **options: Any) -> OptaxOptimizer:
    """Make an optimizer of an optax transformation; the same as `OptaxOptimizer(transformation,
    ...)`.

    Example:
        >>> import optax
        >>> w = podium.Variable(1.0)
        >>> podium.optimizers.from_optax(optax.sgd(0.5)).apply([podium.Tensor(1.0)], [w])
        >>> float(w)
        0.5
    """
    return OptaxOptimizer(transformation, **options)
