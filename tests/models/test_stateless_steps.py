"""Steps in Keras 3's form for JAX: `train_step(self, state, data)`."""

import jax
import numpy as np
import pytest

import podium
from podium import layers

X = np.random.RandomState(0).normal(size=(24, 3)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


class Stateless(podium.Model):
    """The example of Keras's guide for custom train steps in JAX."""

    def compute_loss_of_values(self, trainable, non_trainable, x, y, training=False):
        y_pred, non_trainable = self.stateless_call(trainable, non_trainable, x, training=training)
        return self.compute_loss(x, y, y_pred), (y_pred, non_trainable)

    def train_step(self, state, data):
        trainable, non_trainable, optimizer_variables, metrics_variables = state
        x, y = data
        assert isinstance(x, jax.Array)
        compute = jax.value_and_grad(self.compute_loss_of_values, has_aux=True)
        (loss, (y_pred, non_trainable)), gradients = compute(
            trainable, non_trainable, x, y, training=True
        )
        trainable, optimizer_variables = self.optimizer.stateless_apply(
            optimizer_variables, gradients, trainable
        )
        logs, metrics_variables = self.update_metrics(metrics_variables, loss, y, y_pred)
        return logs, (trainable, non_trainable, optimizer_variables, metrics_variables)

    def test_step(self, state, data):
        trainable, non_trainable, metrics_variables = state
        x, y = data
        loss, (y_pred, non_trainable) = self.compute_loss_of_values(trainable, non_trainable, x, y)
        logs, metrics_variables = self.update_metrics(metrics_variables, loss, y, y_pred)
        return logs, (trainable, non_trainable, metrics_variables)

    def predict_step(self, state, data):
        x = data[0] if isinstance(data, tuple) else data
        return self.stateless_call(*state, x)

    def update_metrics(self, values, loss, y, y_pred):
        new_values, logs = [], {}
        for metric in self.metrics:
            mine = values[len(new_values) : len(new_values) + len(metric.variables)]
            arguments = (loss,) if metric.name == "loss" else (y, y_pred)
            mine = metric.stateless_update_state(mine, *arguments)
            logs[metric.name] = metric.stateless_result(mine)
            new_values += mine
        return logs, new_values


def make_model(cls, **options):
    podium.utils.set_random_seed(1)
    inputs = podium.Input((3,))
    hidden = layers.BatchNormalization()(layers.Dense(4, activation="tanh")(inputs))
    model = cls(inputs, layers.Dense(1)(layers.Dropout(0.5, seed=3)(hidden)))
    model.compile("adam", "mse", metrics=["mae"], **options)
    return model


@pytest.mark.parametrize("options", [{}, {"steps_per_execution": 3}, {"run_eagerly": True}])
def test_stateless_step_trains_as_the_default_one(options):
    ours, default = make_model(Stateless, **options), make_model(podium.Model, **options)
    run = {"epochs": 2, "batch_size": 8, "shuffle": False, "verbose": 0}
    if "run_eagerly" in options:
        run["epochs"] = 1
    history, expected = ours.fit(X, Y, **run), default.fit(X, Y, **run)
    for name in ("loss", "mae"):
        np.testing.assert_allclose(history.history[name], expected.history[name], rtol=2e-5)
    for variable, other in zip(ours.variables, default.variables, strict=True):
        np.testing.assert_allclose(variable.numpy(), other.numpy(), rtol=2e-4, atol=2e-5)
    assert int(ours.optimizer.iterations) == run["epochs"] * 3
    np.testing.assert_allclose(
        ours.evaluate(X, Y, verbose=0), default.evaluate(X, Y, verbose=0), rtol=1e-4
    )
    np.testing.assert_allclose(
        ours.predict(X, verbose=0), default.predict(X, verbose=0), rtol=1e-3, atol=1e-5
    )


class OwnMetric(podium.Model):
    """A subclass without `loss` in `compile`, as in Keras's second example."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.tracker = podium.metrics.Mean(name="my_loss")

    @property
    def metrics(self):
        return [self.tracker]

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, state, data):
        trainable, non_trainable, optimizer_variables, metrics_variables = state
        x, y = data

        def compute(trainable, non_trainable):
            y_pred, non_trainable = self.stateless_call(trainable, non_trainable, x)
            return podium.ops.mean(podium.losses.mean_squared_error(y, y_pred)), non_trainable

        (loss, non_trainable), gradients = jax.value_and_grad(compute, has_aux=True)(
            trainable, non_trainable
        )
        trainable, optimizer_variables = self.optimizer.stateless_apply(
            optimizer_variables, gradients, trainable
        )
        values = self.tracker.stateless_update_state(metrics_variables, loss)
        state = (trainable, non_trainable, optimizer_variables, values)
        return {"my_loss": self.tracker.stateless_result(values)}, state


def test_model_is_built_before_the_state_is_taken():
    model = OwnMetric()
    model.compile("sgd")
    history = model.fit(X, Y, epochs=3, verbose=0).history["my_loss"]
    assert history[2] < history[0]


class WithTools(podium.Model):
    """A step that uses `compute_loss_and_updates`."""

    def train_step(self, state, data):
        trainable, non_trainable, optimizer_variables, metrics_variables = state
        x, y = data
        compute = jax.value_and_grad(self.compute_loss_and_updates, has_aux=True)
        (_, (loss, _, non_trainable, metrics_variables)), gradients = compute(
            trainable,
            non_trainable,
            metrics_variables,
            x,
            y,
            training=True,
            optimizer_variables=optimizer_variables,
        )
        trainable, optimizer_variables = self.optimizer.stateless_apply(
            optimizer_variables, gradients, trainable
        )
        state = (trainable, non_trainable, optimizer_variables, metrics_variables)
        return {"loss": loss}, state


def test_compute_loss_and_updates_includes_penalties():
    model, expected = WithTools(*_penalized()), podium.Model(*_penalized())
    expected.set_weights(model.get_weights())
    for each in (model, expected):
        each.compile(podium.optimizers.SGD(0.1), "mse")
    losses = [each.train_on_batch(X, Y) for each in (model, expected)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
    np.testing.assert_allclose(model.get_weights()[0], expected.get_weights()[0], rtol=1e-5)


def _penalized():
    inputs = podium.Input((3,))
    return inputs, layers.Dense(1, kernel_regularizer="l2", activity_regularizer="l1")(inputs)


class Incomplete(podium.Model):
    """Steps that return states of another form."""

    lost = 1

    def train_step(self, state, data):
        return {}, state[: -self.lost] if self.lost else ([], *state[1:])


def test_states_of_another_form_are_refused():
    inputs = podium.Input((3,))
    model = Incomplete(inputs, layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="returned a state of another form"):
        model.fit(X, Y, verbose=0)
    model.lost = 0
    model.make_train_function(force=True)
    with pytest.raises(ValueError, match="returned 0 values of trainable_variables; it was given"):
        model.fit(X, Y, verbose=0)


def test_step_that_passes_its_arguments_on_has_the_form_of_the_other_method():
    class Named(Stateless):
        def stateless_train_step(self, state, data):
            return super().train_step(state, data)

        def train_step(self, *args, **kwargs):
            return self.stateless_train_step(*args, **kwargs)

    class Stateful(podium.Model):
        def train_step(self, *args):
            return super().train_step(*args)

    losses = []
    for cls in (Named, Stateful):
        inputs = podium.Input((3,))
        model = cls(inputs, layers.Dense(1, kernel_initializer="ones")(inputs))
        model.compile("sgd", "mse")
        losses.append(model.fit(X, Y * 2, batch_size=8, shuffle=False, verbose=0).history["loss"])
    np.testing.assert_allclose(*losses, rtol=1e-5)


class CallsBase(podium.Model):
    """Steps that add a log to those of the base class."""

    def train_step(self, state, data):
        logs, state = super().train_step(state, data)
        return {**logs, "added": 10.0}, state

    def test_step(self, state, data):
        logs, state = super().test_step(state, data)
        return {**logs, "added": 5.0}, state

    def predict_step(self, state, data):
        outputs, non_trainable = super().predict_step(state, data)
        return 2.0 * outputs, non_trainable


def test_steps_of_the_base_class_can_be_called_with_a_state():
    results = []
    for cls in (CallsBase, podium.Model):
        podium.utils.set_random_seed(0)
        inputs = podium.Input((3,))
        model = cls(inputs, layers.Dense(1)(layers.Dropout(0.5)(inputs)))
        model.compile("adam", "mse", metrics=["mae"])
        history = model.fit(X, Y, batch_size=8, epochs=2, verbose=0).history
        logs = model.evaluate(X, Y, batch_size=8, verbose=0, return_dict=True)
        results.append((history, logs, model.predict(X, verbose=0)))
    (history, logs, outputs), (expected, expected_logs, expected_outputs) = results
    assert history == {**expected, "added": [10.0, 10.0]}
    assert logs == {**expected_logs, "added": 5.0}
    np.testing.assert_allclose(outputs, 2.0 * expected_outputs, rtol=1e-6)


def test_state_of_another_form_is_refused_by_the_base_class():
    inputs = podium.Input((3,))
    model = podium.Model(inputs, layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"another form than the one that the step receives"):
        model.train_step(([], []), (X, Y))


def test_compute_loss_receives_whether_it_is_for_training():
    seen = []

    class Observed(podium.Model):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            seen.append(training)
            return super().compute_loss(x, y, y_pred, sample_weight)

    inputs = podium.Input((3,))
    model = Observed(inputs, layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    model.jit_compile = False  # accepted, as in Keras; steps are compiled in any case
    model.evaluate(X, Y, verbose=0)
    assert set(seen) == {False} and model.jit_compile is False
    seen.clear()
    model.fit(X, Y, verbose=0)
    assert set(seen) == {True}


def test_layers_are_called_on_arrays_in_a_step_without_losses_and_metrics():
    class Scaled(podium.Model):
        """A model without outputs: its step calls a layer on the arrays of the batch."""

        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1, kernel_initializer="zeros")
            self.dense.build((None, 3))
            self.built = True

        def compute_loss_of_values(self, trainable, x):
            with podium.core.StatelessScope(
                list(zip(self.trainable_variables, trainable, strict=True))
            ):
                outputs = self.dense(x)
                assert isinstance(outputs, jax.Array)
                return ((outputs - x.sum(1, keepdims=True)) ** 2).mean()

        def train_step(self, state, data):
            trainable, non_trainable, optimizer_variables, metrics_variables = state
            loss, gradients = jax.value_and_grad(self.compute_loss_of_values)(trainable, data)
            trainable, optimizer_variables = self.optimizer.stateless_apply(
                optimizer_variables, gradients, trainable
            )
            state = (trainable, non_trainable, optimizer_variables, metrics_variables)
            return {"squared": loss}, state

    model = Scaled()
    model.compile(podium.optimizers.SGD(0.1))
    squared = model.fit(X, batch_size=8, epochs=3, verbose=0).history["squared"]
    assert squared[-1] < squared[0] / 2
