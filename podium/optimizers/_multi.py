"""MultiOptimizer: different optimizers for different variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from podium.core import Tensor, Variable
from podium.core.internal import PublicRepr, override
from podium.optimizers._gradients import match_gradients
from podium.optimizers._loss_scale import LossScaleOptimizer
from podium.optimizers._optimizer import Optimizer
from podium.optimizers._registry import add_optimizer, deserialize, serialize
from podium.optimizers._slots import VariableList
from podium.optimizers._update_math import next_iteration


class OptimizerMap(PublicRepr, MutableMapping[str, Optimizer]):
    """A mapping from patterns of variable paths to optimizers, with a default.

    Args:
        default_optimizer: The optimizer of variables that no pattern matches.
        optimizer_map: Optimizers by the path of a variable, or by a regular expression that matches
            all of it.

    Example:
        >>> sgd, adam = podium.optimizers.SGD(), podium.optimizers.Adam()
        >>> optimizers = podium.optimizers.OptimizerMap(sgd, {"encoder/.*": adam})
        >>> optimizers["encoder/kernel"].name, optimizers["decoder/kernel"].name
        ('adam', 'sgd')
    """

    def __init__(
        self, default_optimizer: Optimizer, optimizer_map: dict[str, Optimizer] | None = None
    ):
        _check_inner(default_optimizer, "default_optimizer")
        if not isinstance(optimizer_map, (dict, type(None))):
            raise TypeError(
                f"optimizer_map={optimizer_map!r} was given; a dictionary was expected."
            )
        self.default_optimizer = default_optimizer
        self._map: dict[str, Optimizer] = {}
        for pattern, optimizer in (optimizer_map or {}).items():
            self[pattern] = optimizer

    def __getitem__(self, key: str) -> Optimizer:
        if key in self._map:
            return self._map[key]
        patterns = [pattern for pattern in self._map if re.fullmatch(pattern, key)]
        if len(patterns) > 1:
            raise ValueError(
                f"Several optimizers match variable {key!r}: the patterns {patterns} all match it."
            )
        return self._map[patterns[0]] if patterns else self.default_optimizer

    def __setitem__(self, key: str, optimizer: Optimizer) -> None:
        if not isinstance(key, str):
            raise TypeError(
                f"OptimizerMap was given the key {key!r}; a path or a pattern was expected."
            )
        if key in self._map:
            raise ValueError(
                f"OptimizerMap has an optimizer for {key!r} already, {self._map[key]!r}; delete "
                "it first."
            )
        _check_inner(optimizer, "optimizer")
        self._map[key] = optimizer

    def __delitem__(self, key: str) -> None:
        del self._map[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)

    def __call__(self, variable: Variable) -> Optimizer:
        return self[variable.path]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this map again."""
        inner = {key: serialize(optimizer) for key, optimizer in self._map.items()}
        return {"default_optimizer": serialize(self.default_optimizer), "optimizer_map": inner}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> OptimizerMap:
        """Make a map from `get_config`'s result."""
        inner = {
            key: deserialize(value, custom_objects)
            for key, value in config["optimizer_map"].items()
        }
        return cls(deserialize(config["default_optimizer"], custom_objects), inner)


def _check_inner(optimizer: Any, argument: str) -> None:
    if not isinstance(optimizer, Optimizer) or isinstance(
        optimizer, (LossScaleOptimizer, MultiOptimizer)
    ):
        raise TypeError(
            f"{argument}={optimizer!r} was given; an optimizer that is neither a "
            "LossScaleOptimizer nor a MultiOptimizer was "
            "expected. Wrap the whole MultiOptimizer for a loss scale."
        )


@add_optimizer
class MultiOptimizer(Optimizer):
    """Updates each variable with the optimizer that is chosen for it.

    It has no learning rate: set those of `optimizers`.

    Args:
        optimizer_map: An `OptimizerMap`, or a function of a variable that returns its optimizer.
        loss_scale_factor: The loss scale of all of them.
        name: The name of the optimizer.

    Example:
        >>> slow, fast = podium.optimizers.SGD(0.1), podium.optimizers.SGD(1.0)
        >>> w, b = podium.Variable(1.0, name="w"), podium.Variable(1.0, name="b")
        >>> def choose(variable):
        ...     return fast if variable.name == "b" else slow
        >>> both = podium.optimizers.MultiOptimizer(choose)
        >>> both.apply([podium.Tensor(0.5), podium.Tensor(0.5)], [w, b])
        >>> round(float(w), 4), float(b)
        (0.95, 0.5)
    """

    _builds_more = True

    def __init__(
        self,
        optimizer_map: OptimizerMap | Callable[[Variable], Optimizer],
        loss_scale_factor: float | None = None,
        name: str | None = None,
    ):
        if not callable(optimizer_map):
            raise TypeError(
                f"optimizer_map={optimizer_map!r} was given; an OptimizerMap or a function was "
                "expected."
            )
        super().__init__(0.0, loss_scale_factor=loss_scale_factor, name=name)
        self._optimizer_map = optimizer_map
        self._inner: list[Optimizer] = []
        self._chosen: list[Optimizer] = []  # one for each variable
        if isinstance(optimizer_map, OptimizerMap):
            for optimizer in (*optimizer_map.values(), optimizer_map.default_optimizer):
                self._add_inner(optimizer)

    def _add_inner(self, optimizer: Optimizer) -> None:
        _check_inner(optimizer, "optimizer_map")
        optimizer.loss_scale_factor = self.loss_scale_factor
        if not any(optimizer is known for known in self._inner):
            self._inner.append(optimizer)

    @property
    def optimizers(self) -> list[Optimizer]:
        """The optimizers that variables are given to."""
        return list(self._inner)

    @property
    def variables(self) -> VariableList:
        """All state, that of the inner optimizers behind its variables_of_optimizer."""
        return VariableList(
            [*super().variables, *(v for optimizer in self._inner for v in optimizer.variables)]
        )

    @property
    def learning_rate(self) -> Any:
        """Raises: each of `optimizers` has a learning rate."""
        raise AttributeError(
            "A MultiOptimizer has no learning rate; read and set those of `optimizer.optimizers`."
        )

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        raise AttributeError(
            "A MultiOptimizer has no learning rate; read and set those of `optimizer.optimizers`."
        )

    def build(self, var_list: Iterable[Variable]) -> None:
        """Choose an optimizer for each variable, and create their state."""
        variables = list(var_list)
        for variable in variables:
            if variable not in self._slots:
                self._chosen.append(self._optimizer_map(variable))
                self._add_inner(self._chosen[-1])
        super().build(variables)
        for optimizer, variables_of_optimizer in self._group_by_optimizer(variables):
            optimizer.build(variables_of_optimizer)

    def _group_by_optimizer(
        self, variables: Sequence[Variable]
    ) -> list[tuple[Optimizer, list[Variable]]]:
        """Return each optimizer that has something to do, with its variables."""
        chosen = [
            (self._chosen[self._get_variable_index(variable)], variable) for variable in variables
        ]
        pairs = [
            (inner, [variable for optimizer, variable in chosen if optimizer is inner])
            for inner in self._inner
        ]
        return [
            (inner, variables_of_optimizer)
            for inner, variables_of_optimizer in pairs
            if variables_of_optimizer
        ]

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None
    ) -> None:
        """Apply each optimizer to its variables and their gradients.

        Args:
            grads: The gradients; None leaves its variable as it is.
            trainable_variables: The variables, by default those that the optimizer was built with.
        """
        if not (grads := list(grads)):
            return
        with override(tapes=(), autocast_dtype=None, bare_arrays=False):
            variables = self._build_missing(grads, trainable_variables)
            gradients, variables = match_gradients(self.name, grads, variables, self._warned)
            of = {
                id(variable): gradient
                for variable, gradient in zip(variables, gradients, strict=True)
            }
            for optimizer, variables_of_optimizer in self._group_by_optimizer(variables):
                optimizer.apply(
                    [of[id(variable)] for variable in variables_of_optimizer],
                    variables_of_optimizer,
                )
            self._iterations.assign(Tensor(next_iteration(self._iterations.read(), 1)))

    def flush(self, var_list: Iterable[Variable] | None = None) -> None:
        """Apply the accumulated gradients of each optimizer; see `Optimizer.flush`."""
        for optimizer, variables_of_optimizer in self._group_by_optimizer(
            list(self._trainable_variables if var_list is None else var_list)
        ):
            optimizer.flush(variables_of_optimizer)

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """Set variables to the moving averages of their optimizers, where those keep them."""
        for optimizer, variables_of_optimizer in self._group_by_optimizer(list(var_list)):
            optimizer.finalize_variable_values(variables_of_optimizer)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this optimizer again, without its state."""
        if not isinstance(self._optimizer_map, OptimizerMap):
            raise NotImplementedError(
                "A MultiOptimizer that chooses by a function has no config; use an OptimizerMap."
            )
        chosen = {"class_name": "OptimizerMap", "config": self._optimizer_map.get_config()}
        return {
            "optimizer_map": chosen,
            "loss_scale_factor": self.loss_scale_factor,
            "name": self.name,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> MultiOptimizer:
        """Make an optimizer from `get_config`'s result."""
        chosen = OptimizerMap.from_config(config["optimizer_map"]["config"], custom_objects)
        return cls(**{**config, "optimizer_map": chosen})
