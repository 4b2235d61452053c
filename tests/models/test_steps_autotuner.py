"""steps_per_execution="auto": quick steps are fused if no callback needs single batches; results
are the same.
"""

import numpy as np
import pytest

import podium
from podium import layers
from podium.execution import _steps_autotuner

X = np.random.default_rng(0).normal(size=(41, 3)).astype("float32")
Y = X.sum(1, keepdims=True)


@pytest.fixture
def eager_to_fuse(monkeypatch):
    """Makes every step count as quick, and every program as cheap."""
    monkeypatch.setattr(_steps_autotuner, "_QUICK_STEP", 1e9)
    monkeypatch.setattr(_steps_autotuner, "_MAX_EXECUTION", 1e9)
    monkeypatch.setattr(_steps_autotuner, "_SAVED_FRACTION", 1e9)
    monkeypatch.setattr(_steps_autotuner, "_MAX_SAVED", 1e9)


def network(steps="auto"):
    podium.utils.set_random_seed(1)
    model = podium.Sequential(
        [
            podium.Input((3,)),
            layers.Dense(4, activation="tanh"),
            layers.Dropout(0.2),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"], steps_per_execution=steps)
    return model


def sizes(model, monkeypatch_of, run):
    """Return how many steps each execution of `run()` took."""
    taken = []
    original = podium.execution.Execution.run

    def record_count(self, iterator, *steps):
        values = original(self, iterator, *steps)
        if self is model.train_function:
            taken.append(values.count)
        return values

    monkeypatch_of.setattr(podium.execution.Execution, "run", record_count)
    run(model)
    return taken


def fit(model, **options):
    return model.fit(X, Y, batch_size=4, epochs=4, validation_data=(X, Y), verbose=0, **options)


def test_fused_steps_give_the_weights_and_logs_of_single_steps(eager_to_fuse, monkeypatch):
    single = network(1)
    history = fit(single).history
    auto, histories = network(), []
    taken = sizes(auto, monkeypatch, lambda model: histories.append(fit(model).history))
    assert max(taken) == 11 and sum(taken) == 44  # 10 batches of 4 and one of 1 in an epoch
    assert histories[0] == history
    for one, other in zip(auto.get_weights(), single.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_next_run_starts_with_the_settled_number(eager_to_fuse, monkeypatch):
    model = network()
    fit(model)
    assert model.train_function.step_timings
    for timings in model.train_function.step_timings.values():
        timings.settled = 5
    assert sizes(model, monkeypatch, lambda model: model.fit(X, Y, batch_size=4, verbose=0)) == [
        1,
        5,
        5,
    ]


def test_groups_of_steps_share_an_execution_without_batch_callbacks(eager_to_fuse, monkeypatch):
    single = network(1)
    history = fit(single).history
    grouped, histories = network(2), []
    taken = sizes(grouped, monkeypatch, lambda model: histories.append(fit(model).history))
    assert (
        taken[:7] == [2, 2, 2, 2, 3, 10, 1] and sum(taken) == 44
    )  # whole groups, and what is left of an epoch
    assert histories[0] == history and int(grouped.steps_per_execution) == 2
    for one, other in zip(grouped.get_weights(), single.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    batches = []
    callback = podium.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: batches.append(batch)
    )
    fit(grouped, callbacks=[callback])
    assert batches[:6] == [1, 3, 5, 7, 9, 10]


def test_batch_callbacks_are_called_for_each_batch(eager_to_fuse):
    batches = []

    class RecordBatches(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            batches.append(batch)

    model = network()
    fit(model, callbacks=RecordBatches())
    assert batches == [*range(11)] * 4 and not model.train_function.step_timings


def test_slow_steps_stay_single_and_nothing_more_is_compiled(monkeypatch):
    monkeypatch.setattr(_steps_autotuner, "_QUICK_STEP", 0.0)
    model = network()
    assert set(sizes(model, monkeypatch, fit)) == {1}
    assert model.train_function.trace_count == 2 and {
        timings.settled for timings in model.train_function.step_timings.values()
    } == {1}


def test_a_short_run_compiles_nothing_for_fused_steps_until_short_runs_add_up(monkeypatch):
    monkeypatch.setattr(_steps_autotuner, "_QUICK_STEP", 1e9)
    monkeypatch.setattr(_steps_autotuner, "_SAVED_FRACTION", 0.0)
    model = network()
    fit(model)
    assert (
        model.train_function.trace_count == 2
        and sum(timings.deferred_steps for timings in model.train_function.step_timings.values())
        > 30
    )
    monkeypatch.setattr(_steps_autotuner, "_SAVED_FRACTION", 1e9)
    monkeypatch.setattr(_steps_autotuner, "_MAX_SAVED", 1e9)
    fit(model)
    assert model.train_function.trace_count == 3


def test_after_many_short_runs_more_are_expected(monkeypatch):
    monkeypatch.setattr(_steps_autotuner, "_QUICK_STEP", 1e9)
    monkeypatch.setattr(_steps_autotuner, "_SAVED_FRACTION", 0.0)
    monkeypatch.setattr(_steps_autotuner, "_MANY_RUNS", 2)
    model = network()
    for traces in (1, 1, 2):
        model.fit(X[:40], Y[:40], batch_size=4, verbose=0)
        assert model.train_function.trace_count == traces


def decisions_for(seconds, most=None, size=4, steps_in_epoch=None):
    """Return the decisions of a StepsAutotuner over executions whose steps take this long."""

    class Data:
        inferred_steps, num_epochs = steps_in_epoch, 1000

    execution = podium.execution.Execution(lambda x: x)
    execution.latest_key = ("key", ((size // 4,), np.dtype("float32")))
    decided = []
    with _steps_autotuner.StepsAutotuner(execution, 1, True, False, Data(), most) as autotuner:
        timings = _steps_autotuner.StepTimings()
        for duration in seconds:
            timings.samples = [duration] * _steps_autotuner._NUM_SAMPLES
            autotuner._decide(timings)
            decided.append(timings.settled or timings.fused)
    assert autotuner.steps == 1
    return decided


@pytest.mark.parametrize(
    ("seconds", "decisions"),
    [
        ([1e-3, 0.5e-3], [8, 8]),
        (
            [1e-3, 2e-3, 1e-3, 2e-3],
            [8, 0, 8, 1],
        ),  # both are measured again before fusing is given up
        ([1e-3, 2e-3, 3e-3, 1.05e-3], [8, 0, 8, 8]),  # the first of the fused ones were disturbed
        ([1e-3, 2e-3, 3e-3, 1.2e-3], [8, 0, 8, 1]),
    ],
)
def test_fusing_that_is_slower_is_abandoned(seconds, decisions):
    assert decisions_for(seconds, steps_in_epoch=8) == decisions


def test_steps_that_seem_slow_on_a_busy_machine_are_measured_again_in_the_next_run():
    assert decisions_for([2 * _steps_autotuner._QUICK_STEP, 1e-3], steps_in_epoch=8) == [0, 8]
    assert decisions_for([4 * _steps_autotuner._QUICK_STEP, 1e-3], steps_in_epoch=8)[0] == 1


@pytest.mark.parametrize(
    ("seconds", "most", "size", "expected"),
    [(1e-3, None, 4, 80), (1e-5, None, 4, 512), (1e-5, 7, 4, 7), (1e-4, None, 2**21, 4)],
)
def test_number_of_steps_of_an_execution(seconds, most, size, expected):
    assert decisions_for([seconds], most, size) == [expected]


def test_executions_end_where_a_validation_is_due(eager_to_fuse, monkeypatch):
    model = network()
    taken = sizes(model, monkeypatch, lambda model: fit(model, validation_freq="3 steps"))
    assert max(taken) == 3


def test_evaluate_and_predict_are_fused_with_equal_results(eager_to_fuse):
    single, auto = network(1), network()
    for _ in range(10):
        assert auto.evaluate(X, Y, batch_size=4, verbose=0) == single.evaluate(
            X, Y, batch_size=4, verbose=0
        )
        np.testing.assert_array_equal(
            auto.predict(X, batch_size=4, verbose=0), single.predict(X, batch_size=4, verbose=0)
        )
    for function in (auto.test_function, auto.predict_function):
        assert (
            max(timings.fused or timings.tried for timings in function.step_timings.values()) == 11
        )
        assert any(timings.settled for timings in function.step_timings.values())


def test_the_setting_can_be_read_and_changed():
    model = network()
    assert model.steps_per_execution == "auto"
    model.steps_per_execution = 3
    assert model.steps_per_execution == 3
    model.steps_per_execution = "auto"
    fit(model)
    assert model.steps_per_execution == "auto"
    with pytest.raises((ValueError, TypeError), match="steps_per_execution='many'"):
        model.compile("sgd", "mse", steps_per_execution="many")
