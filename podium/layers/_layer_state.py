"""What a layer holds: its name and types, its weights, its losses and metrics, and those of the
layers inside.

`LayerState` is the part of a Layer that says what it is made of; `_layer.py` says what it does.
Nothing here runs per step: attributes are walked when somebody asks.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium import initializers, regularizers
from podium.core import (
    DTypePolicy,
    KerasTensor,
    Tensor,
    Variable,
    auto_name,
    convert_to_tensor,
    get_dtype_policy,
    is_float_dtype,
    snake_case,
    standardize_dtype,
)
from podium.core.internal import TraceLocal, layer_name_scope, override, register_thread_local, wrap
from podium.layers import _tracking
from podium.metrics import Mean, Metric

# Attributes that are not searched for what the layer owns: they are lists of our own, or point
# outwards.
_NOT_OWNED = frozenset(
    {"_inbound_nodes", "_added_weights", "_init_arguments", "_added_metrics", "built_shape"}
)

_some_loss_was_added: list[bool] = []  # by any layer of the process


class _Budget(threading.local):
    numbers: int | None = None  # how many numbers weights may still have; None for any


_budget = register_thread_local(_Budget())
_LARGE = 1 << 20  # numbers


def limited_weights(numbers: int) -> contextlib.AbstractContextManager[None]:
    """Let layers make weights of so many numbers in all: a file with small weights may not ask for
    large ones.
    """
    return override(_budget, numbers=numbers)


def _take_from_budget(layer: str, name: str | None, shape: tuple[int, ...]) -> None:
    if _budget.numbers is not None:
        _budget.numbers -= math.prod(shape)
        if _budget.numbers < 0:
            raise ValueError(
                f"Layer {layer!r} asks for a weight {name!r} of shape {shape}, far larger than the "
                "size of all weights in the file."
            )


def _initial(layer: Any, initializer: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros that take no memory instead of an initializer, if a file is about to give a
    large weight its numbers.
    """
    if _budget.numbers is None or math.prod(shape) < _LARGE or hasattr(layer, "load_own_variables"):
        return initializer
    return np.broadcast_to(np.zeros((), jnp.dtype(standardize_dtype(dtype))), shape)


class LayerState:
    """Name, types, weights, losses and metrics of a layer."""

    def __init__(self, name: str | None, trainable: bool, dtype: Any):
        if name is not None and (not isinstance(name, str) or not name or "/" in name):
            raise ValueError(
                f"name={name!r} was given; a non-empty string without '/' was expected."
            )
        self._name = name or auto_name(snake_case(type(self).__name__))
        self._trainable = bool(trainable)
        self._dtype_policy = get_dtype_policy(dtype)
        self.built = False
        self._added_weights: list[Variable] = []
        self._added_metrics: dict[str, Metric] = {}
        self._loss_values = TraceLocal(())

    def _check_initialized(self) -> None:
        """Raise if a subclass forgot `super().__init__()`."""
        if "_loss_values" not in vars(self):
            raise RuntimeError(
                f"{type(self).__name__} was used before `super().__init__()` ran. Call "
                "`super().__init__()` first in its `__init__`."
            )

    # --- names and types

    @property
    def name(self) -> str:
        """The layer's name."""
        return self._name

    @property
    def path(self) -> str:
        """The name; weights add their own behind it."""
        return self._name

    @property
    def dtype_policy(self) -> DTypePolicy:
        """Which types it computes and stores in."""
        return self._dtype_policy

    @dtype_policy.setter
    def dtype_policy(self, value: Any) -> None:
        self._dtype_policy = get_dtype_policy(value)

    @property
    def dtype(self) -> str:
        """The type of the weights."""
        return self._dtype_policy.variable_dtype

    @property
    def variable_dtype(self) -> str:
        """The type of the weights."""
        return self._dtype_policy.variable_dtype

    @property
    def compute_dtype(self) -> str:
        """The type that it computes in."""
        return self._dtype_policy.compute_dtype

    # --- weights

    def add_weight(
        self,
        shape: Any = None,
        initializer: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        aggregation: str = "none",
        overwrite_with_gradient: bool = False,
        name: str | None = None,
    ) -> Variable:
        """Make a weight that belongs to this layer.

        Args:
            shape: Its shape; () by default.
            initializer: A name, an initializer or a function of `(shape, dtype)`. By default Glorot
                uniform for floats and zeros for other types.
            dtype: Its type, by default the layer's.
            trainable: Whether it shall be trained.
            autocast: Whether it may be seen in the compute type.
            regularizer: A function of the weight, added to the losses.
            constraint: A function of the weight, applied by optimizers after updates.
            aggregation: How replicas combine it.
            overwrite_with_gradient: Kept for Keras's signature, as a note for optimizers.
            name: Its name.

        Returns:
            The new Variable.
        """
        if isinstance(shape, str):  # Keras 2: add_weight(name, shape, dtype, initializer)
            name, shape, dtype, initializer = (
                shape,
                initializer,
                dtype,
                None if trainable is True else trainable,
            )
            trainable = True
        self._check_initialized()
        dtype = dtype or self.variable_dtype
        if initializer is None:
            initializer = "glorot_uniform" if is_float_dtype(dtype) else "zeros"
        shape = (
            ()
            if shape is None
            else (shape,)
            if isinstance(shape, (int, np.integer))
            else tuple(shape)
        )
        if any(length is None for length in shape):
            raise ValueError(
                f"Layer {self._name!r} ({type(self).__name__}) needs a weight {name!r} of shape "
                f"{shape}: a length that the weight depends on is unknown (None). Give that "
                "dimension a length in `Input(shape=...)`."
            )
        _take_from_budget(self._name, name, shape)
        with layer_name_scope(self._name):
            variable = Variable(
                _initial(self, initializers.get(initializer), shape, dtype),
                shape,
                dtype,
                trainable=trainable,
                autocast=autocast,
                aggregation=aggregation,
                name=name,
                constraint=constraint,
                regularizer=regularizers.get(regularizer),
            )
        variable.overwrite_with_gradient = overwrite_with_gradient
        if not self._trainable and trainable:
            variable.trainable, variable.frozen = False, True
        self._added_weights.append(variable)
        return variable

    def _own_weights(self) -> list[Variable]:
        self._check_initialized()
        own = _tracking.unique(
            self._added_weights + _tracking.owned(vars(self), Variable, _NOT_OWNED)
        )
        return sorted(own, key=lambda variable: not (variable.trainable or variable.frozen))

    def _own_layers(self) -> list[Any]:
        self._check_initialized()
        return _tracking.owned(vars(self), LayerState, _NOT_OWNED)

    def _flatten_layers(self, include_self: bool = True, recursive: bool = True) -> list[Any]:
        """List this layer and the layers inside it, each once, outermost first."""
        found: dict[int, Any] = {id(self): self} if include_self else {}
        pending = self._own_layers()
        while pending:
            layer = pending.pop(0)
            if id(layer) not in found and layer is not self:
                found[id(layer)] = layer
                if recursive:
                    pending = layer._own_layers() + pending
        return list(found.values())

    def _gather(self, own: Callable[[Any], list]) -> list:
        return _tracking.unique(
            variable for layer in self._flatten_layers() for variable in own(layer)
        )

    @property
    def weights(self) -> list[Variable]:
        """All weights, trainable or not, of this layer and the layers inside it."""
        return self._gather(lambda layer: layer._own_weights())

    @property
    def variables(self) -> list[Variable]:
        """All state: weights, seeds and the sums of metrics."""
        own = self._gather(
            lambda layer: layer._own_weights() + _tracking.seed_states(vars(layer), _NOT_OWNED)
        )
        return _tracking.unique(own + self.metrics_variables)

    @property
    def trainable_weights(self) -> list[Variable]:
        """The weights that training changes."""
        return [variable for variable in self.weights if variable.trainable]

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The weights that training leaves alone."""
        return [variable for variable in self.weights if not variable.trainable]

    @property
    def trainable_variables(self) -> list[Variable]:
        """The Variables that training changes."""
        return [variable for variable in self.variables if variable.trainable]

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The other Variables: frozen weights, statistics, seeds, metrics."""
        return [variable for variable in self.variables if not variable.trainable]

    @property
    def trainable(self) -> bool:
        """Whether training changes the weights. Setting it sets all layers inside as well."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        for layer in self._flatten_layers():
            layer._set_own_trainable(bool(value))

    def _set_own_trainable(self, value: bool) -> None:
        """Freeze or unfreeze this layer alone, not the layers inside it."""
        self._trainable = value
        for variable in self._own_weights():
            if not value and variable.trainable:
                variable.trainable, variable.frozen = False, True
            elif value and variable.frozen:
                variable.trainable, variable.frozen = True, False

    def count_params(self) -> int:
        """Return how many numbers the weights hold."""
        if not self.built and not self.weights:
            raise ValueError(
                f"Layer {self._name!r} ({type(self).__name__}) has no weights yet, so they cannot "
                "be counted. Call it on data or build it: `layer.build(input_shape)`."
            )
        return sum(int(np.prod(variable.shape)) for variable in self.weights)

    def get_weights(self) -> list[np.ndarray]:
        """Return copies of all weights as NumPy arrays, in the order of `weights`."""
        return [variable.numpy() for variable in self.weights]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Replace all weights, or none: everything is checked before anything is changed.

        Raises:
            ValueError: The number or a shape of the arrays does not fit.
        """
        variables = self.weights
        if len(weights) != len(variables):
            state = "" if variables else " It has not been built: call it on data first."
            raise ValueError(
                f"set_weights on {self._name!r} was given {len(weights)} arrays; it has "
                f"{len(variables)} weights.{state}"
            )
        checked = []
        for variable, value in zip(variables, weights, strict=True):
            value = convert_to_tensor(value)
            variable._check_assignable(value)
            checked.append(value)
        for variable, value in zip(variables, checked, strict=True):
            variable.assign(value)

    # --- losses and metrics

    def add_loss(self, loss: Any, **_: Any) -> None:
        """Add to the losses: scalars (or arrays) computed in `call`, or functions without
        arguments.

        The values count until the outermost layer is called again.
        """
        values = loss if isinstance(loss, (list, tuple)) else [loss]
        kept = [value if _is_lazy(value) else _as_tensor(value) for value in values]
        self._loss_values.set((*self._loss_values.get(), *kept))
        _some_loss_was_added[:] = [True]

    @property
    def losses(self) -> list[Any]:
        """The losses of this layer and the layers inside it, with the penalties of their
        regularizers.
        """
        found: list[Any] = []
        for layer in self._flatten_layers():
            found.extend(
                value() if _is_lazy(value) else value for value in layer._loss_values.get()
            )
        for variable in self.trainable_weights:
            if variable.regularizer is not None:
                found.append(variable.regularizer(variable))
        return found

    def _clear_losses(self) -> None:
        if not _some_loss_was_added:
            return  # spares most programs a walk through all layers on every eager call
        for layer in self._flatten_layers():
            if layer._loss_values.get():
                layer._loss_values.set(
                    tuple(value for value in layer._loss_values.get() if _is_lazy(value))
                )

    def add_metric(self, value: Any, name: str | None = None, aggregation: str = "mean") -> None:
        """Keep a running mean of a value computed in `call`; it is listed in `metrics`."""
        if name is None:
            raise ValueError("add_metric needs a name: `self.add_metric(value, name='accuracy')`.")
        if name not in self._added_metrics:
            self._added_metrics[name] = Mean(name=name)
        self._added_metrics[name].update_state(value)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of this layer and the layers inside it."""
        return self._owned_metrics()

    @property
    def metrics_variables(self) -> list[Variable]:
        """The Variables of the metrics."""
        return _tracking.unique(
            variable for metric in self._owned_metrics() for variable in metric.variables
        )

    def _owned_metrics(self) -> list[Metric]:
        """List the metrics of the layers, in the order of `_flatten_layers`, in one walk: it is
        taken once an epoch.
        """
        found: dict[int, Metric] = {}
        seen: set[int] = set()
        pending: list[Any] = [self]
        while pending:
            layer = pending.pop(0)
            if id(layer) in seen:
                continue
            seen.add(id(layer))
            layer._check_initialized()
            own = _tracking.owned(vars(layer), _LAYERS_AND_METRICS, _NOT_OWNED)
            inside = [one for one in own if isinstance(one, LayerState)]
            for metric in (*layer._added_metrics.values(), *own):
                if isinstance(metric, Metric):
                    found[id(metric)] = metric
            pending = inside + pending
        return list(found.values())


_LAYERS_AND_METRICS = (LayerState, Metric)


def _is_lazy(loss: Any) -> bool:
    """Tell whether a loss is a function to be asked each time."""
    return callable(loss) and not isinstance(loss, (Tensor, Variable, KerasTensor))


def _as_tensor(loss: Any) -> Any:
    if isinstance(loss, (Tensor, KerasTensor)):
        return loss
    return wrap(loss) if isinstance(loss, jax.Array) else convert_to_tensor(loss)
