"""Ctrl-C at any moment of `fit`: the model holds the last completed step and can be trained on."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import podium
from podium import callbacks, layers

STEPS = 100
X = np.random.default_rng(0).normal(size=(STEPS * 4, 3)).astype("float32")
Y = X @ np.array([[1.0], [-2.0], [0.5]], "float32")


def fresh_model(fused=1):
    podium.utils.set_random_seed(0)
    model = podium.Sequential(
        [
            podium.Input((3,)),
            layers.Dense(8, activation="tanh"),
            layers.Dropout(0.1),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", steps_per_execution=fused)
    return model


class Trajectory(callbacks.Callback):
    """Keeps the weights after every step."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def on_train_begin(self, logs=None):
        self.weights.append(self.model.get_weights())

    def on_train_batch_end(self, batch, logs=None):
        self.weights.append(self.model.get_weights())


# Python drops an interrupt that strikes inside a finalizer, and says so: nothing of ours could
# catch it there.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("ctrl_c")
def test_model_holds_a_completed_step_after_each_of_fifty_interrupts():
    """The state is that after as many whole steps as the optimizer has counted, bit for bit, and
    training continues.
    """
    reference = Trajectory()
    model = fresh_model()
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0, callbacks=reference)
    start = [
        (variable, variable.numpy()) for variable in [*model.variables, *model.optimizer.variables]
    ]
    begin = fresh_model()
    first = [variable.numpy() for variable in begin.variables]
    duration = 0.0
    for _ in range(2):
        began = time.perf_counter()
        model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
        duration = time.perf_counter() - began
    rng = random.Random(1)
    struck = 0
    for attempt in range(50):
        for (variable, value), fresh in zip(start, [*first, *[None] * len(start)], strict=False):
            variable.assign(fresh if fresh is not None else np.zeros_like(value))
        model.optimizer.learning_rate = 0.001
        timer = threading.Timer(
            rng.random() * duration, lambda: os.kill(os.getpid(), signal.SIGINT)
        )
        try:
            timer.start()
            model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
            timer.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            struck += 1
        completed = int(model.optimizer.iterations.numpy())
        for expected, found in zip(reference.weights[completed], model.get_weights(), strict=True):
            np.testing.assert_array_equal(
                expected, found, err_msg=f"attempt {attempt}, after {completed} steps"
            )
    assert struck > 25
    model.fit(X[:8], Y[:8], verbose=0)
    assert np.isfinite(model.evaluate(X[:8], Y[:8], verbose=0))


def test_history_keeps_the_logs_before_an_interrupt():
    class Interrupts(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if self.model.history.epoch == [0, 1] and batch == 2:
                raise KeyboardInterrupt

    model = fresh_model()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:40], Y[:40], batch_size=4, epochs=5, verbose=0, callbacks=Interrupts())
    assert len(model.history.history["loss"]) == 2
    assert int(model._train_counter.numpy()) == 23


def test_no_threads_or_files_remain_after_fit():
    """Promise: no thread, no process, no open file after `fit` returns or raises."""
    script = """
        import os, threading
        import numpy as np
        import podium

        def left():
            files, tasks = os.listdir("/proc/self/fd"), os.listdir("/proc/self/task")
            return threading.active_count(), len(files), len(tasks)

        model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        model.compile("sgd", "mse")
        x, y = np.ones((64, 2)), np.ones((64, 1))
        model.fit(x, y, verbose=0)
        class Fails(podium.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                raise OSError("disk")
        def failing():
            try:
                logger = podium.callbacks.CSVLogger(os.devnull)
                model.fit(x, y, verbose=0, callbacks=[Fails(), logger])
            except OSError:
                pass
        failing()
        before = left()
        for _ in range(30):
            failing()
            model.fit(x, y, verbose=0)
        assert left() == before, (before, left())
        print("nothing left")
    """
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("reads /proc, which this system does not have")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "nothing left", done.stderr[-2000:]
