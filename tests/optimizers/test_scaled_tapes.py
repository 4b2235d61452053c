"""Tapes in a `train_step` scale losses themselves: gradients do not become 0 in float16."""

import json
import pathlib
import sys

import numpy as np
import pytest

import podium
from podium import GradientTape, Tensor, Variable, layers, optimizers

ORACLE = pathlib.Path(__file__).parents[1] / "oracle"
sys.path.insert(0, str(ORACLE))

import record_loss_scale as cases  # noqa: E402

TINY = 2.0**-20  # makes the gradients of a loss too small for float16


class Library:
    Model, Input = podium.Model, staticmethod(podium.Input)
    layers, losses, optimizers = layers, podium.losses, optimizers
    initializers, mixed_precision = podium.initializers, optimizers


@pytest.fixture(autouse=True)
def mixed_float16():
    podium.core.set_dtype_policy("mixed_float16")
    yield
    podium.core.set_dtype_policy("float32")


def keep(gradients):
    return gradients


def clip_by_norm(gradients):
    norm = podium.ops.sqrt(sum(podium.ops.sum(gradient**2) for gradient in gradients))
    return [gradient * 100.0 / podium.ops.maximum(norm, 100.0) for gradient in gradients]


def clip_by_value(gradients):
    return [podium.ops.clip(gradient, -100.0, 100.0) for gradient in gradients]


class Plain(podium.Model):
    """A step as one writes it without thinking of float16."""

    clip, tiny = staticmethod(keep), TINY

    def train_step(self, data):
        x, y = data
        with GradientTape() as tape:
            loss = self.tiny * podium.losses.mean_squared_error(y, self(x, training=True))
        gradients = self.clip(tape.gradient(loss, self.trainable_variables))
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {}


def train(model, steps=cases.STEPS):
    x, y = cases.batch()
    for _ in range(steps):
        model.train_on_batch(x, y)
    return model


def check(model, name):
    expected = json.loads((ORACLE / "fixtures" / "loss_scale.json").read_text())[name]
    for weight, value in zip(model.get_weights(), expected["weights"], strict=True):
        np.testing.assert_allclose(weight, value, rtol=4e-3, atol=4e-3)
    assert float(model.optimizer.loss_scale) == expected["scale"]
    assert int(model.optimizer.dynamic_counter) == expected["counter"]


@pytest.mark.parametrize("clip", [keep, clip_by_norm, clip_by_value])
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_plain_step_equals_scaled_and_unscaled_step_of_keras_2(clip, run_eagerly):
    """The scale overflows at first: clipped or not, these steps are skipped."""
    model = cases.make_model(Library, Plain)
    model.clip = clip
    optimizer = optimizers.LossScaleOptimizer(
        cases.make_optimizer(Library, 8 * TINY), initial_scale=2.0**30, dynamic_growth_steps=3
    )
    model.compile(optimizer, run_eagerly=run_eagerly)
    check(train(model), "tf_keras step")


def test_fit_with_a_plain_step_scales_by_default():
    model = cases.make_model(Library, Plain)
    model.compile(cases.make_optimizer(Library, 8 * TINY))
    x, y = cases.batch()
    model.fit(x, y, batch_size=8, epochs=cases.STEPS, shuffle=False, verbose=0)
    check(model, "keras default")


def test_gradients_of_a_plain_step_are_those_of_the_loss():
    class Reporting(Plain):
        def train_step(self, data):
            x, y = data
            with GradientTape() as tape:
                loss = self.tiny * podium.losses.mean_squared_error(y, self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            return {"largest": podium.ops.max(podium.ops.abs(gradients[0]))}

    model = cases.make_model(Library, Reporting)
    model.tiny = tiny = 2.0**-30
    model.compile("sgd")
    x, y = cases.batch()
    scaled = model.train_on_batch(x, y, return_dict=True)["largest"]
    model.compile("sgd", auto_scale_loss=False)
    assert model.train_on_batch(x, y, return_dict=True)["largest"] == 0.0
    model.tiny = 1.0
    model.compile("sgd", auto_scale_loss=False)
    largest = model.train_on_batch(x, y, return_dict=True)["largest"]
    np.testing.assert_allclose(scaled, tiny * largest, rtol=4e-3)


class Adversaries(Plain):
    """Two optimizers of its own and a bare compile, as a GAN has."""

    def train_step(self, data):
        x, y = data
        half = len(self.trainable_variables) // 2
        for optimizer, weights in (
            (self.first, self.trainable_variables[:half]),
            (self.second, self.trainable_variables[half:]),
        ):
            with GradientTape() as tape:
                loss = self.tiny * podium.losses.mean_squared_error(y, self(x, training=True))
            gradients = tape.gradient(loss, weights)
            optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return {}


@pytest.mark.parametrize("wraps", [False, True])
def test_other_optimizers_of_a_step_skip_what_overflows(wraps):
    model = cases.make_model(Library, Adversaries)
    model.tiny = 2.0**-2
    model.first, model.second = (cases.make_optimizer(Library, 2.0**-2 * 8) for _ in range(2))
    if wraps:
        model.first = optimizers.LossScaleOptimizer(model.first)
    model.compile()
    model.optimizer.dynamic_scale.assign(2.0**24)
    before = model.get_weights()
    train(model, 1)
    for weight, value in zip(model.get_weights()[:2], before[:2], strict=True):
        np.testing.assert_array_equal(weight, value)
    assert float(model.optimizer.loss_scale) < 2.0**24
    train(model, 40)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())
    assert not np.array_equal(model.get_weights()[0], before[0])


def test_other_optimizers_of_a_step_receive_small_gradients():
    model = cases.make_model(Library, Adversaries)
    model.first, model.second = (cases.make_optimizer(Library, 8 * TINY) for _ in range(2))
    model.compile()
    before = model.get_weights()
    train(model, 3)
    for weight, value in zip(model.get_weights(), before, strict=True):
        assert not np.array_equal(weight, value)


def test_tapes_do_not_scale_outside_or_for_other_sources():
    w = Variable(3.0)
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(0.5), initial_scale=2.0**127)
    for source, is_inside, is_finite in (
        (w, True, False),
        (Tensor(3.0), True, True),
        (w, False, True),
    ):
        with GradientTape() as tape:
            tape.watch(source)
            loss = source * source
        if is_inside:
            with optimizer.scale_tapes():
                gradient = tape.gradient(loss, source)
        else:
            gradient = tape.gradient(loss, source)
        assert np.isfinite(float(gradient)) == is_finite


def test_gradients_of_which_one_overflows_are_all_nan():
    v, w = Variable(1.0), Variable(1.0)
    optimizer = optimizers.LossScaleOptimizer("sgd", initial_scale=2.0**127)
    with optimizer.scale_tapes():
        with GradientTape() as tape:
            loss = 4.0 * v + 0.25 * w
        gradients = tape.gradient(loss, [v, w])
    assert [float(gradient) for gradient in gradients] == pytest.approx([np.nan] * 2, nan_ok=True)


def test_explicit_scaling_is_not_scaled_again():
    w = Variable(3.0)
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(0.5), initial_scale=64.0)
    with optimizer.scale_tapes():
        with GradientTape() as tape:
            loss = optimizer.get_scaled_loss(w * w)
        gradient = tape.gradient(loss, w)
    assert float(gradient) == 6.0 * 64.0


def test_scaled_tapes_inside_tapes_have_second_derivatives():
    w = Variable(3.0)
    optimizer = optimizers.LossScaleOptimizer("sgd", initial_scale=64.0)
    with optimizer.scale_tapes():
        with GradientTape() as outer:
            with GradientTape() as inner:
                loss = w * w * w
            slope = inner.gradient(loss, w)
        assert (float(slope), float(outer.gradient(slope, w))) == (27.0, 18.0)


def test_replicas_agree_on_skipping_a_step_of_scaled_tapes():
    strategy = podium.distribute.MirroredStrategy()
    with strategy.scope():
        w = Variable(1.0)
        optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(1.0), initial_scale=2.0**100)
        plain = optimizers.SGD(1.0)
        optimizer.build([w])
        plain.build([w])
    last = strategy.num_replicas_in_sync - 1

    def step(chosen, factor):
        replica = podium.distribute.get_replica_context().replica_id_in_sync_group
        slope = podium.ops.where(podium.ops.equal(replica, last), np.float32(factor), 2.0)
        with optimizer.scale_tapes():
            with GradientTape() as tape:
                loss = slope * w
            chosen.apply_gradients([(tape.gradient(loss, w), w)])

    strategy.run(lambda: step(optimizer, 2.0**40))
    strategy.run(lambda: step(plain, 2.0**40))
    assert float(w) == 1.0 and float(optimizer.loss_scale) == 2.0**98
    strategy.run(lambda: step(plain, 2.0))
    assert float(w) == 1.0 - 2.0 * (last + 1)
