"""Pipelines that run a user's function on elements. The function sees Tensors; what it returns
becomes NumPy again.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from podium.core import convert_to_tensor
from podium.data._structure import map_leaves
from podium.data.pipelines._pipeline import (
    UNKNOWN_CARDINALITY,
    OneToOnePipeline,
    Pipeline,
    SameSpecPipeline,
)
from podium.data.pipelines._sources import freeze_element


def as_tensors(element: Any) -> Any:
    """Wrap the leaves of an element into Tensors. Text stays as it is, for `map` to turn into
    numbers.
    """
    return map_leaves(_as_tensor, element)


def call(fn: Callable, element: Any) -> Any:
    """Call a user's function with an element; the parts of a tuple become arguments of their
    own.
    """
    tensors = as_tensors(element)
    return fn(*tensors) if isinstance(tensors, tuple) else fn(tensors)


class MapPipeline(OneToOnePipeline):
    """The results of a function for every element; it is taken to depend on its element alone."""

    def __init__(self, source: Pipeline, fn: Callable):
        super().__init__(source)
        self._fn = fn

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the results."""
        for element in self.source.elements(start):
            yield freeze_element(call(self._fn, element), "result of map")

    def sample(self, batch: int) -> Any:
        """Return the result for a sample."""
        return freeze_element(call(self._fn, self.source.sample(batch)), "result of map")


class FilterPipeline(SameSpecPipeline):
    """The elements for which a function returns True."""

    def __init__(self, source: Pipeline, predicate: Callable):
        super().__init__(source)
        self.table = None
        self.seekable = False
        self._predicate = predicate

    def size(self) -> int:
        """Return that nobody knows."""
        return UNKNOWN_CARDINALITY

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the elements that pass."""
        return (
            element for element in self.source.elements() if bool(call(self._predicate, element))
        )


class InterleavePipeline(Pipeline):
    """The elements of a dataset made for each element; `cycle` of them are open at once and give
    `block` in turn.
    """

    def __init__(self, source: Pipeline, fn: Callable, cycle: int = 1, block: int = 1):
        self._source = source
        self._fn = fn
        self._cycle = cycle
        self._block = block

    def size(self) -> int:
        """Return that nobody knows."""
        return UNKNOWN_CARDINALITY

    def inputs(self) -> list[Pipeline]:
        """Return the one from whose elements it makes datasets."""
        return [self._source]

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the elements of all datasets, a block from each open one in turn."""
        made = (self._made(element).elements() for element in self._source.elements())
        waiting: deque = deque(itertools.islice(made, self._cycle))
        while waiting:
            current = waiting.popleft()
            given = 0
            for element in itertools.islice(current, self._block):
                given += 1
                yield element
            if given == self._block:
                waiting.append(current)
            else:  # it has ended; the next one takes its place in the round
                waiting.extend(itertools.islice(made, 1))

    def sample(self, batch: int) -> Any:
        """Return a sample of the first dataset."""
        return self._made(self._source.sample(batch)).sample(batch)

    def _made(self, element: Any) -> Pipeline:
        made = call(self._fn, element)
        pipeline = getattr(made, "pipeline", None)
        if not isinstance(pipeline, Pipeline):
            raise TypeError(
                f"The function returned {type(made).__name__}; a Dataset was expected. Use `map` "
                "for a function that returns elements."
            )
        return pipeline


def _as_tensor(leaf: Any) -> Any:
    if isinstance(leaf, (str, bytes)) or (
        isinstance(leaf, np.ndarray) and leaf.dtype.kind in "OUS"
    ):
        return leaf
    return convert_to_tensor(leaf)
