"""Checks of the first batch and of the labels against the model, before anything is traced.

The shapes of targets are checked by the losses while a step is traced, which is before anything is
compiled too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Array, SymbolicShape, Tree
from podium.core import (
    GradientTape,
    KerasTensor,
    Tensor,
    map_structure,
    tree_leaves,
    warn_user,
)
from podium.data import expand_1d, unpack_x_y_sample_weight
from podium.data.internal import is_memory_mapped, record_to_dict
from podium.layers import Embedding
from podium.layers.internal import build_for_arguments, check_indices
from podium.losses import (
    BinaryCrossentropy,
    SparseCategoricalCrossentropy,
    binary_crossentropy,
    sparse_categorical_crossentropy,
)
from podium.models.compile._compiled_loss import loss_name
from podium.models.compile._output_mapping import (
    flatten_outputs,
    flatten_targets,
    layer_names,
    output_names,
)

if TYPE_CHECKING:
    from podium.models._model import Model

# The methods that read data: the kind of step that they run, and whose arguments messages name.
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


def num_samples(x: Tree) -> int | None:
    """Return the number of samples of a batch, or None if it cannot be determined."""
    for leaf in tree_leaves(record_to_dict(x)):
        if len(np.shape(leaf)):
            return max(1, int(np.shape(leaf)[0]))
    return None


def add_feature_axis(model: Model, x: Tree) -> Tree:
    """Add an axis of size 1 to one-dimensional inputs, unless the model's graph determines their
    rank.
    """
    return x if model.inputs is not None else expand_1d(x)


def check_batch(
    model: Model, batch: Tree, caller: str, default_step: bool, needs_target: bool
) -> None:
    """Check a batch against the inputs of the model, and that it has a target if its loss needs
    one.

    Args:
        model: The model.
        batch: A batch as the data source yields it.
        caller: The method that was called, for messages.
        default_step: Whether the model uses its built-in step; an overridden one may accept any
            batch.
        needs_target: Whether a loss will be computed.
    """
    if not default_step:
        return
    x, y, _ = unpack_x_y_sample_weight(batch)
    if needs_target and y is None:
        _check_not_named_parts(model, x)
    if model._text_part is not None:
        model._text_part.numeric.check(x)
    elif model._graph is not None:
        model._graph.check(x)
    if needs_target and y is None and model.loss is not None:
        raise ValueError(
            f"`{caller}` was given no target: `y` is None (missing), and the model was compiled "
            "with a loss, which needs one. Pass `y=...`; a generator or Dataset must yield tuples "
            "`(x, y)`, and validation_data must be `(x, y)`."
        )


def _check_not_named_parts(model: Model, x: Tree) -> None:
    """Raise for a batch `{"x": ..., "y": ...}`: a dictionary is taken for inputs by name."""
    if isinstance(x, Mapping) and {"x", "y"} <= x.keys() and "y" not in model.input_names:
        keys = [key for key in ("x", "y", "sample_weight") if key in x]
        parts = ", ".join(f"batch[{key!r}]" for key in keys)
        raise ValueError(
            f"A batch is a dictionary with the keys {list(x)}: a dictionary means inputs by name, "
            "so that there is no target. Tuples `(x, y)` were expected; let the generator or "
            f"Dataset yield `({parts})`."
        )


def check_loss_value(model: Model, loss: object, tape: GradientTape) -> None:
    """Raise if there is no loss to train with, or none that has a gradient."""
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
    if (
        model.loss is not None
        and isinstance(loss, Tensor)
        and model.trainable_variables
        and not tape.tracks(loss)
    ):
        names = ", ".join(
            repr(loss_name(loss)) for loss in model.compiled_loss.losses if loss is not None
        )
        raise ValueError(
            f"The loss {names} has no gradient: it returned a constant, integers or booleans, or "
            "values that were not computed from y_pred by operators or `podium.ops`. Return float "
            "values that depend on y_pred; comparisons and `ops.cast(..., 'int32')` have no "
            "gradient."
        )


def _default_compute_loss(model: Model) -> object:
    """Return the built-in `compute_loss`: that of the last class in the order that defines one."""
    return [
        vars(cls)["compute_loss"] for cls in type(model).__mro__ if "compute_loss" in vars(cls)
    ][-1]


def check_indices_of_embeddings(model: Model, x: Tree) -> None:
    """Check arrays of indices against the Embeddings that the inputs of a graph are passed to."""
    embeddings = _embeddings_of_inputs(model)
    graph = model._graph
    if not embeddings or graph is None:
        return
    x = record_to_dict(x)
    try:
        arrays = graph.flatten_inputs(x)
    except ValueError:
        return  # a list of numbers, or a structure that the model raises for
    by_input = dict(zip(map(id, graph.flat_inputs), arrays, strict=True))
    for symbol, layer in embeddings:
        array = by_input.get(id(symbol))
        if not isinstance(array, np.ndarray) or is_memory_mapped(array):
            continue  # files are not read for this check
        if array.size and array.dtype.kind in "iuf":
            check_indices(layer, array)


def _embeddings_of_inputs(model: Model) -> list[tuple[Any, Embedding]]:
    """Return the Embeddings in a graph and in the models of one input in it, each with the symbolic
    value that is passed to it.
    """
    embeddings: list[tuple[Any, Embedding]] = []
    for node in () if model._graph is None else model._graph.nodes:
        inner = getattr(node.layer, "_graph", None)  # of a model
        looks_up = isinstance(node.layer, Embedding) and not node.kwargs.get("reverse")
        if looks_up and node.inputs:
            embeddings.append((node.inputs[0], node.layer))
        elif inner is not None and len(inner.flat_inputs) == len(node.inputs) == 1:
            embeddings += [
                (node.inputs[0], embedding)
                for symbol, embedding in _embeddings_of_inputs(cast("Model", node.layer))
                if symbol is inner.flat_inputs[0]
            ]
    return embeddings


def warn_nothing_to_train(model: Model) -> None:
    """Warn that a model has no trainable weights, once after it was compiled."""
    if model._compile_state.has_warned:
        return
    model._compile_state.has_warned = True
    weights = "they are all frozen" if model.weights else "it has no weights"
    warn_user(
        f"Model {model.name!r} has no weights to train ({weights}): training changes nothing. Set "
        "`trainable = True` on a layer and compile again, or use `evaluate`."
    )


def build_from_batch(model: Model, batch: Tree) -> None:
    """Build a Sequential model without an Input, as its first call would, so that its outputs are
    known.
    """
    if model._graph is None and model._runs_layers():
        x = record_to_dict(unpack_x_y_sample_weight(batch)[0])
        if all(map(_has_numbers, tree_leaves(x))):
            symbols = map_structure(_symbol_like, add_feature_axis(model, x))
            build_for_arguments(model, {"inputs": symbols})


def _has_numbers(value: object) -> bool:
    if not isinstance(value, (np.ndarray, Tensor, jax.Array)):
        return False
    return np.dtype(value.dtype).kind not in "OSUT"


def _symbol_like(array: Array | Tensor) -> KerasTensor:
    return KerasTensor(array.shape, str(array.dtype))


class BatchCheck:
    """Checks the class labels and the indices for Embeddings in a batch; called with each batch of
    a generator or Dataset. Arrays on a device are not read for it.

    The first batches are read before the model is built from them; they wait until `begin`.

    Args:
        model: The model.
        needs_target: Whether a loss will be computed.
    """

    def __init__(self, model: Model, needs_target: bool):
        self._model = model
        self._needs_target = needs_target
        self._waiting: deque[Tree] = deque()
        self._has_begun = self._has_labels = self._has_indices = False

    def begin(self) -> None:
        """Check the batches that were read; the model is built now, if it can be."""
        model = self._model
        self._has_labels = (
            self._needs_target
            and model.outputs is not None
            and model.compiled
            and any(map(_takes_class_labels, model.compiled_loss.losses_for(model.output)))
        )
        self._has_indices = bool(_embeddings_of_inputs(model))
        self._has_begun = True
        self._check_waiting()

    def __call__(self, batch: Tree) -> None:
        """Check a batch, now or in `begin`; it may be read by another thread."""
        self._waiting.append(batch)
        if self._has_begun:
            self._check_waiting()

    def _check_waiting(self) -> None:
        while self._waiting:
            x, y, _ = unpack_x_y_sample_weight(self._waiting.popleft())
            in_memory = all(isinstance(leaf, np.ndarray) for leaf in tree_leaves(y))
            if self._has_labels and y is not None and in_memory:
                check_labels(self._model, y)
            if self._has_indices:
                check_indices_of_embeddings(self._model, x)


def _takes_class_labels(loss: object) -> bool:
    return (
        isinstance(loss, SparseCategoricalCrossentropy)
        or getattr(loss, "fn", None) is sparse_categorical_crossentropy
    )


def check_labels(model: Model, y: Tree) -> None:
    """Check that class labels are in the range of the classes, for losses that take labels."""
    if y is None or model.outputs is None or not model.compiled:
        return
    structure = model.output
    y = record_to_dict(y)
    if isinstance(y, (list, tuple)) and not isinstance(structure, (list, tuple, Mapping)):
        y = np.asarray(y) if len(y) != 1 else y[0]  # a list of numbers
    names = output_names(structure, layer_names(structure))
    losses = model.compiled_loss.losses_for(structure)
    rows = zip(
        losses,
        names,
        flatten_targets("y", y, structure, names, [loss is not None for loss in losses]),
        flatten_outputs(structure),
        strict=True,
    )
    for loss, name, target, output in rows:
        if not isinstance(target, (np.ndarray, Tensor)):
            continue
        if isinstance(target, np.ndarray) and is_memory_mapped(target):
            continue  # files are not read for this check
        array = np.asarray(target)
        if array.size == 0 or array.dtype.kind not in "iufb":
            continue
        where = f" of output {name!r}" if len(names) > 1 else ""
        function = getattr(loss, "fn", None)
        if _takes_class_labels(loss):
            ignored_class = getattr(loss, "ignore_class", None)
            _check_class_labels(array, output.shape, where, ignored_class)
        elif isinstance(loss, BinaryCrossentropy) or function is binary_crossentropy:
            _check_probabilities(array, where)


def _check_probabilities(array: NDArray[Any], where: str) -> None:
    if np.nanmin(array) < 0 or np.nanmax(array) > 1:
        warn_user(
            f"The targets `y`{where} run from {array.min()} to {array.max()}, and binary "
            "crossentropy expects values from 0 to 1. Use labels 0 and 1, or "
            "`sparse_categorical_crossentropy` for class numbers."
        )


def _check_class_labels(
    array: NDArray[Any], shape: SymbolicShape, where: str, ignored_class: int | None
) -> None:
    num_classes = shape[-1]
    if (
        num_classes is None
        or (array.ndim == len(shape) and array.shape[-1] != 1)
        or array.ndim > len(shape)
    ):
        return  # the shape is wrong; the loss raises
    out_of_range = (array < 0) | (array >= num_classes)
    if ignored_class is not None:
        out_of_range &= array != ignored_class
    if out_of_range.any():
        first = array[out_of_range].flat[0]
        raise ValueError(
            f"The labels `y`{where} hold the class {first}, at {int(out_of_range.sum())} of "
            f"{array.size} places; the output has {num_classes} classes, so labels from 0 to "
            f"{num_classes - 1} were expected. Number the classes from 0, or make the output wider."
        )


def logs_to_list(logs: Mapping[str, float], names: list[str]) -> float | list[float]:
    """Return the values of `evaluate` as a list in the order of the metrics, or a single value."""
    values = [logs[name] for name in names if name in logs]
    values += [value for name, value in logs.items() if name not in names]
    return values[0] if len(values) == 1 else values
