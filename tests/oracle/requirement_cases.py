"""What tf_keras does where the documents are silent: short runs, written once for both libraries.

Each function of `CASES` takes the module `tensorflow`, or `podium.compat.tensorflow`, and returns
JSON. `record_requirements.py` stores the results of tf_keras, and `tests/requirements` compares
Podium with them.
"""

import contextlib
import io
import re
import warnings

import numpy as np

HOOKS = [
    f"on_{scope}_{edge}" for scope in ("train", "test", "predict") for edge in ("begin", "end")
]
INDEXED_HOOKS = [
    f"on_{scope}_{edge}"
    for scope in ("epoch", "train_batch", "test_batch", "predict_batch")
    for edge in ("begin", "end")
]


def make_recorder(tf, events):
    """Return a callback that appends "hook index" to a list."""

    def indexed_method(hook):
        return lambda self, index, logs=None: events.append(f"{hook} {int(index)}")

    def method(hook):
        return lambda self, logs=None: events.append(hook)

    methods = {hook: indexed_method(hook) for hook in INDEXED_HOOKS}
    methods |= {hook: method(hook) for hook in HOOKS}
    return type("Recorder", (tf.keras.callbacks.Callback,), methods)()


def make_linear(tf, weight=0.0, units=1, inputs=1, model_class=None, **compile_options):
    """Return a compiled model `y = w x` whose weights all have one value."""
    dense = tf.keras.layers.Dense(
        units, use_bias=False, kernel_initializer=tf.keras.initializers.Constant(weight)
    )
    symbol = tf.keras.Input((inputs,))
    model = (model_class or tf.keras.Model)(symbol, dense(symbol))
    options = {"optimizer": tf.keras.optimizers.SGD(0.1), "loss": "mse", **compile_options}
    model.compile(**options)
    return model


def run_quietly(function):
    """Return the result of a function, and its warnings; TensorFlow's are not recorded."""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        return function(), [str(warning.message) for warning in caught]


def weights_of(model):
    return [float(value) for array in model.get_weights() for value in np.ravel(array)]


def normalize_bar(text):
    """Return the last drawing of each line of a progress bar, with times replaced."""
    lines = [re.split(r"[\r\b]+", line)[-1].rstrip() for line in text.split("\n")]
    lines = [re.sub(r"\d+(us|ms|s)\b", r"T\1", line) for line in lines if line.strip()]
    return [re.sub(r"T(us|ms|s)/", "T/", line) for line in lines]


def unlabeled_step(loss_of):
    """Return a `train_step` that only returns a loss, a value that no metric tracks."""

    def train_step(self, data):
        return {"loss": loss_of(data)}

    return train_step


# --- the step


def vector_loss(tf):
    """One step with one loss per sample, whose gradients are summed and whose metric is a mean."""
    tracker = tf.keras.metrics.Mean(name="loss")

    class Vector(tf.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.keras.losses.mean_squared_error(y, self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
            tracker.update_state(loss)
            return {"loss": tracker.result()}

        @property
        def metrics(self):
            return [tracker]

    model = make_linear(tf, 0.0, model_class=Vector, loss=None)
    x, y = np.array([[1.0], [2.0], [3.0]], "float32"), np.array([[1.0], [4.0], [3.0]], "float32")
    history = model.fit(x, y, batch_size=3, verbose=0)
    return {"weights": weights_of(model), "history": history.history}


def step_arguments(tf):
    """The structure and the dtypes of what `train_step` receives."""
    seen = []

    class Shows(tf.keras.Model):
        def train_step(self, data):
            parts = data if isinstance(data, tuple) else [data]
            dtypes = [tf.as_dtype(part.dtype).name for part in parts]
            seen.append([type(data) is tuple, *dtypes])
            return {"anything": tf.reduce_sum(tf.cast(parts[0], "float32"))}

    def run(**options):
        seen.clear()
        model = make_linear(tf, model_class=Shows, loss=None)
        history = model.fit(verbose=0, batch_size=2, **options)
        return {"data": seen[0], "logs": sorted(history.history)}

    x, y = np.ones((2, 1)), np.ones((2, 1), "int64")
    vector = tf.data.Dataset.from_tensor_slices(np.ones((2, 1), "float32")).batch(2)
    runs = {
        "x": {"x": x},
        "x, y": {"x": x, "y": y},
        "sample_weight": {"x": x, "y": y, "sample_weight": np.ones(2)},
        "class_weight": {"x": x, "y": y[:, 0], "class_weight": {0: 1.0, 1: 2.0}},
    }
    result = {name: run(**options) for name, options in runs.items()}
    seen.clear()
    make_linear(tf, model_class=Shows, loss=None).fit(vector, verbose=0)
    return {**result, "dataset": seen[0]}


def weighted_fit(tf):
    """The losses with sample weights and with the same weights by class."""
    x, y = np.array([[1.0], [2.0]], "float32"), np.array([[0.0], [1.0]], "float32")
    weights = {}
    for name, options in {
        "sample_weight": {"sample_weight": np.array([1.0, 3.0])},
        "class_weight": {"class_weight": {0: 1.0, 1: 3.0}},
    }.items():
        model = make_linear(tf, 2.0)
        history = model.fit(x, y, batch_size=2, verbose=0, **options)
        weights[name] = {"weights": weights_of(model), "loss": history.history["loss"]}
    return weights


def metric_results(tf):
    """A metric whose result is a dictionary, and one whose result is a number, in the logs."""

    class Extremes(tf.keras.metrics.Metric):
        def __init__(self, name="extremes"):
            super().__init__(name=name)
            self.largest = self.add_weight(name="largest", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.largest.assign(tf.maximum(self.largest, tf.reduce_max(tf.cast(y_pred, "float32"))))

        def result(self):
            return {"largest": self.largest + 0.0, "twice": self.largest * 2.0}

    model = make_linear(tf, 3.0, metrics=[Extremes(), "mae"])
    x = np.array([[1.0], [2.0]], "float32")
    history = model.fit(x, x, batch_size=2, verbose=0)
    return {"keys": list(history.history), "largest": history.history["largest"]}


def metric_resets(tf):
    """Values per epoch of a listed and of an unlisted metric, and after `evaluate`."""
    listed, unlisted = tf.keras.metrics.Sum(name="listed"), tf.keras.metrics.Sum(name="unlisted")

    class Counts(tf.keras.Model):
        def train_step(self, data):
            listed.update_state(1.0)
            unlisted.update_state(1.0)
            return {"listed": listed.result(), "unlisted": unlisted.result()}

        test_step = train_step

        @property
        def metrics(self):
            return [listed]

    model = make_linear(tf, model_class=Counts, loss=None)
    x = np.ones((6, 1), "float32")
    history = model.fit(x, x, batch_size=2, epochs=3, verbose=0)
    evaluated = model.evaluate(x, x, batch_size=2, verbose=0, return_dict=True)
    return {"fit": history.history, "evaluate": {key: float(evaluated[key]) for key in evaluated}}


def raw_logs(tf):
    """Values that no metric tracks: what the History and the bar show of two batches."""

    class Raw(tf.keras.Model):
        def train_step(self, data):
            x = data[0] if isinstance(data, tuple) else data
            return {"raw": tf.reduce_mean(x)}

    x = np.array([[1.0], [1.0], [4.0]], "float32")
    model = make_linear(tf, model_class=Raw, loss=None)
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        history = model.fit(x, batch_size=2, shuffle=False, verbose=1)
    return {"history": history.history["raw"], "bar": normalize_bar(shown.getvalue())}


# --- the loop


def callback_order(tf):
    """All events of `fit` with validation, of `evaluate` and of `predict`."""
    events = []
    model = make_linear(tf)
    x = np.ones((4, 1), "float32")
    options = {"batch_size": 2, "verbose": 0, "callbacks": [make_recorder(tf, events)]}
    model.fit(x, x, epochs=2, validation_data=(x[:2], x[:2]), **options)
    model.evaluate(x, x, **options)
    model.predict(x, **options)
    return events


def partial_execution(tf):
    """Seven batches, three to an execution."""
    events = []
    model = make_linear(tf, steps_per_execution=3)
    x = np.ones((7, 1), "float32")
    model.fit(x, x, batch_size=1, verbose=0, callbacks=[make_recorder(tf, events)])
    return {
        "begin": [int(e.split()[1]) for e in events if e.startswith("on_train_batch_begin")],
        "end": [int(e.split()[1]) for e in events if e.startswith("on_train_batch_end")],
        "counter": int(model._train_counter.numpy()),
        "steps_per_execution": int(model._steps_per_execution.numpy()),
    }


def short_epoch(tf):
    """An execution longer than an epoch is cut to it, for that run."""
    events = []
    model = make_linear(tf, steps_per_execution=5)
    x = np.ones((2, 1), "float32")
    model.fit(x, x, batch_size=1, epochs=2, verbose=0, callbacks=[make_recorder(tf, events)])
    return {
        "events": [event for event in events if "batch" in event],
        "steps_per_execution": int(model._steps_per_execution.numpy()),
    }


def data_run_out(tf):
    """A generator of four batches, and three epochs of three steps."""
    events = []
    model = make_linear(tf)
    batches = ((np.ones((1, 1), "float32"),) * 2 for _ in range(4))
    callbacks = [make_recorder(tf, events)]
    history, _ = run_quietly(
        lambda: model.fit(batches, steps_per_epoch=3, epochs=3, verbose=0, callbacks=callbacks)
    )
    return {"events": events, "epochs": history.epoch, "losses": len(history.history["loss"])}


def one_shot_generator(tf):
    """A generator without a known size, and three epochs: the second has no batch."""
    trained = []

    class Shows(tf.keras.Model):
        def train_step(self, data):
            return {"x": tf.reduce_sum(data[0])}

    model = make_linear(tf, model_class=Shows, loss=None)
    batches = ((np.full((1, 1), i, "float32"), np.ones((1, 1), "float32")) for i in range(3))
    record = tf.keras.callbacks.LambdaCallback(
        on_batch_end=lambda batch, logs: trained.append(float(logs["x"]))
    )
    run_quietly(lambda: model.fit(batches, epochs=3, verbose=0, callbacks=[record]))
    return trained


def steps_beyond_arrays(tf):
    """Three batches of arrays, five steps per epoch, two epochs: the last begins a third pass."""
    seen, events = [], []

    class Shows(tf.keras.Model):
        def train_step(self, data):
            return {"x": tf.reduce_sum(data[0])}

    model = make_linear(tf, model_class=Shows, loss=None)
    record = tf.keras.callbacks.LambdaCallback(
        on_batch_end=lambda batch, logs: seen.append([int(batch), float(logs["x"])])
    )
    x = np.arange(3, dtype="float32").reshape(3, 1)
    options = {"batch_size": 1, "steps_per_epoch": 5, "epochs": 3, "shuffle": False, "verbose": 0}
    callbacks = [record, make_recorder(tf, events)]
    history, _ = run_quietly(lambda: model.fit(x, x, callbacks=callbacks, **options))
    return {"seen": seen, "epochs": history.epoch}


def sample_weighted_means(tf):
    """Three samples in batches of two: the loss of `evaluate`, and of an epoch of `fit`."""
    x, y = np.array([[1.0], [1.0], [3.0]], "float32"), np.zeros((3, 1), "float32")
    model = make_linear(tf, 1.0, optimizer=tf.keras.optimizers.SGD(0.0), metrics=["mae"])
    history = model.fit(x, y, batch_size=2, verbose=0)
    return {"evaluate": model.evaluate(x, y, batch_size=2, verbose=0), **history.history}


def evaluation_results(tf):
    """The types of `evaluate`'s results with and without metrics."""
    x = np.ones((2, 1), "float32")
    one, two = make_linear(tf), make_linear(tf, metrics=["mae"])
    results = [model.evaluate(x, x, verbose=0) for model in (one, two)]
    dictionary = two.evaluate(x, x, verbose=0, return_dict=True)
    return {
        "types": [type(results[0]).__name__, [type(value).__name__ for value in results[1]]],
        "values": results,
        "dictionary": dictionary,
        "dictionary types": [type(value).__name__ for value in dictionary.values()],
    }


def progress_text(tf):
    """What `fit` and `evaluate` print, with times replaced."""
    x = np.ones((1000, 1), "float32")
    shown = {}
    for name, act in {
        "one epoch": lambda model: model.fit(x, x, verbose=1),
        "three epochs": lambda model: model.fit(x, x, epochs=3, verbose=1),
        "validation": lambda model: model.fit(x, x, verbose=1, validation_split=0.5),
        "lines": lambda model: model.fit(x, x, epochs=2, verbose=2),
        "validation lines": lambda model: model.fit(x, x, verbose=2, validation_split=0.5),
        "silent": lambda model: model.fit(x, x, verbose=0),
        "evaluate": lambda model: model.evaluate(x, x),
        "evaluate lines": lambda model: model.evaluate(x, x, verbose=2),
        "predict": lambda model: model.predict(x),
        "predict lines": lambda model: model.predict(x, verbose=2),
    }.items():
        model = make_linear(
            tf, optimizer=tf.keras.optimizers.SGD(0.0), metrics=["mae"], steps_per_execution=16
        )
        with contextlib.redirect_stdout(io.StringIO()) as out:
            act(model)
        shown[name] = normalize_bar(out.getvalue())
    return shown


def counters(tf):
    """The dtypes of the counters, and their values after two runs of each method."""
    model = make_linear(tf)
    x = np.ones((6, 1), "float32")
    for _ in range(2):
        model.fit(x, x, batch_size=2, epochs=2, verbose=0)
        model.evaluate(x, x, batch_size=2, verbose=0)
        model.predict(x, batch_size=2, verbose=0)
    counters = [model._train_counter, model._test_counter, model._predict_counter]
    return [[tf.as_dtype(each.dtype).name, int(each.numpy())] for each in counters]


# --- losses


def saturated_probabilities(tf):
    """The crossentropies of a saturated softmax and sigmoid: loss and gradient."""
    result = {}
    for activation, loss, y in (
        ("softmax", "categorical_crossentropy", [[1.0, 0.0]]),
        ("softmax", "sparse_categorical_crossentropy", [[0]]),
        ("sigmoid", "binary_crossentropy", [[0.0]]),
    ):
        units = 2 if activation == "softmax" else 1
        dense = tf.keras.layers.Dense(units, activation, use_bias=False)
        model = tf.keras.Sequential([tf.keras.Input((1,)), dense])
        dense.set_weights([np.array([[0.0, 200.0][-units:]], "float32")])
        model.compile(tf.keras.optimizers.SGD(1.0), loss)
        history = model.fit(np.ones((1, 1), "float32"), np.array(y), verbose=0)
        result[loss] = {"loss": history.history["loss"][0], "weights": weights_of(model)}
    return result


def mixed_float16(tf):
    """Gradients too small for float16, in every idiom: the weights after a step with SGD."""

    class Applies(tf.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compiled_loss(y, self(x, training=True))
                scaled = self.optimizer.get_scaled_loss(loss)
            gradients = tape.gradient(scaled, self.trainable_variables)
            gradients = self.optimizer.get_unscaled_gradients(gradients)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
            return {"loss": loss}

    class Minimizes(tf.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compiled_loss(y, self(x, training=True))
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
            return {"loss": loss}

    result = {}
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        for name, model_class in (
            ("default", None), ("minimize", Minimizes), ("apply_gradients", Applies),
        ):  # fmt: skip
            model = make_linear(
                tf,
                model_class=model_class,
                optimizer=tf.keras.optimizers.SGD(2.0**20),
                loss=lambda y, y_pred: tf.reduce_mean(y * y_pred),
            )
            x = np.full((1, 1), 2.0**-13)  # a gradient of 2**-26
            model.fit(x, x, verbose=0)
            result[name] = {
                "optimizer": type(model.optimizer).__name__,
                "weights": weights_of(model),
            }
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")
    return result


def frozen_after_compile(tf):
    """A layer that is frozen between `compile` and `fit`."""
    model = make_linear(tf, 0.0)
    model.layers[-1].trainable = False
    x = np.full((1, 1), 1.0, "float32")
    run_quietly(lambda: model.fit(x, 0.1 * x, verbose=0))
    return weights_of(model)


CASES = {
    case.__name__: case
    for case in (
        vector_loss, step_arguments, weighted_fit, metric_results, metric_resets, raw_logs,
        callback_order, partial_execution, short_epoch, data_run_out, one_shot_generator,
        steps_beyond_arrays, sample_weighted_means, evaluation_results, progress_text, counters,
        saturated_probabilities, mixed_float16, frozen_after_compile,
    )
}  # fmt: skip
