"""Counters of steps: int64 for their readers, in compiled and fused steps and in checkpoints."""

import copy

import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import callbacks, layers, ops
from podium.state import restore, snapshot

LARGE = 2**31 - 2
X = np.ones((5, 1), "float32")


def make_model(**arguments):
    model = podium.Sequential([podium.Input((1,)), layers.Dense(1)])
    model.compile("sgd", "mse", **arguments)
    return model


class StartAt(callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.model._train_counter.assign(LARGE)

    def on_test_begin(self, logs=None):
        self.model._test_counter.assign(LARGE)

    def on_predict_begin(self, logs=None):
        self.model._predict_counter.assign(LARGE)


@pytest.mark.parametrize(
    "arguments",
    [
        {"steps_per_execution": 1},
        {"steps_per_execution": 2},
        {"steps_per_execution": 5},
        {"steps_per_execution": "auto"},
        {"run_eagerly": True},
    ],
)
def test_counters_pass_two_to_the_31(arguments):
    model = make_model(**arguments)
    options = {"batch_size": 1, "verbose": 0, "callbacks": [StartAt()]}
    model.fit(X, X, **options)
    model.evaluate(X, X, **options)
    model.predict(X, **options)
    for counter in (model._train_counter, model._test_counter, model._predict_counter):
        assert counter.numpy() == LARGE + 5 and isinstance(counter.numpy(), np.int64)


def test_counters_pass_two_to_the_31_in_an_overridden_make_train_function():
    class Custom(podium.Sequential):
        def make_train_function(self):
            @podium.function
            def train_function(iterator):
                for _ in range(5):
                    logs = self.train_step(next(iterator))
                    self._train_counter.assign_add(1)
                is_due.append(self._train_counter % 5 == 1)
                return {**logs, "due": ops.cast(self._train_counter % 5 == 1, "float32")}

            return train_function

    is_due = []
    model = Custom([podium.Input((1,)), layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=5)
    history = model.fit(X, X, batch_size=1, verbose=0, callbacks=[StartAt()])
    assert int(model._train_counter) == LARGE + 5
    assert history.history["due"] == [float((LARGE + 5) % 5 == 1)]


def test_counters_add_subtract_and_compare_as_int64():
    counter = make_model()._train_counter
    assert counter.dtype == np.int64 and counter.shape == () and not counter
    for value in (0, 7, 2**31 - 1, 2**31, 2**40 + 3, -5, -(2**35)):
        for step in (1, 0, -1, 2**31 - 1, -(2**31), 2**33, -(2**34) - 1):
            assert int(counter.assign(value).assign_add(step)) == value + step
            assert int(counter.assign(value).assign_sub(step)) == value - step
        for number in (jnp.int32(-3), podium.convert_to_tensor(2**31 - 1), np.int64(9)):
            assert int(counter.assign(value).assign_add(number)) == value + int(number)
    counter.assign(2**33 + 7)
    assert [int(counter % 10), int(counter // 2**20), int(2**33 + 9 - counter)] == [9, 8192, 2]
    assert bool(counter == 2**33 + 7) and bool(counter > 2**33) and not bool(counter < 8)
    assert [counter.value(), counter.read_value(), float(counter)] == [2**33 + 7] * 3
    assert f"{counter} {counter:d}" == "8589934599 8589934599" and range(2**34)[counter] == counter
    assert repr(counter) == "StepCounter(name='train_counter', value=8589934599)"
    assert np.asarray(counter).dtype == np.int64 and int(copy.deepcopy(counter)) == 2**33 + 7
    counter.clear()
    assert int(counter) == 0


def test_operations_on_a_counter_have_32_bits_and_do_not_wrap():
    counter = make_model()._train_counter.assign(2**31 + 5)
    compiled = podium.function(lambda: (counter.value(), ops.cast(counter, "float32"), counter % 7))
    value, number, rest = compiled()
    assert (int(value), float(number), int(rest)) == (2**31 - 1, 2.0**31, (2**31 + 5) % 7)
    assert value.dtype == rest.dtype == np.int32
    counter.assign(5)
    assert [float(result) for result in compiled()] == [5, 5, 5]
    assert float(ops.add(counter, 1.5)) == 6.5 and int(podium.convert_to_tensor(counter)) == 5


def test_counters_reject_what_is_no_int():
    counter = make_model()._train_counter
    for value in (1.5, "a"):
        with pytest.raises(TypeError, match=f"StepCounter was given value={value!r}"):
            counter.assign(value)
    with pytest.raises(OverflowError, match="beyond 62 bits"):
        counter.assign_add(2**70)


def test_checkpoints_hold_large_counts_and_those_of_earlier_versions_are_read():
    model, other = make_model(), make_model()
    model._train_counter.assign(LARGE + 9)
    variables = other._training_variables()
    restore(variables, snapshot(model._training_variables()), "A snapshot")
    assert int(other._train_counter) == LARGE + 9
    restore(variables, {**snapshot(variables), "counters/train": np.int32(41)}, "An old one")
    assert int(other._train_counter) == 41
    with pytest.raises(ValueError, match=r"'counters/train' is float32\[\] there"):
        restore(variables, {**snapshot(variables), "counters/train": np.float32(41)}, "It")
