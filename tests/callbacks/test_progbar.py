"""Progbar: drawn at intervals, one line in a pipe, values read only when drawn, correct when a run
is interrupted.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import podium
from podium.callbacks import (
    CallbackList,
    History,
    Logs,
    Progbar,
    ProgbarLogger,
    _console,
    _logs,
    _progbar,
)

FULL = "=" * 30


def run(callbacks, epochs, steps, logs, stop_at=None):
    callbacks.on_train_begin()
    for epoch in range(epochs):
        callbacks.on_epoch_begin(epoch)
        for step in range(steps):
            callbacks.on_train_batch_end(step, logs(step))
            if step == stop_at:
                break
        callbacks.on_epoch_end(epoch, {"loss": 0.5})
    callbacks.on_train_end()


def test_pipe_gets_one_line_per_epoch(capsys, clock):
    callbacks = CallbackList(add_progbar=True, verbose="auto", epochs=2, steps=3)
    run(callbacks, 2, 3, lambda step: {"loss": 1.0})
    line = f"3/3 [{FULL}] - 0s 0s/step - loss: 0.5000\n"
    assert capsys.readouterr().out == f"Epoch 1/2\n{line}Epoch 2/2\n{line}"


def test_values_are_read_only_when_the_line_is_drawn(terminal, clock, monkeypatch):
    reads, real = [], _logs.to_python
    monkeypatch.setattr(_logs, "to_python", lambda value: reads.append(value) or real(value))
    callbacks = CallbackList(add_progbar=True, verbose=1, epochs=1, steps=100)
    callbacks.on_train_begin()
    callbacks.on_epoch_begin(0)
    for step in range(100):
        clock.now += 0.01
        callbacks.on_train_batch_end(
            step, Logs({"loss": float(step)}, running={"loss": np.float32(step)})
        )
    assert 15 <= len(terminal) <= 25 and len(reads) == len(terminal)
    assert terminal.visible()[-1].endswith(f"loss: {reads[-1]:.4f}")


def test_progress_bar_shows_running_means_and_ends_with_the_history(terminal, clock):
    history = History()
    callbacks = CallbackList([history], add_progbar=True, verbose=1, epochs=1, steps=2)
    callbacks.on_train_begin()
    callbacks.on_epoch_begin(0)
    for step, (batch, running) in enumerate([(4.0, 4.0), (1.0, 3.0)]):
        clock.now += 1
        callbacks.on_train_batch_end(step, Logs({"loss": batch}, running={"loss": running}))
    callbacks.on_epoch_end(0, {"loss": 3.0, "val_loss": 7.0})
    assert [line.split(" - ")[-1].strip() for line in terminal.visible()[:2]] == [
        "loss: 4.0000",
        "loss: 3.0000",
    ]
    assert terminal.visible()[2].endswith("loss: 3.0000 - val_loss: 7.0000\n") and history.history[
        "loss"
    ] == [3.0]


def test_values_of_a_custom_loop_are_averaged_until_the_epoch_ends(terminal, clock):
    callbacks = CallbackList(add_progbar=True, verbose=1, epochs=1, steps=2)
    callbacks.on_epoch_begin(0)
    for step, loss in enumerate((4.0, 1.0)):
        clock.now += 1
        callbacks.on_train_batch_end(step, {"loss": loss})
    callbacks.on_epoch_end(0, {"loss": 1.0})
    assert [line.split(" - ")[-1].strip() for line in terminal.visible()] == [
        "loss: 4.0000",
        "loss: 2.5000",
        "loss: 1.0000",
    ]


def test_interrupted_epoch_shows_its_progress(capsys, clock):
    run(
        CallbackList(add_progbar=True, verbose=1, epochs=1, steps=8),
        1,
        8,
        lambda step: None,
        stop_at=2,
    )
    assert capsys.readouterr().out.startswith("3/8 [==========>...................] - 0s")
    run(
        CallbackList(add_progbar=True, verbose=2, epochs=1, steps=8),
        1,
        8,
        lambda step: None,
        stop_at=2,
    )
    assert capsys.readouterr().out == "3/8 - 0s - loss: 0.5000 - 0s/epoch - 0s/step\n"


def test_unknown_number_of_steps_is_counted_in_the_first_epoch(capsys, clock):
    callbacks = CallbackList(
        add_progbar=True, verbose=2, epochs=2
    )  # as in the seeds: no steps at all
    run(callbacks, 2, 12, lambda step: None)
    line = "12/12 - 0s - loss: 0.5000 - 0s/epoch - 0s/step\n"
    assert capsys.readouterr().out == f"Epoch 1/2\n{line}Epoch 2/2\n{line}"


def test_first_call_is_excluded_from_the_step_time(terminal, clock):
    bar = Progbar(100)
    for current in (10, 20, 100):  # ten fused steps: the first call compiles
        clock.now += 10.0 if current == 10 else 0.1
        bar.update(current)
    assert terminal.visible()[-1] == f"100/100 [{FULL}] - 10s 2ms/step\n"


def test_remaining_time_is_shown_from_the_second_timed_call(terminal, clock):
    bar = Progbar(100, width=4)
    for current in (10, 20):
        clock.now += 3600.0 if current == 10 else 1.0  # the first call compiles
        bar.update(current, {"loss": 1.0})
    assert terminal.visible() == [
        " 10/100 [....] - loss: 1.0000",
        " 20/100 [....] - ETA: 8s - loss: 1.0000",
    ]


def test_slow_drawing_is_not_followed_by_another_immediately(monkeypatch, terminal, clock):
    def write_slowly(text):
        clock.now += 0.2  # such as waiting for the device
        terminal.append(text)

    monkeypatch.setattr(_progbar, "write_stdout", write_slowly)
    bar = Progbar(100)
    for current in range(1, 11):
        clock.now += 0.03
        bar.update(current, {"loss": 1.0})
    assert len(terminal) == 5


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (47, " 6/10 [=====>....] - ETA: 0s - loss: 1.0000"),
        (43, " 6/10 [=====>....] - ETA: 0s - loss: 1.0000"),
        (42, " 6/10 [====>....] - ETA: 0s - loss: 1.0000"),
        (38, " 6/10 [==>..] - ETA: 0s - loss: 1.0000"),
        (37, " 6/10 - ETA: 0s - loss: 1.0000"),
        (20, " 6/10 - ETA: 0s - lo"),
    ],
)
def test_bar_is_shortened_to_fit_the_line(columns, shown, monkeypatch, terminal, clock):
    monkeypatch.setattr(_progbar, "terminal_width", lambda: columns)
    bar = Progbar(10, width=10)
    for current in (3, 6):
        clock.now += 0.1
        bar.update(current, {"loss": 1.0})
    assert terminal.visible()[-1] == shown
    bar.update(10)
    assert terminal.visible()[-1].startswith("10/10 [==========] - 0s")  # the final line may wrap


@pytest.mark.parametrize(
    ("traces", "eagerly", "shown"), [(0, False, True), (1, False, False), (0, True, False)]
)
def test_compilation_is_shown_on_a_terminal(traces, eagerly, shown, terminal, clock, model):
    model.train_function, model.run_eagerly = SimpleNamespace(trace_count=traces), eagerly
    callbacks = CallbackList(add_progbar=True, model=model, verbose=1, epochs=1, steps=4)
    run(callbacks, 1, 4, lambda step: None)
    assert terminal.visible()[:-2] == ["0/4 [..............................] - compiling"] * shown
    model.train_function.trace_count = traces
    silent = CallbackList(add_progbar=True, model=model, verbose=2, epochs=1, steps=4)
    terminal.clear()
    run(silent, 1, 4, lambda step: None)
    assert len(terminal) == 1


def test_unfinished_line_is_ended_after_an_error(terminal, clock):
    callbacks = CallbackList(add_progbar=True, verbose=1, epochs=1, steps=5)
    with pytest.raises(KeyboardInterrupt), callbacks.ensure_end("train"):
        callbacks.on_train_begin()
        callbacks.on_epoch_begin(0)
        callbacks.on_train_batch_end(0, {"loss": 1.0})
        raise KeyboardInterrupt
    assert len(terminal) == 2 and terminal[1] == "\n"
    terminal.clear()
    with (
        pytest.raises(KeyboardInterrupt),
        callbacks.ensure_end("test"),
    ):  # not inside `fit`: evaluation has a bar
        callbacks.on_test_begin()
        callbacks.on_test_batch_end(0, {"loss": 1.0})
        raise KeyboardInterrupt
    assert len(terminal) == 2 and terminal[1] == "\n"


def test_evaluate_and_predict_show_a_bar_and_validation_does_not(capsys, clock):
    callbacks = CallbackList(add_progbar=True, verbose=1, epochs=1, steps=1)
    callbacks.on_test_begin()
    callbacks.on_test_batch_end(0, {"loss": 1.0})
    callbacks.on_test_end({"loss": 2.0})
    callbacks.on_predict_begin()
    callbacks.on_predict_batch_end(0, {"outputs": [1.0]})
    callbacks.on_predict_end()
    bar = f"1/1 [{FULL}] - 0s 0s/step"
    assert capsys.readouterr().out == f"{bar} - loss: 2.0000\n{bar}\n"
    callbacks.on_train_begin()
    callbacks.on_epoch_begin(0)
    callbacks.on_test_begin()
    callbacks.on_test_batch_end(0, {"loss": 1.0})
    callbacks.on_test_end({"loss": 2.0})
    assert capsys.readouterr().out == ""


def test_shorter_line_overwrites_a_longer_one(terminal, clock):
    bar = Progbar(2, stateful_metrics=["a"])
    bar.update(1, {"a": 12345678901234567.0})
    clock.now += 1
    bar.update(2, {"a": 1.0})
    assert terminal[0].startswith("\r") and terminal[1].startswith("\r")
    assert len(terminal[1].rstrip("\n")) == len(terminal[0])


def test_lines_are_truncated_and_stdout_is_looked_up_when_written(monkeypatch, capsys):
    class Terminal:
        def __init__(self):
            self.text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    screen = Terminal()
    monkeypatch.setenv("COLUMNS", "20")
    bar = Progbar(10)
    monkeypatch.setattr(sys, "stdout", screen)
    bar.update(1, {"loss": 1.0})
    bar.close()
    bar.close()
    assert screen.text == "\r 1/10 - loss: 1.0000\n"[:20] + "\n"
    monkeypatch.setattr(sys, "stdout", None)
    assert not _console.can_redraw() and _console.terminal_width() is None
    bar.update(10, {"loss": 1.0})


def test_unusual_targets_and_values(capsys, clock, monkeypatch):
    Progbar(0, width=5).update(0)
    Progbar(2, width=4).update(3, [("word", "hi"), ("list", [1.0])])
    Progbar(None, verbose=2).update(12, {"loss": -0.5}, finalize=True)
    monkeypatch.setattr(_progbar, "_MAX_PENDING", 3)
    bar = Progbar(20, width=1)
    for n in range(20):
        bar.add(1, {"loss": float(n)})
    assert capsys.readouterr().out.splitlines() == [
        "0/0 [=====] - 0s 0s/step",
        "3/2 [====] - 0s 0s/step - word: hi - list: [1.0]",
        "     12/Unknown - 0s - loss: -0.5000 - 0s/epoch - 0s/step",
        "20/20 [=] - 0s 0s/step - loss: 9.5000",
    ]


@pytest.mark.parametrize("params", [{}, {"steps": 12}], ids=["unknown size", "known size"])
def test_loop_that_reports_the_first_step_of_each_execution_counts_all_steps(params, capsys, clock):
    model = SimpleNamespace(_train_counter=podium.Variable(7, trainable=False))
    callbacks = CallbackList(add_progbar=True, model=model, verbose=2, epochs=3, **params)
    callbacks.on_train_begin()
    for epoch in range(3):
        callbacks.on_epoch_begin(epoch)
        for step in range(0, 12, 4):
            model._train_counter.assign_add(4)
            callbacks.on_train_batch_end(step)
        callbacks.on_epoch_end(epoch, None)
    lines = [line for line in capsys.readouterr().out.splitlines() if "/epoch" in line]
    assert [line.split(" - ")[0] for line in lines] == ["12/12"] * 3


def test_wrong_settings_are_rejected():
    with pytest.raises(ValueError, match=r"Unknown verbose 3\. Choices: '0', '1', '2', 'auto'"):
        CallbackList(add_progbar=True, verbose=3)
    with pytest.raises(ValueError, match="Unknown count_mode 'samples'"):
        ProgbarLogger("samples")
    assert ProgbarLogger("steps").verbose == 1


def test_stateless_metrics_are_averaged_and_others_shown_as_they_are(capsys):
    bar = Progbar(2, verbose=2, stateless_metrics=["a"])
    bar.update(1, {"a": 1.0, "b": 1.0})
    bar.update(2, {"a": 2.0, "b": 2.0})
    assert "a: 1.5000 - b: 2.0000" in capsys.readouterr().out
    with pytest.raises(ValueError, match="stateful_metrics and stateless_metrics"):
        Progbar(2, stateful_metrics=["a"], stateless_metrics=["b"])
