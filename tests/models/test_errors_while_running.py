"""Errors that appear while a step or its data are used: too little memory, wrong labels."""

import numpy as np
import pytest

import podium
from podium import layers, ops
from podium.data import Dataset

X = np.ones((16, 3), "float32")


class NeedsTerabytes(layers.Layer):
    def call(self, x):
        numbers = ops.arange(3_000_000, dtype="float32")
        products = ops.sin(numbers[:, None] * numbers[None, :] * ops.stop_gradient(x[0, 0]))
        return x + ops.sum(ops.sort(products, axis=-1)[:, ::7])


@pytest.mark.parametrize("k", [1, 2])
def test_out_of_memory_reports_the_batch_the_program_and_remedies(k):
    inputs = podium.Input((3,))
    model = podium.Model(inputs, NeedsTerabytes()(layers.Dense(1)(inputs)))
    model.compile("sgd", "mse", steps_per_execution=k)
    message = (
        r"(?s)memory to run a step for a batch of 4 samples. XLA reports: .*Out of memory "
        r"allocating.*The program of the step needs .* MiB for weights.*"
        r"[\d,]{9,}\.\d MiB for intermediate values.*smaller batch_size"
    )
    with pytest.raises(MemoryError, match=message):
        model.fit(X, X[:, :1], batch_size=4, verbose=0)
    with pytest.raises(MemoryError, match="a batch of 4 samples"):
        podium.models.clone_model(model).predict(X, batch_size=4, verbose=0)


class NeedsTerabytesForFour(NeedsTerabytes):
    def call(self, x):
        return super().call(x) if x.shape[0] == 4 else x


@pytest.mark.parametrize("k", [1, 2])
def test_a_model_that_ran_out_of_memory_holds_the_last_completed_step_and_continues(k):
    inputs = podium.Input((3,))
    model = podium.Model(inputs, NeedsTerabytesForFour()(layers.Dense(1)(inputs)))
    model.compile("adam", "mse", metrics=["mae"], steps_per_execution=k)
    model.fit(X, X[:, :1], batch_size=8, verbose=0)
    variables = [*model.variables, *model.optimizer.variables]
    before = [variable.numpy() for variable in variables]
    for method in (model.fit, model.evaluate):
        with pytest.raises(
            MemoryError, match=r"a batch of 4 samples.*The program of the step needs"
        ):
            method(X, X[:, :1], batch_size=4, verbose=0)
    with pytest.raises(MemoryError, match="a batch of 4 samples"):
        model.predict(X, batch_size=4, verbose=0)
    after = [variable.numpy() for variable in variables]
    assert [value.tobytes() for value in after] == [value.tobytes() for value in before]
    assert model.predict(X, batch_size=8, verbose=0).shape == (16, 1)
    model.fit(X, X[:, :1], batch_size=8, verbose=0)
    assert int(model.optimizer.iterations.numpy()) == 4


@pytest.mark.parametrize("labels", [[0, 1, 2, 7], [0, 1, 2, -1]])
def test_wrong_labels_in_a_dataset_that_is_kept_on_the_device_are_named(labels):
    model = podium.Sequential([podium.Input((3,)), layers.Dense(3)])
    model.compile("sgd", "sparse_categorical_crossentropy")
    right = X, np.zeros(16, "int32")
    wrong = Dataset.from_tensor_slices((X, np.array(labels * 4, "int32"))).batch(8)
    message = f"hold the class {labels[-1]}, at 4 of 16 places; the output has 3 classes"
    with pytest.raises(ValueError, match=message):
        model.fit(*right, validation_data=wrong, verbose=0)
    with pytest.raises(ValueError, match=message):
        model.fit(wrong, epochs=2, verbose=0)
