"""EveryNSteps: calls a function, or the batch hooks of a callback, every n steps of a `fit`.

It owns the count of steps. That an execution ends where a call is due is the matter of the training
loop, which reads `steps_between`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.callbacks._callback import HOOKS, Callback, overrides
from podium.core.internal import check_int

_STEP_HOOKS = ("on_train_batch_begin", "on_train_batch_end")


class EveryNSteps(Callback):
    """Calls a function or another callback every `n` steps of `fit`, counted over all epochs.

    Between the calls, steps stay fused: an execution ends where a call is due, and no program is
    compiled for it. With several workers a function is called on the chief only.

    Args:
        n: The number of steps between two calls.
        callback: A function of `(step, logs)`, where `step` is the number of steps that were run,
            `n` at the first call; or a callback, whose `on_train_batch_end` is called after every
            `n`-th step, and `on_train_batch_begin` before the steps that follow. Its other hooks
            are called as usual. `logs` are those of the last step.

    Example:
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> x, y = np.ones((60, 1)), np.ones((60, 1))
        >>> show = podium.callbacks.EveryNSteps(40, lambda step, logs: print(step, sorted(logs)))
        >>> _ = model.fit(x, y, batch_size=2, epochs=3, callbacks=show, verbose=0)
        40 ['loss']
        80 ['loss']
    """

    every_batch = False

    def __init__(self, n: int, callback: Callback | Callable[[int, dict[str, Any]], object]):
        super().__init__()
        self.n = self.steps_between = check_int("n", n, owner=self)
        self.callback = callback
        self._steps = 0  # of the run
        self._last_batch = -1  # of the epoch
        self._due = False  # after that batch
        if isinstance(callback, Callback):
            self._wrap(callback)
        elif not callable(callback) or isinstance(callback, type):
            raise TypeError(
                f"EveryNSteps was given callback={callback!r}; a function of (step, logs) or a "
                "callback was expected."
            )

    def _wrap(self, callback: Callback) -> None:
        """Take over the hooks that a callback overrides."""
        if not any(overrides(callback, hook) for hook in _STEP_HOOKS):
            raise ValueError(
                f"EveryNSteps was given {type(callback).__name__}, which has neither "
                "`on_train_batch_begin` nor `on_train_batch_end`, so that there is nothing to call "
                "every n steps. Pass it to `fit` itself, or give it one of these hooks."
            )
        self.every_worker = callback.every_worker
        own = ("on_train_begin", "on_epoch_begin", "on_train_batch_end")
        for hook in HOOKS:
            if hook not in own and overrides(callback, hook):
                # Attributes of this object, so that hooks that it lacks are not called.
                begins = hook == "on_train_batch_begin"
                setattr(self, hook, self._begin_batch if begins else getattr(callback, hook))

    def set_model(self, model: Any) -> None:
        """Set the model that is being run."""
        super().set_model(model)
        if isinstance(self.callback, Callback):
            self.callback.set_model(model)

    def set_params(self, params: dict[str, Any]) -> None:
        """Set the arguments of the run."""
        super().set_params(params)
        if isinstance(self.callback, Callback):
            self.callback.set_params(params)

    def get_state(self) -> dict[str, Any]:
        """Return the counts, and the state of the callback."""
        inner = self.callback.get_state() if isinstance(self.callback, Callback) else None
        return {"steps": self._steps, "last_batch": self._last_batch, "callback": inner}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `get_state` returned."""
        self._steps, self._last_batch = state["steps"], state["last_batch"]
        if isinstance(self.callback, Callback) and state["callback"] is not None:
            self.callback.set_state(state["callback"])

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Start counting."""
        self._steps, self._last_batch = 0, -1
        if isinstance(self.callback, Callback):
            self.callback._is_resuming = self._is_resuming
            self.callback.on_train_begin(logs)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Batches are counted from 0 in each epoch."""
        self._last_batch = -1
        if isinstance(self.callback, Callback):
            self.callback.on_epoch_begin(epoch, logs)

    def skips_batch(self, hook: str, batch: int) -> bool:
        """Return whether no call is due after this batch; logs are not needed then."""
        return hook == "on_train_batch_end" and not self._is_due(batch)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Make the call if it is due."""
        if not self._is_due(batch):
            return
        if isinstance(self.callback, Callback):
            self.callback.on_train_batch_end(batch, logs)
        else:
            self.callback(self._steps, {} if logs is None else logs)

    def _begin_batch(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        assert isinstance(self.callback, Callback)
        if self._steps % self.n == 0:
            self.callback.on_train_batch_begin(batch, logs)

    def _is_due(self, batch: int) -> bool:
        """Count the steps up to this batch, once, and return whether a call is due after it."""
        if batch != self._last_batch:
            before = self._steps
            self._steps += batch - self._last_batch
            self._last_batch = batch
            self._due = self._steps // self.n > before // self.n
        return self._due
