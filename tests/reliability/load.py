"""`make soak-load`: ten threads predict while another trains; thousands of `fit`s; hundreds of
models. Results must be right, no error may occur, and the process must not grow.

    python tests/reliability/load.py [--seconds 120] [--fits 2000] [--models 200]

Growth is measured after a warm-up of a tenth of the count: memory, threads, file descriptors and
objects that Python tracks. The limits are those of a process that keeps nothing: what remains is
fragmentation of the allocators. One object kept for each `fit` or model is an error.
"""

import argparse
import gc
import itertools
import os
import pathlib
import sys
import threading
import time

import numpy as np

import podium
from podium import layers

THREADS = 10
ROWS = np.random.default_rng(0).normal(size=(96, 5)).astype("float32")
X, Y = ROWS[:, :4], ROWS[:, 4:]
# More than this is growth: bytes of memory and objects for each repetition.
MAX_BYTES = {"fit": 4 * 1024, "model": 50 * 1024}
MAX_OBJECTS = 0.2
_WARM_UP = {"fit": 40, "model": 5}  # at least: the programs for all numbers of fused steps


def build_model(units=8):
    """Return a compiled model with dropout, batch normalization and Adam."""
    model = podium.Sequential(
        [
            podium.Input((4,)),
            layers.Dense(units, activation="tanh"),
            layers.BatchNormalization(),
            layers.Dropout(0.2),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"])
    return model


class Predictor(threading.Thread):
    """Predicts until it is stopped, and counts the results. Even threads use a model that does not
    change, whose results are known; odd ones the model that is trained, which may not give two
    results for the same row of one batch.
    """

    def __init__(self, index, fixed, expected, trained, stop):
        super().__init__(daemon=True)
        self._fixed = fixed if index % 2 == 0 else None
        self._expected = expected
        self._trained = trained
        self._stop_event = stop
        self._sizes = itertools.cycle([32, 96, 7, 64])
        self.num_right = 0
        self.errors = []

    def run(self):
        try:
            while not self._stop_event.is_set():
                self._predict(next(self._sizes))
                self.num_right += 1
        except BaseException as error:
            self.errors.append(error)

    def _predict(self, size):
        if self._fixed is not None:
            actual = self._fixed.predict(X[:size], batch_size=32, verbose=0)
            if not np.allclose(actual, self._expected[:size], rtol=1e-5, atol=1e-6):
                raise AssertionError(f"wrong outputs for {size} rows")
        else:
            actual = self._trained.predict(np.repeat(X[:1], size, 0), batch_size=size, verbose=0)
            if not np.isfinite(actual).all() or np.ptp(actual) > 1e-5:
                raise AssertionError(f"one batch was computed with several states: {actual}")


def predict_while_training(seconds):
    """Return the number of right predictions; raise if a result is wrong, or if the trained model
    differs from one that was trained alone.
    """
    fixed = build_model()
    expected = fixed.predict(X, batch_size=32, verbose=0)
    podium.utils.set_random_seed(1)
    trained = build_model()
    stop = threading.Event()
    predictors = [Predictor(index, fixed, expected, trained, stop) for index in range(THREADS)]
    podium.utils.set_random_seed(2)
    for predictor in predictors:
        predictor.start()
    trained.fit(X, Y, max_time=seconds, verbose=0)
    stop.set()
    for predictor in predictors:
        predictor.join()
    errors = [error for predictor in predictors for error in predictor.errors]
    if errors:
        raise errors[0]
    counts = [predictor.num_right for predictor in predictors]
    if min(counts) == 0:
        raise AssertionError(f"a thread did not predict at all: {counts}")
    podium.utils.set_random_seed(1)
    alone = build_model()
    podium.utils.set_random_seed(2)
    alone.fit(X, Y, max_steps=int(trained.optimizer.iterations.numpy()), verbose=0)
    for variable, other in zip(trained.variables, alone.variables, strict=True):
        if variable.numpy().tobytes() != other.numpy().tobytes():
            raise AssertionError(f"{variable.path} was changed by the predictions")
    return sum(counts)


def measure():
    """Return the use of memory in bytes, threads, descriptors and objects of this process."""
    for _ in range(2):
        gc.collect()
    status = pathlib.Path("/proc/self/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0]) * 1024
    return np.array(
        [
            resident,
            threading.active_count(),
            len(os.listdir("/proc/self/fd")),
            len(gc.get_objects()),
        ]
    )


def measure_growth(kind, count, run):
    """Run a function `count` times after a warm-up; raise if the process grows; return a report."""
    for _ in range(max(_WARM_UP[kind], count // 10)):
        run()
    before = measure()
    for _ in range(count):
        run()
    resident, threads, descriptors, objects = (measure() - before).tolist()
    report = (
        f"{count} times {kind}: {resident / count / 1024:.2f} KiB each, {threads:+d} threads, "
        f"{descriptors:+d} descriptors, {objects:+d} objects"
    )
    # Allocators keep up to a few MiB however short the run is.
    allowed = MAX_BYTES[kind] * count + 8 * 2**20
    if resident > allowed or threads > 0 or descriptors > 0 or objects > MAX_OBJECTS * count:
        raise AssertionError(f"the process grows: {report}")
    return report


def fit_once(model):
    """Train on arrays and on a Dataset, each for one epoch, and predict."""
    data = podium.data.Dataset.from_tensor_slices((X, Y)).batch(32)
    model.fit(X, Y, validation_split=0.25, verbose=0)
    model.fit(data.map(lambda x, y: (x * 2.0, y)), verbose=0)
    model.predict(X, verbose=0)


def train_new_model():
    """Build, train and drop a model."""
    model = build_model(units=4)
    model.fit(X[:32], Y[:32], verbose=0)


def main(seconds, fits, models):
    """Run all three parts and print what was measured."""
    start = time.monotonic()
    count = predict_while_training(seconds)
    print(f"{count} right predictions by {THREADS} threads while another trained", flush=True)
    model = build_model()
    print(measure_growth("fit", fits // 2, lambda: fit_once(model)), flush=True)
    print(measure_growth("model", models, train_new_model), flush=True)
    print(f"no error and no growth in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--fits", type=int, default=2000)
    parser.add_argument("--models", type=int, default=200)
    arguments = parser.parse_args()
    sys.exit(main(arguments.seconds, arguments.fits, arguments.models))
