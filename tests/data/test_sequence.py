"""Sequence: Keras 2's class for batches by number."""

import numpy as np
import pytest

import podium


class Batches(podium.utils.Sequence):
    def __init__(self, num_batches=3):  # no super().__init__(), and a `num_batches` of its own
        self.num_batches = num_batches
        self.ends = 0
        self.asked = []

    def __len__(self):
        return self.num_batches

    def __getitem__(self, index):
        self.asked.append(index)
        x = np.full((2, 1), index, "float32")
        return x, 2 * x

    def on_epoch_end(self):
        self.ends += 1


def model():
    made = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def test_fit_takes_each_batch_once_an_epoch():
    batches, trained = Batches(), model()
    trained.fit(batches, epochs=2, verbose=0)
    assert int(trained.optimizer.iterations.numpy()) == 6
    assert sorted(batches.asked) == [0, 0, 1, 1, 2, 2]
    assert batches.ends == 2


def test_evaluate_and_predict_take_it_too():
    x = np.repeat(np.arange(3.0), 2)[:, None]
    made = model()
    assert made.evaluate(Batches(), verbose=0) == pytest.approx(made.evaluate(x, 2 * x, verbose=0), rel=1e-5)
    np.testing.assert_allclose(made.predict(Batches(), verbose=0), made.predict(x, verbose=0), rtol=1e-6)


def test_empty_and_unfinished_sequences_are_refused():
    with pytest.raises(ValueError, match="empty"):
        model().fit(Batches(0), verbose=0)
    with pytest.raises(NotImplementedError, match="__len__"):
        len(podium.utils.Sequence())
    with pytest.raises(NotImplementedError, match="__getitem__"):
        podium.utils.Sequence()[0]
