"""What may be given as `callbacks`: checked at the front door, before anything is trained."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from podium.callbacks._callback import ALIASES, BATCH_HOOKS, EPOCH_HOOKS, Callback


def flatten(callbacks: Any) -> list[Callback]:
    """Return the callbacks in a callback, a list of them, a nested list or a CallbackList."""
    if callbacks is None:
        return []
    if isinstance(callbacks, Iterable) and not isinstance(
        callbacks, (Callback, str, bytes, Mapping, type)
    ):
        return [one for part in callbacks for one in _flatten_part(part)]
    return _flatten_part(callbacks)


def _flatten_part(part: Any) -> list[Callback]:
    if isinstance(part, Callback):
        return [part]
    if isinstance(part, type) and issubclass(part, Callback):
        name = part.__name__
        raise TypeError(
            f"`callbacks` was given the class {name}; an instance was expected. Write "
            f"`{name}(...)`."
        )
    if isinstance(part, Iterable) and not isinstance(part, (str, bytes, Mapping, type)):
        return flatten(part)
    hint = ""
    if callable(part):
        hint = " For a function, write `LambdaCallback(on_epoch_end=lambda epoch, logs: ...)`."
    raise TypeError(
        f"`callbacks` was given {part!r} of type {type(part).__name__}; an instance of "
        f"`podium.callbacks.Callback` or a list of them was expected.{hint}"
    )


def check_signature(callback: Callback, hook: str) -> None:
    """Refuse a hook that cannot be called as it will be."""
    position = ("epoch",) if hook in EPOCH_HOOKS else ("batch",) if hook in BATCH_HOOKS else ()
    arguments = (*position, "logs")
    for name in (hook, ALIASES[hook]) if hook in ALIASES else (hook,):
        method = getattr(callback, name)
        if (getattr(method, "__module__", None) or "").startswith("podium."):
            continue
        try:
            signature = inspect.signature(method)
        except ValueError:  # written in C: it does not say
            continue
        try:
            signature.bind(*arguments)
        except TypeError as error:
            listed = ", ".join(arguments)
            raise TypeError(
                f"{type(callback).__name__}.{name}{signature} is called with ({listed}), and it "
                f"does not take that: {error}. Write `def {name}(self, {listed}=None):`."
            ) from error
