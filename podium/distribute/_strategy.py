"""Strategy: the one device that JAX uses by itself, with the words that training loops speak to any
strategy.

A strategy of several replicas is a subclass: see `_mesh_strategy.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from podium import ops
from podium.core import check_choice, map_structure
from podium.core.internal import context, override
from podium.distribute._replica import InputContext

_open: ContextVar[tuple[Any, ...]] = ContextVar("open_strategies", default=())


class Strategy:
    """Runs steps on JAX's default device: one replica.

    Example:
        >>> strategy = podium.distribute.get_strategy()
        >>> with strategy.scope():
        ...     total = podium.Variable(0.0)
        >>> result = strategy.run(lambda x: total.assign_add(x), args=(2.0,))
        >>> strategy.num_replicas_in_sync, [float(value) for value in strategy.unwrap(result)]
        (1, [2.0])
    """

    _should_use_with_coordinator = False
    _is_running = False  # whether a step is being run for each replica

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas train together."""
        return 1

    @property
    def placed_by(self) -> Any:
        """What places Variables and batches on several devices; None if there is one."""
        return None

    @property
    def is_chief(self) -> bool:
        """Whether this process is the one that logs and saves; the only one always is."""
        return True

    @property
    def extended(self) -> Strategy:
        """The strategy itself: what TensorFlow keeps in `extended` is here."""
        return self

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Make this the strategy that `get_strategy` returns, and place Variables made
        meanwhile.
        """
        open_now = _open.get()
        if (
            open_now
            and open_now[-1] is not self
            and Strategy not in (type(self), type(open_now[-1]))
        ):
            raise RuntimeError(
                f"The scope of {self!r} was opened inside the scope of {open_now[-1]!r}. "
                "Strategies do not nest; leave one scope "
                "before you open another."
            )
        token = _open.set((*open_now, self))
        try:
            with self._placing():
                yield self
        finally:
            _open.reset(token)

    def _placing(self) -> contextlib.AbstractContextManager:
        """Return a context in which new values live where this strategy wants them."""
        return contextlib.nullcontext() if context.layout is None else override(layout=None)

    def run(
        self, fn: Callable, args: tuple = (), kwargs: dict | None = None, options: Any = None
    ) -> Any:
        """Run a step on every replica.

        Args:
            fn: The step.
            args: Its arguments.
            kwargs: Its named arguments.
            options: Accepted for TensorFlow's signature.

        Returns:
            What it returned, on each replica; `unwrap` makes a tuple of that.
        """
        with self.scope():
            return fn(*args, **(kwargs or {}))

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """Return the values of the replicas of this machine as a tuple."""
        return (value,)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the values of the replicas of this machine as a tuple."""
        return self.unwrap(value)

    def reduce(self, reduce_op: str, value: Any, axis: int | None = None) -> Any:
        """Combine what the replicas returned into one value.

        Args:
            reduce_op: "sum" or "mean".
            value: A result of `run`.
            axis: An axis of each replica's value to combine as well, usually 0 for the batch.
        """
        how = check_choice("reduce_op", str(reduce_op).lower(), ("sum", "mean"))
        if axis is None:
            return value
        return map_structure(
            lambda each: (ops.sum if how == "sum" else ops.mean)(each, axis=axis), value
        )

    def gather(self, value: Any, axis: int) -> Any:
        """Join what the replicas returned along an axis."""
        return value

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return the dataset such that each replica gets its part of every batch."""
        return dataset

    def distribute_datasets_from_function(self, dataset_fn: Callable, options: Any = None) -> Any:
        """Call a function that makes the dataset of each worker."""
        return dataset_fn(InputContext())

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def agreed(self, value: Any, how: str = "any") -> Any:
        """Return one value for all workers; of one worker it is its own."""
        return value

    def before_run(self, model: Any, what: str) -> None:
        """Hear that a "fit", "evaluate" or "predict" of a model begins."""

    @property
    def spans_processes(self) -> bool:
        """Whether several processes train together."""
        return False

    def __repr__(self) -> str:
        return f"<podium.distribute.{type(self).__name__}, {self.num_replicas_in_sync} replica>"


def open_strategies() -> tuple[Any, ...]:
    """Return the strategies whose scopes are open, the innermost last."""
    return _open.get()
