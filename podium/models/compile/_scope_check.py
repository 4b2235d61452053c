"""The check that a model, its optimizer and its metrics were made in the scope of one strategy."""

from __future__ import annotations

from typing import Any

from podium.core import Variable, tree_leaves
from podium.distribute import Strategy
from podium.metrics import Metric


def check_one_scope(model: Any, strategy: Strategy, optimizer: Any, metrics: Any) -> None:
    """Refuse Variables that lie elsewhere than the model's strategy wants them.

    Raises:
        ValueError: There is one; it and both scopes are named.
    """
    layout = strategy.layout
    wanted = "outside of all scopes" if layout is None else f"in the scope of {strategy!r}"
    owners = [
        ("the model", model.variables),
        ("the optimizer", getattr(optimizer, "variables", ())),
    ]
    given = [metric for metric in tree_leaves(metrics) if isinstance(metric, Metric)]
    owners += [(f"metric {metric.name!r}", metric.variables) for metric in given]
    for owner, variables in owners:
        for variable in variables:
            if not isinstance(variable, Variable):
                continue
            place = None if variable.placement is None else variable.placement.replicated
            if place != (None if layout is None else layout.replicated):
                found = (
                    "outside of all scopes"
                    if variable.placement is None
                    else f"in the scope of {variable.placement.scope}"
                )
                raise ValueError(
                    f"Variable {variable.path!r} of {owner} was made {found}, and model "
                    f"{model.name!r} {wanted}. Make the model, "
                    "its optimizer and its metrics in one scope: `with strategy.scope(): model "
                    "= ...; model.compile(...)`."
                )
