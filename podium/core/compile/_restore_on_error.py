"""restore_on_error: restores a thread's context and JAX's open trace after an exception.

Code that changes the context restores it, and so does JAX with its open trace. But an interrupt can
occur between the change and the `with` block that would undo it: about one in 500 of those during a
trace. Everything computed later would then belong to a trace that has ended. So the few outermost
calls, such as `fit` and the first call of a function, run inside `restore_on_error`. Guarded by
tests/core/test_restore_on_error.py.
"""

from __future__ import annotations

import threading
from typing import TypeVar

from podium.core._context import context

# The functions of `jax.extend.core`, from where they are defined: importing `jax.extend` also
# imports Pallas, which takes 25 ms.
try:
    from jax._src.core import find_top_trace, set_current_trace
except ImportError:
    from jax.extend.core import find_top_trace, set_current_trace

__all__ = ["find_top_trace", "register_thread_local", "restore_on_error", "set_current_trace"]

_Local = TypeVar("_Local", bound=threading.local)
_thread_locals: list[threading.local] = [context]


def register_thread_local(settings: _Local) -> _Local:
    """Add a thread-local to those that `restore_on_error` restores, and return it.

    Example:
        >>> import threading
        >>> from podium.core.internal import register_thread_local, restore_on_error
        >>> settings = register_thread_local(threading.local())
        >>> settings.depth = 1
        >>> try:
        ...     with restore_on_error():
        ...         settings.depth = 2
        ...         raise KeyboardInterrupt
        ... except KeyboardInterrupt:
        ...     settings.depth
        1
    """
    _thread_locals.append(settings)
    return settings


class restore_on_error:
    """Restore registered thread-locals and JAX's open trace if an exception leaves the block."""

    __slots__ = ("_settings", "_trace")

    def __enter__(self) -> None:
        self._settings = [dict(settings.__dict__) for settings in _thread_locals]
        self._trace = find_top_trace(())

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if error_type is not None:
            set_current_trace(self._trace).__enter__()
            for settings, previous in zip(_thread_locals, self._settings, strict=False):
                settings.__dict__.clear()
                settings.__dict__.update(previous)
