"""The thread's context: what a thread is doing right now.

`context` holds the open variable scope, the open tapes, the compute dtype and the like; `override`
sets some of its fields for the length of a `with` block. This file owns no Variables and no values.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from podium._typing import Shape
    from podium.core.autodiff._tape_base import TapeBase
    from podium.core.compile._stream import TraceSetting
    from podium.core.compile._undo_on_error import undo_on_error
    from podium.core.compile._variable_scope import VariableScope
    from podium.core.tensor._tensor import Tensor
    from podium.core.tensor._variable import Variable

_Result = TypeVar("_Result")


class CompilationRecorder(Protocol):
    """Records what is compiled during a run of a model; see `podium.telemetry`."""

    def record_compilation(self, name: str) -> contextlib.AbstractContextManager[object]:
        """Return a context in which a program is compiled."""


class LossScaler(Protocol):
    """Scales the losses that tapes differentiate; see `podium/optimizers/_dynamic_scale.py`."""

    is_off: bool

    def scales(self, sources: Sequence[Any]) -> bool:
        """Return whether gradients with respect to these are computed of a scaled loss."""

    def make_seed(self, target: Tensor | Variable) -> Tensor:
        """Return the weights of the elements of a target."""

    def unscale(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        """Return the gradients of the target as it is."""


class _Context(threading.local):
    """The fields of a thread's context, with their defaults."""

    scope: VariableScope | None = None  # where Variables are read and written during a trace
    tapes: tuple[TapeBase, ...] = ()  # open tapes and accumulators, outermost first
    autocast_dtype: str | None = None  # the dtype in which the running layer reads float Variables
    bare_arrays: bool = False  # whether the running layer's `call` computes with bare jax.Arrays
    name_scopes: tuple[str, ...] = ()  # open name scopes, outermost first
    # results of metrics by id, and values computed from those alone: `metrics/_batch_values.py`
    metric_values: Any = None
    forward_mode: bool = False  # derivatives are forward-mode: custom backward rules do not apply
    layout: Any = None  # of the strategy whose scope is open, if it has several devices
    chief_only_callback: str | None = None  # the running callback, if only the chief runs it
    undo: undo_on_error | None = None  # remembers what the running eager step writes
    trace_settings: list[TraceSetting] | None = None  # those read by the trace that reads Streams
    scales_means: bool = False  # whether the caller of a loss divides means by the replicas
    unsplit_shape: Shape | None = None  # of an argument of `Strategy.run`, if none of them is split
    replica_axes: tuple[str, ...] | None = None  # mesh axes of the replicas, inside `Strategy.run`
    loss_scaler: LossScaler | None = None  # scales what tapes differentiate, in a train step
    in_symbolic_scope: bool = False  # whether a `SymbolicScope` is open
    recorder: CompilationRecorder | None = None  # of the run of a model that the thread is in
    skips_initialization: bool = False  # new weights of layers are zeros: a file will be loaded
    placeholder_size: int | None = None  # the size of unknown dimensions while shapes are inferred


context = _Context()


class override(contextlib.ContextDecorator, Generic[_Result]):
    """Set fields of the thread's context, or of another thread-local, for a `with` block.

    This is a class and not a generator: a generator that Ctrl-C leaves suspended would restore the
    fields when it is garbage collected, at some later moment.

    Args:
        target: The thread-local to change; `context` by default.
        enter_result: What the `with` statement binds to its target.
        **fields: The fields and their values.

    Example:
        >>> from podium.core.internal import context, override
        >>> with override(autocast_dtype="bfloat16"):
        ...     context.autocast_dtype
        'bfloat16'
        >>> context.autocast_dtype is None
        True
    """

    @overload
    def __init__(
        self, target: threading.local = ..., /, *, enter_result: _Result, **fields: Any
    ): ...

    @overload
    def __init__(self: override[None], target: threading.local = ..., /, **fields: Any): ...

    def __init__(
        self, target: threading.local = context, /, *, enter_result: Any = None, **fields: Any
    ):
        self._target, self._fields = target, fields
        self._enter_result: _Result = enter_result

    def __enter__(self) -> _Result:
        target = self._target
        self._previous = {name: getattr(target, name) for name in self._fields}
        target.__dict__.update(self._fields)
        return self._enter_result

    def __exit__(self, *_: object) -> None:
        self._target.__dict__.update(self._previous)

    def _recreate_cm(self) -> override[_Result]:  # called for each call of a decorated function
        return override(self._target, enter_result=self._enter_result, **self._fields)
