"""Callback: the base class of objects that `fit`, `evaluate` and `predict` call at their hooks.

It owns the names and signatures of the hooks, and which attributes of a callback are saved with a
run. `_callback_list.py` calls the hooks.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

from podium.callbacks._checkpointable_run import CheckpointableRun
from podium.core.internal import PublicRepr
from podium.saving.internal import is_encodable

KINDS = ("train", "test", "predict")
BATCH_HOOKS = tuple(f"on_{kind}_batch_{edge}" for kind in KINDS for edge in ("begin", "end"))
EPOCH_HOOKS = ("on_epoch_begin", "on_epoch_end")
RUN_HOOKS = tuple(f"on_{kind}_{edge}" for kind in KINDS for edge in ("begin", "end"))
ALIASES = {"on_train_batch_begin": "on_batch_begin", "on_train_batch_end": "on_batch_end"}
NEW_NAMES = {old: new for new, old in ALIASES.items()}
HOOKS = RUN_HOOKS + EPOCH_HOOKS + BATCH_HOOKS


class Callback(PublicRepr):
    """Runs code during `fit`, `evaluate` and `predict`. Override the hooks you need; the others are
    not called.

    Every hook gets a copy of `logs`, so changes have no effect outside, except that what
    `on_epoch_end` adds is passed to later callbacks and stored in the History. Values in `logs` are
    Python floats; those of batch hooks are fetched from the device when they are first read, so a
    hook that does not read them does not wait.

    Attributes:
        model: The model that is being run. Set `model.stop_training = True` to end `fit` after this
            batch.
        params: The arguments of the run: `verbose`, `epochs`, `steps`.
        every_batch: Whether its batch hooks must be called for each batch. With False they are
            called once for each execution, which may run many batches.
        steps_between: With a number n, executions of fused steps end at every n-th step of `fit`,
            counted over all epochs: for callbacks with `every_batch = False` that act there, such
            as `EveryNSteps`.
        every_worker: Whether, with several workers, it is called on all of them: for callbacks that
            change the model in the same way everywhere. With False it is called on the chief only,
            and must not wait for other workers; `stop_training` is sent to them.
        is_logger: Whether its time is "logging" in the telemetry of a run, like that of the
            progress bar, and not "callbacks".

    Example:
        >>> class PrintLoss(podium.callbacks.Callback):
        ...     def on_epoch_end(self, epoch, logs=None):
        ...         print(f"epoch {epoch}: {logs['loss']:.2f}")
        >>> callbacks = podium.callbacks.CallbackList([PrintLoss()])
        >>> callbacks.on_epoch_end(0, {"loss": 0.5})
        epoch 0: 0.50
    """

    # On the class, so that a subclass whose `__init__` forgets `super().__init__()` works too.
    params: dict[str, Any] | None = None
    every_batch: bool = True
    every_worker: bool = False
    steps_between: int | None = None
    is_logger: bool = False
    _model: Any = None
    # The error that ended the run, while the `on_*_end` hooks after it are called.
    _ended_by: BaseException | None = None
    # True while `on_train_begin` is called for a resumed run: files are continued, not replaced.
    _is_resuming: bool = False

    def __init__(self) -> None:
        self.params = None
        self._model = None

    @property
    def model(self) -> Any:
        """The model that is being run."""
        return self._model

    @model.setter
    def model(self, model: Any) -> None:
        self._model = model

    def set_params(self, params: dict[str, Any]) -> None:
        """Set the arguments of the run."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Set the model that is being run."""
        self._model = model

    def get_state(self) -> Any:
        """Return the state that is needed to resume the run in another process, as plain data.

        By default these are all attributes with plain data (numbers, text, lists, dictionaries,
        NumPy arrays), without the arguments of the constructor. In a resumed run `set_state` is
        called after `on_train_begin`, and `on_epoch_begin` is not called again for an epoch that
        had begun. Return None if there is no state and `on_epoch_begin` should be called for such
        an epoch.
        """
        return plain_attributes(self)

    def set_state(self, state: Any) -> None:
        """Restore what `get_state` returned in the earlier process. By default the attributes are
        set.
        """
        vars(self).update(state)

    def skips_batch(self, hook: str, batch: int) -> bool:
        """Return whether a call of a batch hook, such as "on_train_batch_end", can be skipped; used
        only with `every_batch = False`.
        """
        return False

    # --- checkpoints of a whole run, as `BackupAndRestore` saves them

    def run_context(self, run: CheckpointableRun) -> contextlib.AbstractContextManager[object]:
        """Return a context that is open from before `on_train_begin` to after `on_train_end`.

        Override it to checkpoint a run: `run.resume_from` resumes it from a checkpoint that was
        found. The context is left with the error that ends a run early; `run.interrupted_state()`
        then returns what is needed to resume it.

        Args:
            run: The running `fit`.
        """
        return contextlib.nullcontext()

    def on_safepoint(self, run: CheckpointableRun) -> None:
        """Called where a run can be checkpointed: before the first step of a run that is not
        resumed, after each execution, and after each epoch. Override it together with
        `run_context`.

        Args:
            run: The running `fit`; `run.stage` says where it is, `run.state()` returns what is
                needed to resume it from here.
        """

    # --- training

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `fit` begins."""

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `fit` ends, also when it ends with an error."""

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called when an epoch begins."""

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called when an epoch and its validation have ended; `logs` holds both their results."""

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a training batch."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a training batch, with what `train_step` returned."""
        self.on_batch_end(batch, logs)

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """The older name of `on_train_batch_begin`."""

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """The older name of `on_train_batch_end`."""

    # --- testing: `evaluate`, and the validation inside `fit`

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `evaluate` or validation begins."""

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `evaluate` or validation ends, also when it ends with an error."""

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a test batch."""

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a test batch, with what `test_step` returned."""

    # --- predicting

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `predict` begins."""

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called when `predict` ends, also when it ends with an error."""

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a predict batch."""

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a predict batch."""


def overrides(callback: Callback, hook: str) -> bool:
    """Return whether a callback overrides a hook, in its class or by an attribute of the
    instance.
    """
    attributes, cls = vars(callback), type(callback)
    names = (hook, ALIASES[hook]) if hook in ALIASES else (hook,)
    return any(
        name in attributes or getattr(cls, name) is not getattr(Callback, name) for name in names
    )


_NOT_STATE = frozenset({"params", "every_batch", "_model", "_ended_by", "_is_resuming"})


def plain_attributes(callback: Callback) -> dict[str, Any]:
    """Return the attributes with plain data that are not arguments of the constructor under their
    own names.

    Arguments are left out, so that a run may be resumed with another `patience`.
    """
    arguments = {
        name
        for cls in type(callback).__mro__
        if "__init__" in vars(cls) and cls is not object
        for name in inspect.signature(vars(cls)["__init__"]).parameters
    }
    return {
        name: value
        for name, value in vars(callback).items()
        if name not in arguments and name not in _NOT_STATE and is_encodable(value)
    }
