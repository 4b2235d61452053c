"""The values of a model's Variables as nested dictionaries, by the parts of their paths.

It owns the form that `Model.get_state_tree` returns and `set_state_tree` reads. Files and
checkpoints have forms of their own, in `podium/saving`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from podium.core import Variable, check_choice, closest_match

if TYPE_CHECKING:
    from podium.models._model import Model

_FORMATS = ("backend_tensor", "numpy_array")


def make_state_tree(model: Model, value_format: str) -> dict[str, Any]:
    """Return the values of all Variables: by group, then by the parts of the path."""
    check_choice("value_format", value_format, _FORMATS)
    return {
        name: _nest(group, as_arrays=value_format == "numpy_array")
        for name, group in _variables_by_kind(model).items()
    }


def assign_state_tree(model: Model, state_tree: Mapping[str, Any]) -> None:
    """Assign the values of a state tree; Variables that it does not name keep theirs."""
    groups = _variables_by_kind(model)
    assignments: list[tuple[Variable, Any]] = []
    for name, tree in state_tree.items():
        if name not in groups:
            raise ValueError(
                f"set_state_tree was given the key {name!r}; the keys are {', '.join(groups)}."
            )
        by_path = {variable.path: variable for variable in groups[name]}
        for path, value in _paths_and_values(tree, ""):
            if path not in by_path:
                close = closest_match(path, by_path)
                hint = f" Did you mean {close!r}?" if close else ""
                raise ValueError(
                    f"set_state_tree was given a value for {path!r}, which is none of the "
                    f"{name} of model {model.name!r}.{hint}"
                )
            assignments.append((by_path[path], value))
    for variable, value in assignments:
        variable.assign(value)


def _variables_by_kind(model: Model) -> dict[str, list[Variable]]:
    optimizer = getattr(model, "optimizer", None)
    return {
        "trainable_variables": list(model.trainable_variables),
        "non_trainable_variables": list(model.non_trainable_variables),
        "optimizer_variables": [] if optimizer is None else list(optimizer.variables),
        "metrics_variables": list(model.metrics_variables),
    }


def _nest(variables: Iterable[Variable], as_arrays: bool) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for variable in variables:
        *folders, name = variable.path.split("/")
        inner = tree
        for folder in folders:
            inner = inner.setdefault(folder, {})
        if name in inner:
            raise ValueError(
                f"Two Variables have the path {variable.path!r}, so a state tree cannot tell them "
                "apart. Give the layers different names."
            )
        inner[name] = variable.numpy() if as_arrays else variable.value
    return tree


def _paths_and_values(tree: Any, prefix: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(tree, Mapping):
        return [(prefix, tree)]
    start = f"{prefix}/" if prefix else ""
    return [
        pair for name, inner in tree.items() for pair in _paths_and_values(inner, f"{start}{name}")
    ]
