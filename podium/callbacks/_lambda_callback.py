"""LambdaCallback: a callback made of functions, one per hook."""

from __future__ import annotations

from collections.abc import Callable

from podium.callbacks._callback import ALIASES, HOOKS, Callback
from podium.core import check_choice

_Hook = Callable[..., object]


class LambdaCallback(Callback):
    """Calls functions at hooks, without a class of your own.

    Args:
        on_epoch_begin: A function of (epoch, logs).
        on_epoch_end: A function of (epoch, logs).
        on_train_begin: A function of (logs).
        on_train_end: A function of (logs).
        on_train_batch_begin: A function of (batch, logs).
        on_train_batch_end: A function of (batch, logs).
        **kwargs: Functions for any other hook of Callback, such as `on_test_end` or `on_batch_end`.

    Example:
        >>> show = podium.callbacks.LambdaCallback(on_epoch_end=print)
        >>> podium.callbacks.CallbackList(show).on_epoch_end(0, {"loss": 0.5})
        0 {'loss': 0.5}
        >>> podium.callbacks.LambdaCallback(on_epoch_stop=print)
        Traceback (most recent call last):
        ValueError: Unknown hook 'on_epoch_stop'. Did you mean 'on_epoch_...
    """

    def __init__(
        self,
        on_epoch_begin: _Hook | None = None,
        on_epoch_end: _Hook | None = None,
        on_train_begin: _Hook | None = None,
        on_train_end: _Hook | None = None,
        on_train_batch_begin: _Hook | None = None,
        on_train_batch_end: _Hook | None = None,
        **kwargs: _Hook | None,
    ):
        super().__init__()
        functions = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
            **kwargs,
        }
        for hook, function in functions.items():
            check_choice("hook", hook, [*HOOKS, *ALIASES.values(), "set_model", "set_params"])
            if function is None:
                continue
            if not callable(function):
                raise TypeError(
                    f"LambdaCallback was given {hook}={function!r}; a function was expected."
                )
            setattr(self, hook, function)
