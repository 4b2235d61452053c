"""Pipelines that call a user's function with elements. The function receives Tensors; its results
become NumPy values again.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from podium._typing import Tree
from podium.core import convert_to_tensor
from podium.data._structure import map_leaves
from podium.data.pipelines._pipeline import (
    UNKNOWN_CARDINALITY,
    OneToOnePipeline,
    Pipeline,
    SameSpecPipeline,
)
from podium.data.pipelines._sources import freeze_element


def as_tensors(element: Tree) -> Tree:
    """Convert the leaves of an element to Tensors. Text is left for `map` to turn into numbers."""
    return map_leaves(_as_tensor, element)


def call_with_element(fn: Callable[..., Any], element: Tree) -> Any:
    """Call a user's function with an element; the parts of a tuple become separate arguments."""
    tensors = as_tensors(element)
    return fn(*tensors) if isinstance(tensors, tuple) else fn(tensors)


class MapPipeline(OneToOnePipeline):
    """The results of a function for every element; each result must depend on its element alone."""

    def __init__(self, source: Pipeline, fn: Callable[..., Tree]):
        super().__init__(source)
        self._fn = fn

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the results."""
        for element in self.source.elements(start):
            yield freeze_element(call_with_element(self._fn, element), "result of map")

    def sample(self, batch: int) -> Tree:
        """Return the result for a sample."""
        return freeze_element(
            call_with_element(self._fn, self.source.sample(batch)), "result of map"
        )


class FilterPipeline(SameSpecPipeline):
    """The elements for which a function returns True."""

    def __init__(self, source: Pipeline, predicate: Callable[..., Any]):
        super().__init__(source)
        self.table = None
        self.seekable = False
        self._predicate = predicate

    def size(self) -> int:
        """Return UNKNOWN_CARDINALITY."""
        return UNKNOWN_CARDINALITY

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the elements that are kept."""
        return (
            element
            for element in self.source.elements()
            if bool(call_with_element(self._predicate, element))
        )


class InterleavePipeline(Pipeline):
    """The elements of a dataset made for each element; `cycle` datasets are open at once, and each
    in turn yields `block` elements.
    """

    def __init__(self, source: Pipeline, fn: Callable[..., Any], cycle: int = 1, block: int = 1):
        self._source = source
        self._fn = fn
        self._cycle = cycle
        self._block = block

    def size(self) -> int:
        """Return UNKNOWN_CARDINALITY."""
        return UNKNOWN_CARDINALITY

    def inputs(self) -> list[Pipeline]:
        """Return the source."""
        return [self._source]

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the elements of all datasets, a block from each open one in turn."""
        datasets = (self._make_dataset(element).elements() for element in self._source.elements())
        open_datasets = deque(itertools.islice(datasets, self._cycle))
        while open_datasets:
            current = open_datasets.popleft()
            count = 0
            for element in itertools.islice(current, self._block):
                count += 1
                yield element
            if count == self._block:
                open_datasets.append(current)
            else:  # it has ended; the next one replaces it
                open_datasets.extend(itertools.islice(datasets, 1))

    def sample(self, batch: int) -> Tree:
        """Return a sample of the first dataset."""
        return self._make_dataset(self._source.sample(batch)).sample(batch)

    def _make_dataset(self, element: Tree) -> Pipeline:
        dataset = call_with_element(self._fn, element)
        pipeline = getattr(dataset, "pipeline", None)
        if not isinstance(pipeline, Pipeline):
            raise TypeError(
                f"The function returned {type(dataset).__name__}; a Dataset was expected. Use "
                "`map` for a function that returns elements."
            )
        return pipeline


def _as_tensor(leaf: Any) -> Any:
    if isinstance(leaf, (str, bytes)) or (
        isinstance(leaf, np.ndarray) and leaf.dtype.kind in "OUS"
    ):
        return leaf
    return convert_to_tensor(leaf)
