"""check_callback: the contract of every callback."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from podium.callbacks import Callback, History
from podium.core import set_random_seed
from podium.layers import Dense, Input
from podium.models import Sequential
from podium.testing._contract import Contract

_EPOCHS, _SAMPLES, _BATCH_SIZE = 3, 40, 8


def check_callback(
    make: Callable[[], Callback], *, changes_training: bool = False, saves_state: bool = True
) -> None:
    """Check that a callback keeps the contract of callbacks.

    Checked are: that `fit` with validation, `evaluate` and `predict` run with it; that it can be
    used for a second `fit`; that it leaves weights and History as they are without it, also with
    fused steps; and that its state can be saved and set.

    Args:
        make: Makes the callback: its class, or a function without arguments.
        changes_training: Whether the callback is meant to change weights, the learning rate or the
            number of epochs: then results are not compared.
        saves_state: Whether `get_state` must return JSON-compatible data; False for callbacks
            that cannot be resumed.

    Raises:
        ContractError: The callback breaks the contract; the message states how.

    Example:
        >>> class CountEpochs(podium.callbacks.Callback):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.epochs = 0
        ...     def on_epoch_end(self, epoch, logs=None):
        ...         self.epochs += 1
        >>> podium.testing.check_callback(CountEpochs)
    """
    with Contract("check_callback", Callback).succeeds("making it", "Pass a class or a function."):
        callback = make()
    contract = Contract("check_callback", callback)
    contract.require(
        isinstance(callback, Callback),
        f"a {type(callback).__name__} is not a callback.",
        "Subclass `podium.callbacks.Callback`.",
    )
    _check_runs(contract, callback)
    if not changes_training:
        for steps_per_execution in (1, 4):
            _check_training_is_unchanged(contract, make(), steps_per_execution)
    if saves_state:
        _check_state(contract, make)


def _make_model(steps_per_execution: int | str = "auto") -> Sequential:
    set_random_seed(0)
    model = Sequential([Input((3,)), Dense(4, activation="relu"), Dense(1)])
    model.compile("adam", "mse", metrics=["mae"], steps_per_execution=steps_per_execution)
    return model


def _make_data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x = np.random.default_rng(0).normal(size=(_SAMPLES, 3)).astype("float32")
    return x, x[:, :1] - x[:, 1:2]


def _fit(model: Sequential, *callbacks: Callback) -> History:
    x, y = _make_data()
    return model.fit(
        x,
        y,
        batch_size=_BATCH_SIZE,
        epochs=_EPOCHS,
        callbacks=list(callbacks),
        validation_data=(x[:16], y[:16]),
        verbose=0,
    )


def _check_runs(contract: Contract, callback: Callback) -> None:
    fix = "Hooks take `(self, logs=None)`; with an epoch or batch, `(self, epoch, logs=None)`."
    model = _make_model()
    x, y = _make_data()
    with contract.succeeds("`fit`", fix):
        _fit(model, callback)
    contract.require(
        callback.model is model,
        "`callback.model` is not the model that was trained.",
        "Call `super().set_model(model)`, and do not override the property `model`.",
    )
    with contract.succeeds("`evaluate`", fix):
        model.evaluate(x, y, callbacks=[callback], verbose=0)
    with contract.succeeds("`predict`", fix):
        model.predict(x, callbacks=[callback], verbose=0)
    with contract.succeeds("a second `fit` with the same callback", "Reset in `on_train_begin`."):
        _fit(model, callback)


def _check_training_is_unchanged(
    contract: Contract, callback: Callback, steps_per_execution: int
) -> None:
    fix = "Do not assign weights in hooks; if that is meant, check with `changes_training=True`."
    model = _make_model(steps_per_execution)
    history = _fit(model, callback).history
    reference = _make_model(steps_per_execution)  # seeded like the first
    expected = _fit(reference).history
    contract.require_equal(
        model.get_weights(),
        reference.get_weights(),
        f"weights differ from those of a `fit` without it ({steps_per_execution=}).",
        fix,
    )
    contract.require_equal(
        {name: history[name] for name in expected if name in history},
        expected,
        f"the History differs from that of a `fit` without it ({steps_per_execution=}).",
        fix,
    )


def _check_state(contract: Contract, make: Callable[[], Callback]) -> None:
    fix = "Override `get_state` and `set_state`: numbers, strings, lists, dictionaries and arrays."
    callback, copy = make(), make()
    _fit(_make_model(), callback)
    with contract.succeeds("get_state()", fix):
        state = callback.get_state()
    if state is None:
        return
    with contract.succeeds(f"saving the state {state!r} as JSON", fix):
        json.dumps(state, default=_encode_array)
    with contract.succeeds("on_train_begin() and set_state(get_state()) of another instance", fix):
        copy.set_model(_make_model())
        copy.on_train_begin()  # in a run that is resumed, the state is set after it
        copy.set_state(state)
        again = copy.get_state()
        copy.on_train_end()
    contract.require(
        json.dumps(again, default=_encode_array) == json.dumps(state, default=_encode_array),
        f"get_state() returned {again!r} after set_state({state!r}).",
        fix,
    )


def _encode_array(value: object) -> object:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is neither JSON-compatible nor an array")
