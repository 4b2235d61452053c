"""Which values came out of a metric's `result()`: those are figures of the whole epoch, not of one batch."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable
from typing import Any

from podium.core import leaves_of

_noted: dict[int, weakref.ref] = {}  # id of a value -> the value, as long as it lives


def noting(result: Callable) -> Callable:
    """Wrap a `result` method so that `is_result` knows what it returned."""

    @functools.wraps(result)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = result(self, *args, **kwargs)
        for value in leaves_of(made):
            _note(value)
        return made

    wrapper._notes_results = True  # type: ignore[attr-defined]
    return wrapper


def is_result(value: Any) -> bool:
    """Tell whether a value is what a metric's `result()` returned (or a part of it)."""
    reference = _noted.get(id(value))
    return reference is not None and reference() is value


def _note(value: Any) -> None:
    key = id(value)
    with contextlib.suppress(TypeError):  # a plain number cannot be told apart from others
        _noted[key] = weakref.ref(value, lambda _: _noted.pop(key, None))
