"""Datasets, and any other object that can be walked again and again and gives batches."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from podium.core import Selection, Table
from podium.core.internal import preserve_key_order
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data._dataset import Dataset
from podium.data._structure import leaves, map_leaves
from podium.data.adapters._adapter import DataAdapter
from podium.data.pipelines._batching import BatchPipeline
from podium.data.pipelines._pipeline import INFINITE_CARDINALITY, select_rows

_NO_SOURCE = (
    type,
    set,
    frozenset,
    str,
    bytes,
    bytearray,
    dict,
    list,
    tuple,
)  # can be iterated, but not as batches


class DatasetAdapter(DataAdapter):
    """Batches of a Dataset, or of an object whose `__iter__` starts a new walk, such as a data
    loader.
    """

    def __init__(
        self, source: Any, *, steps: int | None = None, names: ArgumentNames = DEFAULT_NAMES
    ):
        super().__init__(source, steps=steps, names=names)
        self.owned = isinstance(source, Dataset)
        self.seekable = self.owned and source.pipeline.seekable
        self._table: Table | None = None
        self._from = 0
        self._order: list = []
        if not self.owned:
            self.kind = type(source).__name__
        if steps is None and self._cardinality() == INFINITE_CARDINALITY:
            self.steps = names.steps_for_infinite(
                f"`{names.x}` is an infinite dataset, and {names.steps} was not given. Say how "
                f"many batches make an epoch, `{names.steps}=100`, or leave out `repeat()`."
            )

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source can be walked again and again."""
        return isinstance(x, Dataset) or (hasattr(x, "__iter__") and not isinstance(x, _NO_SOURCE))

    def iterate(self, epoch: int, start: Any = 0) -> Iterable[Any]:
        """Start a new walk."""
        if not isinstance(self.source, Dataset):
            return self.source
        pipeline = self.source.pipeline
        if isinstance(start, dict):
            self.set_order(start["order"])
            start = start["element"]
        self._from, self._order = start, pipeline.order()
        if self._table is None:
            return pipeline.elements(start)
        assert isinstance(pipeline, BatchPipeline)
        return (
            Selection(self._table, np.asarray(rows, np.int32))
            for rows in pipeline.batches_of_rows(start)
        )

    def order_of_walk(self) -> list:
        """Return the states of the shuffles before the last walk."""
        return self._order

    def order_of_next(self) -> list:
        """Return the states of the shuffles now."""
        return self.source.pipeline.order() if isinstance(self.source, Dataset) else []

    def set_order(self, order: list) -> None:
        """Put back the states of the shuffles."""
        self.source.pipeline.set_order(list(order))

    def keep_on_device(self, budget: int, passes: int) -> bool:
        """Keep the arrays that a Dataset cuts its batches from on the device, if they fit the
        budget.
        """
        pipeline = getattr(self.source, "pipeline", None)
        if (
            passes < 2
            or type(pipeline) is not BatchPipeline
            or pipeline.source.table is None
            or not self.get_size()
        ):
            return False
        arrays = leaves(pipeline.source.table)
        if (
            any(array.dtype.kind in "OUS" for array in arrays)
            or sum(array.nbytes for array in arrays) > budget
        ):
            return False
        treedef = jax.tree.structure(preserve_key_order(pipeline.source.table))
        self._table = Table(
            [(array, array.dtype) for array in arrays],
            treedef,
            functools.partial(_cut, pipeline.source.table),
        )
        self.checked = True  # rows of arrays of one length
        return True

    def position(self, taken: int) -> dict[str, Any]:
        """Return the number of elements taken, and what decided the order of the walk."""
        return {"element": self._from + taken, "order": self._order}

    def get_size(self) -> int | None:
        """Return the number of batches, or None if nobody knows or there is no end."""
        size = self._cardinality()
        return size if size is not None and size >= 0 else None

    def on_epoch_end(self) -> None:
        """Tell a loader that wants to know, such as one that shuffles between epochs."""
        if not isinstance(self.source, Dataset) and callable(
            getattr(self.source, "on_epoch_end", None)
        ):
            self.source.on_epoch_end()

    def _cardinality(self) -> int | None:
        if isinstance(self.source, Dataset):
            return int(self.source.cardinality())
        try:
            return len(self.source)
        except TypeError:
            return None


def _cut(table: Any, rows: Any) -> Any:
    return map_leaves(lambda array: select_rows(array, rows), table)
