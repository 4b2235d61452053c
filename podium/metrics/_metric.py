"""Metric: the base of all metrics.

It owns the state (Variables), resetting, configs and the stateless forms. Updates and results are
defined by the subclasses in the other files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp

from podium import initializers
from podium._typing import Config, DTypeLike, TensorLike
from podium.core import (
    Variable,
    auto_name,
    convert_to_tensor,
    floatx,
    get_dtype_policy,
    is_symbolic,
    name_scope,
    snake_case,
    stop_gradient,
)
from podium.core.internal import VariableScope, charge_file_budget, context, override, unwrap_result
from podium.metrics._batch_values import mark_result, track_update


class Metric:
    """The base class of metrics: values that are updated batch by batch.

    A subclass creates its state in `__init__` with `add_weight`, updates it in `update_state` and
    computes the value, or a dictionary of values, in `result`. It works eagerly and inside
    `podium.function`.

    Args:
        dtype: The dtype of its state, by default the default float dtype.
        name: The name; it is the key in logs.

    Example:
        >>> class Count(podium.metrics.Metric):
        ...     def __init__(self, name="count"):
        ...         super().__init__(name=name)
        ...         self.total = self.add_weight(name="total", initializer="zeros")
        ...     def update_state(self, values, sample_weight=None):
        ...         self.total.assign_add(podium.ops.cast(podium.ops.size(values), "float32"))
        ...     def result(self):
        ...         return self.total
        >>> count = Count()
        >>> float(count(np.ones((2, 3)))), float(count(np.ones(4)))
        (6.0, 10.0)
    """

    # "up" or "down": which direction is better, for callbacks with mode="auto".
    _direction: str | None = None

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        for name, decorator in (("result", mark_result), ("update_state", track_update)):
            if name in vars(cls):
                setattr(cls, name, decorator(getattr(cls, name)))

    def __init__(self, dtype: DTypeLike | None = None, name: str | None = None):
        self.name = name or auto_name(snake_case(type(self).__name__))
        self._dtype_policy = get_dtype_policy(floatx() if dtype is None else dtype)
        self._variables: list[Variable] = []
        self._resetting = False

    # --- state

    @property
    def dtype(self) -> str:
        """The dtype of the state."""
        return self._dtype_policy.variable_dtype

    @property
    def variables(self) -> list[Variable]:
        """All of its state, metrics inside it (also in lists and dictionaries) included."""
        variables = {id(variable): variable for variable in self._variables}
        for value in vars(self).values():
            if value is not self._variables and isinstance(value, _HOLDERS):
                variables.update(
                    (id(variable), variable)
                    for variable in _variables_in(value)
                    if id(variable) not in variables
                )
        return list(variables.values())

    @property
    def weights(self) -> list[Variable]:
        """The same as `variables`."""
        return self.variables

    def add_variable(
        self,
        shape: Any = (),
        initializer: Any = None,
        dtype: DTypeLike | None = None,
        aggregation: str = "sum",
        name: str | None = None,
    ) -> Variable:
        """Create a state Variable, zero by default.

        Args:
            shape: The shape.
            initializer: The initial value: a name, an initializer or a function of the shape.
            dtype: The dtype, by default that of the metric.
            aggregation: How replicas combine it.
            name: The name.
        """
        if "_variables" not in vars(self):
            raise RuntimeError(
                f"{type(self).__name__} makes state before `super().__init__()` has run. Call it "
                "first in `__init__`."
            )
        charge_file_budget(
            "bytes",
            8 * math.prod(shape),
            f"{type(self).__name__} has a state of shape {tuple(shape)}, far larger than the size "
            "of the file.",
        )
        initializer = initializers.get("zeros" if initializer is None else initializer)
        with name_scope(self.name.replace("/", ">")):
            # Never cast: a running sum in a layer's short compute type would lose its small terms.
            variable = Variable(
                initializer,
                tuple(shape),
                dtype or self.dtype,
                False,
                autocast=False,
                aggregation=aggregation,
                name=name,
            )
        self._variables.append(variable)
        return variable

    def add_weight(self, *args: Any, **kwargs: Any) -> Variable:
        """The same as `add_variable`; Keras 2's order, `add_weight(name, shape, ...)`, is
        accepted too.
        """
        if args and isinstance(args[0], str):
            kwargs["name"], args = args[0], args[1:]
        kwargs.pop("synchronization", None)
        return self.add_variable(*args, **kwargs)

    def reset_state(self) -> None:
        """Set every Variable back to zero."""
        if type(self).reset_states is not Metric.reset_states and not self._resetting:
            self._resetting = True  # a subclass written for Keras 2 resets under the old name
            try:
                return self.reset_states()
            finally:
                self._resetting = False
        for variable in self.variables:
            variable.clear()

    def reset_states(self) -> None:
        """The same as `reset_state`, under Keras 2's name."""
        self.reset_state()

    # --- updates and results

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        """Update the state with a batch. Override it."""
        raise NotImplementedError(f"{type(self).__name__} has no `update_state`: define it.")

    def result(self) -> Any:
        """Return the value so far. Override it."""
        raise NotImplementedError(f"{type(self).__name__} has no `result`: define it.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Update, and return the result."""
        if is_symbolic((args, kwargs)):
            raise TypeError(
                f"The metric {self.name!r} was called on a symbolic value from `Input`, which has "
                "no data; values were expected. Pass it to `compile(metrics=[...])`, or call it in "
                "the `call` of a layer: `self.add_metric(self.metric(x))`."
            )
        self.update_state(*args, **kwargs)
        return self.result()

    # --- stateless forms, for raw JAX transformations

    def stateless_update_state(
        self, metric_variables: Sequence[TensorLike], *args: Any, **kwargs: Any
    ) -> list[jax.Array]:
        """Return the values of `variables` after `update_state`, starting from
        `metric_variables`.
        """
        scope = self._scope_with(metric_variables)
        with override(scope=scope, tapes=(), bare_arrays=False):
            self.update_state(*args, **kwargs)
        return [scope.read(variable) for variable in self.variables]

    def stateless_result(self, metric_variables: Sequence[TensorLike]) -> Any:
        """Return the result for the given values of `variables`."""
        scope = self._scope_with(metric_variables)
        with override(scope=scope, tapes=(), bare_arrays=False):
            return unwrap_result(self.result())

    def stateless_reset_state(self) -> list[jax.Array]:
        """Return the values of `variables` after `reset_state`."""
        scope = VariableScope(parent=context.scope)
        with override(scope=scope, tapes=(), bare_arrays=False):
            self.reset_state()
        return [scope.read(variable) for variable in self.variables]

    def _scope_with(self, values: Sequence[TensorLike]) -> VariableScope:
        variables = self.variables
        if len(values) != len(variables):
            raise ValueError(
                f"{type(self).__name__} {self.name!r} was given {len(values)} values for its "
                f"{len(variables)} Variables; one for each of `metric.variables` was expected, in "
                "order."
            )
        pairs = zip(variables, values, strict=True)
        inputs = {id(v): (v, jnp.asarray(unwrap_result(value), v.dtype)) for v, value in pairs}
        return VariableScope(inputs, context.scope)

    # --- configs

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        return {"name": self.name, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Make a metric from `get_config`'s result."""
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


def _variables_in(value: object) -> Iterable[Variable]:
    """Yield the Variables of an attribute that is a Variable, a Metric or a container of them."""
    if isinstance(value, Variable):
        yield value
    elif isinstance(value, Metric):
        yield from value.variables
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, _HOLDERS):
                yield from _variables_in(item)


_HOLDERS = (Variable, Metric, list, tuple, dict)  # what may be or hold Variables


def stop_gradient_of(value: TensorLike | None) -> Any:
    """Return a value as a Tensor without a gradient; None is returned as None."""
    return None if value is None else stop_gradient(convert_to_tensor(value))
