"""Steps in Keras 3's form for JAX: `train_step(self, state, data)`, a function of values that
returns the logs and the new values.

A step with two arguments is recognized by its signature. The wrapper here passes it the values of
all Variables, drops what it writes to Variables on the way, and assigns what it returns.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import jax

from podium._typing import TensorLike, Tree
from podium.core import Variable
from podium.core.internal import VariableScope, context, override, unwrap_result
from podium.data import unpack_x_y_sample_weight
from podium.metrics import LogValue
from podium.models.training._input_checks import add_feature_axis

if TYPE_CHECKING:
    from podium.models._model import Model

Step = TypeVar("Step", bound=Callable[..., Any])

_STATE = {  # what a step returns
    "train": (
        "trainable_variables",
        "non_trainable_variables",
        "optimizer_variables",
        "metrics_variables",
    ),
    "test": ("trainable_variables", "non_trainable_variables", "metrics_variables"),
    "predict": ("non_trainable_variables",),
}
_REQUIRED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY


def takes_state(step: Callable[..., Any]) -> bool:
    """Return whether a step has the arguments `(state, data)`, or passes all of its arguments on to
    a method that has.
    """
    parameters = inspect.signature(step).parameters.values()
    required = [p for p in parameters if p.kind in _REQUIRED and p.default is p.empty]
    owner, code = getattr(step, "__self__", None), getattr(step, "__code__", None)
    if not required and owner is not None and code is not None and _passes_all(parameters):
        called = [getattr(type(owner), name, None) for name in code.co_names]
        return any(inspect.isfunction(each) and _has_state_and_data(each) for each in called)
    return len(required) == 2


def _passes_all(parameters: Iterable[inspect.Parameter]) -> bool:
    return any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _has_state_and_data(method: Callable[..., Any]) -> bool:
    return list(inspect.signature(method).parameters)[1:] == ["state", "data"]


def accept_stateless(model: Model, step: Callable[..., Any], kind: str) -> Callable[[Tree], Any]:
    """Return a step of one argument, the data.

    Args:
        model: The model.
        step: `model.train_step` or one of its siblings, in either form.
        kind: "train", "test" or "predict".
    """
    if not takes_state(step):
        return step

    def run_step(data: Tree) -> Any:
        __tracebackhide__ = True
        _create_variables(model, data, kind)
        groups = _variable_groups(model, kind)
        state = tuple([_value_of(variable) for variable in group] for group in groups)
        scope = VariableScope(parent=context.scope)  # what the step writes itself is dropped
        with override(scope=scope, tapes=(), bare_arrays=True):
            result, new_state = step(state, unwrap_result(data))
        _assign_state(step, groups, [new_state] if kind == "predict" else new_state, kind)
        if kind == "predict" or not isinstance(result, Mapping):
            return result
        return {name: _as_last(value) for name, value in result.items()}

    run_step.__name__ = getattr(step, "__name__", "step")
    return run_step


def accept_state(kind: str) -> Callable[[Step], Step]:
    """Return a decorator for the steps of `Model`, which lets an override in Keras 3's form call
    them in that form: `super().train_step(state, data)`.

    Args:
        kind: "train", "test" or "predict".
    """

    def decorate(step: Step) -> Step:
        @functools.wraps(step)
        def run_step(self: Model, data: Tree, *batch: Tree) -> Any:
            __tracebackhide__ = True
            if not batch:
                return step(self, data)
            return _run_with_state(self, functools.partial(step, self), kind, data, *batch)

        return cast(Step, run_step)

    return decorate


def _run_with_state(
    model: Model, step: Callable[[Tree], Any], kind: str, state: Any, data: Tree
) -> tuple[Any, Any]:
    """Run a step of one argument as a function of the state.

    Args:
        model: The model.
        step: `Model.train_step` or one of its siblings, of this model.
        kind: "train", "test" or "predict".
        state: The values of the Variables.
        data: The batch.

    Returns:
        What the step returned, as bare arrays, and the new state.
    """
    groups = _variable_groups(model, kind)
    if not isinstance(state, (list, tuple)) or len(state) != len(groups):
        names = ("trainable_variables", *_STATE["predict"]) if kind == "predict" else _STATE[kind]
        raise ValueError(
            f"`{kind}_step(state, data)` was given a state of another form than the one that the "
            f"step receives: ({', '.join(names)})."
        )
    inputs: dict[int, tuple[Variable, Any]] = {}
    for group, values in zip(groups, state, strict=True):
        inputs |= scope_with(group, values, "the state", f"{kind}_step")
    scope = VariableScope(inputs, context.scope)
    with override(scope=scope, tapes=(), bare_arrays=False):
        result = unwrap_result(step(data))
    new_state = tuple([scope.read(variable) for variable in group] for group in groups)
    return result, new_state[1] if kind == "predict" else new_state


def takes_training(compute_loss: Callable[..., Any]) -> bool:
    """Return whether a `compute_loss` method has the argument `training`."""
    parameters = inspect.signature(compute_loss).parameters
    return "training" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def _as_last(value: Any) -> Any:
    """Return a log whose value of the epoch is that of its last step, as metrics return it."""
    return value if isinstance(value, LogValue) else LogValue(value, over_epoch="last")


def _value_of(variable: Variable) -> jax.Array:
    with override(autocast_dtype=None):
        value: jax.Array = unwrap_result(variable)
    return value


def _variable_groups(model: Model, kind: str) -> list[list[Variable]]:
    """Return the Variables of the parts of the state, in Keras's order."""
    groups = [model.trainable_variables, model.non_trainable_variables]
    if kind == "train":
        groups.append(list(model.optimizer.variables))
    return groups if kind == "predict" else [*groups, model.metrics_variables]


def _create_variables(model: Model, data: Tree, kind: str) -> None:
    """Create all Variables, so that the state is complete: of layers, metrics and the optimizer."""
    loss = model.compiled_loss
    needs_metrics = kind != "predict" and loss is not None and not loss.metrics
    outputs = None  # of a model without losses and metrics, which may have no call
    reads_outputs = needs_metrics and (loss.has_losses or model.compiled_metrics.has_metrics)
    if reads_outputs or not model.built:
        x, _, _ = unpack_x_y_sample_weight(data)
        with override(scope=VariableScope(parent=context.scope), tapes=()):
            outputs = model(add_feature_axis(model, x))
    if needs_metrics:
        loss.build(outputs)
        model.compiled_metrics.build(outputs)
    if kind == "train" and not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)


def _assign_state(
    step: Callable[..., Any], groups: Sequence[Sequence[Variable]], state: Any, kind: str
) -> None:
    names = _STATE[kind]
    groups = groups[1:] if kind == "predict" else groups
    if not isinstance(state, (list, tuple)) or len(state) != len(groups):
        raise ValueError(
            f"`{step.__name__}(state, data)` returned a state of another form than the one it was "
            f"given. Return `(logs, ({', '.join(names)}))`."
        )
    for name, group, values in zip(names, groups, state, strict=True):
        if len(values) != len(group):
            raise ValueError(
                f"`{step.__name__}(state, data)` returned {len(values)} values of {name}; it was "
                f"given {len(group)}. Return as many, in the same order."
            )
        for variable, value in zip(group, values, strict=True):
            variable.assign(value)


def scope_with(
    variables: Sequence[Variable], values: Sequence[TensorLike], name: str, caller: str
) -> dict[int, tuple[Variable, Any]]:
    """Return the entries of a VariableScope for values of Variables."""
    if len(variables) != len(values):
        raise ValueError(
            f"{caller} was given {len(values)} values of {name} for {len(variables)} Variables."
        )
    pairs = zip(variables, values, strict=True)
    return {id(variable): (variable, unwrap_result(value)) for variable, value in pairs}


def compute_loss_and_updates(
    model: Model,
    state: tuple[Sequence[TensorLike], Sequence[TensorLike], Sequence[TensorLike]],
    x: Tree,
    y: Tree,
    sample_weight: Tree,
    training: bool,
    optimizer_variables: Sequence[TensorLike] | None,
) -> tuple[Any, tuple[Any, Any, list[Any], list[Any]]]:
    """Compute a batch's loss as a function of values; see `Model.compute_loss_and_updates`."""
    groups = [model.trainable_variables, model.non_trainable_variables, model.metrics_variables]
    names = ("trainable_variables", "non_trainable_variables", "metrics_variables")
    if training and optimizer_variables is not None:
        groups.append(list(model.optimizer.variables))
    values = [*state] if len(groups) == 3 else [*state, optimizer_variables or ()]
    inputs: dict[int, tuple[Variable, Any]] = {}
    for group, given, name in zip(groups, values, (*names, "optimizer_variables"), strict=False):
        inputs |= scope_with(group, given, name, "compute_loss_and_updates")
    scope = VariableScope(inputs, context.scope)
    with override(scope=scope, tapes=(), bare_arrays=False):
        y_pred = model(add_feature_axis(model, x), training=training)
        loss = model.compute_loss(x, y, y_pred, sample_weight, training=training)
        scaled = model.optimizer.scale_loss(loss) if len(groups) == 4 else loss
    new_values = [[scope.read(variable) for variable in group] for group in groups[1:3]]
    results = unwrap_result((scaled, loss, y_pred))
    return results[0], (results[1], results[2], new_values[0], new_values[1])
