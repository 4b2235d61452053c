"""What callbacks hear, and when: scenarios written once and run by any Keras-shaped library.

Each function of `SCENARIOS` takes a `Library` and `k`, the steps of an execution, and returns the
events as lines ("on_train_batch_end 2 loss,mae": hook, index, sorted keys of the logs) with what
else can be seen afterwards. Training has 7 batches of 4 samples, validation 3; in `partial_batches`
the last ones are smaller.
"""

import warnings

import numpy as np
from training_library import Draws, Table

SCENARIOS = Table()

MODES = ("train", "test", "predict")
PLAIN = [f"on_{mode}_{edge}" for mode in MODES for edge in ("begin", "end")]
INDEXED = [
    f"on_{what}_{edge}"
    for what in ("epoch", *(f"{mode}_batch" for mode in MODES))
    for edge in ("begin", "end")
]


def recorder(library, events, label="", react=None):
    """A callback that writes every event into a list, then calls `react(callback, hook, index)`."""

    def hear(self, hook, index, logs):
        parts = [label, hook, "" if index is None else str(index), ",".join(sorted(logs or {}))]
        events.append(" ".join(part for part in parts if part))
        if react is not None:
            react(self, hook, index)

    def indexed(hook):
        return lambda self, index, logs=None: hear(self, hook, index, logs)

    def plain(hook):
        return lambda self, logs=None: hear(self, hook, None, logs)

    hooks = {hook: indexed(hook) for hook in INDEXED} | {hook: plain(hook) for hook in PLAIN}
    return type("Recorder", (library.keras.callbacks.Callback,), hooks)()


def small_model(library, k, model_class=None):
    keras = library.keras
    model = (model_class or keras.Sequential)([keras.Input((2,)), keras.layers.Dense(1)])
    Draws("events").weights(model)
    model.compile(
        optimizer=keras.optimizers.SGD(0.05), loss="mse", metrics=["mae"], steps_per_execution=k
    )
    return model


def data(count=28):
    draws = Draws("data of events")
    return draws.normal(count, 2), draws.normal(count, 1)


def batches(count=28):
    """Yields the batches once, saying nothing of how many there are."""
    x, y = data(count)
    for start in range(0, count, 4):
        yield x[start : start + 4], y[start : start + 4]


def listen(library, k, act, react=None):
    """Runs `act(model, callbacks)`; returns events, what the model says afterwards, and
    warnings.
    """
    events = []
    model = small_model(library, k)
    callback = recorder(library, events, react=react)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        history = act(model, [callback])
    found = {
        "events": events,
        "params": {name: callback.params.get(name) for name in ("epochs", "steps")},
    }
    if hasattr(history, "history"):
        found["epochs"] = list(history.epoch)
        found["history"] = {
            name: [float(value) for value in values] for name, values in history.history.items()
        }
    found["steps"] = {
        name: int(np.asarray(getattr(model, name).numpy()))
        for name in ("_train_counter", "_test_counter")
    }
    found["iterations"] = int(np.asarray(model.optimizer.iterations.numpy()))
    found["ran_out"] = any("ran out of data" in str(warning.message) for warning in caught)
    return found


# --- what is done: functions of a model and its callbacks


def fit(*source, epochs=2, **options):
    """Fits the arrays with validation, or another source without."""
    if not source:
        source = data()
        options = {"batch_size": 4, "shuffle": False, "validation_data": data(12), **options}
    return lambda model, callbacks: model.fit(
        *source, epochs=epochs, verbose=0, callbacks=callbacks, **options
    )


def judge(*source, **options):
    """Evaluates the arrays, or another source."""
    if not source:
        source = data()
        options["batch_size"] = 4
    return lambda model, callbacks: model.evaluate(
        *source, verbose=0, callbacks=callbacks, **options
    )


def answer():
    """Predicts for the arrays."""
    return lambda model, callbacks: model.predict(
        data()[0], batch_size=4, verbose=0, callbacks=callbacks
    )


# --- from begin to end


@SCENARIOS.add
def fit_with_validation(library, k):
    return listen(library, k, fit())


@SCENARIOS.add
def partial_batches(library, k):
    """The last batch of training has 3 samples, that of validation 1."""
    return listen(library, k, fit(*data(27), batch_size=4, shuffle=False, validation_data=data(9)))


@SCENARIOS.add
def fit_without_validation(library, k):
    return listen(library, k, fit(validation_data=None))


@SCENARIOS.add
def validation_every_second_epoch(library, k):
    options = {"validation_freq": 2, "validation_batch_size": 5, "validation_steps": 1}
    return listen(library, k, fit(epochs=5, initial_epoch=2, **options))


@SCENARIOS.add
def fewer_batches_than_an_execution(library, k):
    """Two batches: an execution is never longer than an epoch."""
    return listen(library, k, fit(*data(8), batch_size=4, shuffle=False))


@SCENARIOS.add
def evaluate(library, k):
    return listen(library, k, judge())


@SCENARIOS.add
def evaluate_some_steps(library, k):
    return listen(library, k, judge(steps=5))


@SCENARIOS.add
def predict(library, k):
    return listen(library, k, answer())


# --- stopped early


@SCENARIOS.add
def stop_in_a_batch(library, k):
    """`stop_training` set when the fourth step of the second epoch has ended."""

    def react(callback, hook, index):
        if hook == "on_train_batch_end" and index >= 3 and callback.second:
            callback.model.stop_training = True
        if hook == "on_epoch_begin":
            callback.second = index == 1

    return listen(library, k, fit(epochs=3), react)


@SCENARIOS.add
def stop_at_the_begin_of_a_batch(library, k):
    def react(callback, hook, index):
        if hook == "on_train_batch_begin" and index >= 3:
            callback.model.stop_training = True

    return listen(library, k, fit(epochs=3), react)


@SCENARIOS.add
def stop_at_the_end_of_an_epoch(library, k):
    def react(callback, hook, index):
        if hook == "on_epoch_end" and index == 1:
            callback.model.stop_training = True

    return listen(library, k, fit(epochs=3), react)


@SCENARIOS.add
def stop_in_validation(library, k):
    def react(callback, hook, index):
        if hook == "on_test_batch_end":
            callback.model.stop_training = True

    return listen(library, k, fit(epochs=3), react)


@SCENARIOS.add
def stop_at_the_begin_of_training(library, k):
    def react(callback, hook, index):
        if hook == "on_train_begin":
            callback.model.stop_training = True

    return listen(library, k, fit(epochs=1), react)


@SCENARIOS.add
def early_stopping(library, k):
    """The callback of the library, with a target that cannot be met."""
    keras = library.keras
    stopper = keras.callbacks.EarlyStopping(monitor="val_loss", patience=1, min_delta=10.0)
    found = listen(library, k, lambda model, callbacks: fit(epochs=6)(model, [*callbacks, stopper]))
    return {**found, "stopped_epoch": int(stopper.stopped_epoch)}


# --- broken off


def break_in(library, k, hook_to_break, wanted, act, model_class=None):
    """Three callbacks, of which the second raises; notes who heard what, and the state that is
    left.
    """
    events = []

    def react(callback, hook, index):
        if hook == hook_to_break and index >= wanted:
            raise RuntimeError(f"in {hook}")

    model = small_model(library, k, model_class)
    callbacks = [
        recorder(library, events, "first"),
        recorder(library, events, "raiser", react),
        recorder(library, events, "last"),
    ]
    try:
        act(model, callbacks)
    except RuntimeError as error:
        events.append("raised: " + ("in the step" if "in the step" in str(error) else str(error)))
    return {"events": events, "iterations": int(np.asarray(model.optimizer.iterations.numpy()))}


@SCENARIOS.add
def exception_in_a_batch(library, k):
    return break_in(library, k, "on_train_batch_end", 3, fit())


@SCENARIOS.add
def exception_at_the_begin_of_a_batch(library, k):
    return break_in(library, k, "on_train_batch_begin", 3, fit())


@SCENARIOS.add
def exception_in_validation(library, k):
    return break_in(library, k, "on_test_batch_end", 0, fit())


@SCENARIOS.add
def exception_at_the_end_of_an_epoch(library, k):
    return break_in(library, k, "on_epoch_end", 0, fit())


@SCENARIOS.add
def exception_in_evaluate(library, k):
    return break_in(library, k, "on_test_batch_end", 3, judge())


@SCENARIOS.add
def exception_in_predict(library, k):
    return break_in(library, k, "on_predict_batch_end", 3, answer())


@SCENARIOS.add
def exception_in_the_step(library, k):
    class Failing(library.keras.Sequential):
        def train_step(self, data):
            raise RuntimeError("in the step")

    return break_in(library, k, "nowhere", 0, fit(), Failing)


# --- data of unknown or other length


@SCENARIOS.add
def generator_of_unknown_length(library, k):
    return listen(library, k, fit(batches(), epochs=1))


@SCENARIOS.add
def generator_that_is_spent(library, k):
    """One pass of batches, two epochs asked for."""
    return listen(library, k, fit(batches()))


@SCENARIOS.add
def generator_in_evaluate(library, k):
    return listen(library, k, judge(batches()))


def dataset(library, count=28):
    return library.Dataset.from_tensor_slices(data(count)).batch(4)


@SCENARIOS.add
def dataset_of_known_length(library, k):
    return listen(library, k, fit(dataset(library), validation_data=dataset(library, 12)))


@SCENARIOS.add
def repeated_dataset(library, k):
    """`steps_per_epoch` out of endless data: the second epoch goes on where the first ended."""
    return listen(library, k, fit(dataset(library).repeat(), steps_per_epoch=5))


@SCENARIOS.add
def dataset_that_runs_out(library, k):
    """Seven batches, three epochs of five wanted."""
    return listen(library, k, fit(dataset(library), epochs=3, steps_per_epoch=5))
