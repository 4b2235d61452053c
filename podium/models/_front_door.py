"""Checks of the first batch and of the labels against the model, before anything is traced.

What only the losses can know (shapes of targets) they check themselves while a step is traced, which is before
anything is compiled too.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium import losses, ops
from podium.core import Tensor, leaves_of, map_structure
from podium.data import unpack_x_y_sample_weight
from podium.models._outputs import flat_targets, output_names

# The methods that read data: which step they run, and whose arguments messages name.
KINDS = {
    "fit": "train",
    "train_on_batch": "train",
    "evaluate": "test",
    "test_on_batch": "test",
    "validation_data": "test",
    "predict": "predict",
    "predict_on_batch": "predict",
}
CALLERS = {
    "fit": "fit",
    "train_on_batch": "fit",
    "evaluate": "evaluate",
    "test_on_batch": "evaluate",
    "validation_data": "validation",
    "predict": "predict",
    "predict_on_batch": "predict",
}


def rows_of(x: Any) -> int | None:
    """Return the number of samples of a batch given whole, or None if it shows nowhere."""
    for leaf in leaves_of(x):
        if len(np.shape(leaf)):
            return max(1, np.shape(leaf)[0])
    return None


def expand_1d(model: Any, x: Any) -> Any:
    """Give one-dimensional inputs a second dimension of 1, unless the model's `Input` has none."""
    if model.inputs is not None:
        return x  # the graph knows which rank it wants, and adds the dimension itself
    return map_structure(lambda leaf: ops.expand_dims(leaf, -1) if len(getattr(leaf, "shape", "  ")) == 1 else leaf, x)


def check_batch(model: Any, batch: Any, caller: str, default_step: bool, needs_target: bool) -> None:
    """Check a batch against the inputs of the model, and that there is a target if its loss needs one.

    Args:
        model: The model.
        batch: A batch as the data source gives it.
        caller: The method that was called, for messages.
        default_step: Whether the model uses its built-in step; any other may do with a batch what it likes.
        needs_target: Whether a loss will be computed.
    """
    if not default_step:
        return
    x, y, _ = unpack_x_y_sample_weight(batch)
    if model._graph is not None:
        model._graph.check(x)
    if needs_target and y is None and model.loss is not None:
        raise ValueError(
            f"`{caller}` was given no target: `y` is None (missing), and the model was compiled with a loss, which needs one. "
            "Pass `y=...`; a generator or Dataset must yield tuples `(x, y)`, and validation_data must be `(x, y)`."
        )


def check_labels(model: Any, y: Any) -> None:
    """Check that class labels lie in the range of the classes, for the losses that count classes by number."""
    if y is None or model.outputs is None or model.compiled_loss is None:
        return
    structure = model.output
    names = output_names(structure, model.output_names)
    for loss, name, target, output in zip(
        model.compiled_loss.losses, names, flat_targets("y", y, structure, names), leaves_of(structure), strict=True
    ):
        if not isinstance(target, (np.ndarray, Tensor)) or target.dtype == object:
            continue
        array = np.asarray(target)
        if array.size == 0 or array.dtype.kind not in "iufb":
            continue
        where = f" of output {name!r}" if len(names) > 1 else ""
        if isinstance(loss, losses.SparseCategoricalCrossentropy) and array.ndim < 3 and len(output.shape) == 2:
            _check_class_numbers(array, output.shape[-1], where, getattr(loss, "ignore_class", None))
        elif isinstance(loss, losses.BinaryCrossentropy) and (np.nanmin(array) < 0 or np.nanmax(array) > 1):
            warnings.warn(
                f"The targets `y`{where} run from {array.min()} to {array.max()}, and binary crossentropy expects values from 0 "
                "to 1. Use labels 0 and 1, or `sparse_categorical_crossentropy` for class numbers.",
                stacklevel=5,
            )


def _check_class_numbers(array: np.ndarray, classes: int | None, where: str, ignored: int | None) -> None:
    if classes is None or (array.ndim == 2 and array.shape[1] != 1):
        return
    bad = (array < 0) | (array >= classes)
    if ignored is not None:
        bad &= array != ignored
    if bad.any():
        first = array[bad].flat[0]
        raise ValueError(
            f"The labels `y`{where} hold the class {first}, at {int(bad.sum())} of {array.size} places; the output has {classes} "
            f"classes, so labels from 0 to {classes - 1} were expected. Number the classes from 0, or make the output wider."
        )


def as_plain_list(logs: Mapping[str, float], names: list[str]) -> Any:
    """Return the values of `evaluate` as a list in the order of the metrics, or the one value alone."""
    ordered = [logs[name] for name in names if name in logs]
    ordered += [value for name, value in logs.items() if name not in names]
    return ordered[0] if len(ordered) == 1 else ordered
