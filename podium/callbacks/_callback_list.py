"""CallbackList: calls the hooks of several callbacks, in order, and only those that are overridden.

It finds once which callback overrides which hook, passes a copy of the logs to each, names the
callback in errors, and makes sure that the end hook is called after the begin hook. When to call a
hook is decided by the training loop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from podium.callbacks._callback import HOOKS, KINDS, NEW_NAMES, Callback, overrides
from podium.callbacks._history import History
from podium.callbacks._logs import Logs
from podium.callbacks._progbar_logger import ProgbarLogger
from podium.callbacks._step_logs import StepLogs
from podium.callbacks._validation import check_signature, flatten_callbacks
from podium.core import check_choice
from podium.core.internal import PublicRepr, context, override
from podium.execution import StepValues
from podium.telemetry.internal import active, clock

_Method = Callable[..., object]
_AnyLogs = Mapping[str, Any] | StepValues | None


class CallbackList(PublicRepr):
    """Several callbacks with the hooks of one, for training loops.

    Args:
        callbacks: A callback, a list of them (possibly nested) or another CallbackList. An object
            that occurs twice is called once.
        add_history: Whether to add a `History`, if there is none.
        add_progbar: Whether to add a `ProgbarLogger`, if there is none.
        model: The model that is passed to the callbacks.
        **params: The arguments of the run: `verbose`, `epochs`, `steps`.

    Attributes:
        callbacks: The callbacks in the order in which they are called.
        history: The `History` among them, or None.
        steps_between: The numbers of steps after which callbacks act, on all workers.

    Raises:
        TypeError: Something is not a callback, or a hook takes the wrong arguments.

    Example:
        >>> callbacks = podium.callbacks.CallbackList(add_history=True, epochs=1)
        >>> callbacks.on_train_begin()
        >>> callbacks.on_epoch_end(0, {"loss": 0.5})
        >>> callbacks.on_train_end()
        >>> callbacks.history.history
        {'loss': [0.5]}
        >>> podium.callbacks.CallbackList([podium.callbacks.EarlyStopping])
        Traceback (most recent call last):
        TypeError: `callbacks` was given the class EarlyStopping; an instance was expected. Write
            `EarlyStopping(...)`.
    """

    def __init__(
        self,
        callbacks: Callback | Iterable[Any] | None = None,
        add_history: bool = False,
        add_progbar: bool = False,
        model: Any = None,
        **params: Any,
    ):
        self.callbacks: list[Callback] = []
        self.history: History | None = None
        self.steps_between: set[int] = set()
        self.model: Any = None
        self.params: dict[str, Any] = {}
        self._methods: dict[str, tuple[tuple[Callback, _Method], ...]] = dict.fromkeys(HOOKS, ())
        self._has_state: set[int] = set()  # ids of callbacks whose state was restored
        # For each kind of run, the callbacks whose begin hook was called and whose end hook is due.
        self._begun: dict[str, list[Callback] | None] = dict.fromkeys(KINDS)
        for callback in flatten_callbacks(callbacks):
            self._add(callback)
        if add_history and self.history is None:
            self._add(History())
        if add_progbar and not any(
            isinstance(callback, ProgbarLogger) for callback in self.callbacks
        ):
            self._add(ProgbarLogger())
        self._strategy: Any = getattr(model, "distribute_strategy", None)
        self._synced_hooks: set[str] = set()  # hooks after which workers agree whether to stop
        if getattr(self._strategy, "spans_processes", False):
            self._share_between_workers()
        self.set_model(model)
        self.set_params(params)
        self._find_overrides()

    def append(self, callback: Callback) -> None:
        """Add a callback at the end."""
        for item in flatten_callbacks(callback):
            self._add(item)
            if self.model is not None:
                item.set_model(self.model)
            if self.params:
                item.set_params(self.params)
        self._find_overrides()

    def set_params(self, params: dict[str, Any]) -> None:
        """Pass the arguments of the run to every callback."""
        self.params = params
        if params:
            for callback in self.callbacks:
                callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Pass the model to every callback, and the History to the model."""
        self.model = model
        if model is None:
            return
        if self.history is not None:
            model.history = self.history
        for callback in self.callbacks:
            callback.set_model(model)

    def implements(self, hook: str) -> bool:
        """Return whether any callback implements a hook: if not, its logs are not needed.

        Example:
            >>> callbacks = podium.callbacks.CallbackList(add_history=True)
            >>> callbacks.implements("on_epoch_end"), callbacks.implements("on_train_batch_end")
            (True, False)
        """
        return bool(self._methods[check_choice("hook", NEW_NAMES.get(hook, hook), HOOKS)])

    def needs_every_batch(self, kind: str = "train") -> bool:
        """Return whether a callback must be called for each batch of a "train", "test" or "predict"
        run.

        The progress bar need not: it accepts one call for many batches.
        """
        check_choice("kind", kind, KINDS)
        hooks = (f"on_{kind}_batch_begin", f"on_{kind}_batch_end")
        return any(callback.every_batch for hook in hooks for callback, _ in self._methods[hook])

    @contextlib.contextmanager
    def ensure_end(self, kind: str) -> Iterator[None]:
        """Call the end hooks that are due if a "train", "test" or "predict" run inside the block
        ends with an error; see `end_after_error`.

        A run that ends normally calls its end hooks itself.
        """
        try:
            yield
        except BaseException as error:
            self.end_after_error(kind, error)
            raise

    def end_after_error(self, kind: str, error: BaseException) -> None:
        """Call the end hooks that are still due, after an error ended a "train", "test" or
        "predict" run.

        These are the end hooks of callbacks whose begin hook was called. Errors in them are added
        to `error` as notes. The end of "train" includes runs inside it.
        """
        check_choice("kind", kind, KINDS)
        for inner in ("test", "predict") if kind == "train" else ():
            self.end_after_error(inner, error)
        begun, self._begun[kind] = self._begun[kind], None
        hook = f"on_{kind}_end"
        for callback in begun or ():
            if not overrides(callback, hook):
                continue
            callback._ended_by = error
            try:
                getattr(callback, hook)({})
            except Exception as failure:
                name, reason = type(callback).__name__, f"{type(failure).__name__}: {failure}"
                error.add_note(f"Then {name}.{hook} failed as well: {reason}")
            finally:
                callback._ended_by = None

    def get_state(self) -> dict[str, Any]:
        """Return the states of the callbacks by class name; a second one of a class gets a
        number.
        """
        states = {key: callback.get_state() for key, callback in self._items_by_key()}
        return {key: state for key, state in states.items() if state is not None}

    def set_state(self, states: dict[str, Any]) -> list[str]:
        """Restore the states of the callbacks; return the names of states without a callback in
        this list.
        """
        by_key = dict(self._items_by_key())
        for key, state in states.items():
            if key in by_key:
                by_key[key].set_state(state)
                self._has_state.add(id(by_key[key]))
        return [key for key, state in states.items() if key not in by_key and state]

    def _items_by_key(self) -> Iterator[tuple[str, Callback]]:
        counts: dict[str, int] = {}
        for callback in self.callbacks:
            name = type(callback).__name__
            counts[name] = counts.get(name, 0) + 1
            yield name if counts[name] == 1 else f"{name}_{counts[name]}", callback

    def __iter__(self) -> Iterator[Callback]:
        return iter(self.callbacks)

    def __len__(self) -> int:
        return len(self.callbacks)

    # --- the hooks

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `fit` begins."""
        self._begin("train", logs)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `fit` ends."""
        self._end("train", logs)

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `evaluate` or validation begins."""
        self._begin("test", logs)

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `evaluate` or validation ends."""
        self._end("test", logs)

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `predict` begins."""
        self._begin("predict", logs)

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `predict` ends."""
        self._end("predict", logs)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called when an epoch begins."""
        self._call_hook("on_epoch_begin", epoch, logs)

    def on_epoch_resumed(self, epoch: int) -> None:
        """Called when a run is resumed inside an epoch; callbacks without state see it begin."""
        for callback, method in self._methods["on_epoch_begin"]:
            if id(callback) not in self._has_state:
                _call(callback, "on_epoch_begin", method, epoch, {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called when an epoch ends. What a callback adds to its logs is passed to later callbacks,
        and added to `logs`.
        """
        logs = {} if logs is None else logs
        for callback, method in self._methods["on_epoch_end"]:
            is_history = type(callback) is History  # which stores values without reading them
            copy = _copy_logs(logs) if is_history else dict(logs)
            _call(callback, "on_epoch_end", method, epoch, copy)
            if not is_history:
                logs.update(copy)
        if self._synced_hooks:
            self._sync_stop("on_epoch_end")

    def on_train_batch_begin(self, batch: int, logs: _AnyLogs = None) -> None:
        """Called before a training batch."""
        if self._methods["on_train_batch_begin"]:
            self._call_hook("on_train_batch_begin", batch, logs)

    def on_train_batch_end(self, batch: int, logs: _AnyLogs = None) -> None:
        """Called after a training batch."""
        if self._methods["on_train_batch_end"]:
            self._call_hook("on_train_batch_end", batch, logs)
        if self._synced_hooks:
            self._sync_stop("on_train_batch_end")

    def on_batch_begin(self, batch: int, logs: _AnyLogs = None) -> None:
        """The older name of `on_train_batch_begin`."""
        self.on_train_batch_begin(batch, logs)

    def on_batch_end(self, batch: int, logs: _AnyLogs = None) -> None:
        """The older name of `on_train_batch_end`."""
        self.on_train_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: _AnyLogs = None) -> None:
        """Called before a test batch."""
        if self._methods["on_test_batch_begin"]:
            self._call_hook("on_test_batch_begin", batch, logs)

    def on_test_batch_end(self, batch: int, logs: _AnyLogs = None) -> None:
        """Called after a test batch."""
        if self._methods["on_test_batch_end"]:
            self._call_hook("on_test_batch_end", batch, logs)

    def on_predict_batch_begin(self, batch: int, logs: _AnyLogs = None) -> None:
        """Called before a predict batch."""
        if self._methods["on_predict_batch_begin"]:
            self._call_hook("on_predict_batch_begin", batch, logs)

    def on_predict_batch_end(self, batch: int, logs: _AnyLogs = None) -> None:
        """Called after a predict batch."""
        if self._methods["on_predict_batch_end"]:
            self._call_hook("on_predict_batch_end", batch, logs)

    # --- calling hooks

    def _call_hook(self, hook: str, index: int, logs: _AnyLogs) -> None:
        for callback, method in self._methods[hook]:
            if isinstance(logs, StepValues):
                if not callback.every_batch and callback.skips_batch(hook, index):
                    continue
                logs = StepLogs(logs)
            _call(callback, hook, method, index, _copy_logs(logs))

    def _begin(self, kind: str, logs: Mapping[str, Any] | None) -> None:
        self._find_overrides()  # again, because hooks may have been assigned since
        begun: list[Callback] = []
        self._begun[kind] = begun
        hook = f"on_{kind}_begin"
        for callback in self.callbacks:
            if overrides(callback, hook):
                _call(callback, hook, getattr(callback, hook), _copy_logs(logs))
            begun.append(callback)

    def _end(self, kind: str, logs: Mapping[str, Any] | None) -> None:
        begun = self._begun[kind]
        # A loop of the user may call the end without the beginning.
        due = list(self.callbacks) if begun is None else begun
        hook = f"on_{kind}_end"
        while due:
            callback = due.pop(0)  # first, so that an end that fails is not called again
            if overrides(callback, hook):
                _call(callback, hook, getattr(callback, hook), _copy_logs(logs))
        self._begun[kind] = None

    def _share_between_workers(self) -> None:
        """Remove callbacks of the chief on other workers, and find the hooks after which workers
        must agree whether to stop.
        """
        on_chief = [callback for callback in self.callbacks if not callback.every_worker]
        self._synced_hooks = {
            hook
            for hook in ("on_epoch_end", "on_train_batch_end")
            for callback in on_chief
            if overrides(callback, hook) and not isinstance(callback, ProgbarLogger)
        }
        if not self._strategy.is_chief:
            self.callbacks = [callback for callback in self.callbacks if callback.every_worker]

    def _sync_stop(self, hook: str) -> None:
        if hook in self._synced_hooks:
            # The model of a custom loop may not have the attribute.
            wants_stop = getattr(self.model, "stop_training", False)
            if self._strategy.reduce_across_workers(wants_stop) and not wants_stop:
                self.model.stop_training = True

    def _add(self, callback: Callback) -> None:
        if any(callback is known for known in self.callbacks):
            return
        for hook in HOOKS:
            if overrides(callback, hook):
                check_signature(callback, hook)
        self.callbacks.append(callback)
        if callback.steps_between is not None:
            self.steps_between.add(callback.steps_between)
        if isinstance(callback, History) and self.history is None:
            self.history = callback

    def _find_overrides(self) -> None:
        for hook in HOOKS:
            self._methods[hook] = tuple(
                (c, getattr(c, hook)) for c in self.callbacks if overrides(c, hook)
            )


def _call(callback: Callback, hook: str, method: _Method, *arguments: object) -> None:
    """Call a hook, and measure the time. The callback is named in a note of an error, whose type
    and message stay.
    """
    recorder = active.recorder
    start, measured = clock.ns(), 0 if recorder is None else recorder.measured
    try:
        if callback.every_worker or context.layout is None:
            method(*arguments)
        else:
            with override(
                chief_only_callback=f"{type(callback).__name__}.{hook}"
                if _is_shared(callback.model)
                else None
            ):
                method(*arguments)
    except StopIteration as error:  # a training loop would mistake it for the end of the data
        raise RuntimeError(f"{type(callback).__name__}.{hook} raised StopIteration.") from error
    except Exception as error:
        error.add_note(f"This happened in {type(callback).__name__}.{hook}.")
        raise
    finally:
        if recorder is not None:
            recorder.add_callback(callback, start, measured)


def _is_shared(model: object) -> bool:
    """Return whether several processes train a model together."""
    return bool(getattr(getattr(model, "distribute_strategy", None), "spans_processes", False))


def _copy_logs(logs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a copy for one callback."""
    if isinstance(logs, Logs):
        return logs.share()
    return {} if logs is None else dict(logs)
