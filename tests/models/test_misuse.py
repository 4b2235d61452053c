"""Mistakes that are answered by an error before anything compiles, or by a warning."""

import pickle
import warnings

import numpy as np
import pytest

import podium
from podium import layers

X = np.linspace(0, 1, 32, dtype="float32").reshape(8, 4)
Y = X[:, :1] * 2


def make_model(loss="mse", **options):
    model = podium.Sequential([layers.Input((4,)), layers.Dense(1)], name="model")
    model.compile("sgd", loss, **options)
    return model


def make_functional(inputs):
    outputs = layers.Dense(1)(podium.ops.concatenate(list(inputs.values())))
    model = podium.Model(inputs, outputs, name="model")
    model.compile("sgd", "mse")
    return model


# --- data


def test_big_endian_arrays_train_as_native_ones():
    native, other = make_model(), make_model()
    other.set_weights([weight.astype(">f4") for weight in native.get_weights()])
    native.fit(X, Y, shuffle=False, verbose=0)
    other.fit(X.astype(">f4"), Y.astype(">f8"), shuffle=False, verbose=0)
    for left, right in zip(native.get_weights(), other.get_weights(), strict=True):
        assert np.array_equal(left, right)
    data = podium.data.Dataset.from_tensor_slices((X.astype(">f4"), Y.astype(">f4"))).batch(4)
    assert np.isfinite(other.evaluate(data, verbose=0))
    assert np.isfinite(other.train_on_batch(X.astype(">f4"), Y, np.ones(8, ">f4")))
    assert np.array_equal(other.predict(X.astype(">f4"), verbose=0), other.predict(X, verbose=0))
    assert np.array_equal(other(X.astype(">f4")).numpy(), other(X).numpy())


def test_unexpected_keys_of_inputs_are_named():
    model = make_functional({"a": layers.Input((4,), name="a")})
    message = r"Model 'model' was given inputs with the keys \['b'\], which it does not have.*'a'"
    with pytest.warns(UserWarning, match=message):
        model.fit({"a": X, "b": X}, Y, verbose=0)
    with warnings.catch_warnings():  # once
        warnings.simplefilter("error")
        model({"a": X, "b": X})


@pytest.mark.parametrize("name", ["x", "other"])
def test_batches_that_are_dictionaries_of_x_and_y_are_refused(name):
    model = make_functional({name: layers.Input((4,), name=name)})
    message = r"dictionary with the keys \['x', 'y'\].*yield `\(batch\['x'\], batch\['y'\]\)`"
    with pytest.raises(ValueError, match=message):
        model.fit(({"x": X, "y": Y} for _ in range(3)), verbose=0)


def test_dictionaries_with_an_input_named_y_are_inputs():
    model = make_functional({name: layers.Input((4,), name=name) for name in ("x", "y")})
    with pytest.raises(ValueError, match="`fit` was given no target"):
        model.fit(({"x": X, "y": X} for _ in range(3)), verbose=0)


@pytest.mark.parametrize("label", [7, -1])
@pytest.mark.parametrize("bad_batch", [0, 1])
@pytest.mark.parametrize("is_built", [True, False])
def test_labels_out_of_range_in_a_dataset_are_named(label, bad_batch, is_built):
    start = [layers.Input((4,))] if is_built else []
    model = podium.Sequential([*start, layers.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    labels = np.zeros(8, "int32")
    labels[4 * bad_batch + 1] = label
    data = podium.data.Dataset.from_tensor_slices((X, labels)).batch(4)
    message = f"labels `y` hold the class {label}, at 1 of 4 places; the output has 3 classes"
    with pytest.raises(ValueError, match=message):
        model.fit(data, verbose=0)
    with pytest.raises(ValueError, match=message):
        model.evaluate(iter([(X[:4], labels[:4]), (X[4:], labels[4:])]), verbose=0)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def embedding_models():
    """Return models in which an Embedding is the first layer, or behind another model."""
    stack = [layers.Embedding(5, 2), layers.Flatten(), layers.Dense(1)]
    unbuilt = podium.Sequential(stack)
    inputs = layers.Input((3,), dtype="int32")
    inner = podium.Sequential([layers.Embedding(5, 2), layers.Flatten()])
    return {"unbuilt": unbuilt, "nested": podium.Model(inputs, layers.Dense(1)(inner(inputs)))}


@pytest.mark.parametrize("name", ["unbuilt", "nested"])
def test_indices_out_of_range_are_named_for_models_without_an_input_and_nested_ones(name):
    model = embedding_models()[name]
    model.compile("sgd", "mse")
    indices = np.array([[0, 1, 2], [3, -1, 4]])
    message = r"was given the index -1; it has input_dim=5 vectors"
    data = podium.data.Dataset.from_tensor_slices((indices, Y[:2])).batch(1)
    for arguments in ((indices, Y[:2]), (data,)):
        with pytest.raises(ValueError, match=message):
            model.fit(*arguments, verbose=0)
    with pytest.raises(ValueError, match=message):
        model.predict(indices, verbose=0)


# --- arguments


def test_initial_epoch_that_leaves_no_epoch_warns():
    model = make_model()
    with pytest.warns(UserWarning, match="initial_epoch=2 and epochs=2 were given: nothing is"):
        assert model.fit(X, Y, epochs=2, initial_epoch=2, verbose=0).history == {}


def test_a_second_input_in_the_place_of_training_is_refused():
    message = r"`training` was given an array of shape \(8, 4\).*`model\(\[a, b\]\)`"
    with pytest.raises(TypeError, match=message):
        make_model()(X, X)
    inputs = layers.Input((4,))
    with pytest.raises(TypeError, match=message):
        podium.Model(inputs, layers.Dense(1)(inputs))(X, X)
    with pytest.raises(TypeError, match="`training` was given 'yes'; True, False or None"):
        layers.Dropout(0.5)(X, training="yes")


def test_a_sequential_model_cannot_be_added_to_itself():
    model = podium.Sequential([layers.Dense(1)], name="model")
    with pytest.raises(ValueError, match="'model' was given itself; a model cannot be a part of"):
        model.add(model)
    outer = podium.Sequential([model], name="outer")
    with pytest.raises(ValueError, match="'model' was given the layer 'outer', which contains it"):
        model.add(outer)
    assert len(model.layers) == 1


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_a_model_with_nothing_to_train_warns_once(run_eagerly):
    model = make_model()
    model.trainable = False
    model.compile("sgd", "mse", run_eagerly=run_eagerly)
    with pytest.warns(
        UserWarning, match=r"Model 'model' has no weights to train \(they are all"
    ) as w:
        model.fit(X, Y, batch_size=4, epochs=3, verbose=0)
    assert len(w) == 1
    model = podium.Sequential([layers.Input((4,)), layers.Flatten()], name="flat")
    model.compile("sgd", "mse", run_eagerly=run_eagerly)
    with pytest.warns(
        UserWarning, match=r"Model 'flat' has no weights to train \(it has no wei"
    ) as w:
        model.train_on_batch(X, X)
        model.fit(X, X, verbose=0)
    assert len(w) == 1


@pytest.mark.parametrize("index", [-1, 5])
@pytest.mark.parametrize("bad_batch", [0, 1])
def test_indices_of_embeddings_out_of_range_in_a_dataset_are_named(index, bad_batch):
    ids = podium.Input((2,), dtype="int32", name="ids")
    other = podium.Input((1,), name="other")
    hidden = layers.Flatten()(layers.Embedding(5, 2, name="words")(ids))
    model = podium.Model([ids, other], layers.Dense(1)(layers.Concatenate()([hidden, other])))
    model.compile("sgd", "mse")
    indices = np.zeros((8, 2), "int32")
    indices[4 * bad_batch + 1] = index
    x = {"ids": indices, "other": np.ones((8, 1), "float32")}
    y = np.ones((8, 1), "float32")
    data = podium.data.Dataset.from_tensor_slices((x, y)).batch(4)
    for run in (model.fit, model.evaluate, model.predict):
        with pytest.raises(
            ValueError, match=rf"'words' \(Embedding\) was given the index {index};"
        ):
            run(data, verbose=0)
    rows = [slice(4), slice(4, 8)]
    batches = ((({name: leaf[part] for name, leaf in x.items()}), y[part]) for part in rows)
    with pytest.raises(ValueError, match=rf"'words' \(Embedding\) was given the index {index};"):
        model.fit(batches, verbose=0)


def test_backup_with_a_generator_names_the_callback(tmp_path):
    backup = podium.callbacks.BackupAndRestore(tmp_path)
    message = "The callback BackupAndRestore saves the position in the data.*is a generator"
    with pytest.raises(ValueError, match=message):
        make_model().fit(((X, Y) for _ in range(3)), callbacks=[backup], verbose=0)


def test_text_in_the_logs_is_kept_and_cannot_be_monitored():
    class Note(podium.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["note"] = "text"

    history = make_model().fit(X, Y, epochs=2, callbacks=[Note()], verbose=2)
    assert history.history["note"] == ["text", "text"]
    for monitor in (podium.callbacks.EarlyStopping, podium.callbacks.ReduceLROnPlateau):
        with pytest.raises(TypeError, match=r"monitors 'note', which is 'text' \(str\); a number"):
            make_model().fit(X, Y, callbacks=[Note(), monitor("note", mode="min")], verbose=0)


# --- losses and metrics


def one(y_true):
    return y_true


def three(y_true, y_pred, weight):
    return y_true


def factory():
    return three


class OneArgument(podium.losses.Loss):
    def call(self, y_true):
        return y_true


class Count(podium.metrics.Metric):
    def __init__(self, **options):
        super().__init__(**options)
        self.count = self.add_weight(name="count", initializer="zeros")

    def update_state(self, y_true, y_pred):
        self.count.assign_add(1.0)

    def result(self):
        return None


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (one, r"The loss 'one' has the signature \(y_true\) and is called with \(y_true, y_pred\)"),
        (three, r"The loss 'three' has .*missing a required argument: 'weight'"),
        (factory, r"The loss 'factory' has .*Did you mean what it returns, `factory\(\)`\?"),
        (OneArgument(name="mine"), r"The loss 'mine' has the signature \(y_true\)"),
    ],
)
def test_a_loss_of_the_wrong_arity_is_named_by_compile(loss, message):
    with pytest.raises(TypeError, match=message):
        make_model(loss)


def test_a_metric_of_the_wrong_arity_is_named_by_compile():
    with pytest.raises(TypeError, match=r"The metric 'one' has the signature \(y_true\)"):
        make_model(metrics=[one])
    with pytest.raises(TypeError, match=r"The metric 'count' .*sample_weight=\.\.\.\)"):
        make_model(weighted_metrics=[Count(name="count")])


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (None, ValueError, "returned None; one value for each sample was expected"),
        ("text", TypeError, r"returned 'text' \(str\); one value for each sample was expected"),
        ((1.0, 2.0), TypeError, r"returned \(1.0, 2.0\) \(tuple\); one value for each sample"),
    ],
)
def test_a_result_of_the_wrong_type_names_the_loss_or_metric(result, error, message):
    def mine(y_true, y_pred):
        return result

    with pytest.raises(error, match=f"The loss mine {message}"):
        make_model(mine).train_on_batch(X, Y)
    with pytest.raises(error, match=f"The metric mine {message}"):
        make_model(metrics=[mine]).train_on_batch(X, Y)


@pytest.mark.parametrize("kind", ["constant", "comparison"])
def test_a_loss_without_a_gradient_is_named(kind):
    def mine(y_true, y_pred):
        return 1.0 if kind == "constant" else y_true > y_pred

    with pytest.raises(ValueError, match="The loss 'mine' has no gradient: it returned a constant"):
        make_model(mine).train_on_batch(X, Y)


def test_a_metric_whose_result_is_none_is_named():
    with pytest.raises(
        TypeError, match=r"`result\(\)` of the metric 'count' \(Count\) returned None"
    ):
        make_model(metrics=[Count(name="count")]).train_on_batch(X, Y)


# --- copies


def test_a_trained_model_can_be_pickled():
    model = make_model()
    model.fit(X, Y, verbose=0)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X, verbose=0), model.predict(X, verbose=0))
