"""What must hold while `fit`, `evaluate` or `predict` is at work: compiled, outside of traces, one
fit at a time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from podium.core.internal import context, restore_on_error

_at_work: dict[
    int, list[tuple[str, int]]
] = {}  # id of a model -> what is at work on it, and in which thread
_lock = threading.Lock()
_TRAINING = ("fit", "train_on_batch")


@contextlib.contextmanager
def conducting(model: Any, what: str) -> Iterator[None]:
    """Hold a model for the length of a `fit`, `evaluate` or `predict`.

    Raises:
        RuntimeError: The model is not compiled, or busy in another thread, or the call comes from
            inside a trace.
    """
    model._check_initialized()
    if context.scope is not None or isinstance(jnp.zeros(()), jax.core.Tracer):
        raise RuntimeError(
            f"`{what}` was called inside a compiled function (`podium.function`, `jax.jit` or a "
            "`train_step`). It is a loop over data and cannot be part of one. Call the model "
            "itself there: `model(x)`."
        )
    if context.chief_only_callback is not None:
        raise RuntimeError(
            f"`{what}` was called by {context.chief_only_callback}, which runs on the chief alone: the other "
            "workers would be waited for. Set `every_worker = True` on the callback's class, so "
            "that all workers call it."
        )
    if not what.startswith("predict") and not model._is_compiled:
        doing = "training" if what in _TRAINING else "testing"
        raise RuntimeError(
            f"You must compile your model before training/testing: `{what}` was called for "
            f"{doing}. Use `model.compile(optimizer, loss)`."
        )
    entry = (what, threading.get_ident())
    with _lock:
        others = _at_work.setdefault(id(model), [])
        _check_free(model, entry, others)
        others.append(entry)
    try:
        state = model._compiled_trainable_state
        with (
            restore_on_error(),
            model.distribute_strategy.scope(),
            state.respected(what in _TRAINING) if state is not None else contextlib.nullcontext(),
        ):
            model.distribute_strategy.before_run(model, what)
            yield
    finally:
        with _lock:
            others.remove(entry)
            if not others:
                del _at_work[id(model)]


def is_fitting(model: Any) -> bool:
    """Tell whether a `fit` of this model is at work."""
    return any(what == "fit" for what, _ in _at_work.get(id(model), ()))


def _check_free(model: Any, entry: tuple[str, int], others: list[tuple[str, int]]) -> None:
    what, thread = entry
    if what.startswith("predict"):
        return  # it changes nothing, so any number may run
    for other, other_thread in others:
        if other.startswith("predict"):
            continue
        if other_thread != thread:
            raise RuntimeError(
                f"`{what}` was called on model {model.name!r} while `{other}` is running on it in "
                "another thread. Both change its state. Wait for the first, or train a copy "
                "(`copy.deepcopy(model)`)."
            )
        if what == "fit":
            raise RuntimeError(
                f"`fit` was called on model {model.name!r} while `{other}` is already running on "
                "it, from a callback or a generator. Use `train_on_batch` there, or wait until it "
                "has returned."
            )
