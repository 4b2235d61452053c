"""Strategies of one device: `Strategy`, the default and the interface of all strategies, and
`OneDeviceStrategy`, for a device chosen by name.

A strategy of several replicas is a subclass: see `_mesh_strategy.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from podium import ops
from podium._typing import Tree
from podium.core import Function, check_choice, map_structure
from podium.core.internal import context, override, undo_on_error
from podium.distribute._devices import default_device, find_device_softly
from podium.distribute._replica_context import InputContext

if TYPE_CHECKING:
    from podium.distribute._layout import Layout

_open: ContextVar[tuple[Strategy, ...]] = ContextVar("open_strategies", default=())


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
    _is_running = False  # whether a step is being traced for each replica

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas train together."""
        return 1

    @property
    def layout(self) -> Layout | None:
        """How Variables and batches are placed on several devices; None if there is one."""
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
        """Make this the strategy that `get_strategy` returns, and place Variables made inside."""
        open_scopes = _open.get()
        if (
            open_scopes
            and open_scopes[-1] is not self
            and Strategy not in (type(self), type(open_scopes[-1]))
        ):
            raise RuntimeError(
                f"The scope of {self!r} was opened inside the scope of {open_scopes[-1]!r}. "
                "Strategies do not nest; leave one scope "
                "before you open another."
            )
        token = _open.set((*open_scopes, self))
        try:
            with self._placement_scope():
                yield self
        finally:
            _open.reset(token)

    def _placement_scope(self) -> contextlib.AbstractContextManager[object]:
        """Return a context in which new values are placed as this strategy requires."""
        return contextlib.nullcontext() if context.layout is None else override(layout=None)

    def run(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        options: object = None,
    ) -> Tree:
        """Run a step on every replica.

        Args:
            fn: The step.
            args: Its arguments.
            kwargs: Its named arguments.
            options: Accepted for TensorFlow's signature.

        Returns:
            Its result on each replica; `unwrap` makes a tuple of them. If the step raises, no
            Variable changes.
        """
        is_transaction = isinstance(fn, Function) or context.scope is not None
        undo = contextlib.nullcontext() if is_transaction else undo_on_error((StopIteration,))
        with self.scope(), undo:
            return fn(*args, **(kwargs or {}))

    def unwrap(self, value: Tree) -> tuple[Tree, ...]:
        """Return the values of the replicas of this machine as a tuple."""
        return (value,)

    def experimental_local_results(self, value: Tree) -> tuple[Tree, ...]:
        """Return the values of the replicas of this machine as a tuple."""
        return self.unwrap(value)

    def reduce(self, reduce_op: str, value: Tree, axis: int | None = None) -> Tree:
        """Reduce the results of the replicas to one value.

        Args:
            reduce_op: "sum" or "mean".
            value: A result of `run`.
            axis: An axis of each replica's value to reduce as well, usually 0 for the batch.
        """
        name = check_choice("reduce_op", str(reduce_op).lower(), ("sum", "mean"))
        if axis is None:
            return value
        reduce = ops.sum if name == "sum" else ops.mean
        return map_structure(lambda leaf: reduce(leaf, axis=axis), value)

    def gather(self, value: Tree, axis: int) -> Tree:
        """Concatenate the results of the replicas along an axis."""
        return value

    def experimental_distribute_dataset(
        self, dataset: Iterable[Tree], options: object = None
    ) -> Iterable[Tree]:
        """Return a dataset from which each replica gets its part of every batch."""
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Iterable[Tree]], options: object = None
    ) -> Iterable[Tree]:
        """Return the dataset that a function makes for this worker."""
        return dataset_fn(InputContext())

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def reduce_across_workers(self, value: Any, how: str = "any") -> Any:
        """Return one value for all workers; with one worker, its own."""
        return value

    def wait(self) -> None:
        """Wait until no scheduled step runs: the Variables have the values of all of them."""

    def on_run_begin(self, model: Any, what: str) -> None:
        """Called when a "fit", "evaluate" or "predict" of a model begins."""

    @property
    def spans_processes(self) -> bool:
        """Whether several processes train together."""
        return False

    def __repr__(self) -> str:
        return f"<podium.distribute.{type(self).__name__}, {self.num_replicas_in_sync} replica>"


class OneDeviceStrategy(Strategy):
    """Runs steps and places Variables on one device.

    Args:
        device: Its name, such as "/cpu:0" or "/gpu:0".

    Raises:
        ValueError: There is no such device.

    Example:
        >>> strategy = podium.distribute.OneDeviceStrategy("/cpu:0")
        >>> strategy.num_replicas_in_sync, strategy.device
        (1, '/cpu:0')
    """

    def __init__(self, device: str):
        self.device = device
        self._jax_device = find_device_softly(device)

    def _placement_scope(self) -> contextlib.AbstractContextManager[object]:
        return default_device(self._jax_device)

    def __repr__(self) -> str:
        return f"<podium.distribute.OneDeviceStrategy {self.device!r}>"


def open_strategies() -> tuple[Strategy, ...]:
    """Return the strategies whose scopes are open, the innermost last."""
    return _open.get()
