"""The order of callback calls: scenarios written once and run by any library with Keras's API.

Each function of `SCENARIOS` takes a `Library` and `k`, the steps per execution, and returns the
events as lines ("on_train_batch_end 2 loss,mae": hook, index, sorted keys of the logs) and the
state afterwards. Training has 7 batches of 4 samples, validation 3; in `partial_batches`
the last ones are smaller.
"""

import warnings

import numpy as np
from training_library import RandomValues, Table

SCENARIOS = Table()

MODES = ("train", "test", "predict")
HOOKS = [f"on_{mode}_{edge}" for mode in MODES for edge in ("begin", "end")]
INDEXED_HOOKS = [
    f"on_{scope}_{edge}"
    for scope in ("epoch", *(f"{mode}_batch" for mode in MODES))
    for edge in ("begin", "end")
]


def event_recorder(library, events, label="", react=None):
    """Return a callback that appends events to a list and calls `react(callback, hook, index)`."""

    def record_event(self, hook, index, logs):
        parts = [label, hook, "" if index is None else str(index), ",".join(sorted(logs or {}))]
        events.append(" ".join(part for part in parts if part))
        if react is not None:
            react(self, hook, index)

    def indexed_method(hook):
        return lambda self, index, logs=None: record_event(self, hook, index, logs)

    def method(hook):
        return lambda self, logs=None: record_event(self, hook, None, logs)

    hooks = {hook: indexed_method(hook) for hook in INDEXED_HOOKS} | {
        hook: method(hook) for hook in HOOKS
    }
    return type("Recorder", (library.keras.callbacks.Callback,), hooks)()


def small_model(library, k, model_class=None):
    keras = library.keras
    model = (model_class or keras.Sequential)([keras.Input((2,)), keras.layers.Dense(1)])
    RandomValues("events").weights(model)
    model.compile(
        optimizer=keras.optimizers.SGD(0.05), loss="mse", metrics=["mae"], steps_per_execution=k
    )
    return model


def data(count=28):
    values = RandomValues("data of events")
    return values.normal(count, 2), values.normal(count, 1)


def batches(count=28):
    """Yields the batches once; their number is unknown."""
    x, y = data(count)
    for start in range(0, count, 4):
        yield x[start : start + 4], y[start : start + 4]


def run_scenario(library, k, act, react=None):
    """Runs `act(model, callbacks)`; returns events, the state of the model, and warnings."""
    events = []
    model = small_model(library, k)
    callback = event_recorder(library, events, react=react)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        history = act(model, [callback])
    result = {
        "events": events,
        "params": {name: callback.params.get(name) for name in ("epochs", "steps")},
    }
    if hasattr(history, "history"):
        result["epochs"] = list(history.epoch)
        result["history"] = {
            name: [float(value) for value in values] for name, values in history.history.items()
        }
    result["steps"] = {
        name: int(np.asarray(getattr(model, name).numpy()))
        for name in ("_train_counter", "_test_counter")
    }
    result["iterations"] = int(np.asarray(model.optimizer.iterations.numpy()))
    result["ran_out"] = any("ran out of data" in str(warning.message) for warning in caught)
    return result


# --- actions: functions of a model and its callbacks


def fit_action(*source, epochs=2, **options):
    """Fits the arrays with validation, or another source without."""
    if not source:
        source = data()
        options = {"batch_size": 4, "shuffle": False, "validation_data": data(12), **options}
    return lambda model, callbacks: model.fit(
        *source, epochs=epochs, verbose=0, callbacks=callbacks, **options
    )


def evaluate_action(*source, **options):
    """Evaluates the arrays, or another source."""
    if not source:
        source = data()
        options["batch_size"] = 4
    return lambda model, callbacks: model.evaluate(
        *source, verbose=0, callbacks=callbacks, **options
    )


def predict_action():
    """Predicts for the arrays."""
    return lambda model, callbacks: model.predict(
        data()[0], batch_size=4, verbose=0, callbacks=callbacks
    )


# --- complete runs


@SCENARIOS.add
def fit_with_validation(library, k):
    return run_scenario(library, k, fit_action())


@SCENARIOS.add
def partial_batches(library, k):
    """The last batch of training has 3 samples, that of validation 1."""
    return run_scenario(
        library, k, fit_action(*data(27), batch_size=4, shuffle=False, validation_data=data(9))
    )


@SCENARIOS.add
def fit_without_validation(library, k):
    return run_scenario(library, k, fit_action(validation_data=None))


@SCENARIOS.add
def validation_every_second_epoch(library, k):
    options = {"validation_freq": 2, "validation_batch_size": 5, "validation_steps": 1}
    return run_scenario(library, k, fit_action(epochs=5, initial_epoch=2, **options))


@SCENARIOS.add
def fewer_batches_than_an_execution(library, k):
    """Two batches: an execution is never longer than an epoch."""
    return run_scenario(library, k, fit_action(*data(8), batch_size=4, shuffle=False))


@SCENARIOS.add
def evaluate(library, k):
    return run_scenario(library, k, evaluate_action())


@SCENARIOS.add
def evaluate_some_steps(library, k):
    return run_scenario(library, k, evaluate_action(steps=5))


@SCENARIOS.add
def predict(library, k):
    return run_scenario(library, k, predict_action())


# --- stopped early


@SCENARIOS.add
def stop_in_a_batch(library, k):
    """`stop_training` set when the fourth step of the second epoch has ended."""

    def react(callback, hook, index):
        if hook == "on_train_batch_end" and index >= 3 and callback.second:
            callback.model.stop_training = True
        if hook == "on_epoch_begin":
            callback.second = index == 1

    return run_scenario(library, k, fit_action(epochs=3), react)


@SCENARIOS.add
def stop_at_the_begin_of_a_batch(library, k):
    def react(callback, hook, index):
        if hook == "on_train_batch_begin" and index >= 3:
            callback.model.stop_training = True

    return run_scenario(library, k, fit_action(epochs=3), react)


@SCENARIOS.add
def stop_at_the_end_of_an_epoch(library, k):
    def react(callback, hook, index):
        if hook == "on_epoch_end" and index == 1:
            callback.model.stop_training = True

    return run_scenario(library, k, fit_action(epochs=3), react)


@SCENARIOS.add
def stop_in_validation(library, k):
    def react(callback, hook, index):
        if hook == "on_test_batch_end":
            callback.model.stop_training = True

    return run_scenario(library, k, fit_action(epochs=3), react)


@SCENARIOS.add
def stop_at_the_begin_of_training(library, k):
    def react(callback, hook, index):
        if hook == "on_train_begin":
            callback.model.stop_training = True

    return run_scenario(library, k, fit_action(epochs=1), react)


@SCENARIOS.add
def early_stopping(library, k):
    """The callback of the library, with an unreachable target."""
    keras = library.keras
    stopper = keras.callbacks.EarlyStopping(monitor="val_loss", patience=1, min_delta=10.0)
    result = run_scenario(
        library, k, lambda model, callbacks: fit_action(epochs=6)(model, [*callbacks, stopper])
    )
    return {**result, "stopped_epoch": int(stopper.stopped_epoch)}


# --- exceptions


def raise_in(library, k, raising_hook, first_index, act, model_class=None):
    """Runs three callbacks, of which the second raises; returns the events and the state."""
    events = []

    def react(callback, hook, index):
        if hook == raising_hook and index >= first_index:
            raise RuntimeError(f"in {hook}")

    model = small_model(library, k, model_class)
    callbacks = [
        event_recorder(library, events, "first"),
        event_recorder(library, events, "raiser", react),
        event_recorder(library, events, "last"),
    ]
    try:
        act(model, callbacks)
    except RuntimeError as error:
        events.append("raised: " + ("in the step" if "in the step" in str(error) else str(error)))
    return {"events": events, "iterations": int(np.asarray(model.optimizer.iterations.numpy()))}


@SCENARIOS.add
def exception_in_a_batch(library, k):
    return raise_in(library, k, "on_train_batch_end", 3, fit_action())


@SCENARIOS.add
def exception_at_the_begin_of_a_batch(library, k):
    return raise_in(library, k, "on_train_batch_begin", 3, fit_action())


@SCENARIOS.add
def exception_in_validation(library, k):
    return raise_in(library, k, "on_test_batch_end", 0, fit_action())


@SCENARIOS.add
def exception_at_the_end_of_an_epoch(library, k):
    return raise_in(library, k, "on_epoch_end", 0, fit_action())


@SCENARIOS.add
def exception_in_evaluate(library, k):
    return raise_in(library, k, "on_test_batch_end", 3, evaluate_action())


@SCENARIOS.add
def exception_in_predict(library, k):
    return raise_in(library, k, "on_predict_batch_end", 3, predict_action())


@SCENARIOS.add
def exception_in_the_step(library, k):
    class Failing(library.keras.Sequential):
        def train_step(self, data):
            raise RuntimeError("in the step")

    return raise_in(library, k, "nowhere", 0, fit_action(), Failing)


# --- data of unknown or different length


@SCENARIOS.add
def generator_of_unknown_length(library, k):
    return run_scenario(library, k, fit_action(batches(), epochs=1))


@SCENARIOS.add
def generator_that_is_spent(library, k):
    """One pass of batches for two epochs."""
    return run_scenario(library, k, fit_action(batches()))


@SCENARIOS.add
def generator_in_evaluate(library, k):
    return run_scenario(library, k, evaluate_action(batches()))


def dataset(library, count=28):
    return library.Dataset.from_tensor_slices(data(count)).batch(4)


@SCENARIOS.add
def dataset_of_known_length(library, k):
    return run_scenario(
        library, k, fit_action(dataset(library), validation_data=dataset(library, 12))
    )


@SCENARIOS.add
def repeated_dataset(library, k):
    """`steps_per_epoch` out of endless data: the second epoch continues after the first."""
    return run_scenario(library, k, fit_action(dataset(library).repeat(), steps_per_epoch=5))


@SCENARIOS.add
def dataset_that_runs_out(library, k):
    """Seven batches for three epochs of five steps."""
    return run_scenario(library, k, fit_action(dataset(library), epochs=3, steps_per_epoch=5))
