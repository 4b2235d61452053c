"""What steps returned: device values nobody waits for, until somebody reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from podium.core._dispatch import unwrap_result


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
        program: What they come from; its `structure` says how the leaves of one step's result belong together.
        leaves: The leaves: of a single step, or rows of as many as were fused.
        count: How many steps the rows hold; None for a single step's bare leaves.

    Example:
        >>> execution = podium.execution.Execution(lambda x: {"double": 2 * x}, steps_per_execution=2)
        >>> values = execution(iter([np.float32(1.0), np.float32(3.0)]))
        >>> float(values.last["double"]), values.count
        (6.0, 2)
    """

    __slots__ = ("_each", "_leaves", "_program", "count")

    def __init__(self, program: Any, leaves: list, count: int | None = None):
        self._program = program
        self._leaves = leaves
        self._each: Callable[[int], Any] = self._bare if count is None else self._in_row
        self.count = 1 if count is None else count

    def _bare(self, index: int) -> Any:
        return jax.tree.unflatten(self._program.structure, self._leaves)

    def _in_row(self, index: int) -> Any:
        return jax.tree.unflatten(self._program.structure, [Row(values, index) for values in self._leaves])

    @classmethod
    def of_results(cls, results: list) -> StepValues:
        """Keep the results of steps that ran one by one."""
        values = cls(None, [], 1)
        values._each = [unwrap_result(result) for result in results].__getitem__
        values.count = len(results)
        return values

    @classmethod
    def joined(cls, parts: list[StepValues]) -> StepValues:
        """Put the values of several executions one behind the other."""
        values = cls(None, [leaf for part in parts for leaf in part.arrays], 1)
        values.count = sum(part.count for part in parts)

        def each(index: int) -> Any:
            for part in parts:
                if index < part.count:
                    return part._each(index)
                index -= part.count
            raise IndexError(f"There are {values.count} steps.")

        values._each = each
        return values

    @property
    def arrays(self) -> list:
        """The device values, all leaves of all steps, to wait for; empty for steps that ran one by one."""
        return self._leaves

    @property
    def last(self) -> Any:
        """The result of the last step."""
        return self._each(self.count - 1)

    def each(self) -> list:
        """Return the results of all steps, first to last."""
        return [self._each(index) for index in range(self.count)]
