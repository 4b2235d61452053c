"""Compares the weights of a file with those of a model, for `KerasFileEditor.compare`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium._typing import Shape
from podium.optimizers import Optimizer
from podium.saving._savable_model import SavableModel
from podium.state import state_nodes

# What loading a file ignores if the model does not have it: random states of Keras, metrics.
_OPTIONAL = ("seed_generator", "_random_generator", "metrics")


def compare_weights(file: Mapping[str, Any], model: SavableModel) -> tuple[list[str], int]:
    """Return a sentence for every difference, and the number of weights that are alike.

    Args:
        file: The weights as nested dictionaries by the names of objects.
        model: A model whose weights exist.
    """
    reference = _shapes_of(model)
    differences: list[str] = []
    compared = [key for key in file if key != "optimizer" or key in reference]
    expected = {key: reference[key] for key in reference if key != "optimizer" or key in file}
    match_count = _compare({key: file[key] for key in compared}, expected, "", differences)
    return differences, match_count


def _shapes_of(model: SavableModel) -> dict[str, Any]:
    """Return the shapes of a model's weights in the structure of a file."""
    shapes: dict[str, Any] = {}
    for node in state_nodes(model):
        if not node.variables:
            continue
        path = "optimizer" if isinstance(node.owner, Optimizer) else node.path
        group = shapes
        for part in filter(None, path.split("/")):
            group = group.setdefault(part, {})
        group.update({str(i): tuple(v.shape) for i, v in enumerate(node.variables)})
    return shapes


def _compare(
    file: Mapping[str, Any], reference: Mapping[str, Any], path: str, differences: list[str]
) -> int:
    match_count = 0
    for key in (*reference, *(key for key in file if key not in reference)):
        inner = f"{path}/{key}" if path else key
        if key not in file or key not in reference:
            owner, other = (
                ("file", "reference model") if key in file else ("reference model", "file")
            )
            if key in file and key in _OPTIONAL:
                continue
            value = file[key] if key in file else reference[key]
            kind = f"Object {inner} with {list(value)}" if isinstance(value, dict) else inner
            kind = kind if isinstance(value, dict) else f"Weight {inner}"
            differences.append(f"{kind} is in the {owner} and missing in the {other}")
        elif isinstance(file[key], dict) and isinstance(reference[key], dict):
            match_count += _compare(file[key], reference[key], inner, differences)
        elif _shape_in_file(file[key]) != _shape_in_file(reference[key]):
            differences.append(
                f"Weight {inner} has shape {_shape_in_file(file[key])} in the file and "
                f"{_shape_in_file(reference[key])} in the reference model"
            )
        else:
            match_count += 1
    return match_count


def _shape_in_file(value: Any) -> Shape | str:
    if isinstance(value, dict):
        return "of an object"
    return value if isinstance(value, tuple) else tuple(value.shape)
