"""Outputs, targets, losses and metrics in every structure."""

import gc

import numpy as np
import pytest

import podium
from podium import callbacks, layers, losses, metrics, ops, optimizers

X = np.random.default_rng(0).normal(size=(20, 4)).astype("float32")
Y = X[:, :1] * 2


def two_outputs(keys=("z", "b"), widths=(1, 1)):
    x = podium.Input((4,))
    return podium.Model(
        x,
        {
            key: layers.Dense(width, name=f"layer_{key}")(x)
            for key, width in zip(keys, widths, strict=True)
        },
    )


def test_outputs_in_a_dictionary_are_matched_with_their_targets():
    model = two_outputs()
    model.compile(
        optimizers.SGD(0.1), {"z": "mse", "b": "mse"}, metrics={"z": ["mae"], "b": ["mae"]}
    )
    model.fit(X, {"b": Y * 0 - 1, "z": Y * 0 + 1}, epochs=60, verbose=0)
    means = {key: value.mean() for key, value in model.predict(X, verbose=0).items()}
    assert means["z"] == pytest.approx(1.0, abs=0.05) and means["b"] == pytest.approx(
        -1.0, abs=0.05
    )
    different = two_outputs(widths=(1, 2))
    different.compile("sgd", "mse")
    assert list(different.fit(X, {"z": Y, "b": np.c_[Y, Y]}, verbose=0).history) == [
        "loss",
        "z_loss",
        "b_loss",
    ]


def test_subclass_returning_a_dictionary():
    class Two(podium.Model):
        def __init__(self):
            super().__init__()
            self.one, self.two = layers.Dense(1), layers.Dense(2)

        def call(self, x):
            return {"z": self.one(x), "b": self.two(x)}

    model = Two()
    model.compile("sgd", {"b": "mse", "z": "mae"}, metrics={"z": "mse"})
    history = model.fit(X, {"z": Y, "b": np.c_[Y, Y]}, verbose=0).history
    assert list(history) == ["loss", "z_loss", "b_loss", "z_mse"]


def test_nested_outputs():
    x = podium.Input((4,))
    outputs = {
        "x": [layers.Dense(1, name="p")(x), layers.Dense(1, name="q")(x)],
        "y": layers.Dense(1, name="r")(x),
    }
    model = podium.Model(x, outputs)
    targets = {"x": [Y, Y], "y": Y}
    for loss in ("mse", {"x": ["mse", "mae"], "y": "mse"}):
        model.compile("sgd", loss)
        assert list(model.fit(X, targets, verbose=0).history) == [
            "loss",
            "p_loss",
            "q_loss",
            "r_loss",
        ]
    with pytest.raises(ValueError, match="'w'"):
        model.compile("sgd", {"w": "mse"})


def test_a_list_of_one_output_is_the_output():
    """As in tf_keras, whose configs have such a list for every model with one output."""
    x = podium.Input((4,))
    model = podium.Model([x], [layers.Dense(1)(x)])
    for copy in (model, podium.models.model_from_json(model.to_json())):
        copy.compile(optimizers.SGD(0.1), ["mse"])
        copy.fit(X, [Y], verbose=0)
        assert [copy(X).shape, copy([X]).shape, copy.predict(X, verbose=0).shape] == [(20, 1)] * 3
        assert (copy.input.shape, copy.output.shape) == ((None, 4), (None, 1))
        assert (copy(x) * 2).shape == (None, 1)
        assert [len(copy.inputs), len(copy.outputs)] == [1, 1]
    assert model.get_config()["output_layers"] == [["dense", 0, 0]]


def test_sample_weights_by_name_apply_to_their_output():
    x = podium.Input((4,))
    model = podium.Model(x, [layers.Dense(1, name="a")(x), layers.Dense(1, name="b")(x)])
    model.compile(loss="mse")
    plain = model.evaluate(X, [Y, Y], verbose=0, return_dict=True)
    weighted = model.evaluate(
        X, [Y, Y], sample_weight={"a": np.full(20, 0.5)}, verbose=0, return_dict=True
    )
    assert weighted["a_loss"] == pytest.approx(plain["a_loss"] / 2, rel=1e-5)
    assert weighted["b_loss"] == pytest.approx(plain["b_loss"], rel=1e-5)
    with pytest.raises(ValueError, match="'c'"):
        model.evaluate(X, [Y, Y], sample_weight={"c": np.ones(20)}, verbose=0)


def test_symbolic_loss_of_a_functional_model_is_added():
    x = podium.Input((4,))
    out = layers.Dense(1)(x)
    model = podium.Model(x, out)
    model.add_loss(ops.mean(out) * 0.0 + 100.0)
    model.compile("sgd", "mse")
    assert model.evaluate(X, Y, verbose=0) > 100
    only = podium.Model(x, out)
    only.add_loss(ops.mean(out**2))
    only.compile(optimizers.SGD(0.1))
    history = only.fit(X, epochs=5, verbose=0).history["loss"]
    assert history[-1] < history[0]
    with pytest.raises(TypeError, match="inside `call`"):
        podium.Model().add_loss(ops.mean(out))


def test_a_step_in_the_style_of_keras_3():
    class Step(podium.Model):
        def train_step(self, data):
            x, y = data
            with podium.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(y=y, y_pred=y_pred)
            self.optimizer.apply(
                tape.gradient(loss, self.trainable_variables), self.trainable_variables
            )
            for metric in self.metrics:
                if metric.name == "loss":
                    metric.update_state(loss)
                else:
                    metric.update_state(y, y_pred)
            return {metric.name: metric.result() for metric in self.metrics}

    def run(cls):
        podium.utils.set_random_seed(0)
        x = podium.Input((4,))
        model = cls(x, layers.Dense(1)(x))
        model.compile("sgd", "mse", metrics=["mae", "accuracy"])
        return model.fit(X, Y, batch_size=8, shuffle=False, verbose=0).history

    found, expected = run(Step), run(podium.Model)
    assert list(found) == list(expected) == ["loss", "mae", "accuracy"]
    for name in found:
        assert found[name] == pytest.approx(expected[name], rel=1e-6)


def test_values_computed_from_results_are_values_of_the_epoch():
    class Root(podium.Model):
        def __init__(self):
            super().__init__()
            self.mse = metrics.Mean(name="mse")

        def train_step(self, data):
            x, y = data
            self.mse.update_state(ops.mean(y**2), sample_weight=x.shape[0])
            return {"rmse": ops.sqrt(self.mse.result()), "half": 0.5 * self.mse.result()}

    for eager in (False, True):
        model = Root()
        model.compile(run_eagerly=eager)
        history = model.fit(X, Y, batch_size=8, verbose=0).history
        assert history["rmse"] == [pytest.approx(np.sqrt((Y**2).mean()), rel=1e-5)]
        assert history["half"] == [pytest.approx((Y**2).mean() / 2, rel=1e-5)]


def test_two_metrics_of_one_name_raise():
    model = podium.Sequential([podium.Input((4,)), layers.Dense(1)])
    with pytest.raises(ValueError, match="the name 'loss'"):
        model.compile("sgd", "mse", metrics=[metrics.MeanAbsoluteError(name="loss")])
    model.tracker = metrics.Mean(name="mae")
    model.compile("sgd", "mse", metrics=["mae"])
    with pytest.raises(ValueError, match="the name 'mae'"):
        model.fit(X, Y, verbose=0)


def test_metric_objects_keep_their_log_names_when_compiled_again():
    x = podium.Input((4,))
    model = podium.Model(x, [layers.Dense(1, name="a")(x), layers.Dense(1, name="mean")(x)])
    metric = metrics.MeanAbsoluteError(name="mae")
    for given in ([metric], {"a": [metric]}, ["mean_absolute_error"]):
        for _ in range(2):
            model.compile("sgd", "mse", metrics=given)
            keys = [key for key in model.fit(X, [Y, Y], verbose=0).history if "loss" not in key]
            expected = {
                1: ["a_mae", "mean_mae"],
                0: ["a_mae"],
                2: ["a_mean_absolute_error", "mean_mean_absolute_error"],
            }
            assert keys == expected[1 if given == [metric] else 0 if isinstance(given, dict) else 2]


def test_labels_out_of_range_raise_at_any_rank():
    x = podium.Input((3, 4))
    model = podium.Model(x, layers.Dense(5, activation="softmax")(x))
    model.compile("sgd", "sparse_categorical_crossentropy")
    with pytest.raises(ValueError, match="class 7"):
        model.fit(np.zeros((2, 3, 4)), np.full((2, 3), 7), verbose=0)
    model.fit(np.zeros((2, 3, 4)), np.full((2, 3), 4), verbose=0)


def test_model_with_nothing_to_train_reports_its_loss():
    model = podium.Sequential([podium.Input((4,)), layers.Dense(1)])
    model.trainable = False
    model.compile("sgd", "mse")
    with pytest.warns(UserWarning, match="has no weights to train"):
        history = model.fit(X, Y, verbose=0).history
    assert history["loss"] == [pytest.approx(model.evaluate(X, Y, verbose=0), rel=1e-5)]


def test_compute_loss_with_the_signature_of_keras_2():
    class Own(podium.Model):
        def compute_loss(self, x, y, y_pred, sample_weight):
            return ops.mean((y - y_pred) ** 2)

    x = podium.Input((4,))
    model = Own(x, layers.Dense(1)(x))
    model.compile("sgd")
    model.fit(X, Y, verbose=0)
    model.evaluate(X, Y, verbose=0)


def test_predict_step_may_return_numbers():
    class Counts(podium.Model):
        def predict_step(self, data):
            return {"doubled": data * 2.0, "rows": data.shape[0], "three": 3}

    for fused in (1, 2):
        model = Counts()
        model.compile(steps_per_execution=fused)
        found = model.predict(X, batch_size=8, verbose=0)
        np.testing.assert_array_equal(found["doubled"], X * 2)
        assert found["rows"].tolist() == [8, 8, 4] and found["three"].tolist() == [3, 3, 3]


def test_predict_hooks_receive_every_batch_of_an_execution():
    class Sizes(callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.sizes = []

        def on_predict_batch_end(self, batch, logs=None):
            self.sizes.append(logs["outputs"].shape)

    model = podium.Sequential([podium.Input((4,)), layers.Dense(1)])
    model.compile(steps_per_execution=2)
    sizes = Sizes()
    model.predict(X, batch_size=6, verbose=0, callbacks=sizes)
    assert sizes.sizes == [(12, 1), (8, 1)]


def test_loss_weights_may_be_numpy_numbers_and_variables():
    factor = podium.Variable(1.0)
    x = podium.Input((4,))
    model = podium.Model(x, [layers.Dense(1, name="a")(x), layers.Dense(1, name="b")(x)])
    model.compile(loss="mse", loss_weights=[np.float32(0.5), factor])
    first = model.evaluate(X, [Y, Y], verbose=0, return_dict=True)
    assert first["loss"] == pytest.approx(0.5 * first["a_loss"] + first["b_loss"], rel=1e-5)
    factor.assign(0.0)
    second = model.evaluate(X, [Y, Y], verbose=0, return_dict=True)
    assert second["loss"] == pytest.approx(0.5 * second["a_loss"], rel=1e-5)


def test_lists_of_numbers_are_accepted_as_targets():
    model = podium.Sequential([podium.Input((4,)), layers.Dense(1)])
    model.compile(loss="mse")
    assert model.evaluate(X.tolist(), Y[:, 0].tolist(), verbose=0) == pytest.approx(
        model.evaluate(X, Y, verbose=0), rel=1e-5
    )


def test_stop_iteration_in_a_callback_does_not_end_the_data():
    class Stops(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            next(iter([]))

    model = podium.Sequential([podium.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(RuntimeError, match=r"Stops\.on_train_batch_end raised StopIteration"):
        model.fit(X, Y, verbose=0, callbacks=Stops())


def test_short_last_execution_needs_no_other_program():
    model = podium.Sequential([podium.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=3)
    model.fit(X[:16], Y[:16], batch_size=2, epochs=2, verbose=0)  # 8 batches: 3, 3, 2
    assert model.train_function.trace_count == 1


def test_repeated_fits_do_not_leak():
    model = podium.Sequential([podium.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    for _ in range(3):
        model.fit(X, Y, batch_size=8, validation_data=(X, Y), verbose=0)

    def stores():
        gc.collect()
        return sum(type(thing).__name__ == "Store" for thing in gc.get_objects())

    before = stores()
    for _ in range(5):
        model.fit(X, Y, batch_size=8, validation_data=(X, Y), verbose=0)
    assert stores() <= before


def test_eager_steps_receive_dictionaries_in_order():
    seen = []

    class Looks(podium.Model):
        def train_step(self, data):
            seen.append(list(data))
            return {"loss": ops.sum(data["z"])}

    for eager in (True, False):
        model = Looks()
        model.compile(run_eagerly=eager)
        model.fit({"z": X, "a": X}, verbose=0)
    assert all(keys == ["z", "a"] for keys in seen)


def test_custom_losses():
    class Twice(losses.Loss):
        def call(self, y_true, y_pred):
            return 2.0 * ops.mean((y_true - y_pred) ** 2, axis=-1)

    def plain(y_true, y_pred):
        return ops.mean((y_true - y_pred) ** 2, axis=-1)

    model = podium.Sequential([podium.Input((4,)), layers.Dense(1)])
    found = []
    for loss in (Twice(), plain, "mse"):
        model.compile(loss=loss)
        found.append(model.evaluate(X, Y, verbose=0))
    assert found == pytest.approx([2 * found[2], found[2], found[2]], rel=1e-6)


# The structures of outputs a, b, c, and losses for them: what is logged is the same in tf_keras.
NESTED = {
    "dictionary": (lambda a, b, c: {"a": a, "n": {"b": b, "c": c}}, True),
    "list": (lambda a, b, c: [a, [b, c]], True),
    "list in a dictionary": (lambda a, b, c: {"a": [a, b], "c": c}, True),
    "dictionary in a list": (lambda a, b, c: [{"a": a, "b": b}, c], True),
    "in lists of one": (lambda a, b, c: {"a": a, "n": {"b": b, "c": c}}, False),
}


@pytest.mark.parametrize("case", NESTED)
def test_losses_metrics_and_weights_have_the_structure_of_the_outputs(case):
    arrange, plain = NESTED[case]
    x = podium.Input((4,))
    outputs = [layers.Dense(1, kernel_initializer="zeros", name=name)(x) for name in "pqr"]
    model = podium.Model(x, arrange(*outputs))
    loss = arrange("mse", "mae", None) if plain else arrange(["mse"], ["mae"], None)
    model.compile(
        optimizers.SGD(0.0),
        loss,
        metrics=arrange(["mae"], ["mse"], ["mae"]),
        loss_weights=arrange(2.0, 3.0, None),
    )
    ones = np.ones((20, 1), "float32")
    targets = arrange(ones * 2, ones * 3, ones * 4)
    assert model.evaluate(X, targets, verbose=0, return_dict=True) == {
        "loss": 17.0,
        "p_loss": 4.0,
        "q_loss": 3.0,
        "p_mae": 2.0,
        "q_mse": 9.0,
        "r_mae": 4.0,
    }


@pytest.mark.parametrize("loss", [[["mse"]], {"only": ["mse"]}, {"only": "mse"}, ["mse"]])
def test_the_loss_of_an_output_may_be_in_a_list(loss):
    x = podium.Input((4,))
    model = podium.Model(x, layers.Dense(1, kernel_initializer="zeros", name="only")(x))
    model.compile("sgd", loss)
    assert model.evaluate(X, Y * 0 + 2, verbose=0) == 4.0
    with pytest.raises(ValueError, match=r"2 losses for the output 'only': \['mse', 'mae'\]; one"):
        model.compile("sgd", {"only": ["mse", "mae"]})


class TwoOutputs(podium.Model):
    def __init__(self):
        super().__init__()
        self.parts = [podium.layers.Dense(1, kernel_initializer="ones") for _ in range(2)]

    def call(self, x):
        return [part(x) for part in self.parts]


@pytest.mark.parametrize(
    ("metrics", "names"),
    [
        ([["mae"], ["mse"]], ["output_1_mae", "output_2_mse"]),
        ([["mae", "mse"], []], ["output_1_mae", "output_1_mse"]),
    ],
)
def test_lists_of_metrics_per_output_of_a_subclassed_model(metrics, names):
    """tf_keras 2.21 has these names."""
    x = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
    model = TwoOutputs()
    model.compile("sgd", "mse", metrics=metrics)
    logs = model.train_on_batch(x, [0.5 * x[:, :1], x[:, :1]], return_dict=True)
    assert list(logs)[-2:] == names
    errors = x.sum(axis=1, keepdims=True) - 0.5 * x[:, :1]
    assert float(logs["output_1_mae"]) == pytest.approx(np.abs(errors).mean())


@pytest.mark.parametrize(("losses", "trained"), [(["mse", None], 0), ([None, "mse"], 1)])
def test_one_target_goes_to_the_only_output_with_a_loss(losses, trained):
    inputs = podium.Input((3,))
    outputs = [layers.Dense(1, name="a")(inputs), layers.Dense(2, name="b")(inputs)]
    model = podium.Model(inputs, outputs)
    model.compile("sgd", losses)
    x, y = np.ones((4, 3), "float32"), np.zeros((4, trained + 1), "float32")
    before = model.get_weights()
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        logs = model.fit(x, y, verbose=0).history
    after = model.get_weights()
    assert f"{'ab'[trained]}_loss" in logs
    changed = [not np.array_equal(a, b) for a, b in zip(after, before, strict=True)]
    assert changed == [trained == 0] * 2 + [trained == 1] * 2
    with pytest.raises(ValueError, match="was given 3 arrays as `y`"):
        model.fit(x, [y, y, y], verbose=0)
