"""LossScaleOptimizer: mixed float16 as tf_keras and Keras 3 train it, in every idiom."""

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
    """Podium under the names that the oracles' script uses."""

    Model, Input = podium.Model, staticmethod(podium.Input)
    layers, losses, optimizers = layers, podium.losses, optimizers
    initializers, mixed_precision = podium.initializers, optimizers


@pytest.fixture
def mixed_float16():
    podium.core.set_dtype_policy("mixed_float16")
    yield
    podium.core.set_dtype_policy("float32")


def check(model, name):
    expected = json.loads((ORACLE / "fixtures" / "loss_scale.json").read_text())[name]
    for weight, value in zip(model.get_weights(), expected["weights"], strict=True):
        np.testing.assert_allclose(weight, value, rtol=4e-3, atol=4e-3)
    if "scale" in expected:
        assert float(model.optimizer.loss_scale) == expected["scale"]
        assert int(model.optimizer.dynamic_counter) == expected["counter"]


@pytest.mark.parametrize("name", ["tf_keras default", "keras default"])
def test_fit_scales_the_loss_by_default(mixed_float16, name):
    model = cases.train_default(Library, TINY)
    assert type(model.optimizer) is optimizers.LossScaleOptimizer
    assert type(model.optimizer.inner_optimizer) is optimizers.SGD
    check(model, name)


@pytest.mark.parametrize("name", cases.OPTIONS)
def test_growth_backoff_and_options_are_those_of_keras_3(mixed_float16, name):
    check(cases.train_with_options(Library, TINY, cases.OPTIONS[name]), f"keras {name}")


def test_scaled_loss_and_unscaled_gradients_of_keras_2(mixed_float16):
    check(cases.train_keras_2_step(Library, TINY, GradientTape), "tf_keras step")


def test_gradients_of_a_scaled_loss_are_unscaled_by_apply_gradients(mixed_float16):
    check(cases.train_keras_3_step(Library, TINY, GradientTape), "keras default")


def test_gradients_of_an_unscaled_loss_are_applied_as_they_are(mixed_float16):
    """In a loop of one's own; in a `train_step`, tapes scale: see test_scaled_tapes.py."""
    model = cases.make_model(Library)
    model.compile(cases.make_optimizer(Library, 8.0))
    x, y = cases.batch()

    @podium.function
    def step():
        with GradientTape() as tape:
            loss = podium.losses.mean_squared_error(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    with pytest.warns(UserWarning, match=r"not scaled.*scale_tapes\(\):.*scale_loss\(loss\)"):
        step()
    for _ in range(cases.STEPS - 1):
        step()
    check(model, "tf_keras unscaled")


def test_auto_scale_loss_can_be_switched_off(mixed_float16):
    model = cases.make_model(Library)
    model.compile("sgd", "mse", auto_scale_loss=False)
    assert type(model.optimizer) is optimizers.SGD
    assert model.get_compile_config()["auto_scale_loss"] is False
    model.compile_from_config(model.get_compile_config())
    assert type(model.optimizer) is optimizers.SGD
    with pytest.raises(ValueError, match=r"auto_scale_loss='no' \(str\); True or False"):
        model.compile("sgd", "mse", auto_scale_loss="no")


def test_only_mixed_float16_is_scaled():
    for policy in ("float32", "mixed_bfloat16"):
        podium.core.set_dtype_policy(policy)
        model = podium.Sequential([podium.Input((1,)), layers.Dense(1)])
        podium.core.set_dtype_policy("float32")
        model.compile("sgd", "mse")
        assert type(model.optimizer) is optimizers.SGD


def test_optimizer_with_a_loss_scale_is_not_wrapped_again(mixed_float16):
    model = cases.make_model(Library)
    optimizer = optimizers.LossScaleOptimizer("sgd")
    model.compile(optimizer, "mse")
    assert model.optimizer is optimizer


@pytest.mark.parametrize("suffix", [".keras", "checkpoint"])
def test_loss_scale_is_saved_and_restored(mixed_float16, tmp_path, suffix):
    x, y = cases.batch()
    model = cases.make_model(Library)
    model.compile(optimizers.LossScaleOptimizer("adam", 2.0**20, 3), "mse")
    for _ in range(9):
        model.train_on_batch(x, y)
    optimizer = model.optimizer
    assert float(optimizer.loss_scale) < 2.0**20 and int(optimizer.step_counter) > 0
    if suffix == ".keras":
        model.save(tmp_path / "model.keras")
        loaded = podium.saving.load_model(tmp_path / "model.keras")
    else:
        podium.saving.CheckpointManager(tmp_path).save(1, model)
        loaded = cases.make_model(Library)
        loaded.compile(optimizers.LossScaleOptimizer("adam", 2.0**20, 3), "mse")
        podium.saving.CheckpointManager(tmp_path).restore(loaded)
    saved, restored = optimizer.variables, loaded.optimizer.variables
    assert [float(np.sum(v.numpy())) for v in saved] == [float(np.sum(v.numpy())) for v in restored]
    for each in (model, loaded):
        each.train_on_batch(x, y)
    for weight, value in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, value)


def test_minimize_and_compute_gradients_return_to_the_true_scale():
    w = Variable(3.0)
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(0.5), initial_scale=64.0)
    ((gradient, _),) = optimizer.compute_gradients(lambda: w * w, [w])
    assert float(gradient) == 6.0
    optimizer.minimize(lambda: w * w, [w])
    assert float(w) == 0.0


def test_compiled_step_reads_the_current_scale():
    w = Variable(1.0)
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(1.0), initial_scale=8.0)

    @podium.function
    def step(gradient):
        optimizer.apply_gradients([(optimizer.scale_loss(gradient), w)])

    step(np.float32("inf"))
    step(np.float32(0.25))
    assert float(w) == 0.75 and float(optimizer.loss_scale) == 4.0 and step.trace_count == 1


def test_scale_does_not_fall_below_one_or_become_infinite():
    w = Variable(1.0)
    optimizer = optimizers.LossScaleOptimizer("sgd", initial_scale=2.0)
    for _ in range(3):
        optimizer.apply([Tensor(np.float32("nan"))], [w])
    assert float(optimizer.loss_scale) == 1.0
    optimizer = optimizers.LossScaleOptimizer("sgd", 2.0**127, dynamic_growth_steps=1)
    optimizer.apply([Tensor(np.float32(1.0))], [w])
    assert float(optimizer.loss_scale) == 2.0**127


def test_apply_does_not_divide_what_a_tape_computed_of_an_unscaled_loss():
    w = Variable(3.0)
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(0.5))
    with GradientTape() as tape:
        loss = w * w
    with pytest.warns(UserWarning, match="not scaled"):
        optimizer.apply([tape.gradient(loss, w)], [w])
    assert float(w) == 0.0


def test_unscaling_without_scaling_warns():
    w = Variable(3.0)
    optimizer = optimizers.LossScaleOptimizer("sgd")
    gradients = optimizer.get_unscaled_gradients([Tensor(1.0), None])
    with pytest.warns(UserWarning, match="was not multiplied by it"):
        optimizer.apply_gradients([(gradients[0], w)])


def test_fixed_scale():
    w = Variable(3.0)
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(0.5), False, 64.0)
    assert not optimizer.dynamic and optimizer.dynamic_counter is None
    loss = optimizer.get_scaled_loss(lambda: w * w)
    assert float(loss()) == 9.0 * 64.0
    optimizer.minimize(lambda: w * w, [w])
    assert float(w) == 0.0 and float(optimizer.loss_scale) == 64.0
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config() and not again.dynamic
    with pytest.raises(ValueError, match=r"dynamic=False, initial_scale=None.*needs `init"):
        optimizers.LossScaleOptimizer("sgd", dynamic=False)


def test_replicas_agree_on_skipping_a_step():
    strategy = podium.distribute.MirroredStrategy()
    with strategy.scope():
        w = Variable(1.0)
        optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(1.0), initial_scale=8.0)
        optimizer.build([w])

    last = strategy.num_replicas_in_sync - 1

    def step(overflows):
        replica = podium.distribute.get_replica_context().replica_id_in_sync_group
        is_last = podium.ops.equal(replica, last)
        gradient = podium.ops.where(is_last, np.float32("inf" if overflows else 2.0), 2.0)
        optimizer.apply_gradients([(optimizer.scale_loss(gradient), w)])

    strategy.run(lambda: step(True))
    strategy.run(lambda: step(False))
    assert float(w) == 1.0 - 2.0 * (last + 1) and float(optimizer.loss_scale) == 4.0


def test_get_scaled_loss_without_get_unscaled_gradients_warns():
    optimizer = podium.optimizers.LossScaleOptimizer(podium.optimizers.SGD(1.0), initial_scale=4.0)
    w = podium.Variable(1.0)
    with podium.GradientTape() as tape:
        loss = w * 2
        optimizer.get_scaled_loss(loss)
    message = "get_scaled_loss was called, and get_unscaled_gradients was not"
    with pytest.warns(UserWarning, match=message) as caught:
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    assert float(w) == 0.5 and caught[0].filename == __file__
