"""MetricMarks: which values of a trace the `result()` of a metric returned.

Such a value describes the epoch so far, and must not be averaged over the epoch again. A compiled
function keeps the positions of these among its outputs, and marks them in the step that calls it.
What results are for the batch alone is in `podium/metrics/_batch_values.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from podium._typing import Tree
from podium.core._tree import tree_leaves
from podium.core.tensor._tensor import Tensor


class StepResult(NamedTuple):
    """A value that a metric returned in a step: of the epoch so far, and of the batch alone."""

    running: Any
    batch: Any


class MetricMarks(dict[int, StepResult]):
    """The results of metrics, by the `id` of the value; the values of batches are not known."""

    def update_metric(
        self, metric: Any, update: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call the `update_state` of a metric."""
        return update(metric, *args, **kwargs)

    def mark(self, metric: Any, value: Tree, result: Callable[[], Tree]) -> None:
        """Mark what a metric returned."""
        for leaf in tree_leaves(value):
            self.mark_value(leaf)

    def mark_computed(
        self, value: Tree, compute: Callable[..., Any], args: Any, kwargs: dict[str, Any]
    ) -> None:
        """Mark what was computed from marked values alone."""
        for leaf in tree_leaves(value):
            self.mark_value(leaf)

    def mark_value(self, leaf: Any) -> None:
        """Mark a value of the epoch whose value for the batch is not known."""
        self[id(leaf)] = StepResult(leaf, leaf)

    def array_ids(self) -> set[int]:
        """Return the ids of the arrays in the marked values."""
        return {id(array) for result in self.values() for array in _marked_arrays(result.running)}

    def mark_leaves(self, tree: Tree, marked: set[int]) -> None:
        """Mark the leaves of a tree that have one of these arrays, by id; what has the values of
        several replicas is a leaf.
        """
        for leaf in jax.tree.leaves(tree, is_leaf=_is_no_container):
            if any(id(array) in marked for array in _marked_arrays(leaf)):
                self.mark_value(leaf)


def _is_no_container(value: object) -> bool:
    return not isinstance(value, (Mapping, list, tuple))


def _marked_arrays(tree: Tree) -> list[Any]:
    leaves = jax.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, Tensor))
    return [leaf._value if isinstance(leaf, Tensor) else leaf for leaf in leaves]
