"""Small models trained by `compile` and `fit`: recorded from tf_keras, repeated by Podium.

Each function of `COMPILED` takes a `Library` and returns the results of a run: curves, batch logs,
evaluation, predictions and weights. Steps that are written by the user are in `training_custom.py`.
"""

import numpy as np
from training_library import (
    RandomValues,
    Table,
    evaluate_model,
    norms,
    one_hot,
    predict_model,
    to_floats,
    train,
)

COMPILED = Table()


# --- regression


@COMPILED.add
def regression(library, k=1, log_batches=True):
    """Labels of one axis, a penalty on weights, a partial last batch, validation."""
    keras, values = library.keras, RandomValues("regression")
    x, y = values.normal(50, 4), values.normal(50)
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(
        6, activation="tanh", kernel_regularizer=keras.regularizers.L2(0.01)
    )(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    values.weights(model)
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate=0.02),
        loss="mse",
        metrics=["mae", keras.metrics.RootMeanSquaredError(name="rmse")],
        steps_per_execution=k,
    )
    validation = (values.normal(18, 4), values.normal(18))
    run = train(
        library,
        model,
        x,
        y,
        batch_size=8,
        epochs=3,
        shuffle=False,
        validation_data=validation,
        log_batches=log_batches,
    )
    return {
        **run,
        **evaluate_model(model, x, y, batch_size=8),
        **predict_model(model, x[:11], batch_size=4),
    }


@COMPILED.add
def regression_fused(library):
    """The same with three steps to an execution: the last execution of an epoch is one step, on a
    partial batch.
    """
    return regression(library, k=3)


@COMPILED.add
def validation_split(library):
    """The last part of the arrays is held back; the loss is a function of the user."""
    keras, values = library.keras, RandomValues("validation_split")

    def cubic(y_true, y_pred):
        return library.mean(library.square(y_true - y_pred) * (y_true - y_pred + 4.0), axis=-1)

    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(2)]
    )
    values.weights(model)
    model.compile(optimizer=keras.optimizers.SGD(0.01), loss=cubic, metrics=[cubic])
    x, y = values.normal(43, 3), values.normal(43, 2)
    run = train(
        library,
        model,
        x,
        y,
        batch_size=8,
        epochs=3,
        shuffle=False,
        validation_split=0.25,
        validation_freq=2,
    )
    return {**run, **evaluate_model(model, x[:8], y[:8]), **predict_model(model, x[:4])}


# --- classification, with each cross-entropy


def classify(library, values, y, units, activation, loss, optimizer, metrics):
    keras = library.keras
    x = values.normal(len(y), 5)
    model = keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.Dense(8, activation="tanh"),
            keras.layers.Dense(units, activation=activation),
        ]
    )
    values.weights(model)
    model.compile(optimizer=optimizer, loss=loss, metrics=metrics)
    run = train(
        library,
        model,
        x,
        y,
        batch_size=16,
        epochs=3,
        shuffle=False,
        validation_data=(x[:16], y[:16]),
    )
    return {**run, **evaluate_model(model, x, y, batch_size=16), **predict_model(model, x[:16])}


@COMPILED.add
def binary_probabilities(library):
    keras, values = library.keras, RandomValues("binary_probabilities")
    metrics = ["accuracy", keras.metrics.Precision(name="precision"), keras.metrics.AUC(name="auc")]
    optimizer = keras.optimizers.RMSprop(0.01)
    return classify(
        library,
        values,
        values.labels(2, 48),
        1,
        "sigmoid",
        "binary_crossentropy",
        optimizer,
        metrics,
    )


@COMPILED.add
def binary_logits(library):
    keras, values = library.keras, RandomValues("binary_logits")
    loss = keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1)
    metrics = [
        keras.metrics.BinaryAccuracy(threshold=0.0),
        keras.metrics.BinaryCrossentropy(from_logits=True, name="bce"),
    ]
    labels = values.labels(2, 48, 1).astype("float32")
    return classify(library, values, labels, 1, None, loss, keras.optimizers.Adagrad(0.1), metrics)


@COMPILED.add
def categorical_probabilities(library):
    keras, values = library.keras, RandomValues("categorical_probabilities")
    labels = one_hot(values.labels(3, 48), 3)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)
    return classify(
        library, values, labels, 3, "softmax", "categorical_crossentropy", optimizer, ["accuracy"]
    )


@COMPILED.add
def categorical_logits(library):
    keras, values = library.keras, RandomValues("categorical_logits")
    labels = one_hot(values.labels(3, 48), 3)
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.AdamW(0.02, weight_decay=0.05)
    return classify(library, values, labels, 3, None, loss, optimizer, ["categorical_accuracy"])


@COMPILED.add
def sparse_probabilities(library):
    keras, values = library.keras, RandomValues("sparse_probabilities")
    rate = keras.optimizers.schedules.ExponentialDecay(0.05, decay_steps=4, decay_rate=0.8)
    metrics = ["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(k=2, name="top2")]
    loss = "sparse_categorical_crossentropy"
    return classify(
        library,
        values,
        values.labels(4, 48),
        4,
        "softmax",
        loss,
        keras.optimizers.Adam(rate),
        metrics,
    )


@COMPILED.add
def sparse_logits(library):
    keras, values = library.keras, RandomValues("sparse_logits")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metrics = [
        "accuracy",
        keras.metrics.SparseCategoricalCrossentropy(from_logits=True, name="entropy"),
    ]
    optimizer = keras.optimizers.Adam(0.02, clipnorm=0.5)
    return classify(library, values, values.labels(4, 48, 1), 4, None, loss, optimizer, metrics)


# --- several outputs


def two_outputs(library, values):
    keras = library.keras
    left, right = keras.Input((3,), name="left"), keras.Input((2,), name="right")
    joined = keras.layers.Concatenate()([left, right])
    hidden = keras.layers.Dense(6, activation="tanh")(joined)
    position = keras.layers.Dense(2, name="position")(hidden)
    kind = keras.layers.Dense(3, activation="softmax", name="kind")(hidden)
    model = keras.Model([left, right], [position, kind])
    values.weights(model)
    return (
        model,
        {"left": values.normal(32, 3), "right": values.normal(32, 2)},
        [values.normal(32, 2), values.labels(3, 32)],
    )


@COMPILED.add
def outputs_by_name(library):
    """Inputs, labels, losses, their weights and metrics in dicts."""
    keras, values = library.keras, RandomValues("outputs_by_name")
    model, x, (position, kind) = two_outputs(library, values)
    model.compile(
        optimizer=keras.optimizers.Adam(0.02),
        loss={"kind": "sparse_categorical_crossentropy", "position": "mse"},
        loss_weights={"position": 0.3, "kind": 2.0},
        metrics={"position": ["mae"], "kind": ["accuracy"]},
    )
    y = {"position": position, "kind": kind}
    run = train(library, model, x, y, batch_size=8, epochs=3, shuffle=False, validation_data=(x, y))
    return {
        **run,
        **evaluate_model(model, x, y, batch_size=8),
        **predict_model(model, {name: value[:3] for name, value in x.items()}),
    }


@COMPILED.add
def outputs_in_order(library):
    """The same in lists, and one weight of samples for each output."""
    keras, values = library.keras, RandomValues("outputs_in_order")
    model, x, y = two_outputs(library, values)
    model.compile(
        optimizer=keras.optimizers.Adam(0.02),
        loss=["mae", keras.losses.SparseCategoricalCrossentropy()],
        loss_weights=[1.5, 0.5],
        metrics=[["mse"], ["accuracy"]],
        weighted_metrics=[["mae"], []],
    )
    x = [x["left"], x["right"]]
    weights = [values.uniform(32), values.uniform(32)]
    run = train(
        library,
        model,
        x,
        y,
        batch_size=8,
        epochs=2,
        shuffle=False,
        sample_weight=weights,
        validation_data=(x, y),
    )
    return {
        **run,
        **evaluate_model(model, x, y, batch_size=8),
        **predict_model(model, [value[:3] for value in x]),
    }


# --- weights of samples and classes


@COMPILED.add
def sample_weights(library):
    """Plain metrics do not see the weights, weighted ones do; validation has weights too."""
    keras, values = library.keras, RandomValues("sample_weights")
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(5, activation="relu"), keras.layers.Dense(1)]
    )
    values.weights(model)
    model.compile(
        optimizer=keras.optimizers.SGD(0.05),
        loss="mse",
        metrics=["mae"],
        weighted_metrics=["mse", "mae"],
    )
    x, y, weights = values.normal(30, 3), values.normal(30, 1), values.uniform(30)
    validation = (x[:14], y[:14], weights[:14])
    run = train(
        library,
        model,
        x,
        y,
        batch_size=8,
        epochs=3,
        shuffle=False,
        sample_weight=weights,
        validation_data=validation,
    )
    return {
        **run,
        **evaluate_model(model, x, y, sample_weight=weights, batch_size=8),
        **predict_model(model, x[:3]),
    }


def three_classes(library, values):
    keras = library.keras
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    values.weights(model)
    loss = "sparse_categorical_crossentropy"
    model.compile(
        keras.optimizers.Adam(0.05), loss, metrics=["accuracy"], weighted_metrics=["accuracy"]
    )
    return model, values.normal(32, 4), values.labels(3, 32), {0: 1.0, 1: 3.0, 2: 0.25}


@COMPILED.add
def class_weights(library):
    model, x, y, by_class = three_classes(library, RandomValues("class_weights"))
    run = train(library, model, x, y, batch_size=12, epochs=3, shuffle=False, class_weight=by_class)
    return {**run, **evaluate_model(model, x, y), **predict_model(model, x[:3])}


@COMPILED.add
def class_and_sample_weights(library, multiplied=False):
    """Weights by class times weights by sample, multiplied by the library or before (tf_keras fails
    on a partial batch).
    """
    values = RandomValues("class_and_sample_weights")
    model, x, y, by_class = three_classes(library, values)
    weights = values.uniform(32)
    options = {"class_weight": by_class, "sample_weight": weights}
    if multiplied:
        options = {"sample_weight": weights * np.array([by_class[label] for label in y], "float32")}
    return train(library, model, x, y, batch_size=8, epochs=3, shuffle=False, **options)


# --- layers that behave differently in training


@COMPILED.add
def batch_norm(library):
    """Statistics of batches in training, moving ones in validation and prediction."""
    keras, values = library.keras, RandomValues("batch_norm")
    layers = [
        keras.layers.Dense(6),
        keras.layers.BatchNormalization(momentum=0.8),
        keras.layers.Activation("relu"),
        keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-2, scale=False),
        keras.layers.Dense(2),
    ]
    model = keras.Sequential([keras.Input((4,)), *layers])
    values.weights(model)
    model.compile(optimizer=keras.optimizers.SGD(0.05, momentum=0.8), loss="mse", metrics=["mae"])
    x, y = values.normal(44, 4), values.normal(44, 2)
    run = train(
        library,
        model,
        x,
        y,
        batch_size=8,
        epochs=3,
        shuffle=False,
        validation_data=(x[:12] + 1, y[:12]),
    )
    return {**run, **evaluate_model(model, x, y, batch_size=8), **predict_model(model, x[:3])}


@COMPILED.add
def masked_sequences(library):
    """An answer for each step: padding counts neither in the loss nor in the metrics, with weights
    for steps as well.
    """
    keras, values = library.keras, RandomValues("masked_sequences")
    inputs = keras.Input((6,), dtype="int32")
    embedded = keras.layers.Embedding(9, 4, mask_zero=True)(inputs)
    states = keras.layers.LSTM(5, return_sequences=True)(embedded)
    model = keras.Model(inputs, keras.layers.Dense(3, activation="softmax")(states))
    values.weights(model)
    tokens = values.labels(8, 22, 6) + 1
    tokens[np.arange(6)[None] >= values.labels(6, 22, 1) + 1] = 0
    labels, weights = values.labels(3, 22, 6), values.uniform(22, 6)
    model.compile(
        optimizer=keras.optimizers.Adam(0.02),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        weighted_metrics=["accuracy"],
    )
    unmasked = train(
        library,
        model,
        tokens,
        labels,
        batch_size=8,
        epochs=2,
        shuffle=False,
        validation_data=(tokens, labels),
    )
    run = train(
        library, model, tokens, labels, batch_size=8, epochs=2, shuffle=False, sample_weight=weights
    )
    run["history"] |= {f"plain_{name}": values for name, values in unmasked["history"].items()}
    return {
        **run,
        **evaluate_model(model, tokens, labels, batch_size=8),
        **predict_model(model, tokens[:3]),
    }


@COMPILED.add
def masked_summary(library):
    """One answer for a sequence: the last step that is not padding."""
    keras, values = library.keras, RandomValues("masked_summary")
    layers = [keras.layers.Masking(), keras.layers.GRU(4), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((5, 3)), *layers])
    values.weights(model)
    x, y = values.normal(20, 5, 3), values.normal(20, 1)
    x[np.arange(5)[None] >= values.labels(5, 20, 1) + 1] = 0
    model.compile(optimizer=keras.optimizers.RMSprop(0.02), loss="mse", metrics=["mae"])
    run = train(
        library,
        model,
        x,
        y,
        batch_size=8,
        epochs=3,
        shuffle=False,
        validation_data=(x[:12], y[:12]),
    )
    return {**run, **evaluate_model(model, x, y, batch_size=8), **predict_model(model, x[:3])}


# --- one batch at a time


@COMPILED.add
def on_batch(library):
    """train_on_batch, test_on_batch and predict_on_batch, each by itself."""
    keras, values = library.keras, RandomValues("on_batch")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    values.weights(model)
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse", metrics=["mae"])
    x, y, weights = values.normal(24, 3), values.normal(24, 2), values.uniform(8)
    trained = [model.train_on_batch(x[i : i + 8], y[i : i + 8]) for i in (0, 8)]
    trained.append(model.train_on_batch(x[16:], y[16:], sample_weight=weights))
    model.reset_metrics()
    tested = [model.test_on_batch(x[:8], y[:8])]
    model.reset_metrics()
    as_dict = model.test_on_batch(x[8:20], y[8:20], return_dict=True)
    return {
        "trained": [[float(value) for value in values] for values in trained],
        "tested": [[float(value) for value in values] for values in tested],
        "evaluate_dict": to_floats(as_dict),
        "trainable": norms(model.trainable_weights),
        "predict": [np.asarray(model.predict_on_batch(x[:4]))],
    }
