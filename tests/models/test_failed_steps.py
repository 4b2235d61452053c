"""A step that fails changes nothing, eager steps included."""

import signal

import numpy as np
import pytest

import podium
from podium import layers

X = np.linspace(0, 1, 24, dtype="float32").reshape(8, 3)
Y = X[:, :1] * 2
global_count = podium.Variable(0.0, name="global_count")


class Failure(Exception):
    pass


def fail():
    raise Failure("after the update")


def interrupt():
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, handler)


class FailsAt(podium.Model):
    """A model whose step of a given number fails after its update."""

    def __init__(self, number, failure=fail):
        super().__init__()
        self.noise = layers.Dropout(0.3, seed=1)
        self.norm = layers.BatchNormalization()
        self.dense = layers.Dense(1, kernel_initializer="ones")
        self.own = podium.metrics.Mean(name="own")
        self.number, self.failure, self.calls = number, failure, 0

    def call(self, x):
        return self.dense(self.norm(self.noise(x)))

    def train_step(self, data):
        logs = super().train_step(data)
        self.own.update_state(logs["loss"])
        global_count.assign_add(1.0)
        self.calls += 1
        if self.calls == self.number:
            self.failure()
        return logs


def variables_of(model):
    return [
        *model.weights,
        *model.optimizer.variables,
        *(variable for metric in model.metrics for variable in metric.variables),
        model.noise.seed_generator.state,
        model._train_counter,
        global_count,
    ]


def state_of(model):
    return [variable.numpy() for variable in variables_of(model)]


def assert_same(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


def trained_model(failure=fail, **options):
    model = FailsAt(None, failure)
    model.compile("adam", "mse", metrics=["mae"], run_eagerly=True, **options)
    model.train_on_batch(X, Y)
    return model


@pytest.mark.parametrize(
    ("failure", "error"), [(fail, Failure), (interrupt, KeyboardInterrupt)], ids=["error", "ctrl-c"]
)
def test_train_on_batch_that_fails_after_its_update_changes_nothing(failure, error):
    model = trained_model(failure)
    before = state_of(model)
    model.number = model.calls + 1
    with pytest.raises(error):
        model.train_on_batch(X, Y, reset_metrics=False)
    assert_same(state_of(model), before)


def test_next_step_continues_as_if_nothing_had_failed():
    model, other = trained_model(), trained_model()
    other.set_weights(model.get_weights())
    model.number = model.calls + 1
    with pytest.raises(Failure):
        model.train_on_batch(X, Y, reset_metrics=False)
    model.train_on_batch(X, Y)
    other.train_on_batch(X, Y)
    assert_same(state_of(model)[:-2], state_of(other)[:-2])


@pytest.mark.parametrize("steps_per_execution", [1, 4])
def test_fit_that_fails_holds_the_last_completed_step(steps_per_execution):
    class Record(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            states.append(state_of(self.model))

    states = []
    completed, failing = FailsAt(None), FailsAt(3)
    podium.utils.set_random_seed(0)
    completed.compile("adam", "mse", run_eagerly=True)
    global_count.assign(0.0)
    completed.fit(X, Y, batch_size=2, shuffle=False, verbose=0, callbacks=[Record()])
    failing.compile("adam", "mse", run_eagerly=True, steps_per_execution=steps_per_execution)
    global_count.assign(0.0)
    with pytest.raises(Failure):
        failing.fit(X, Y, batch_size=2, shuffle=False, verbose=0)
    assert int(failing._train_counter) == 2
    assert_same(state_of(failing), states[1])


def test_failed_first_step_leaves_new_variables_with_their_initial_values():
    model = FailsAt(1)
    model.compile("adam", "mse", run_eagerly=True)
    with pytest.raises(Failure):
        model.train_on_batch(X, Y)
    np.testing.assert_array_equal(model.dense.kernel, np.ones((3, 1)))
    assert int(model.optimizer.iterations) == 0
    assert not any(np.any(slot.numpy()) for slot in model.optimizer.variables[2:])


class OwnFunction(FailsAt):
    """A model whose own train function runs two steps in plain Python."""

    def make_train_function(self, force=False):
        def train_function(iterator):
            logs = {}
            for _ in range(2):
                logs = self.run_step(next(iterator))
            return logs

        return train_function

    def run_step(self, batch):
        logs = self.train_step(batch)
        self._train_counter.assign_add(1)
        return logs


class OwnCompiledStep(OwnFunction):
    """Its steps are compiled; the function around them is not, and fails between them."""

    def __init__(self, number):
        super().__init__(None)
        self.fails_at, self.steps = number, 0
        self.compiled_step = podium.function(self.run_compiled)

    def run_compiled(self, batch):
        return super().run_step(batch)

    def run_step(self, batch):
        logs = self.compiled_step(batch)
        self.steps += 1
        if self.steps == self.fails_at:
            fail()
        return logs


@pytest.mark.parametrize("kind", [OwnFunction, OwnCompiledStep])
def test_own_train_function_that_fails_holds_its_last_completed_call(kind):
    global_count.assign(0.0)
    model = kind(4)
    model.compile("adam", "mse")
    with pytest.raises(Failure):
        model.fit(X, Y, batch_size=2, shuffle=False, verbose=0)
    assert (int(model._train_counter), int(model.optimizer.iterations)) == (2, 2)
    assert float(global_count) == 2.0


def test_own_train_function_keeps_the_steps_before_the_end_of_the_data():
    model = OwnFunction(None)
    model.compile("adam", "mse")
    model.fit(((X[i : i + 2], Y[i : i + 2]) for i in range(0, 6, 2)), verbose=0)
    assert int(model._train_counter) == 3


def test_own_train_function_in_train_on_batch_is_undone():
    model = OwnFunction(1)
    model.compile("sgd", "mse")
    with pytest.raises(Failure):
        model.train_on_batch(X, Y)
    np.testing.assert_array_equal(model.dense.kernel, np.ones((3, 1)))


@pytest.mark.parametrize("replicas", [1, 2])
def test_strategy_run_that_fails_after_its_update_changes_nothing(replicas):
    strategy = (
        podium.distribute.get_strategy()
        if replicas == 1
        else podium.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    )
    with strategy.scope():
        total = podium.Variable(1.0, aggregation="sum", trainable=False)

    def step():
        total.assign_add(1.0)
        fail()

    with pytest.raises(Failure):
        strategy.run(step)
    assert float(total) == 1.0


def test_strategy_run_inside_an_eager_step_is_undone_with_it():
    strategy = podium.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    with strategy.scope():
        model = trained_model()

    def train_function(iterator):
        strategy.run(lambda: global_count.assign_add(1.0))
        fail()

    model.make_train_function = lambda force=False: train_function
    before = float(global_count)
    with pytest.raises(Failure):
        model.fit(X, Y, verbose=0)
    assert float(global_count) == before
