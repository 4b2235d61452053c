"""CompileState: what `compile` creates for a model: optimizer, losses, metrics and settings.

A model has one, which `compile` replaces as a whole: a wrong argument leaves the old one. What
happens with data is in `_model.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from podium import optimizers
from podium._typing import Tree
from podium.core import Variable, tree_leaves
from podium.core.internal import check_bool, override
from podium.data import StepsPerExecution
from podium.distribute import Strategy
from podium.metrics import Metric
from podium.metrics.internal import LogReduction, to_log_reductions
from podium.models.compile._compiled_loss import CompiledLoss
from podium.models.compile._compiled_metrics import CompiledMetrics
from podium.models.compile._trainable_state import TrainableState
from podium.models.training._argument_checks import check_compile
from podium.optimizers import LossScaleOptimizer, Optimizer

if TYPE_CHECKING:
    from podium.models._model import Model


@dataclasses.dataclass
class CompileState:
    """How a model is trained; see `Model.compile`.

    Attributes:
        optimizer: The optimizer.
        loss: The argument `loss` as it was passed.
        compiled_loss: Computes the losses of all outputs; None before `compile`.
        compiled_metrics: The metrics of all outputs; None before `compile`.
        run_eagerly: Whether steps run as plain Python.
        jit_compile: The argument `jit_compile`.
        steps_per_execution: The argument `steps_per_execution`, for code that reads it as a
            variable.
        trainable_state: Which layers were trainable; None before `compile`.
        log_reductions: How logs are reduced, by name.
        arguments: The arguments of `compile` but the optimizer, for files; empty before `compile`.
        has_warned: Whether a warning said that there is nothing to train.
    """

    optimizer: Optimizer | None = None
    loss: Any = None
    compiled_loss: CompiledLoss | None = None
    compiled_metrics: CompiledMetrics | None = None
    run_eagerly: bool = False
    jit_compile: bool | str | None = "auto"
    steps_per_execution: StepsPerExecution = dataclasses.field(default_factory=StepsPerExecution)
    trainable_state: TrainableState | None = None
    log_reductions: dict[str, LogReduction] = dataclasses.field(default_factory=dict)
    arguments: dict[str, Any] = dataclasses.field(default_factory=dict)
    has_warned: bool = False

    @property
    def is_compiled(self) -> bool:
        """Whether `compile` has been called."""
        return self.trainable_state is not None


def make_compile_state(
    model: Model,
    optimizer: Any,
    loss: Any,
    metrics: Any,
    loss_weights: Any,
    weighted_metrics: Any,
    run_eagerly: bool | None,
    steps_per_execution: int | str | None,
    jit_compile: bool | str | None,
    auto_scale_loss: bool,
    log_reductions: Any = None,
) -> CompileState:
    """Return the state for the arguments of `compile`; the model does not change.

    Raises:
        ValueError: A name is unknown, or an argument does not match the outputs.
    """
    check_compile(run_eagerly, steps_per_execution, jit_compile)
    reductions = to_log_reductions(log_reductions)
    strategy = model.distribute_strategy
    outputs = model.output if model.outputs else None
    if steps_per_execution in (None, "auto"):
        # "auto" depends on measured times, on which several processes would not agree.
        steps_per_execution = 1 if strategy.spans_processes else "auto"
    with strategy.scope():
        state = CompileState(
            optimizer=_get_optimizer(model, optimizer, auto_scale_loss),
            loss=loss,
            compiled_loss=CompiledLoss(loss, loss_weights, outputs),
            compiled_metrics=CompiledMetrics(metrics, weighted_metrics, outputs),
            run_eagerly=bool(run_eagerly),
            jit_compile=jit_compile,
            steps_per_execution=StepsPerExecution(steps_per_execution or 1),
            trainable_state=TrainableState(model),
            log_reductions=reductions,
        )
    state.arguments = {
        "loss": loss,
        "loss_weights": loss_weights,
        "metrics": metrics,
        "weighted_metrics": weighted_metrics,
        "run_eagerly": state.run_eagerly,
        "steps_per_execution": steps_per_execution,
        "jit_compile": jit_compile,
    }
    if not auto_scale_loss:
        state.arguments["auto_scale_loss"] = False
    if log_reductions:
        state.arguments["log_reductions"] = {
            name: value if isinstance(value, str) else dict(value)
            for name, value in log_reductions.items()
        }
    return state


def _get_optimizer(model: Model, identifier: Any, auto_scale_loss: bool) -> Optimizer | None:
    """Return the optimizer, with a dynamic loss scale for a model in mixed float16."""
    optimizer = optimizers.get(identifier)
    if (
        check_bool("auto_scale_loss", auto_scale_loss, owner="compile")
        and model.dtype_policy.name == "mixed_float16"
        and isinstance(optimizer, Optimizer)
        and not isinstance(optimizer, LossScaleOptimizer)
    ):
        return LossScaleOptimizer(optimizer, name="loss_scale_optimizer")
    return optimizer


def scale_tapes(optimizer: object) -> override[None]:
    """Return a context in which tapes scale losses if the optimizer does; not if it does not, also
    inside the step of another model.
    """
    if isinstance(optimizer, LossScaleOptimizer):
        return optimizer.scale_tapes()
    return override(loss_scaler=None)


def validate_compile(model: Model, optimizer: object, metrics: Tree) -> None:
    """Check that a model, its optimizer and its metrics can be used together.

    Args:
        model: The model.
        optimizer: The argument of `compile`.
        metrics: The metrics among the arguments of `compile`; names and functions are skipped.

    Raises:
        TypeError: The optimizer is of another library, such as TensorFlow 1.
        ValueError: Variables are not placed as the model's strategy places them; the first one and
            both scopes are named.
    """
    if not isinstance(optimizer, (str, Mapping, type, tuple)):  # those are made by `compile`
        optimizer = optimizers.get(optimizer)
    strategy: Strategy = model.distribute_strategy
    layout = strategy.layout
    model_scope = "outside of all scopes" if layout is None else f"in the scope of {strategy!r}"
    owners: list[tuple[str, Any]] = [
        ("the model", model.variables),
        ("the optimizer", optimizer.variables if isinstance(optimizer, Optimizer) else ()),
    ]
    for metric in tree_leaves([metrics, model._owned_metrics()]):
        if isinstance(metric, Metric):
            owners.append((f"metric {metric.name!r}", metric.variables))
    expected = None if layout is None else layout.replicated
    for owner, variables in owners:
        for variable in variables:
            if not isinstance(variable, Variable):
                continue
            placement = variable.placement
            if (None if placement is None else placement.replicated) != expected:
                scope = (
                    "outside of all scopes"
                    if placement is None
                    else f"in the scope of {placement.scope}"
                )
                raise ValueError(
                    f"Variable {variable.path!r} of {owner} was made {scope}, and model "
                    f"{model.name!r} {model_scope}. Make the model, "
                    "its optimizer and its metrics in one scope: `with strategy.scope(): model "
                    "= ...; model.compile(...)`."
                )
