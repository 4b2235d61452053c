"""Which values come from a metric's `result()`: those are figures of the whole epoch, not of one
batch.

While a step runs, what `result()` returns is marked, and so is what is computed from marked values
alone (`ops.sqrt(mse.result())`). Outside of steps nothing is marked.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from podium.core import tree_leaves
from podium.core.internal import context, override, read_aggregated


def noting(result: Callable) -> Callable:
    """Wrap a `result` method so that what it returns is marked."""

    @functools.wraps(result)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if context.replica_axes is None:
            made = result(self, *args, **kwargs)
        else:  # on one of several replicas: a figure of all of them
            with read_aggregated(self.variables):
                made = result(self, *args, **kwargs)
        if context.metric_values is not None:
            context.metric_values.update((id(value), value) for value in tree_leaves(made))
        return made

    return wrapper


def noting_results() -> contextlib.AbstractContextManager[dict[int, Any]]:
    """Mark results while the `with` block runs, which gets the marked values by `id`.

    Example:
        >>> mean = podium.metrics.Mean()
        >>> with podium.metrics.noting_results() as results:
        ...     value = mean(2.0)
        ...     root = podium.ops.sqrt(value)
        ...     other = root + podium.ops.ones(())
        >>> id(value) in results, id(root) in results, id(other) in results
        (True, True, False)
    """
    marked: dict[int, Any] = {}
    return override(metric_values=marked, enter_result=marked)
