"""CallbackList: which hooks are called, in which order, with which logs, and how errors are
handled.
"""

import numpy as np
import pytest

from podium.callbacks import (
    Callback,
    CallbackList,
    EarlyStopping,
    History,
    LambdaCallback,
    Logs,
    ProgbarLogger,
)
from podium.callbacks._callback import HOOKS


class Recorder(Callback):
    """Records the name of every hook that is called."""

    def __init__(self, events, name=""):
        self.events, self.name = events, name  # without super().__init__(), as users forget


def _record(hook):
    return lambda self, *args: self.events.append((self.name + hook, *args[:-1]))


for _hook in HOOKS:
    setattr(Recorder, _hook, _record(_hook))


def test_hooks_are_called_in_order_with_dictionaries():
    events = []
    callbacks = CallbackList(
        [Recorder(events), LambdaCallback(on_train_begin=lambda logs: events.append(logs))]
    )
    for hook in HOOKS:
        getattr(callbacks, hook)(*((3,) if "epoch" in hook or "batch" in hook else ()))
    expected = [(hook, 3) if "epoch" in hook or "batch" in hook else (hook,) for hook in HOOKS]
    assert events == [expected[0], {}, *expected[1:]]


def test_older_names_of_batch_hooks_are_called():
    events = []

    class Old(Callback):
        def on_batch_begin(self, batch, logs=None):
            events.append(("begin", batch))

        def on_batch_end(self, batch, logs=None):
            events.append(("end", batch, logs))

    callbacks = CallbackList(Old())
    assert callbacks.implements("on_train_batch_end") and callbacks.implements("on_batch_end")
    callbacks.on_train_batch_begin(0)
    callbacks.on_train_batch_end(0, {"loss": 1.0})
    callbacks.on_batch_begin(1)
    callbacks.on_batch_end(1)
    assert events == [("begin", 0), ("end", 0, {"loss": 1.0}), ("begin", 1), ("end", 1, {})]


def test_only_overridden_hooks_are_called_and_reported():
    callbacks = CallbackList(Callback(), add_history=True, add_progbar=True)
    implemented = [hook for hook in HOOKS if callbacks.implements(hook)]
    bar = ["on_test_batch_end", "on_train_batch_end", "on_predict_batch_end"]
    assert [hook for hook in implemented if "batch" in hook] == [
        hook for hook in HOOKS if hook in bar
    ]
    assert not any(callbacks.needs_every_batch(kind) for kind in ("train", "test", "predict"))
    callbacks.append(LambdaCallback(on_test_batch_begin=lambda batch, logs: None))
    assert callbacks.needs_every_batch("test") and not callbacks.needs_every_batch()
    assert not CallbackList(History()).implements("on_train_batch_end")
    with pytest.raises(
        ValueError, match=r"Unknown hook 'on_train_batch_ends'\. Did you mean 'on_train_batch_end'"
    ):
        callbacks.implements("on_train_batch_ends")


def test_hooks_assigned_before_the_run_are_found():
    callback, events = Callback(), []
    callbacks = CallbackList(callback)
    callback.on_epoch_begin = lambda epoch, logs: events.append(epoch)
    callbacks.on_train_begin()
    callbacks.on_epoch_begin(4)
    assert events == [4]


def test_single_nested_repeated_and_ready_lists_are_accepted():
    a, b, c = Callback(), Callback(), Callback()
    assert CallbackList(a).callbacks == [a]
    assert CallbackList((a, [b, (c, a)], b)).callbacks == [a, b, c]
    assert (
        CallbackList(CallbackList([a, b])).callbacks
        == CallbackList([CallbackList([a]), b]).callbacks
        == [a, b]
    )
    assert list(CallbackList([])) == [] and len(CallbackList()) == 0
    callbacks = CallbackList(a, epochs=2)
    callbacks.append(b)
    callbacks.append(a)
    assert callbacks.callbacks == [a, b] and b.params == {"epochs": 2}


def test_defaults_are_added_once_and_last(model):
    history, bar = History(), ProgbarLogger()
    callbacks = CallbackList(
        [bar, history], add_history=True, add_progbar=True, model=model, epochs=3, verbose=0
    )
    assert (
        callbacks.callbacks == [bar, history]
        and callbacks.history is history
        and model.history is history
    )
    assert history.params == {"epochs": 3, "verbose": 0} and history.model is model
    added = CallbackList(Callback(), add_history=True, add_progbar=True)
    assert [type(callback) for callback in added] == [Callback, History, ProgbarLogger]
    assert CallbackList().history is None


def test_other_objects_than_callbacks_are_rejected():
    with pytest.raises(
        TypeError,
        match=r"was given the class EarlyStopping; an instance was expected\. Write `EarlyStopping",
    ):
        CallbackList([EarlyStopping])
    with pytest.raises(TypeError, match="was given the class EarlyStopping"):
        CallbackList(EarlyStopping)
    with pytest.raises(TypeError, match=r"For a function, write `LambdaCallback\(on_epoch_end="):
        CallbackList([lambda epoch, logs: None])
    for wrong, kind in (
        (3, "int"),
        ("es", "str"),
        ({"a": Callback()}, "dict"),
        ([None], "NoneType"),
    ):
        with pytest.raises(
            TypeError, match=f"of type {kind}; an instance of `podium.callbacks.Callback` or a list"
        ):
            CallbackList(wrong)


def test_hooks_with_wrong_signatures_are_rejected_before_training():
    class NoLogs(Callback):
        def on_epoch_end(self, epoch):
            pass

    with pytest.raises(
        TypeError,
        match=r"NoLogs.on_epoch_end\(epoch\) is called with \(epoch, logs\).*Write `def "
        r"on_epoch_end",
    ):
        CallbackList(NoLogs())
    with pytest.raises(TypeError, match=r"on_batch_end\(\) is called with \(batch, logs\)"):
        CallbackList(LambdaCallback(on_batch_end=lambda: None))
    with pytest.raises(TypeError, match=r"on_train_begin.* is called with \(logs\)"):
        CallbackList(LambdaCallback(on_train_begin=lambda epoch, logs: None))
    CallbackList(LambdaCallback(on_epoch_end=print, on_train_end=lambda *args: None))


def test_every_callback_gets_its_own_copy_of_logs():
    seen = []

    def spoil(batch, logs):
        seen.append(dict(logs))
        logs.clear()

    callbacks = CallbackList(
        [LambdaCallback(on_train_batch_end=spoil), LambdaCallback(on_train_batch_end=spoil)]
    )
    logs = Logs({"loss": 1.0})
    callbacks.on_train_batch_end(0, logs)
    callbacks.on_train_batch_end(1, {"loss": 1.0})
    assert seen == [{"loss": 1.0}] * 4 and logs == {"loss": 1.0}


def test_added_logs_are_passed_on_and_removed_ones_are_kept():
    def meddle(epoch, logs):
        logs.pop("loss", None)
        logs["rate"] = 0.1
        logs["mae"] = 3.0

    callbacks, logs = (
        CallbackList(LambdaCallback(on_epoch_end=meddle), add_history=True),
        {"loss": 1.0, "mae": 2.0},
    )
    callbacks.on_epoch_end(0, logs)
    assert callbacks.history.history == {"loss": [1.0], "mae": [3.0], "rate": [0.1]}
    assert logs == {"loss": 1.0, "mae": 3.0, "rate": 0.1}
    callbacks.on_epoch_end(1)
    assert callbacks.history.history["rate"] == [0.1, 0.1]


def test_error_keeps_its_type_and_names_the_callback():
    class Boom(Callback):
        def on_train_batch_end(self, batch, logs=None):
            raise KeyError("cb-boom")

    with pytest.raises(KeyError, match="cb-boom") as caught:
        CallbackList(Boom()).on_train_batch_end(0)
    assert caught.value.__notes__ == ["This happened in Boom.on_train_batch_end."]


def fail(*_):
    raise ValueError("first")


def test_end_hook_is_called_after_begin_hook():
    events = []
    failing = LambdaCallback(on_train_begin=fail, on_train_end=lambda logs: events.append("never"))
    callbacks = CallbackList([Recorder(events, "a "), failing, Recorder(events, "b ")])
    with pytest.raises(ValueError, match="first"), callbacks.ensure_end("train"):
        callbacks.on_train_begin()
    assert events == [("a on_train_begin",), ("a on_train_end",)]


def test_failing_end_hook_does_not_prevent_others():
    events = []
    callbacks = CallbackList([LambdaCallback(on_train_end=fail), Recorder(events)])
    with pytest.raises(ValueError, match="first"), callbacks.ensure_end("train"):
        callbacks.on_train_begin()
        callbacks.on_train_end()
    assert events == [("on_train_begin",), ("on_train_end",)]


def test_errors_in_end_hooks_become_notes_and_inner_runs_end_first():
    events = []
    callbacks = CallbackList([LambdaCallback(on_test_end=fail), Recorder(events)])
    with pytest.raises(KeyboardInterrupt) as caught, callbacks.ensure_end("train"):
        callbacks.on_train_begin()
        callbacks.on_test_begin()
        raise KeyboardInterrupt
    assert [event[0] for event in events] == [
        "on_train_begin",
        "on_test_begin",
        "on_test_end",
        "on_train_end",
    ]
    assert caught.value.__notes__ == [
        "Then LambdaCallback.on_test_end failed as well: ValueError: first"
    ]
    callbacks.end_after_error("train", caught.value)  # all end hooks have been called
    assert len(events) == 4
    callbacks.on_train_end()  # a custom loop without `on_train_begin`
    assert events[-1] == ("on_train_end",)


def test_completed_run_is_not_ended_twice():
    events = []
    callbacks = CallbackList(Recorder(events))
    with callbacks.ensure_end("predict"):
        callbacks.on_predict_begin()
        callbacks.on_predict_end()
    callbacks.end_after_error("predict", ValueError())
    assert events == [("on_predict_begin",), ("on_predict_end",)]


def test_model_can_be_set_as_in_keras_2():
    class Old(Callback):
        def set_model(self, model):
            self.model = model

    callback = Old()
    CallbackList(callback, model=(model := type("Model", (), {})()))
    assert callback.model is model and callback.params is None


def test_history_stores_floats_and_appends_when_reused():
    history = History()
    for _ in range(2):
        history.on_train_begin()
        history.on_epoch_end(0, Logs({"loss": 1}))
        history.on_epoch_end(1, None)
    assert history.history == {"loss": [1.0, 1.0]} and history.epoch == [0, 1]
    assert type(history.history["loss"][0]) is float


class RecordedValue:
    """A value that records when it is read."""

    def __init__(self, value, read):
        self.value, self.read = value, read

    def __array__(self, dtype=None, copy=None):
        self.read.append(self.value)
        return np.asarray(self.value, dtype)


def test_history_does_not_wait_until_it_is_read():
    read, callbacks = [], CallbackList(add_history=True)
    callbacks.on_train_begin()
    for epoch in range(70):
        callbacks.on_epoch_end(epoch, Logs({"loss": RecordedValue(float(epoch), read)}))
    # The oldest values are read, so that a long run does not keep all of them on the device.
    assert read == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert callbacks.history.history == {"loss": [float(epoch) for epoch in range(70)]}
    callbacks.on_epoch_end(70, Logs({"loss": RecordedValue(0.5, read)}))
    callbacks.on_train_end()
    assert read[-1] == 0.5 and len(read) == 71


def test_logs_added_by_a_later_callback_are_not_in_the_history():
    adding = LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(extra=1.0))
    first, last = History(), CallbackList([adding, History()])
    for callbacks in (CallbackList([first, adding]), last):
        logs = Logs({"loss": 2.0})
        callbacks.on_epoch_end(0, logs)
        assert logs == {"loss": 2.0, "extra": 1.0}
    assert first.history == {"loss": [2.0]}
    assert last.history.history == {"loss": [2.0], "extra": [1.0]}
