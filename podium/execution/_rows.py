"""What steps returned: device values nobody waits for, until somebody reads them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium.core.internal import unwrap_result


class Row:
    """One step's value in a row of values that several steps computed together.

    Example:
        >>> row = podium.execution.Row(jnp.asarray([1.0, 2.0, 3.0]), 1)
        >>> float(row), row.shape
        (2.0, ())
    """

    __slots__ = ("index", "values")

    def __init__(self, values: Any, index: int):
        self.values = values
        self.index = index

    @property
    def shape(self) -> tuple:
        """The shape of the one value."""
        return self.values.shape[1:]

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.values.dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        value = np.asarray(self.values)[self.index]
        return np.asarray(value, dtype=dtype)

    def __float__(self) -> float:
        return float(np.asarray(self.values)[self.index])


class StepValues:
    """What one execution returned, step by step.

    Args:
        program: What they come from; its `structure` says how the leaves of one step's result
            belong together.
        leaves: The leaves: of a single step, or rows of as many as were fused.
        count: How many steps the rows hold; None for a single step's bare leaves.

    Example:
        >>> execution = podium.execution.Execution(lambda x: {"double": 2 * x}, steps_per_execution=2)
        >>> values = execution(iter([np.float32(1.0), np.float32(3.0)]))
        >>> float(values.last["double"]), values.count
        (6.0, 2)
    """

    __slots__ = ("_leaves", "_parts", "_program", "_results", "_turns", "count")

    def __init__(self, program: Any, leaves: list, count: int | None = None):
        self._program = program
        self._leaves = leaves
        self._turns = count
        self._results: list | None = None  # of steps that ran one by one
        self._parts: list[StepValues] = []  # of several executions
        self.count = 1 if count is None else count

    @classmethod
    def of_results(cls, results: list) -> StepValues:
        """Keep the results of steps that ran one by one."""
        values = cls(None, [], len(results))
        values._results = [unwrap_result(result) for result in results]
        return values

    @classmethod
    def joined(cls, parts: list[StepValues]) -> StepValues:
        """Put the values of several executions one behind the other."""
        values = cls(
            None,
            [leaf for part in parts for leaf in part.arrays],
            sum(part.count for part in parts),
        )
        values._parts = parts
        return values

    def _each(self, index: int) -> Any:
        if self._results is not None:
            return self._results[index]
        for part in self._parts:
            if index < part.count:
                return part._each(index)
            index -= part.count
        leaves = (
            self._leaves if self._turns is None else [Row(values, index) for values in self._leaves]
        )
        return jax.tree.unflatten(self._program.structure, leaves)

    @property
    def arrays(self) -> list:
        """The device values, all leaves of all steps, to wait for; empty for steps that ran one by
        one.
        """
        return self._leaves

    @property
    def last(self) -> Any:
        """The result of the last step."""
        return self._each(self.count - 1)

    def each(self) -> list:
        """Return the results of all steps, first to last."""
        return [self._each(index) for index in range(self.count)]

    def blocks(self) -> list[tuple[Any, int | None]]:
        """Return the results as they were computed: each with the number of steps that its leaves
        are rows of.

        The number is None for a result of a single step. Rows may go on behind the last step; what
        is there means nothing.
        """
        if self._results is not None:
            return [(result, None) for result in self._results]
        if self._parts:
            return [block for part in self._parts for block in part.blocks()]
        return [(jax.tree.unflatten(self._program.structure, self._leaves), self._turns)]
