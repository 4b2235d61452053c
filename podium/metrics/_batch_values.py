"""StepResults: what metrics return while a step runs, and what they would return for its batch
alone.

A metric's `result()` describes the epoch so far. To know the batch as well, each update is also
applied to state that begins with the step. The metrics of this package add to their state, so they
are updated once, from zero, and the sum is added to the state. Any other metric, such as one that
keeps a maximum, is updated a second time, from its initial state, on a copy of the metric.

Invariant: the state of a metric, and what `result()` returns, are the same as without it. Guarded
by tests/metrics/test_batch_values.py.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from podium._typing import Array, Tree
from podium.core import Tensor, Variable, tree_leaves
from podium.core.internal import (
    MetricMarks,
    StepResult,
    VariableScope,
    context,
    override,
    read_aggregated,
    wrap,
)

if TYPE_CHECKING:
    from podium.metrics._metric import Metric

_Method = Callable[..., Any]


class StepResults(MetricMarks):
    """The results of metrics in one step, by the `id` of the value of the epoch.

    Example:
        >>> mean = podium.metrics.Mean()
        >>> mean.update_state(2.0)
        >>> with podium.metrics.mark_results() as results:
        ...     value = mean(4.0)
        >>> float(value), float(results[id(value)].batch)
        (3.0, 4.0)
    """

    def __init__(self) -> None:
        super().__init__()
        self._scope = context.scope  # of the step; updates may be in scopes inside it
        # The Variables that have been updated in this step, each with that of the batch alone.
        self._tracked: dict[int, tuple[Variable, Variable]] = {}
        self._copies: dict[int, Metric] = {}
        self._is_updating = False

    def finish(self) -> None:
        """Forget the state of the batch: it must not leave a compiled step."""
        if self._scope is not None:
            for _, state in self._tracked.values():
                self._scope.writes.pop(id(state), None)
                self._scope.touched.discard(id(state))

    def update_metric(
        self, metric: Metric, update: _Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Update a metric; updates of metrics inside it belong to this one."""
        if self._is_updating:
            return update(metric, *args, **kwargs)
        self._is_updating = True
        try:
            if update.__module__.startswith("podium."):
                return self._update_by_sum(metric, update, args, kwargs)
            result = update(metric, *args, **kwargs)
            if metric.variables:
                self._update_copy(metric, update, args, kwargs)
            return result
        finally:
            self._is_updating = False

    def _update_by_sum(
        self, metric: Metric, update: _Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        previous = [(variable, variable.read()) for variable in metric.variables]
        for variable, _ in previous:
            variable.clear()
        try:
            result = update(metric, *args, **kwargs)
            for variable in metric.variables:
                state = self._track(variable, np.zeros(variable.shape, variable.dtype))
                state.assign_add(variable.read_value())
        finally:
            for variable, value in previous:
                variable.assign_add(wrap(value))
        return result

    def _update_copy(
        self, metric: Metric, update: _Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if id(metric) not in self._copies:
            self._copies[id(metric)] = self._reset_copy(metric)
        with self._batch_scope() as scope:
            update(self._copies[id(metric)], *args, **kwargs)
            values = [
                (self._tracked[id(variable)][1], scope.read(variable))
                for variable in metric.variables
                if id(variable) in self._tracked
            ]
        for state, value in values:
            state.assign(wrap(value))

    def _reset_copy(self, metric: Metric) -> Metric:
        """Return a copy of a metric after its reset, whose state is that of the batch."""
        duplicate = copy.copy(metric)
        for name, value in vars(metric).items():
            if type(value) in (list, dict, set):
                vars(duplicate)[name] = copy.copy(value)
        with jax.ensure_compile_time_eval(), self._batch_scope() as scope:
            duplicate.reset_state()
        for variable, value in scope.writes.values():
            if not isinstance(value, jax.core.Tracer):  # a reset to a value of the step
                self._track(variable, value)
        return duplicate

    def _track(self, variable: Variable, initial: Array) -> Variable:
        """Return the state of the batch alone for a Variable, set to `initial` at the first time in
        a step.
        """
        if id(variable) in self._tracked:
            return self._tracked[id(variable)][1]
        if variable.batch_state is None:
            with override(scope=None):
                variable.batch_state = Variable(
                    np.zeros(variable.shape, variable.dtype),
                    trainable=False,
                    autocast=False,
                    aggregation=variable.aggregation,
                    name="batch_state",
                )
        state = variable.batch_state
        # In the scope of the step: a scope inside it may be left without a commit, and run again.
        with override(scope=self._scope), jax.ensure_compile_time_eval():
            state.assign(initial)
        self._tracked[id(variable)] = variable, state
        return state

    @contextlib.contextmanager
    def _batch_scope(self) -> Iterator[VariableScope]:
        """Read Variables with the state of the batch alone; what is written is discarded."""
        inputs = {key: (variable, state.read()) for key, (variable, state) in self._tracked.items()}
        scope = VariableScope(inputs, context.scope)
        with override(scope=scope, metric_values=None, tapes=()):
            yield scope

    def mark(self, metric: Metric, value: Tree, result: Callable[[], Tree]) -> None:
        """Mark what `result` returned for the epoch, with what it returns for the batch alone.

        Args:
            metric: The metric.
            value: The value of the epoch.
            result: Computes the value again.
        """
        leaves = tree_leaves(value)
        batch_leaves = leaves
        if any(id(variable) in self._tracked for variable in metric.variables):
            with self._batch_scope():
                batch_leaves = tree_leaves(_read_variables(result()))
        if len(batch_leaves) != len(leaves):  # decided by the state, in Python
            batch_leaves = leaves
        for leaf, batch_leaf in zip(leaves, batch_leaves, strict=True):
            self[id(leaf)] = StepResult(leaf, batch_leaf)

    def mark_computed(
        self, value: Tree, compute: _Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Mark what was computed from marked values alone.

        Args:
            value: The result.
            compute: What computed it.
            args: The arguments.
            kwargs: The named arguments.
        """

        def to_batch(leaf: Any) -> Any:
            return self[id(leaf)].batch if id(leaf) in self else leaf

        with override(metric_values=None):
            batch = compute(
                *jax.tree.map(to_batch, args, is_leaf=self._is_marked),
                **jax.tree.map(to_batch, kwargs, is_leaf=self._is_marked),
            )
        for leaf, batch_leaf in zip(tree_leaves(value), tree_leaves(batch), strict=True):
            self[id(leaf)] = StepResult(leaf, batch_leaf)

    def _is_marked(self, leaf: object) -> bool:
        return id(leaf) in self


def track_update(update: _Method) -> _Method:
    """Wrap an `update_state` method so that a step knows the state of its batch alone."""

    @functools.wraps(update)
    def wrapper(self: Metric, *args: Any, **kwargs: Any) -> Any:
        results = context.metric_values
        if results is None:
            return update(self, *args, **kwargs)
        return results.update_metric(self, update, args, kwargs)

    return wrapper


def mark_result(result: _Method) -> _Method:
    """Wrap a `result` method so that what it returns is marked."""

    @functools.wraps(result)
    def wrapper(self: Metric, *args: Any, **kwargs: Any) -> Any:
        def compute() -> Tree:
            if context.replica_axes is None:
                return result(self, *args, **kwargs)
            with read_aggregated(self.variables):  # on one of several replicas: of all of them
                return result(self, *args, **kwargs)

        value = compute()
        for leaf in tree_leaves(value):
            if isinstance(leaf, Tensor):
                leaf.metric = self  # for `add_metric`
        if context.metric_values is not None:
            context.metric_values.mark(self, value, compute)
        return value

    return wrapper


@contextlib.contextmanager
def mark_results() -> Iterator[StepResults]:
    """Mark results inside the `with` block, which receives the marked values by `id`.

    Example:
        >>> mean = podium.metrics.Mean()
        >>> with podium.metrics.mark_results() as results:
        ...     value = mean(2.0)
        ...     root = podium.ops.sqrt(value)
        ...     other = root + podium.ops.ones(())
        >>> id(value) in results, id(root) in results, id(other) in results
        (True, True, False)
    """
    marked = StepResults()
    with override(metric_values=marked):
        yield marked
    marked.finish()


def _read_variables(value: Tree) -> Tree:
    """Return a result with values in place of Variables, whose state changes."""
    return jax.tree.map(
        lambda leaf: leaf.read_value() if isinstance(leaf, Variable) else leaf,
        value,
        is_leaf=lambda leaf: isinstance(leaf, Variable),
    )
