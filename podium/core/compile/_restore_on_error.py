"""Leave a thread as it was, also when Ctrl-C strikes in the moment in which a setting is put back.

Whoever changes a setting puts it back, and so does JAX with the trace that is open. But an
interrupt can come between the change and the `with` block that would undo it: about one in 500 of
those that strike while something is traced. Everything computed later would then belong to a trace
that is over. So the few outermost calls, `fit` and a function's first call among them, stand guard
with `restore_on_error` over all that happens inside of them.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from podium.core._context import context

# the two of `jax.extend.core`, from where they are at home: importing that brings in Pallas, which
# takes 25 ms
try:
    from jax._src.core import find_top_trace, set_current_trace
except ImportError:
    from jax.extend.core import find_top_trace, set_current_trace

_Local = TypeVar("_Local", bound=threading.local)
_guarded: list[threading.local] = [context]


def register_thread_local(settings: _Local) -> _Local:
    """Have `restore_on_error` look after these settings of a thread too; returns them.

    Example:
        >>> import threading
        >>> settings = podium.core.compile._restore_on_error.register_thread_local(threading.local())
        >>> settings.depth = 1
        >>> try:
        ...     with podium.core.compile._restore_on_error.restore_on_error():
        ...         settings.depth = 2
        ...         raise KeyboardInterrupt
        ... except KeyboardInterrupt:
        ...     settings.depth
        1
    """
    _guarded.append(settings)
    return settings


class restore_on_error:
    """Put the thread's settings and JAX's open trace back if an exception ends the block."""

    __slots__ = ("_settings", "_trace")

    def __enter__(self) -> None:
        self._settings = [dict(settings.__dict__) for settings in _guarded]
        self._trace = find_top_trace(())

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            set_current_trace(self._trace).__enter__()
            for settings, before in zip(_guarded, self._settings, strict=False):
                settings.__dict__.clear()
                settings.__dict__.update(before)
