"""OptaxOptimizer: any optax transformation as an optimizer, its state in Variables.

optax itself is not imported: a transformation is a pair of functions, `init` and `update`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from podium._typing import Tree
from podium.core import Tensor, Variable, snake_case
from podium.core.internal import override
from podium.optimizers._learning_rate import assign_learning_rate
from podium.optimizers._optimizer import Optimizer
from podium.optimizers._update_math import select_if
from podium.optimizers._update_pipeline import Update


class Transformation(Protocol):
    """An optax GradientTransformation: a pair of pure functions."""

    def init(self, params: Tree) -> Tree: ...

    def update(
        self, updates: Tree, state: Tree, params: Tree | None = None
    ) -> tuple[Tree, Tree]: ...


def is_transformation(value: object) -> bool:
    """Return whether a value is an optax GradientTransformation: a named tuple of `init` and
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
        >>> sgd = optax.inject_hyperparams(optax.sgd)(learning_rate=0.5)
        >>> optimizer = podium.optimizers.OptaxOptimizer(sgd)
        >>> w = podium.Variable(1.0)
        >>> optimizer.apply([podium.Tensor(1.0)], [w])
        >>> optimizer.learning_rate = 0.25
        >>> optimizer.apply([podium.Tensor(1.0)], [w])
        >>> float(w)
        0.25
    """

    def __init__(self, transformation: Transformation, **options: Any):
        if not is_transformation(transformation):
            raise TypeError(
                f"transformation={transformation!r} was given; an optax GradientTransformation "
                "was expected."
            )
        self.transformation = transformation
        self._structure: Any = None  # of the transformation's state; its leaves are in _state
        self._state: list[Any] = []  # a Variable for each array, anything else as it is
        self._names: list[str] = []  # the keys of the variables in the transformation's parameters
        super().__init__(0.0, **options)  # the rate is part of the transformation
        if self.weight_decay is not None:
            raise ValueError(
                f"weight_decay={self.weight_decay!r} was given for an optax transformation; put it "
                "in the chain: `optax.chain(..., optax.add_decayed_weights(...))`, or use "
                "`optax.adamw`."
            )

    def _make_learning_rate(self, learning_rate: Any) -> Any:
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
        """The injected learning rate, a Variable; raises if there is none."""
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
                "pass it to optax."
            )
        if self._learning_rate is None:
            raise TypeError(
                f"learning_rate={learning_rate!r} was set on an optax transformation whose rate is "
                "fixed or follows a schedule. Make it with "
                "`optax.inject_hyperparams(optax.adam)(learning_rate=0.001)`, where the rate is a "
                "number."
            )
        assign_learning_rate(self._learning_rate, learning_rate)

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

    def _read_learning_rate(self, iteration: jax.Array) -> jax.Array | None:
        return None  # it is part of the transformation's state

    def _take_step(self, update: Update) -> Update:
        gradients = {
            id(variable): gradient
            for variable, gradient in zip(update.variables, update.gradients, strict=True)
        }
        named = list(zip(self._names, self._trainable_variables, strict=True))
        values = {name: variable.read() for name, variable in named}
        all_gradients = {
            name: gradients[id(variable)].astype(values[name].dtype)
            if id(variable) in gradients
            else jnp.zeros_like(values[name])
            for name, variable in named
        }
        old = [leaf.read() if isinstance(leaf, Variable) else leaf for leaf in self._state]
        state = jax.tree.unflatten(self._structure, old)
        # optax mixes dtypes, so implicit promotion must be allowed.
        with jax.numpy_dtype_promotion("standard"):
            new_values, new_state = _apply_transformation(
                self.transformation, all_gradients, state, values
            )
        new = jax.tree.leaves(new_state)
        if update.due is not None:
            new_values, new = select_if(update.due, (new_values, new), (values, old))
        for leaf, value in zip(self._state, new, strict=True):
            if isinstance(leaf, Variable):
                leaf.assign(Tensor(value))
        for name, variable in named:
            if id(variable) in gradients:
                variable.assign(Tensor(new_values[name]))
        return update

    def get_config(self) -> dict[str, Any]:
        """Raises: a transformation is made of functions, which have no config."""
        raise NotImplementedError(
            "An optax transformation is made of functions and has no config, so it cannot be saved "
            "as a description. Save the weights, and pass the transformation again when the model "
            "is compiled."
        )


@functools.partial(jax.jit, static_argnums=0, inline=True)
def _apply_transformation(
    transformation: Transformation,
    gradients: dict[str, jax.Array],
    state: Tree,
    values: dict[str, jax.Array],
) -> tuple[dict[str, jax.Array], Tree]:
    updates, state = transformation.update(gradients, state, values)
    return {
        name: (value + updates[name].astype(value.dtype)) for name, value in values.items()
    }, state


def _is_injected_rate(path: Any, state: Any) -> bool:
    """Return whether a leaf is a learning rate injected as a number; one that follows a schedule is
    set by the schedule.
    """
    keys = [getattr(key, "name", getattr(key, "key", getattr(key, "idx", None))) for key in path]
    if keys[-2:] != ["hyperparams", "learning_rate"]:
        return False
    for key in keys[:-2]:
        state = getattr(state, key) if isinstance(key, str) and hasattr(state, key) else state[key]
    return "learning_rate" not in getattr(state, "hyperparams_states", {})


def from_optax(transformation: Transformation, **options: Any) -> OptaxOptimizer:
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
