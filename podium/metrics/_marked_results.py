"""Marks of values that a metric's `result()` returned: they describe the epoch, not one batch.

While a step runs, what `result()` returns is marked, and so is what is computed from marked values
alone (`ops.sqrt(mse.result())`). Outside of steps nothing is marked.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from podium.core import Tensor, tree_leaves
from podium.core.internal import context, override, read_aggregated


def mark_result(result: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a `result` method so that what it returns is marked."""

    @functools.wraps(result)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if context.replica_axes is None:
            value = result(self, *args, **kwargs)
        else:  # on one of several replicas: a value of all of them
            with read_aggregated(self.variables):
                value = result(self, *args, **kwargs)
        for leaf in tree_leaves(value):
            if isinstance(leaf, Tensor):
                leaf.metric = self  # for `add_metric`
        if context.metric_values is not None:
            context.metric_values.update((id(leaf), leaf) for leaf in tree_leaves(value))
        return value

    return wrapper


def mark_results() -> contextlib.AbstractContextManager[dict[int, Any]]:
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
    marked: dict[int, Any] = {}
    return override(metric_values=marked, enter_result=marked)
