"""Metric: running figures kept in Variables. The base class, and the plain `Sum` and `Mean`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from podium import initializers
from podium.core import (
    Variable,
    auto_name,
    convert_to_tensor,
    dispatch,
    get_dtype_policy,
    name_scope,
    snake_case,
    stop_gradient,
)


class Metric:
    """A figure that is updated batch by batch and read at the end.

    Args:
        dtype: The type of its state, by default the global policy's.
        name: A name; it is the key in logs.

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

    def __init__(self, dtype: Any = None, name: str | None = None):
        self.name = name or auto_name(snake_case(type(self).__name__))
        self._dtype_policy = get_dtype_policy(dtype)
        self._variables: list[Variable] = []

    @property
    def dtype(self) -> str:
        """The type of its state."""
        return self._dtype_policy.variable_dtype

    @property
    def variables(self) -> list[Variable]:
        """All of its state, metrics inside it included."""
        own = list(self._variables)
        for value in vars(self).values():
            if isinstance(value, Metric):
                own.extend(value.variables)
            elif isinstance(value, Variable):
                own.append(value)
        return list({id(variable): variable for variable in own}.values())

    @property
    def weights(self) -> list[Variable]:
        """The same as `variables`."""
        return self.variables

    def add_variable(
        self, shape: Any = (), initializer: Any = None, dtype: Any = None, aggregation: str = "sum", name: str | None = None
    ) -> Variable:
        """Make a state Variable, zero by default."""
        if isinstance(shape, str):  # Keras 2: add_weight(name, shape)
            name, shape = shape, initializer if isinstance(initializer, (tuple, list)) else ()
            initializer = None
        initializer = initializers.get("zeros" if initializer is None else initializer)
        with name_scope(self.name):
            variable = Variable(
                initializer, tuple(shape), dtype or self.dtype, trainable=False, aggregation=aggregation, name=name
            )
        self._variables.append(variable)
        return variable

    def add_weight(
        self, shape: Any = (), initializer: Any = None, dtype: Any = None, aggregation: str = "sum", name: str | None = None
    ) -> Variable:
        """The same as `add_variable`."""
        return self.add_variable(shape, initializer, dtype, aggregation, name)

    def reset_state(self) -> None:
        """Set every Variable back to zero."""
        for variable in self.variables:
            variable.assign(jnp.zeros(variable.shape, variable.dtype))

    def reset_states(self) -> None:
        """The same as `reset_state`, under Keras 2's name."""
        self.reset_state()

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        """Take a batch into account. Override it."""
        raise NotImplementedError(f"{type(self).__name__} has no `update_state`: define it.")

    def result(self) -> Any:
        """Return the figure so far. Override it."""
        raise NotImplementedError(f"{type(self).__name__} has no `result`: define it.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Update, and return the result."""
        self.update_state(*args, **kwargs)
        return self.result()

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this metric again."""
        return {"name": self.name, "dtype": self._dtype_policy.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Metric:
        """Make a metric from `get_config`'s result."""
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


def _weighted_total(values: Any, weight: Any, dtype: str) -> tuple[Any, Any]:
    """Return the weighted sum of the values, and the sum of the weights."""
    values = values.astype(dtype)
    if weight is None:
        return values.sum(), jnp.asarray(values.size, dtype)
    weight = jnp.asarray(weight, dtype)
    while weight.ndim < values.ndim:
        weight = weight[..., None]
    weight = jnp.broadcast_to(weight, values.shape)
    return (values * weight).sum(), weight.sum()


class Sum(Metric):
    """The weighted sum of all values seen.

    Args:
        name: A name.
        dtype: The type of the sum.

    Example:
        >>> total = podium.metrics.Sum()
        >>> float(total([1.0, 2.0])), float(total(3.0))
        (3.0, 6.0)
    """

    def __init__(self, name: str = "sum", dtype: Any = None):
        super().__init__(dtype, name)
        self.total = self.add_variable(name="total")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Add a batch of values."""
        values = stop_gradient(convert_to_tensor(values))
        total, _ = dispatch(_weighted_total, values, stop_gradient(sample_weight), self.dtype)
        self.total.assign_add(total)

    def result(self) -> Any:
        """Return the sum so far."""
        return self.total.read_value()


class Mean(Metric):
    """The weighted mean of all values seen; 0 before the first.

    Args:
        name: A name.
        dtype: The type of the sums.

    Example:
        >>> mean = podium.metrics.Mean()
        >>> mean.update_state([1.0, 3.0])
        >>> float(mean.result()), float(mean(8.0))
        (2.0, 4.0)
    """

    def __init__(self, name: str = "mean", dtype: Any = None):
        super().__init__(dtype, name)
        self.total = self.add_variable(name="total")
        self.count = self.add_variable(name="count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Take a batch of values into the mean."""
        values = stop_gradient(convert_to_tensor(values))
        total, count = dispatch(_weighted_total, values, stop_gradient(sample_weight), self.dtype)
        self.total.assign_add(total)
        self.count.assign_add(count)

    def result(self) -> Any:
        """Return the mean so far."""
        return dispatch(_ratio, self.total, self.count)


def _ratio(total: Any, count: Any) -> Any:
    """Divide, with 0 for nothing seen yet."""
    return jnp.where(count == 0, jnp.zeros_like(total), total / jnp.where(count == 0, jnp.ones_like(count), count))
