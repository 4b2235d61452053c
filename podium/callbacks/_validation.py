"""Validates the argument `callbacks` and the signatures of hooks, before training begins."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping

from podium.callbacks._callback import ALIASES, BATCH_HOOKS, EPOCH_HOOKS, Callback


def flatten_callbacks(callbacks: object) -> list[Callback]:
    """Return the callbacks in a callback, a list of them, a nested list or a CallbackList."""
    if callbacks is None:
        return []
    if isinstance(callbacks, Iterable) and not isinstance(
        callbacks, (Callback, str, bytes, Mapping, type)
    ):
        return [callback for item in callbacks for callback in _flatten_item(item)]
    return _flatten_item(callbacks)


def _flatten_item(item: object) -> list[Callback]:
    if isinstance(item, Callback):
        return [item]
    if isinstance(item, type) and issubclass(item, Callback):
        name = item.__name__
        raise TypeError(
            f"`callbacks` was given the class {name}; an instance was expected. Write "
            f"`{name}(...)`."
        )
    if isinstance(item, Iterable) and not isinstance(item, (str, bytes, Mapping, type)):
        return flatten_callbacks(item)
    hint = ""
    if callable(item):
        hint = " For a function, write `LambdaCallback(on_epoch_end=lambda epoch, logs: ...)`."
    raise TypeError(
        f"`callbacks` was given {item!r} of type {type(item).__name__}; an instance of "
        f"`podium.callbacks.Callback` or a list of them was expected.{hint}"
    )


def check_signature(callback: Callback, hook: str) -> None:
    """Raise if a hook does not accept the arguments that it is called with."""
    position = ("epoch",) if hook in EPOCH_HOOKS else ("batch",) if hook in BATCH_HOOKS else ()
    arguments = (*position, "logs")
    for name in (hook, ALIASES[hook]) if hook in ALIASES else (hook,):
        method = getattr(callback, name)
        if (getattr(method, "__module__", None) or "").startswith("podium."):
            continue
        try:
            signature = inspect.signature(method)
        except ValueError:  # written in C: it has no signature
            continue
        try:
            signature.bind(*arguments)
        except TypeError as error:
            listed = ", ".join(arguments)
            raise TypeError(
                f"{type(callback).__name__}.{name}{signature} is called with ({listed}), and it "
                f"does not take that: {error}. Write `def {name}(self, {listed}=None):`."
            ) from error
