"""warm_up: compiles a model's steps in advance, from examples or from shapes and dtypes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax
import numpy as np

from podium._typing import Tree
from podium.core import KerasTensor, TensorSpec, check_choice, map_structure, tree_leaves
from podium.data import DataHandler
from podium.execution import Execution
from podium.execution.internal import CustomExecution, to_execution
from podium.models.training._run_guard import hold_model
from podium.telemetry.internal import clock

if TYPE_CHECKING:
    from podium.models._model import Model

_CALLERS = {"train": "fit", "test": "evaluate", "predict": "predict"}
_SPECS = (TensorSpec, KerasTensor, jax.ShapeDtypeStruct)


def warm_up(
    model: Model,
    x: Tree,
    y: Tree,
    sample_weight: Tree,
    batch_size: int | None,
    kinds: str | Sequence[str],
) -> dict[str, float]:
    """Compile what `fit`, `evaluate` and `predict` would for these arguments; see
    `Model.warm_up`.
    """
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    for kind in kinds:
        check_choice("kinds", kind, list(_CALLERS))
    if hasattr(type(x), "__next__"):
        raise TypeError(
            f"warm_up was given x={x!r}, which can be read only once: the batch that is read here "
            "would be missing in training. Pass arrays, a Dataset, or TensorSpecs."
        )
    x, y, sample_weight, batch_size = _examples(
        x, y, sample_weight, batch_size, model._steps_per_execution.given
    )
    seconds = {}
    for kind in kinds:
        start = clock.seconds()
        with hold_model(model, _CALLERS[kind]):
            target, weight = (None, None) if kind == "predict" else (y, sample_weight)
            data = model._make_data(_CALLERS[kind], x, target, weight, batch_size)
            execution = to_execution(getattr(model, f"make_{kind}_function")())
            with data:
                for _ in data.enumerate_epochs():  # limits `steps_per_execution` to an epoch
                    execution.warm_up(data.peek(), data.steps_per_execution)
                    _warm_up_remainder(execution, data)
                    break
        seconds[kind] = clock.seconds() - start
    return seconds


def _warm_up_remainder(execution: Execution | CustomExecution, data: DataHandler) -> None:
    """Compile also for the smaller last batch of arrays."""
    adapter = data.adapter
    size = adapter.get_size()
    if size is not None and size > 1 and adapter.has_partial_batch() and adapter.seekable:
        for batch in adapter.iterate(0, size - 1):
            execution.warm_up(batch, data.steps_per_execution)
            return


def _examples(
    x: Tree, y: Tree, sample_weight: Tree, batch_size: int | None, steps: int
) -> tuple[Tree, Tree, Tree, int | None]:
    """Replace specs by arrays of zeros with the rows of one execution."""
    specs = [leaf for leaf in tree_leaves((x, y, sample_weight)) if isinstance(leaf, _SPECS)]
    if not specs:
        return x, y, sample_weight, batch_size
    known = [spec.shape[0] for spec in specs if spec.shape and isinstance(spec.shape[0], int)]
    batch_size = batch_size or (known[0] if known else 32)

    def make_example(leaf: object) -> object:
        if not isinstance(leaf, _SPECS):
            return leaf
        if not leaf.shape or any(not isinstance(size, int) for size in leaf.shape[1:]):
            raise ValueError(
                f"warm_up was given {leaf!r}; a program is compiled for fixed sizes. Give all but "
                "the first, which is the batch size if it is None: `TensorSpec((None, 8))`."
            )
        zero = np.zeros((), leaf.dtype)
        return np.broadcast_to(zero, (batch_size * steps, *leaf.shape[1:]))

    x, y, sample_weight = map_structure(make_example, (x, y, sample_weight))
    return x, y, sample_weight, batch_size
