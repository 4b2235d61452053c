"""StepValues: the results of the steps of one execution, as device values that are read lazily."""

from __future__ import annotations

from typing import Any, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Shape, Tree
from podium.core.internal import PublicRepr, unwrap_result


class _HasStructure(Protocol):
    """A program: it has the tree definition of its result."""

    @property
    def structure(self) -> Any: ...


class Row(PublicRepr):
    """The value of one step in an array of the values that several steps computed together.

    Example:
        >>> row = podium.execution.Row(jnp.asarray([1.0, 2.0, 3.0]), 1)
        >>> float(row), row.shape
        (2.0, ())
    """

    __slots__ = ("index", "values")

    def __init__(self, values: jax.Array, index: int):
        self.values = values
        self.index = index

    @property
    def shape(self) -> Shape:
        """The shape of the value."""
        return self.values.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the value."""
        return self.values.dtype

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        value = np.asarray(self.values)[self.index]
        return np.asarray(value, dtype=dtype)

    def __float__(self) -> float:
        return float(np.asarray(self.values)[self.index])


class StepValues(PublicRepr):
    """The results of one execution, step by step.

    Args:
        program: What computed them; its `structure` is the tree definition of a step's result.
        leaves: The leaves: of a single step, or stacked for all fused steps.
        count: How many steps the leaves hold; None for the leaves of a single step.

    Attributes:
        count: The number of steps.

    Example:
        >>> execution = podium.execution.Execution(lambda x: {"double": 2 * x}, 2)
        >>> values = execution(iter([np.float32(1.0), np.float32(3.0)]))
        >>> float(values.last["double"]), values.count
        (6.0, 2)
    """

    __slots__ = ("_leaves", "_parts", "_program", "_results", "_stacked", "count")

    def __init__(
        self, program: _HasStructure | None, leaves: list[jax.Array], count: int | None = None
    ):
        self._program = program
        self._leaves = leaves
        self._stacked = count  # how many steps the leaves hold; None for a single step
        self._results: list[Tree] | None = None  # of steps that ran eagerly
        self._parts: list[StepValues] = []  # of several executions
        self.count = 1 if count is None else count

    @classmethod
    def from_results(cls, results: list[Tree]) -> StepValues:
        """Return the values of steps that ran eagerly."""
        values = cls(None, [], len(results))
        values._results = [unwrap_result(result) for result in results]
        return values

    @classmethod
    def concatenate(cls, parts: list[StepValues]) -> StepValues:
        """Return the values of several executions as one."""
        leaves = [leaf for part in parts for leaf in part.arrays]
        values = cls(None, leaves, sum(part.count for part in parts))
        values._parts = parts
        return values

    def _result(self, index: int) -> Tree:
        if self._results is not None:
            return self._results[index]
        for part in self._parts:
            if index < part.count:
                return part._result(index)
            index -= part.count
        if self._stacked is None:
            return self._unflatten(self._leaves)
        return self._unflatten([Row(values, index) for values in self._leaves])

    def _unflatten(self, leaves: list[Any]) -> Tree:
        assert self._program is not None
        return jax.tree.unflatten(self._program.structure, leaves)

    @property
    def arrays(self) -> list[jax.Array]:
        """The device values of all steps, to wait for; empty for steps that ran eagerly."""
        return self._leaves

    @property
    def last(self) -> Tree:
        """The result of the last step."""
        return self._result(self.count - 1)

    def each(self) -> list[Tree]:
        """Return the results of all steps, first to last."""
        return [self._result(index) for index in range(self.count)]

    def blocks(self) -> list[tuple[Tree, int | None]]:
        """Return the results as they were computed, each with the number of steps that its leaves
        are stacked from.

        The number is None for the result of a single step. Stacked leaves may be longer than that;
        the values behind the last step are meaningless.
        """
        if self._results is not None:
            return [(result, None) for result in self._results]
        if self._parts:
            return [block for part in self._parts for block in part.blocks()]
        return [(self._unflatten(self._leaves), self._stacked)]
