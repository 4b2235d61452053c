"""Requirements 1-10: a new model, and what `compile` does with it."""

import inspect

import numpy as np
import pytest
from requirement_cases import make_linear

import podium
from podium.compat import keras
from podium.compat import tensorflow as tf

from .helpers import flat_weights, make_fork, make_network, make_samples

X, Y = make_samples()


def test_requirement_1_compile_wires_a_new_model():
    """A new model is not compiled; `compile` sets the optimizer, the losses, the metrics and the
    options of execution.
    """
    calls = []

    class Counts(keras.Model):
        def train_step(self, data):
            calls.append(tf.executing_eagerly())
            return super().train_step(data)

    model = make_network(model_class=Counts)
    assert not model.compiled and not model._is_compiled and model.optimizer is None
    assert model.compiled_loss is None and model.compiled_metrics is None and model.metrics == []

    model.compile("sgd", "mse", ["mae"], run_eagerly=True, steps_per_execution=2, jit_compile=True)
    assert model.compiled and type(model.optimizer) is keras.optimizers.SGD
    assert (model.run_eagerly, model.steps_per_execution, model._jit_compile) == (True, 2, True)
    history = model.fit(X, Y, batch_size=4, verbose=0)
    assert calls == [True] * 3 and sorted(history.history) == ["loss", "mae"]

    model.compile("sgd", "mse", run_eagerly=False)
    calls.clear()
    model.fit(X, Y, batch_size=4, verbose=0)
    assert calls and not any(calls)  # the step is traced, not called for every batch


def test_requirement_2_compile_makes_the_containers_of_losses_and_metrics():
    """`compile` creates a `LossesContainer` and a `MetricsContainer`, which compute."""
    from podium.compat.keras.engine import compile_utils

    model = make_linear(tf, 1.0, metrics=["mae"])
    assert type(model.compiled_loss) is compile_utils.LossesContainer
    assert type(model.compiled_metrics) is compile_utils.MetricsContainer
    y, y_pred = tf.constant([[1.0], [4.0]]), tf.constant([[0.0], [2.0]])
    weights = tf.constant([1.0, 3.0])
    # (1 * 1 + 3 * 4) / 2, and 0.25 on top
    total = model.compiled_loss(y, y_pred, weights, regularization_losses=[tf.constant(0.25)])
    assert float(total) == 6.75
    model.compiled_metrics.update_state(y, y_pred)
    assert {m.name: float(m.result()) for m in model.compiled_metrics.metrics} == {"mae": 1.5}
    assert [m.name for m in model.compiled_loss.metrics] == ["loss"]


def test_requirement_3_compile_has_the_signature_and_runs_in_the_scope_of_the_model():
    """`compile` applies Keras's arguments, in order, runs in the scope of the model's strategy, and
    resets `train_function`.
    """
    parameters = list(inspect.signature(keras.Model.compile).parameters.values())[1:]
    assert [(p.name, p.default) for p in parameters[:5]] == [
        ("optimizer", "rmsprop"), ("loss", None), ("metrics", None), ("loss_weights", None),
        ("weighted_metrics", None),
    ]  # fmt: skip
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        model = make_network()
    model.compile("adam", "mse", ["mae"], steps_per_execution=2)  # outside of the scope
    model.fit(X, Y, batch_size=4, verbose=0)
    variables = [*model.optimizer.variables, *(v for m in model.metrics for v in m.variables)]
    assert all(len(v.value.devices()) == 2 for v in variables) and len(variables) > 6
    assert model.train_function is not None
    model.compile()
    assert model.train_function is None and model._is_compiled
    assert model._steps_per_execution.numpy().item() == 1
    assert type(model.optimizer) is keras.optimizers.RMSprop

    # `loss_weights` weigh the losses of outputs, and `weighted_metrics` use sample weights.
    symbol = keras.Input((1,))
    dense = [keras.layers.Dense(1, use_bias=False, kernel_initializer="ones") for _ in range(2)]
    model = keras.Model(symbol, [layer(symbol) for layer in dense])
    model.compile("sgd", "mse", [["mae"], []], [1.0, 0.5], [["mse"], []])
    x, targets = np.array([[1.0], [2.0]]), [np.zeros((2, 1)), np.zeros((2, 1))]
    weight = np.array([1.0, 3.0])
    logs = model.evaluate(x, targets, sample_weight=[weight, weight], verbose=0, return_dict=True)
    names = [dense[0].name, dense[1].name]
    assert logs == {
        "loss": 9.75,  # 6.5 + 0.5 * 6.5
        f"{names[0]}_loss": 6.5,  # (1 + 3 * 4) / 2
        f"{names[1]}_loss": 6.5,
        f"{names[0]}_mae": 1.5,  # not weighted
        f"{names[0]}_mse": 3.25,  # (1 + 3 * 4) / 4
    }


FORMS = {
    "names": lambda: ("sgd", "mse", ["mae"]),
    "instances": lambda: (
        keras.optimizers.SGD(),
        keras.losses.MeanSquaredError(),
        [keras.metrics.MeanAbsoluteError(name="mae")],
    ),
    "functions": lambda: (
        keras.optimizers.get("SGD"),
        lambda y, y_pred: tf.reduce_mean(tf.square(y - y_pred), axis=-1),
        [keras.metrics.MeanMetricWrapper(keras.losses.mean_absolute_error, name="mae")],
    ),
    "one metric": lambda: ("SGD", keras.losses.mse, keras.metrics.MeanAbsoluteError(name="mae")),
    "one name": lambda: (keras.optimizers.get({"class_name": "SGD", "config": {}}), "MSE", "mae"),
}


def test_requirement_4_parts_may_be_names_instances_or_functions():
    """Optimizers, losses and metrics may be names, instances or functions, and `metrics` a list or
    one of them; all forms train alike.
    """
    results = {}
    for name, parts in FORMS.items():
        model = make_network()
        optimizer, loss, metrics = parts()
        model.compile(optimizer, loss, metrics=metrics)
        history = model.fit(X, Y, batch_size=4, shuffle=False, verbose=0).history
        results[name] = (flat_weights(model), history["loss"], history["mae"])
    for result in results.values():
        for value, expected in zip(result, results["names"], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-6)
    for name in ("adam", "sgd", "rmsprop"):
        optimizer = keras.optimizers.get(name)
        assert type(optimizer).__name__.lower() == name
        assert keras.optimizers.get(optimizer) is optimizer
    assert keras.losses.get("mse") is keras.losses.mean_squared_error
    assert keras.losses.get("mae") is keras.losses.mean_absolute_error


def test_requirement_5_parts_of_compile_may_be_missing():
    """`compile` works with an optimizer alone, with a loss and metrics alone, and with nothing."""

    class Steps(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = keras.losses.mean_squared_error(y, self(x, training=True))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return {"mine": loss}

    model = make_network(model_class=Steps)
    model.compile(optimizer="adam")
    before = flat_weights(model)
    assert list(model.fit(X, Y, verbose=0).history) == ["mine"]
    assert np.abs(flat_weights(model) - before).max() > 5e-4  # Adam moves by 0.001

    model = make_linear(tf, 2.0)
    model.compile(loss="mse", metrics=["mae"])
    assert model.evaluate(np.ones((4, 1)), np.zeros((4, 1)), verbose=0) == [4.0, 2.0]

    class Bare(keras.Model):
        def compile(self):
            super().compile()

        def train_step(self, data):
            return {"count": 1.0}

    model = make_network(model_class=Bare)
    model.compile()
    assert model.fit(X, Y, verbose=0).history == {"count": [1.0]}


class TwoOptimizers(keras.Model):
    """Two layers, each with an optimizer of its own, and a signature of its own."""

    def __init__(self):
        super().__init__()
        self.first, self.second = keras.layers.Dense(2), keras.layers.Dense(1)

    def compile(self, a_optimizer, b_optimizer, loss_fn):
        super().compile()
        self.a_optimizer, self.b_optimizer, self.loss_fn = a_optimizer, b_optimizer, loss_fn

    def call(self, x):
        return self.second(self.first(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape(persistent=True) as tape:
            loss = self.loss_fn(y, self(x, training=True))
        for optimizer, layer in ((self.a_optimizer, self.first), (self.b_optimizer, self.second)):
            gradients = tape.gradient(loss, layer.trainable_weights)
            optimizer.apply_gradients(zip(gradients, layer.trainable_weights))
        return {"loss": loss}


def make_two_optimizers():
    podium.utils.set_random_seed(3)
    model = TwoOptimizers()
    model.build((None, 3))
    model.compile(
        keras.optimizers.Adam(0.01),
        keras.optimizers.SGD(0.1, momentum=0.9),
        loss_fn=keras.losses.MeanSquaredError(),
    )
    return model


def test_requirement_6_compile_may_have_its_own_signature_and_optimizers(tmp_path):
    """A `compile` of one's own may store further optimizers, whose slots are tracked, updated in
    compiled steps and saved.
    """
    model = make_two_optimizers()
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    assert int(model.a_optimizer.iterations) == int(model.b_optimizer.iterations) == 3
    slots = [*model.a_optimizer.variables, *model.b_optimizer.variables]
    assert sum(float(np.abs(slot.numpy()).max()) > 0 for slot in slots) >= 2 + 4 + 2

    manager = podium.saving.CheckpointManager(tmp_path)
    manager.save(3, model)
    restored = make_two_optimizers()
    manager.restore(restored)
    for continued in (model, restored):
        continued.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    np.testing.assert_array_equal(flat_weights(restored), flat_weights(model))
    assert int(restored.a_optimizer.iterations) == 6


def test_requirement_7_sequential_functional_subclassed_and_callless_models_fit():
    """A custom step works in Sequential, functional and subclassed models, and in a subclass
    without `call`, which is not built.
    """

    class Step:
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compiled_loss(y, self(x, training=True))
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
            return {m.name: m.result() for m in self.metrics}

    class Functional(Step, keras.Model):
        pass

    class Sequential(Step, keras.Sequential):
        pass

    class Subclassed(Step, keras.Model):
        def __init__(self, layers):
            super().__init__()
            self.hidden, self.last = layers

        def call(self, x):
            return self.last(self.hidden(x))

    source = make_network()
    made = {
        "functional": make_network(model_class=Functional),
        "sequential": Sequential([keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)]),
        "subclassed": Subclassed([keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)]),
    }
    results = {}
    for name, model in made.items():
        model.compile("sgd", "mse")
        model(X)  # builds the latter two
        model.set_weights(source.get_weights())
        losses = model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
        results[name] = np.concatenate([flat_weights(model), losses])
        np.testing.assert_allclose(results[name], results["functional"], rtol=1e-6)

    class NoCall(keras.Model):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def train_step(self, data):
            return {"mean": tf.reduce_mean(self.inner(data[0]))}

    model = NoCall(source)
    model.compile()
    mean = model.fit(X, Y, verbose=0).history["mean"][0]
    assert mean == pytest.approx(float(np.mean(source(X))), rel=1e-5)


def test_requirement_8_compile_refuses_v1_optimizers_and_other_scopes():
    """`_validate_compile` refuses optimizers of TensorFlow 1, and models, metrics and optimizers of
    different strategy scopes, with instructions.
    """

    class GradientDescentOptimizer:  # has the methods of tf.compat.v1.train.Optimizer
        def compute_gradients(self, loss):
            return []

        def apply_gradients(self, gradients):
            return None

    message = r"optimizer=<.*GradientDescentOptimizer .*was given; a name such as 'adam', an Optim"
    for refuse in (
        lambda optimizer: make_network()._validate_compile(optimizer, None),
        lambda optimizer: make_network().compile(optimizer, "mse"),
    ):
        with pytest.raises(TypeError, match=message):
            refuse(GradientDescentOptimizer())
    with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        inside = make_network()
        metric, optimizer = keras.metrics.Mean(), keras.optimizers.Adam()
    outside = make_network()
    for model, parts in (
        (outside, {"metrics": [metric]}),
        (outside, {"optimizer": optimizer}),
        (inside, {"optimizer": keras.optimizers.Adam()}),
        (inside, {"metrics": [keras.metrics.Mean()]}),
    ):
        with pytest.raises(ValueError, match=r"was made .* scope.*`with .*scope\(\)"):
            model.compile(**parts)
        assert not model.compiled
    inside.compile(optimizer, metrics=[metric])


def test_requirement_9_fit_and_evaluate_need_compile():
    """`fit` and `evaluate` before `compile` raise a RuntimeError that says so."""
    model = make_network()
    # tf_keras 2.21: "You must compile your model before training/testing. Use
    # `model.compile(optimizer, loss)`."
    message = r"You must compile your model before training/testing.*model\.compile\(optimizer, l"
    for run in (model.fit, model.evaluate, model.train_on_batch, model.test_on_batch):
        with pytest.raises(RuntimeError, match=message):
            run(X, Y)
    assert model.predict(X, verbose=0).shape == (12, 1)


def test_requirement_10_a_fork_that_derives_from_layer_trains():
    """A class with its own `fit` that derives from `Layer` has `losses`, `metrics`,
    `trainable_variables`, `build` and a call with `training`.
    """
    losses = keras.losses.MeanSquaredError(reduction=keras.losses.Reduction.SUM)
    metric = keras.metrics.MeanAbsolutePercentageError()
    x, y = np.zeros((1000, 10)), np.ones((1000, 1))
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(10)
    model = make_fork()()
    assert isinstance(model, keras.layers.Layer) and not isinstance(model, keras.Model)
    model.compile("sgd", loss=losses, metrics=[metric], steps_per_execution=5)
    model.build(input_shape=(None, 10))
    assert model.losses == [] and model.metrics == [metric]
    before = model.evaluate(batches)
    assert [v.shape for v in model.trainable_variables] == [(10, 1), (1,)]
    assert [float(before[key]) for key in before] == pytest.approx([10.0, 100.0])
    model.fit(batches, epochs=3, verbose=0)
    after = model.evaluate(batches)
    # The walkthrough prints these values: numpy=1.4210857e-13 and numpy=1.1920929e-05.
    assert float(after["loss"]) == pytest.approx(1.4210857e-13, rel=1e-6)
    assert float(after["mean_absolute_percentage_error"]) == pytest.approx(1.1920929e-05, rel=1e-6)
    assert model(np.zeros((2, 10)), training=False).numpy() == pytest.approx(np.ones((2, 1)))
    assert model.predict(tf.data.Dataset.from_tensor_slices(x).batch(10)).shape == (1000, 1)
