"""DatasetAdapter: batches of a Dataset, or of any other object that can be iterated repeatedly."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
from podium.core import Selection, Table
from podium.core.internal import preserve_key_order
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data._dataset import Dataset
from podium.data._structure import leaves, map_leaves
from podium.data.adapters._adapter import DataAdapter, Position
from podium.data.pipelines._batching import BatchPipeline
from podium.data.pipelines._pipeline import INFINITE_CARDINALITY, select_rows

# Types that can be iterated, but whose items are not batches.
_NOT_A_SOURCE = (type, set, frozenset, str, bytes, bytearray, dict, list, tuple)


class DatasetAdapter(DataAdapter):
    """Batches of a Dataset, or of an object whose `__iter__` starts a new iteration, such as a data
    loader.
    """

    def __init__(
        self, source: Any, *, steps: int | None = None, names: ArgumentNames = DEFAULT_NAMES
    ):
        super().__init__(source, steps=steps, names=names)
        self.owned = isinstance(source, Dataset)
        self.seekable = self.owned and source.pipeline.seekable
        self._table: Table | None = None
        self._start = 0
        self._order: list[Any] = []
        if not self.owned:
            self.kind = type(source).__name__
        if steps is None and self._cardinality() == INFINITE_CARDINALITY:
            self.steps = names.steps_for_infinite(
                f"`{names.x}` is an infinite dataset, and {names.steps} was not given. Say how "
                f"many batches make an epoch, `{names.steps}=100`, or leave out `repeat()`."
            )

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source can be iterated repeatedly."""
        return isinstance(x, Dataset) or (
            hasattr(x, "__iter__") and not isinstance(x, _NOT_A_SOURCE)
        )

    def iterate(self, epoch: int, start: Position = 0) -> Iterable[Tree]:
        """Start a new iteration."""
        if not isinstance(self.source, Dataset):
            source: Iterable[Tree] = self.source
            return source
        pipeline = self.source.pipeline
        self._start = start["element"] if isinstance(start, dict) else start
        if isinstance(start, dict):
            self.set_order(start["order"])
        self._order = pipeline.order()
        if self._table is None:
            return pipeline.elements(self._start)
        assert isinstance(pipeline, BatchPipeline)
        return (
            Selection(self._table, np.asarray(rows, np.int32))
            for rows in pipeline.batches_of_rows(self._start)
        )

    def current_order(self) -> list[Any]:
        """Return the states of the shuffles before the last iteration."""
        return self._order

    def next_order(self) -> list[Any]:
        """Return the states of the shuffles now."""
        return self.source.pipeline.order() if isinstance(self.source, Dataset) else []

    def set_order(self, order: list[Any]) -> None:
        """Restore the states of the shuffles."""
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

    def kept_rows(self) -> Tree:
        """Return the rows of the arrays that batches are cut from."""
        return None if self._table is None else self.source.pipeline.source.table

    def position(self, taken: int) -> dict[str, Any]:
        """Return the index of the next element, and what determined the order of the iteration."""
        return {"element": self._start + taken, "order": self._order}

    def get_size(self) -> int | None:
        """Return the number of batches, or None if it is unknown or infinite."""
        size = self._cardinality()
        return size if size is not None and size >= 0 else None

    def on_epoch_end(self) -> None:
        """Call the `on_epoch_end` of a loader that has one, such as one that shuffles."""
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


def _cut(table: Tree, rows: NDArray[Any]) -> Tree:
    return map_leaves(lambda array: select_rows(array, rows), table)
