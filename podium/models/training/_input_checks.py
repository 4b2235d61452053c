"""Checks of the first batch and of the labels against the model, before anything is traced.

What only the losses can know (shapes of targets) they check themselves while a step is traced,
which is before anything is compiled too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from podium import losses
from podium.core import Tensor, tree_leaves, warn_user
from podium.data import expand_1d, unpack_x_y_sample_weight
from podium.data.internal import is_memory_mapped, record_to_dict
from podium.models.compile._output_mapping import flat, flat_targets, layer_names, output_names

# The methods that read data: which step they run, and whose arguments messages name.
RUNS = {
    "fit": ("train", "fit"),
    "train_on_batch": ("train", "fit"),
    "evaluate": ("test", "evaluate"),
    "test_on_batch": ("test", "evaluate"),
    "validation_data": ("test", "validation"),
    "predict": ("predict", "predict"),
    "predict_iter": ("predict", "predict_iter"),
    "predict_on_batch": ("predict", "predict"),
}


def num_samples(x: Any) -> int | None:
    """Return the number of samples of a batch given whole, or None if it shows nowhere."""
    for leaf in tree_leaves(record_to_dict(x)):
        if len(np.shape(leaf)):
            return max(1, np.shape(leaf)[0])
    return None


def add_feature_axis(model: Any, x: Any) -> Any:
    """Give one-dimensional inputs a second dimension of 1, unless the model's graph knows which
    rank it wants.
    """
    return x if model.inputs is not None else expand_1d(x)


def check_batch(
    model: Any, batch: Any, caller: str, default_step: bool, needs_target: bool
) -> None:
    """Check a batch against the inputs of the model, and that there is a target if its loss needs
    one.

    Args:
        model: The model.
        batch: A batch as the data source gives it.
        caller: The method that was called, for messages.
        default_step: Whether the model uses its built-in step; any other may do with a batch what
            it likes.
        needs_target: Whether a loss will be computed.
    """
    if not default_step:
        return
    x, y, _ = unpack_x_y_sample_weight(batch)
    if model._graph is not None:
        model._graph.check(x)
    if needs_target and y is None and model.loss is not None:
        raise ValueError(
            f"`{caller}` was given no target: `y` is None (missing), and the model was compiled "
            "with a loss, which needs one. Pass `y=...`; a generator or Dataset must yield tuples "
            "`(x, y)`, and validation_data must be `(x, y)`."
        )


def check_loss(model: Any, loss: Any) -> None:
    """Check that there is something to train with."""
    if loss is None:
        raise ValueError("`compute_loss` returned None; it must return the loss of the batch.")
    if (
        model.loss is None
        and not model.losses
        and type(model).compute_loss is _default_compute_loss(model)
    ):
        raise ValueError(
            "There is no loss to train with: `compile` was given none, and no layer added one. "
            "Pass `loss=...` to `compile`, use `add_loss`, or override `compute_loss` or "
            "`train_step`."
        )


def _default_compute_loss(model: Any) -> Any:
    """Return the built-in `compute_loss`: that of the last class in line that defines one."""
    return [
        cls.__dict__["compute_loss"]
        for cls in type(model).__mro__
        if "compute_loss" in cls.__dict__
    ][-1]


def check_labels(model: Any, y: Any) -> None:
    """Check that class labels lie in the range of the classes, for the losses that count classes by
    number.
    """
    if y is None or model.outputs is None or model.compiled_loss is None:
        return
    structure = model.output
    y = record_to_dict(y)
    if isinstance(y, (list, tuple)) and not isinstance(structure, (list, tuple, Mapping)):
        y = np.asarray(y) if len(y) != 1 else y[0]  # a list of numbers
    names = output_names(structure, layer_names(structure))
    rows = zip(
        model.compiled_loss.losses,
        names,
        flat_targets("y", y, structure, names),
        flat(structure),
        strict=True,
    )
    for loss, name, target, output in rows:
        if not isinstance(target, (np.ndarray, Tensor)) or (
            isinstance(target, np.ndarray) and is_memory_mapped(target)
        ):
            continue  # what lies in files is not read as a whole
        array = np.asarray(target)
        if array.size == 0 or array.dtype.kind not in "iufb":
            continue
        where = f" of output {name!r}" if len(names) > 1 else ""
        function = getattr(loss, "fn", None)
        if (
            isinstance(loss, losses.SparseCategoricalCrossentropy)
            or function is losses.sparse_categorical_crossentropy
        ):
            _check_class_numbers(array, output.shape, where, getattr(loss, "ignore_class", None))
        elif (
            isinstance(loss, losses.BinaryCrossentropy) or function is losses.binary_crossentropy
        ) and _beyond_unit(array):
            warn_user(
                f"The targets `y`{where} run from {array.min()} to {array.max()}, and binary "
                "crossentropy expects values from 0 to 1. Use labels 0 and 1, or "
                "`sparse_categorical_crossentropy` for class numbers."
            )


def _beyond_unit(array: np.ndarray) -> bool:
    return bool(np.nanmin(array) < 0 or np.nanmax(array) > 1)


def _check_class_numbers(array: np.ndarray, shape: tuple, where: str, ignored: int | None) -> None:
    classes = shape[-1]
    if (
        classes is None
        or (array.ndim == len(shape) and array.shape[-1] != 1)
        or array.ndim > len(shape)
    ):
        return  # of another shape altogether; the loss says so
    bad = (array < 0) | (array >= classes)
    if ignored is not None:
        bad &= array != ignored
    if bad.any():
        first = array[bad].flat[0]
        raise ValueError(
            f"The labels `y`{where} hold the class {first}, at {int(bad.sum())} of {array.size} "
            f"places; the output has {classes} classes, so labels from 0 to {classes - 1} were "
            "expected. Number the classes from 0, or make the output wider."
        )


def logs_to_list(logs: Mapping[str, float], names: list[str]) -> Any:
    """Return the values of `evaluate` as a list in the order of the metrics, or the one value
    alone.
    """
    ordered = [logs[name] for name in names if name in logs]
    ordered += [value for name, value in logs.items() if name not in names]
    return ordered[0] if len(ordered) == 1 else ordered
