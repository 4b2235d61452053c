"""Data of models with a text part: text becomes numbers on the host as batches are read.

Arrays are represented by the indices of their rows, so that they are shuffled, divided into batches
and split as all arrays are; the rows of a batch are then looked up. Other sources are wrapped.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from podium._typing import Tree
from podium.core import tree_leaves
from podium.core.internal import as_text_array, is_string_dtype, is_text
from podium.data import (
    Dataset,
    PyDataset,
    pack_x_y_sample_weight,
    train_validation_split,
    unpack_x_y_sample_weight,
)
from podium.data.internal import is_array_source, record_to_dict
from podium.models._text_part import TextPart, is_list_of_inputs

if TYPE_CHECKING:
    from podium.models._model import Model
    from podium.models._sequential import Sequential

Transform = Callable[[Tree], Tree]


@dataclasses.dataclass(frozen=True)
class TextRows:
    """Rows of arrays, some of them text.

    Attributes:
        arrays: All the arrays.
        rows: The indices of the rows.
    """

    arrays: Tree
    rows: np.ndarray[Any, Any]

    def select(self, rows: np.ndarray[Any, Any]) -> Tree:
        """Return some of the rows of the arrays, by index in the arrays."""
        return _map_arrays(lambda array: array[np.asarray(rows)], self.arrays)


def prepare_source(model: Model, x: Tree) -> tuple[Tree, Transform | None]:
    """Return a source of numbers in the place of one with text, and a function to apply to its
    batches, or None. Sources of models without text are returned as they are.
    """
    _build_for_text(model, x)
    part = model._text_part
    if part is None:
        return x, None
    if isinstance(x, Dataset):
        return x.map(functools.partial(_prepare_element, part)), None
    if isinstance(x, PyDataset):
        return _PreparedPyDataset(part, x), None
    if isinstance(x, TextRows) or is_text(x) or is_array_source(x):
        text_rows = x if isinstance(x, TextRows) else find_rows(model, x)
        return text_rows.rows, functools.partial(_prepare_rows, part, text_rows)
    if hasattr(x, "__next__"):
        return (_prepare_batch(part, batch) for batch in x), None
    return _PreparedBatches(part, x) if hasattr(x, "__iter__") else x, None


def split_rows(model: Model, arrays: tuple[Tree, Tree, Tree], fraction: float) -> tuple[Tree, Tree]:
    """Return what `train_validation_split` returns, for inputs that may hold text."""
    x, y, sample_weight = arrays
    _build_for_text(model, x)
    if model._text_part is None or not (is_text(x) or is_array_source(x)):
        return train_validation_split(arrays, fraction)
    text_rows = find_rows(model, x)
    parts = train_validation_split((text_rows.rows, y, sample_weight), fraction)
    train, validation = (
        (dataclasses.replace(text_rows, rows=rows), *targets) for rows, *targets in parts
    )
    return train, validation


def find_rows(model: Model, x: Tree) -> TextRows:
    """Return the rows of arrays and lists of text and of numbers, which have one length."""
    num_inputs = 1 if model._graph is None else len(model._graph.flat_inputs)
    x = record_to_dict(x)
    is_list = is_list_of_inputs(x, num_inputs)
    arrays = list(map(_as_arrays, x)) if is_list else _as_arrays(x)
    lengths = {len(array) if array.ndim else 0 for array in _list_arrays(arrays)}
    if len(lengths) != 1 or 0 in lengths:
        shapes = [array.shape for array in _list_arrays(arrays)]
        raise ValueError(
            f"`x` holds arrays of shapes {shapes}; arrays with the same number of samples, at "
            "least one, were expected."
        )
    return TextRows(arrays, np.arange(lengths.pop()))


def _as_arrays(x: Tree) -> Tree:
    if is_text(x):
        return as_text_array(x, "x")
    if isinstance(x, Mapping):
        return {name: _as_arrays(part) for name, part in x.items()}
    if hasattr(x, "columns") and hasattr(x, "iloc"):  # a DataFrame
        return {str(name): _as_arrays(x[name]) for name in x.columns}
    if isinstance(x, (list, tuple)) and any(hasattr(part, "shape") for part in x):
        return [_as_arrays(part) for part in x]
    return np.asarray(x)


def _list_arrays(arrays: Tree) -> list[np.ndarray[Any, Any]]:
    if isinstance(arrays, dict):
        return [array for part in arrays.values() for array in _list_arrays(part)]
    if isinstance(arrays, list):
        return [array for part in arrays for array in _list_arrays(part)]
    return [arrays]


def _map_arrays(fn: Transform, arrays: Tree) -> Tree:
    if isinstance(arrays, dict):
        return {name: _map_arrays(fn, part) for name, part in arrays.items()}
    if isinstance(arrays, list):
        return [_map_arrays(fn, part) for part in arrays]
    return fn(arrays)


def _prepare_element(part: TextPart, x: Tree, *targets: Tree) -> Tree:
    return (part.prepare(x), *targets) if targets else part.prepare(x)


def _prepare_batch(part: TextPart, batch: Tree) -> Tree:
    x, y, sample_weight = unpack_x_y_sample_weight(batch)
    return pack_x_y_sample_weight(part.prepare(x), y, sample_weight)


def _prepare_rows(part: TextPart, text_rows: TextRows, batch: Tree) -> Tree:
    rows, y, sample_weight = unpack_x_y_sample_weight(batch)
    results = part.prepare(text_rows.select(rows))
    arrays = {name: np.asarray(value) for name, value in results.items()}
    return pack_x_y_sample_weight(arrays, y, sample_weight)


class _PreparedPyDataset(PyDataset):
    """The batches of a PyDataset with numbers for text; threads make them, and no processes."""

    def __init__(self, part: TextPart, source: PyDataset):
        super().__init__(source.workers, False, source.max_queue_size)
        self._part = part
        self._source = source
        self.num_batches = source.num_batches

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, index: int) -> Tree:
        return _prepare_batch(self._part, self._source[index])

    def on_epoch_begin(self) -> None:
        self._source.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self._source.on_epoch_end()


class _PreparedBatches:
    """The batches of an object that can be iterated repeatedly, with numbers for text."""

    def __init__(self, part: TextPart, source: Any):
        self._part = part
        self._source = source

    def __iter__(self) -> Iterator[Tree]:
        return (_prepare_batch(self._part, batch) for batch in self._source)

    def __len__(self) -> int:
        return len(self._source)


def _build_for_text(model: Model, x: Tree) -> None:
    """Build a Sequential model without an Input if the data are text."""
    if model._graph is not None or not model._runs_layers():
        return
    sequential = cast("Sequential", model)
    if isinstance(x, Dataset):
        spec = tree_leaves(x.element_spec)[0]
        if is_string_dtype(getattr(spec, "dtype", None)):
            sequential.build_for_text(tuple(spec.shape))
    elif is_text(x):
        sequential.build_for_text(np.shape(as_text_array(x, "x")))
