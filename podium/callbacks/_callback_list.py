"""CallbackList: tells many callbacks what happens, in order, and only those who listen.

It finds once who overrides which hook, gives each listener a copy of the logs, names the callback
in errors, and sees to it that whoever was told of a beginning is told of the end. It decides
nothing about when a hook is due.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from podium.callbacks._callback import HOOKS, KINDS, NEW_NAMES, Callback, overrides
from podium.callbacks._history import History
from podium.callbacks._logs import Logs
from podium.callbacks._progbar_logger import ProgbarLogger
from podium.callbacks._step_logs import StepLogs
from podium.callbacks._validation import check_signature, flatten
from podium.core import check_choice
from podium.core.internal import context, override
from podium.execution import StepValues


class CallbackList:
    """Several callbacks behind the hooks of one, for training loops.

    Args:
        callbacks: A callback, a list of them (nested if you like) or another CallbackList. The same
            object twice counts once.
        add_history: Whether to add a `History`, if there is none.
        add_progbar: Whether to add a `ProgbarLogger`, if there is none.
        model: The model that the callbacks are told about.
        **params: What the run was asked for: `verbose`, `epochs`, `steps`.

    Attributes:
        callbacks: The callbacks in the order in which they are called.
        history: The `History` among them, or None.

    Raises:
        TypeError: Something is no callback, or a hook takes the wrong arguments.

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
        callbacks: Any = None,
        add_history: bool = False,
        add_progbar: bool = False,
        model: Any = None,
        **params: Any,
    ):
        self.callbacks: list[Callback] = []
        self.history: History | None = None
        self.model: Any = None
        self.params: dict[str, Any] = {}
        self._listeners: dict[str, tuple[tuple[Callback, Callable], ...]] = dict.fromkeys(HOOKS, ())
        self._remember: set[int] = set()  # those that were given their state in a run that goes on
        self._begun: dict[str, list[Callback] | None] = dict.fromkeys(
            KINDS
        )  # told of a beginning, not of its end
        for callback in flatten(callbacks):
            self._take(callback)
        if add_history and self.history is None:
            self._take(History())
        if add_progbar and not any(
            isinstance(callback, ProgbarLogger) for callback in self.callbacks
        ):
            self._take(ProgbarLogger())
        self._strategy: Any = getattr(model, "distribute_strategy", None)
        self._agrees: set[str] = set()  # hooks after which workers must agree whether to go on
        if getattr(self._strategy, "spans_processes", False):
            self._share_between_workers()
        self.set_model(model)
        self.set_params(params)
        self._find_listeners()

    def append(self, callback: Callback) -> None:
        """Add a callback at the end."""
        for one in flatten(callback):
            self._take(one)
            if self.model is not None:
                one.set_model(self.model)
            if self.params:
                one.set_params(self.params)
        self._find_listeners()

    def set_params(self, params: dict[str, Any]) -> None:
        """Tell every callback what the run was asked for."""
        self.params = params
        if params:
            for callback in self.callbacks:
                callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Tell every callback about the model, and the model about the History."""
        self.model = model
        if model is None:
            return
        if self.history is not None:
            model.history = self.history
        for callback in self.callbacks:
            callback.set_model(model)

    def implements(self, hook: str) -> bool:
        """Tell whether anybody listens to a hook: if not, nobody needs its logs.

        Example:
            >>> callbacks = podium.callbacks.CallbackList(add_history=True)
            >>> callbacks.implements("on_epoch_end"), callbacks.implements("on_train_batch_end")
            (True, False)
        """
        return bool(self._listeners[check_choice("hook", NEW_NAMES.get(hook, hook), HOOKS)])

    def needs_every_batch(self, kind: str = "train") -> bool:
        """Tell whether anybody wants to hear of each single batch of a "train", "test" or "predict"
        run.

        The progress bar does not: it is content with one call for many batches.
        """
        check_choice("kind", kind, KINDS)
        hooks = (f"on_{kind}_batch_begin", f"on_{kind}_batch_end")
        return any(callback.every_batch for hook in hooks for callback, _ in self._listeners[hook])

    @contextlib.contextmanager
    def ensure_end(self, kind: str) -> Iterator[None]:
        """Make sure, around a "train", "test" or "predict" run, that whoever hears of its beginning
        hears of its end.

        The ordinary end is still called inside the block; this is for errors and interruptions, see
        `end_after_error`.
        """
        try:
            yield
        except BaseException as error:
            self.end_after_error(kind, error)
            raise

    def end_after_error(self, kind: str, error: BaseException) -> None:
        """Call the ends that are still due, after a "train", "test" or "predict" run was broken
        off.

        Whoever was told of the beginning and not of the end is told now. What goes wrong here is
        added to `error` as a note. The end of "train" includes what was running inside it.
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
        """Return what the callbacks remember, by their classes; a second one of a class gets a
        number.
        """
        states = {key: callback.get_state() for key, callback in self._keyed()}
        return {key: state for key, state in states.items() if state is not None}

    def set_state(self, states: dict[str, Any]) -> list[str]:
        """Give callbacks what they remembered; returns the names of those that are not here and had
        something to remember.
        """
        keyed = dict(self._keyed())
        for key, state in states.items():
            if key in keyed:
                keyed[key].set_state(state)
                self._remember.add(id(keyed[key]))
        return [key for key, state in states.items() if key not in keyed and state]

    def _keyed(self) -> Iterator[tuple[str, Callback]]:
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

    def on_train_begin(self, logs: Any = None) -> None:
        """Tell that `fit` begins."""
        self._begin("train", logs)

    def on_train_end(self, logs: Any = None) -> None:
        """Tell that `fit` ends."""
        self._end("train", logs)

    def on_test_begin(self, logs: Any = None) -> None:
        """Tell that `evaluate` or validation begins."""
        self._begin("test", logs)

    def on_test_end(self, logs: Any = None) -> None:
        """Tell that `evaluate` or validation ends."""
        self._end("test", logs)

    def on_predict_begin(self, logs: Any = None) -> None:
        """Tell that `predict` begins."""
        self._begin("predict", logs)

    def on_predict_end(self, logs: Any = None) -> None:
        """Tell that `predict` ends."""
        self._end("predict", logs)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Tell that an epoch begins."""
        self._tell("on_epoch_begin", epoch, logs)

    def on_epoch_resumed(self, epoch: int) -> None:
        """Tell that an epoch begins to those who do not remember that it has begun."""
        for callback, method in self._listeners["on_epoch_begin"]:
            if id(callback) not in self._remember:
                _call(callback, "on_epoch_begin", method, epoch, {})

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Tell that an epoch ends; what a callback adds to the logs reaches those after it, and
        `logs`.
        """
        logs = {} if logs is None else logs
        for callback, method in self._listeners["on_epoch_end"]:
            own = (
                _own(logs) if type(callback) is History else dict(logs)
            )  # which keeps figures without reading them
            _call(callback, "on_epoch_end", method, epoch, own)
            if type(callback) is not History:
                logs.update(own)
        if self._agrees:
            self._agree("on_epoch_end")

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Tell that a training batch begins."""
        if self._listeners["on_train_batch_begin"]:
            self._tell("on_train_batch_begin", batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Tell that a training batch has ended."""
        if self._listeners["on_train_batch_end"]:
            self._tell("on_train_batch_end", batch, logs)
        if self._agrees:
            self._agree("on_train_batch_end")

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """The older name of `on_train_batch_begin`."""
        self.on_train_batch_begin(batch, logs)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """The older name of `on_train_batch_end`."""
        self.on_train_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Tell that a test batch begins."""
        if self._listeners["on_test_batch_begin"]:
            self._tell("on_test_batch_begin", batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Tell that a test batch has ended."""
        if self._listeners["on_test_batch_end"]:
            self._tell("on_test_batch_end", batch, logs)

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Tell that a predict batch begins."""
        if self._listeners["on_predict_batch_begin"]:
            self._tell("on_predict_batch_begin", batch, logs)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Tell that a predict batch has ended."""
        if self._listeners["on_predict_batch_end"]:
            self._tell("on_predict_batch_end", batch, logs)

    # --- how they are called

    def _tell(self, hook: str, index: int, logs: Any) -> None:
        for callback, method in self._listeners[hook]:
            if isinstance(logs, StepValues):
                if not callback.every_batch and callback.skips_batch(hook, index):
                    continue
                logs = StepLogs(logs)
            _call(callback, hook, method, index, _own(logs))

    def _begin(self, kind: str, logs: Any) -> None:
        self._find_listeners()  # once more: hooks may have been assigned since
        begun: list[Callback] = []
        self._begun[kind] = begun
        hook = f"on_{kind}_begin"
        for callback in self.callbacks:
            if overrides(callback, hook):
                _call(callback, hook, getattr(callback, hook), _own(logs))
            begun.append(callback)

    def _end(self, kind: str, logs: Any) -> None:
        begun = self._begun[kind]
        due = (
            list(self.callbacks) if begun is None else begun
        )  # a loop that never called the beginning
        hook = f"on_{kind}_end"
        while due:
            callback = due.pop(0)  # first, so that an end that fails is not called again
            if overrides(callback, hook):
                _call(callback, hook, getattr(callback, hook), _own(logs))
        self._begun[kind] = None

    def _share_between_workers(self) -> None:
        """Leave out what the chief alone does, on the other workers; find when they must hear from
        it.
        """
        alone = [callback for callback in self.callbacks if not callback.every_worker]
        self._agrees = {
            hook
            for hook in ("on_epoch_end", "on_train_batch_end")
            for callback in alone
            if overrides(callback, hook) and not isinstance(callback, ProgbarLogger)
        }
        if not self._strategy.is_chief:
            self.callbacks = [callback for callback in self.callbacks if callback.every_worker]

    def _agree(self, hook: str) -> None:
        if hook in self._agrees:
            wanted = getattr(
                self.model, "stop_training", False
            )  # a loop of somebody's own may not know it
            if self._strategy.agreed(wanted) and not wanted:
                self.model.stop_training = True

    def _take(self, callback: Callback) -> None:
        if any(callback is known for known in self.callbacks):
            return
        for hook in HOOKS:
            if overrides(callback, hook):
                check_signature(callback, hook)
        self.callbacks.append(callback)
        if isinstance(callback, History) and self.history is None:
            self.history = callback

    def _find_listeners(self) -> None:
        for hook in HOOKS:
            self._listeners[hook] = tuple(
                (c, getattr(c, hook)) for c in self.callbacks if overrides(c, hook)
            )


def _call(callback: Callback, hook: str, method: Callable, *arguments: Any) -> None:
    """Call a hook, and add to an error which callback it comes from; its type and message stay."""
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
    except StopIteration as error:  # a training loop would take it for the end of the data
        raise RuntimeError(f"{type(callback).__name__}.{hook} raised StopIteration.") from error
    except Exception as error:
        error.add_note(f"This happened in {type(callback).__name__}.{hook}.")
        raise


def _is_shared(model: Any) -> bool:
    """Tell whether several processes train a model together."""
    return getattr(getattr(model, "distribute_strategy", None), "spans_processes", False)


def _own(logs: Any) -> dict[str, Any]:
    """Return a copy for one callback."""
    if isinstance(logs, Logs):
        return logs.share()
    return {} if logs is None else dict(logs)
