"""Calls the callbacks of tf_keras (Keras 2) with scripted logs and a scripted clock, and records
the results.

    python tests/oracle/record_callbacks.py --out tests/oracle/fixtures      (in the tf_keras
    environment)

`callbacks.json` holds, for each case, its script and the results: when training stopped, the
learning rates, the text of the progress bar, the file of CSVLogger.
"""

import argparse
import contextlib
import json
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf
import tf_keras
from tf_keras.src.utils import generic_utils, io_utils

NAN, INF = float("nan"), float("inf")

EARLY_STOPPING = [
    ({"monitor": "loss"}, [3.0, 2.0, 2.0, 1.0]),
    ({"monitor": "loss", "patience": 2}, [3.0, 2.0, 2.5, 1.9, 2.0, 2.1, 1.0]),
    ({"monitor": "loss", "patience": 1, "min_delta": 0.5}, [3.0, 2.6, 2.4, 2.0, 1.8]),
    ({"monitor": "loss", "patience": 1, "min_delta": -0.5}, [3.0, 2.6, 2.4, 2.0, 1.8]),
    ({"monitor": "accuracy", "patience": 1}, [0.1, 0.5, 0.4, 0.6]),
    ({"monitor": "val_acc", "patience": 1}, [0.1, 0.5, 0.4, 0.3, 0.6]),
    ({"monitor": "val_auc", "patience": 1}, [0.1, 0.5, 0.4, 0.3, 0.6]),
    ({"monitor": "loss", "mode": "max", "patience": 1}, [1.0, 0.5, 0.4]),
    ({"monitor": "accuracy", "mode": "min", "patience": 2}, [1.0, 1.5, 0.4, 0.5, 0.6]),
    ({"monitor": "loss", "patience": 2, "baseline": 1.0}, [3.0, 2.0, 1.5, 1.2, 0.5]),
    ({"monitor": "loss", "patience": 2, "baseline": 1.0}, [3.0, 0.5, 0.6, 0.7, 0.8]),
    (
        {"monitor": "loss", "patience": 2, "baseline": 1.0, "restore_best_weights": True},
        [3.0, 4.0, 1.5, 6.0, 0.5],
    ),
    ({"monitor": "loss", "patience": 2, "restore_best_weights": True}, [3.0, 2.0, 2.5, 2.6, 1.0]),
    ({"monitor": "loss", "patience": 9, "restore_best_weights": True}, [3.0, 2.0, 2.5, 2.6]),
    ({"monitor": "loss", "patience": 1, "start_from_epoch": 3}, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ({"monitor": "loss", "patience": 1}, [NAN, NAN, 1.0, 0.5, NAN, 0.4]),
    ({"monitor": "loss", "patience": 2, "restore_best_weights": True}, [NAN, NAN, NAN, 1.0]),
    ({"monitor": "loss", "patience": 2}, [INF, 1.0, INF, INF, 0.5]),
    (
        {"monitor": "loss", "patience": 0, "verbose": 1, "restore_best_weights": True},
        [2.0, 1.0, 1.5, 1.0],
    ),
    ({"monitor": "loss", "patience": 2.5}, [1.0, 2.0, 3.0, 4.0, 5.0]),
]

REDUCE_LR = [
    ({"monitor": "loss", "patience": 1}, [1.0] * 4),
    (
        {"monitor": "loss", "patience": 2, "factor": 0.5},
        [3.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0],
    ),
    ({"monitor": "loss", "patience": 1, "factor": 0.5, "cooldown": 2}, [1.0] * 9),
    (
        {"monitor": "loss", "patience": 2, "factor": 0.5, "cooldown": 1},
        [1.0, 1.0, 1.0, 0.5, 0.6, 0.6, 0.6, 0.6],
    ),
    ({"monitor": "loss", "patience": 1, "factor": 0.1, "min_lr": 0.02}, [1.0] * 6),
    (
        {"monitor": "loss", "patience": 1, "min_delta": 0.3, "factor": 0.5},
        [1.0, 0.8, 0.6, 0.5, 0.4],
    ),
    ({"monitor": "val_accuracy", "patience": 1, "factor": 0.5}, [0.1, 0.5, 0.4, 0.6, 0.6]),
    ({"monitor": "loss", "mode": "max", "patience": 1, "factor": 0.5}, [0.1, 0.5, 0.4, 0.6, 0.6]),
    ({"monitor": "loss", "patience": 0, "factor": 0.5}, [1.0, 1.0, 0.5, 0.5]),
    ({"monitor": "loss", "patience": 1, "factor": 0.5}, [NAN, NAN, 1.0, 1.0]),
    ({"monitor": "loss", "patience": 1, "factor": 0.5, "verbose": 1}, [1.0, 1.0, 1.0]),
]

# Each step is (seconds since the last one, how many are done, pairs of name and value, finalize).
PROGBAR = [
    (
        {"target": 3},
        [
            (0.2, 1, [["loss", 3.0]], None),
            (0.2, 2, [["loss", 2.0]], None),
            (0.2, 3, [["loss", 1.0]], None),
        ],
    ),
    (
        {"target": 3, "stateful_metrics": ["loss"]},
        [(0.2, 1, [["loss", 3.0]], None), (0.2, 3, [["loss", 1.5]], None)],
    ),
    (
        {"target": 32},
        [
            (0.5, 1, [["loss", 0.5791], ["mae", 0.6232]], None),
            (0.0223, 32, [["loss", 0.5], ["mae", 0.1]], None),
        ],
    ),
    ({"target": 1}, [(0.4321, 1, [["loss", 1234.56789]], None)]),
    (
        {"target": 1, "width": 10},
        [(1.6, 1, [["loss", -0.25], ["tiny", 0.0001], ["zero", 0.0], ["nan", NAN]], None)],
    ),
    (
        {"target": 1000, "width": 20},
        [(0.1, n, [["loss", n / 7]], None) for n in (1, 7, 50, 99, 500, 999, 1000)],
    ),
    (
        {"target": 12345, "width": 8},
        [(5.0, n, [["loss", 1.0]], None) for n in (1, 2, 100, 12344, 12345)],
    ),
    ({"target": 200, "width": 5}, [(40.0, n, None, None) for n in (1, 2, 30, 150, 200)]),
    (
        {"target": None},
        [
            (0.3, 1, [["loss", 3.0]], None),
            (0.3, 12, [["loss", 2.0]], None),
            (0.3, 12, [["loss", 1.0]], True),
        ],
    ),
    ({"target": 4, "interval": 0.5}, [(0.2, n, [["loss", float(n)]], None) for n in (1, 2, 3, 4)]),
    (
        {"target": 4},
        [
            (0.2, 1, [["loss", 4.0]], None),
            (0.2, 3, [["a_long_name", 1.0]], None),
            (0.2, 4, [["loss", 1.0]], True),
        ],
    ),
    ({"target": 2, "unit_name": "sample"}, [(0.00005, 1, None, None), (0.00005, 2, None, None)]),
    (
        {"target": 2, "verbose": 2},
        [(0.2, 1, [["loss", 3.0]], None), (0.2, 2, [["loss", 1.0]], None)],
    ),
    ({"target": 101, "verbose": 2}, [(0.538, 101, None, True)]),
    ({"target": 32, "verbose": 2}, [(0.012, 32, [["loss", 0.5], ["tiny", 0.0001]], True)]),
    ({"target": 20, "verbose": 2}, [(130.0, 20, [["loss", 0.5], ["val_loss", 0.25]], True)]),
    ({"target": 3, "verbose": 0}, [(0.2, 3, [["loss", 3.0]], None)]),
]

# Complete runs: parameters, the losses of each batch of each epoch, and the logs at the end of each
# epoch.
RUNS = [
    (
        {"verbose": 1, "epochs": 2, "steps": 3},
        [[3.0, 2.5, 2.0], [1.5, 1.0, 0.5]],
        [{}, {"val_loss": 0.75}],
    ),
    (
        {"verbose": 1, "epochs": 1, "steps": 3},
        [[3.0, 2.5, 2.0]],
        [{"val_loss": 0.75, "lr": 0.0005}],
    ),
    ({"verbose": 1, "epochs": 2, "steps": None}, [[3.0, 2.5, 2.0], [1.5, 1.0, 0.5]], [{}, {}]),
    (
        {"verbose": 2, "epochs": 2, "steps": 3},
        [[3.0, 2.5, 2.0], [1.5, 1.0, 0.5]],
        [{"val_loss": 2.0}, {"val_loss": 0.75}],
    ),
    ({"verbose": 0, "epochs": 2, "steps": 3}, [[3.0, 2.5, 2.0], [1.5, 1.0, 0.5]], [{}, {}]),
]

CSV = [
    ({}, [{"loss": 0.5, "accuracy": 0.25}, {"loss": 0.25, "accuracy": 0.5}]),
    ({"separator": ";"}, [{"loss": 0.5}, {"loss": 0.25, "val_loss": 1.5}, {"loss": 0.125}]),
    ({}, [{"val_loss": 1.0, "loss": 0.5}, {"val_loss": 2.0, "loss": 0.25}]),
]


class FakeModel:
    def __init__(self, rate=0.1):
        self.stop_training = False
        self.metrics = [SimpleNamespace(name="loss")]
        self.optimizer = SimpleNamespace(lr=tf.Variable(rate))
        self._train_counter = tf.Variable(0)
        self._test_counter = self._predict_counter = self._train_counter
        self.epoch = 0

    def get_weights(self):
        return self.epoch

    def set_weights(self, weights):
        self.restored = weights


class Clock:
    now = 1000.0

    def time(self):
        return self.now


@contextlib.contextmanager
def capture_output(clock=None):
    """Yield a list that receives the printed texts."""
    texts, original_time = [], generic_utils.time
    original_print = io_utils.print_msg
    io_utils.print_msg = lambda message, line_break=True: texts.append(message + "\n" * line_break)
    generic_utils.time = clock or original_time
    try:
        yield texts
    finally:
        io_utils.print_msg, generic_utils.time = original_print, original_time


def visible_text(texts):
    """Return the text on the screen after each update."""
    return [text.replace("\b", "").replace("\r", "").rstrip(" ") for text in texts]


def run_early_stopping(arguments, values):
    callback, model = tf_keras.callbacks.EarlyStopping(**arguments), FakeModel()
    model.restored = None
    callback.set_model(model)
    with capture_output() as texts:
        callback.on_train_begin()
        for epoch, value in enumerate(values):
            model.epoch = epoch
            callback.on_epoch_end(epoch, {arguments["monitor"]: value})
            if model.stop_training:
                break
        callback.on_train_end()
    state = {
        "wait": callback.wait,
        "stopped_epoch": callback.stopped_epoch,
        "best": float(callback.best),
    }
    return {
        "ran": epoch + 1,
        "stopped": model.stop_training,
        "restored": model.restored,
        "printed": texts,
        **state,
    }


def run_reduce_lr(arguments, values):
    callback, model = tf_keras.callbacks.ReduceLROnPlateau(**arguments), FakeModel()
    callback.set_model(model)
    rates = []
    with capture_output() as texts:
        callback.on_train_begin()
        for epoch, value in enumerate(values):
            callback.on_epoch_end(epoch, {arguments["monitor"]: value})
            rates.append(float(model.optimizer.lr.numpy()))
    return {"rates": rates, "printed": texts}


def run_progbar(arguments, steps):
    clock, drawn = Clock(), []
    with capture_output(clock) as texts:
        bar = generic_utils.Progbar(**arguments)
        for seconds, current, values, finalize in steps:
            clock.now += seconds
            bar.update(current, values, finalize=finalize)
            drawn.append(visible_text(texts))
            texts.clear()
    return {"drawn": drawn}


def run_fit(params, epochs, ends):
    clock, model = Clock(), FakeModel()
    with capture_output(clock) as texts:
        callbacks = tf_keras.callbacks.CallbackList(None, add_progbar=True, model=model, **params)
        callbacks.on_train_begin()
        for epoch, (batches, end) in enumerate(zip(epochs, ends, strict=True)):
            callbacks.on_epoch_begin(epoch)
            model._train_counter.assign(0)
            for batch, loss in enumerate(batches):
                clock.now += 0.25
                callbacks.on_train_batch_begin(batch)
                callbacks.on_train_batch_end(batch, {"loss": loss})
                model._train_counter.assign_add(1)
            callbacks.on_epoch_end(epoch, {"loss": batches[-1], **end})
        callbacks.on_train_end()
    return {"drawn": visible_text(texts)}


def run_csv(arguments, epochs):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "log.csv")
        callback = tf_keras.callbacks.CSVLogger(path, **arguments)
        callback.on_train_begin()
        for epoch, logs in enumerate(epochs):
            callback.on_epoch_end(epoch, logs)
        callback.on_train_end()
        return {"file": Path(path).read_bytes().decode()}


def run_scheduler():
    callback, model = (
        tf_keras.callbacks.LearningRateScheduler(lambda epoch, lr: 0.5**epoch, verbose=1),
        FakeModel(),
    )
    callback.set_model(model)
    with capture_output() as texts:
        for epoch in range(3):
            callback.on_epoch_begin(epoch)
    return texts


def cases(table, run):
    return [
        {"arguments": arguments, "script": script, **run(arguments, *script)}
        for arguments, *script in table
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    out = parser.parse_args().out
    recorded = {
        "tf_keras": tf_keras.__version__,
        "early_stopping": cases(EARLY_STOPPING, run_early_stopping),
        "reduce_lr": cases(REDUCE_LR, run_reduce_lr),
        "progbar": cases(PROGBAR, run_progbar),
        "runs": cases(RUNS, run_fit),
        "csv": cases(CSV, run_csv),
        "scheduler": run_scheduler(),
    }
    (out / "callbacks.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
