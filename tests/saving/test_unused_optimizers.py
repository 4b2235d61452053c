"""Checkpoints of models with several optimizers: what was never created is not required."""

import numpy as np
import pytest

import podium
from podium import layers, ops, optimizers, saving

X = np.random.default_rng(0).normal(size=(16, 2)).astype("float32")


class TwoOptimizers(podium.Model):
    """Trains two layers with an optimizer each; that of `super().compile()` is not used."""

    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(3), layers.Dense(1)

    def compile(self, first_optimizer, second_optimizer):
        super().compile()
        self.first_optimizer, self.second_optimizer = first_optimizer, second_optimizer

    def call(self, x):
        return self.second(self.first(x))

    def train_step(self, x):
        with podium.GradientTape(persistent=True) as tape:
            loss = ops.mean(ops.square(self(x) - 1.0))
        for optimizer, layer in (
            (self.first_optimizer, self.first),
            (self.second_optimizer, self.second),
        ):
            gradients = tape.gradient(loss, layer.trainable_weights)
            optimizer.apply_gradients(zip(gradients, layer.trainable_weights, strict=True))
        return {"loss": loss}


def make():
    podium.utils.set_random_seed(0)
    model = TwoOptimizers()
    model.build((None, 2))
    model.compile(optimizers.Adam(0.01), optimizers.SGD(0.02, momentum=0.9))
    return model


def train(model):
    model.fit(X, batch_size=8, verbose=0, shuffle=False)


def test_training_continues_in_the_same_and_in_a_new_model(tmp_path):
    manager, model = saving.CheckpointManager(tmp_path), make()
    train(model)
    manager.save(1, model)
    train(model)
    expected = model.get_weights()
    for target in (model, make()):
        manager.restore(target)
        assert not target.optimizer.built  # RMSprop has no slots, and gets none
        train(target)
        assert int(target.first_optimizer.iterations) == 4
        for weight, value in zip(target.get_weights(), expected, strict=True):
            np.testing.assert_array_equal(weight, value)


def test_checkpoint_from_before_the_first_step_is_restored(tmp_path):
    def make():
        podium.utils.set_random_seed(0)
        model = podium.Sequential([podium.Input((2,)), layers.Dense(1)])
        model.compile("adam", "mse")
        return model

    manager = saving.CheckpointManager(tmp_path)
    manager.save(0, make())
    model = make()
    manager.restore(model)
    assert not model.optimizer.built


def test_slots_of_other_variables_are_refused_when_they_are_created(tmp_path):
    manager, model = saving.CheckpointManager(tmp_path), make()
    train(model)
    manager.save(1, model)
    target = make()
    manager.restore(target)
    with pytest.raises(ValueError, match=r"checkpoint-00000001' has a value of shape \(2, 3\)"):
        target.first_optimizer.build(target.second.trainable_weights)
