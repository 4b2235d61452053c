"""hold_model: what must hold during `fit`, `evaluate` or `predict`.

The model is compiled, the call is outside of traces, one `fit` runs at a time, and layers are
trainable as they were when the model was compiled.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import jax

from podium.core.internal import context, is_tracing, restore_on_error
from podium.execution import Execution

if TYPE_CHECKING:
    from podium.models._model import Model


class _Run(NamedTuple):
    """A method of a model that is running, and its thread."""

    method: str
    thread: int


_runs: dict[int, list[_Run]] = {}  # by id of the model
_lock = threading.Lock()
_TRAINING = ("fit", "train_on_batch")


@contextlib.contextmanager
def hold_model(model: Model, method: str) -> Iterator[None]:
    """Hold a model for the length of a `fit`, `evaluate` or `predict`.

    Args:
        model: The model.
        method: The name of its method that was called.

    Raises:
        RuntimeError: The model is not compiled, or runs in another thread, or the call is inside a
            trace.
    """
    model._check_initialized()
    check_outside_trace(method)
    if context.chief_only_callback is not None:
        raise RuntimeError(
            f"`{method}` was called by {context.chief_only_callback}, which runs on the chief "
            "alone, so it would wait for the other workers forever. Set `every_worker = True` on "
            "the callback's class, so that all workers call it."
        )
    if not method.startswith("predict") and not model.compiled:
        purpose = "training" if method in _TRAINING else "testing"
        raise RuntimeError(
            f"You must compile your model before training/testing: `{method}` was called for "
            f"{purpose}. Use `model.compile(optimizer, loss)`."
        )
    run = _Run(method, threading.get_ident())
    with _lock:
        others = _runs.setdefault(id(model), [])
        _check_available(model, run, others)
        others.append(run)
    try:
        state = model._compile_state.trainable_state
        with (
            restore_on_error(),
            model.distribute_strategy.scope(),
            contextlib.nullcontext() if state is None else state.enforce(method in _TRAINING),
        ):
            model.distribute_strategy.on_run_begin(model, method)
            yield
    except jax.errors.JaxRuntimeError as error:
        described = _describe_error(model, method, error)
        if described is error:
            raise
        raise described from error
    finally:
        with _lock:
            others.remove(run)
            if not others:
                del _runs[id(model)]


def _describe_error(model: Model, method: str, error: Exception) -> BaseException:
    """Return the error of an execution that ran out of memory with its batch and its program."""
    functions = {
        **dict.fromkeys(_TRAINING, model.train_function),
        **dict.fromkeys(("evaluate", "test_on_batch"), model.test_function),
    }
    execution = functions.get(method, model.predict_function)
    return execution.describe_error(error) if isinstance(execution, Execution) else error


def check_outside_trace(method: str) -> None:
    """Raise RuntimeError if the code runs inside a trace.

    Args:
        method: The name of the method that was called.
    """
    if is_tracing():
        raise RuntimeError(
            f"`{method}` was called inside a compiled function (`podium.function`, `jax.jit` or a "
            "`train_step`). It is a loop over data and cannot be part of one. Call the model "
            "itself there: `model(x)`."
        )


def is_fitting(model: Model) -> bool:
    """Return whether a `fit` of this model is running."""
    return any(run.method == "fit" for run in _runs.get(id(model), ()))


def _check_available(model: Model, run: _Run, others: list[_Run]) -> None:
    if run.method.startswith("predict"):
        return  # it changes nothing, so any number may run
    for other in others:
        if other.method.startswith("predict"):
            continue
        if other.thread != run.thread:
            raise RuntimeError(
                f"`{run.method}` was called on model {model.name!r} while `{other.method}` is "
                "running on it in another thread. Both change its state. Wait for the first, or "
                "train a copy (`copy.deepcopy(model)`)."
            )
        if run.method == "fit":
            raise RuntimeError(
                f"`fit` was called on model {model.name!r} while `{other.method}` is already "
                "running on it, from a callback or a generator. Use `train_on_batch` there, or "
                "wait until it has returned."
            )
