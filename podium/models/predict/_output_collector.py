"""Collector: puts the outputs of `predict` together, batch behind batch, into one array for each.
What is one batch is here too.

Rows are written once, where they stay: `_output_rows.py` says where that is.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from podium.core import Tensor, convert_to_tensor
from podium.core.internal import preserve_key_order
from podium.data import DataHandler
from podium.execution import StepValues
from podium.models.predict._memory_estimate import warn_if_too_large
from podium.models.predict._output_rows import GivenRows, NewRows

_IN_FLIGHT = 4  # single steps left on the device, so that the next one is not waited for
_ROWS_IN_FLIGHT = 1  # rows of fused ones


class Collector:
    """The outputs of a run, in any structure.

    Args:
        data: Says how many samples there are, if it knows.
        out: What to fill, in the structure of the outputs; new arrays by default.
    """

    def __init__(self, data: DataHandler | None = None, out: Any = None):
        self._data = data
        self._out = out
        self._structure: Any = None
        self._places: list[NewRows | GivenRows] = []
        self._waiting: deque[Any] = deque()

    def expect(self, outputs: Any) -> None:
        """Make room for all outputs, knowing the shapes and types of those of the first batch.

        Raises:
            ValueError: What is to be filled does not fit them.
        """
        leaves, self._structure = _flat(outputs)
        counts = [self._rows_to_come(leaf.shape) for leaf in leaves]
        kinds = [(tuple(leaf.shape[1:]), np.dtype(leaf.dtype)) for leaf in leaves]
        if self._out is None:
            known = zip(kinds, counts, strict=True)
            warn_if_too_large(
                sum(
                    (count or 0) * math.prod(row) * dtype.itemsize
                    for (row, dtype), (count, _) in known
                )
            )
            self._places = [
                NewRows(*kind, *count) for kind, count in zip(kinds, counts, strict=True)
            ]
        else:
            wanted = zip(self._sinks(), kinds, counts, strict=True)
            self._places = [
                GivenRows(sink, *kind, count if sure else None)
                for sink, kind, (count, sure) in wanted
            ]

    def add(self, values: Any) -> None:
        """Add the outputs of an execution. They are fetched when some more have been started."""
        if self._structure is None:
            outputs = values.each()[0] if isinstance(values, StepValues) else values
            self.expect(jax.tree.map(np.asarray, preserve_key_order(outputs), is_leaf=_is_tensor))
        self._waiting.append(values)
        most = _IN_FLIGHT if getattr(values, "count", 1) == 1 else _ROWS_IN_FLIGHT
        while len(self._waiting) > most:
            self._fetch()

    def result(self) -> Any:
        """Return everything in the structure of one batch's outputs."""
        while self._waiting:
            self._fetch()
        found = [place.result() for place in self._places]
        return jax.tree.unflatten(self._structure, found) if self._out is None else self._out

    def _fetch(self) -> None:
        """Copy the outputs that have waited longest to their place."""
        for outputs, turns in _blocks(self._waiting.popleft()):
            leaves, structure = _flat(outputs)
            if structure != self._structure:
                raise ValueError(
                    f"`predict_step` returned {structure} after {self._structure}. It must return "
                    "the same structure for every batch, so that the batches can be put together."
                )
            for place, leaf in zip(self._places, leaves, strict=True):
                place.add(_rows(leaf, turns))

    def _rows_to_come(self, shape: tuple[int, ...]) -> tuple[int | None, bool]:
        """Return how many rows an output will have, if that can be said, and whether it is sure."""
        data = self._data
        if data is None:
            return None, False
        samples, full = data.samples, data.adapter.batch_size()
        if shape and samples is not None and full is not None and shape[0] == min(samples, full):
            return samples, True
        steps = data.inferred_steps
        return (None if steps is None else steps * (shape[0] if shape else 1)), False

    def _sinks(self) -> list:
        """Return what is to be filled, in the order of the outputs."""
        try:
            return self._structure.flatten_up_to(preserve_key_order(self._out))
        except (ValueError, TypeError):
            raise ValueError(
                f"`out` is {jax.tree.structure(preserve_key_order(self._out))}, and the outputs are "
                f"{self._structure}. Give what shall be "
                "filled in the structure of the outputs."
            ) from None


def joined(values: Any) -> Any:
    """Return the outputs of one execution, those of several steps put together."""
    blocks = _blocks(values)
    if len(blocks) == 1 and blocks[0][1] is None:
        return blocks[0][0]
    together = Collector()
    together.add(values)
    return together.result()


def batches_of(values: Any) -> Iterator[Any]:
    """Walk the outputs of an execution batch by batch, as NumPy arrays of their own."""
    for outputs, turns in _blocks(values):
        leaves, structure = _flat(outputs)
        arrays = [np.asarray(leaf) for leaf in leaves]
        if turns is None:
            yield jax.tree.unflatten(structure, [np.array(array) for array in arrays])
            continue
        for turn in range(turns):
            yield jax.tree.unflatten(structure, [np.array(array[turn]) for array in arrays])


def as_output(leaf: Any) -> Any:
    """Turn a plain number that `predict_step` returns into a Tensor, one per batch."""
    return (
        convert_to_tensor(leaf)
        if isinstance(leaf, (bool, int, float, np.generic, np.ndarray))
        else leaf
    )


def _blocks(values: Any) -> list[tuple[Any, int | None]]:
    return values.blocks() if isinstance(values, StepValues) else [(values, None)]


def _rows(leaf: Any, turns: int | None) -> np.ndarray:
    """Return the rows of a batch, or of several that lie in a row; a number is one row. Where the
    host can, nothing is copied.
    """
    array = np.asarray(leaf)
    if turns is None:
        return array[None] if array.ndim == 0 else array
    array = array[:turns]
    return (
        array
        if array.ndim == 1
        else array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
    )


def _flat(outputs: Any) -> tuple[list, Any]:
    return jax.tree.flatten(preserve_key_order(outputs), is_leaf=_is_tensor)


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, Tensor)
