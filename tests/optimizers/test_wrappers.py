"""Optimizers that wrap others: dynamic loss scaling, several optimizers in one, optax."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import podium
from podium import optimizers
from podium.core import GradientTape, Tensor, Variable

INF = np.float32("inf")

# --- LossScaleOptimizer


def test_loss_scale_halves_on_overflow_and_doubles_after_finite_steps():
    w = Variable(1.0)
    optimizer = optimizers.LossScaleOptimizer(
        optimizers.SGD(0.5, momentum=0.9), initial_scale=8.0, dynamic_growth_steps=2
    )
    states = []

    @podium.function
    def step(gradient):
        optimizer.apply_gradients([(optimizer.scale_loss(gradient), w)])

    for gradient in (1.0, INF, 0.0, 0.0, np.nan):
        step(np.float32(gradient))
        states.append(
            (round(float(w), 3), float(optimizer.dynamic_scale), int(optimizer.iterations))
        )
    assert states == [
        (0.5, 8.0, 1),
        (0.5, 4.0, 1),
        (0.05, 4.0, 2),
        (-0.355, 8.0, 3),
        (-0.355, 4.0, 3),
    ]
    assert step.trace_count == 1


def test_loss_scaling_does_not_change_the_update():
    unscaled, scaled = Variable(2.0), Variable(2.0)
    optimizers.SGD(0.1).minimize(lambda: unscaled * unscaled, [unscaled])
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(0.1, loss_scale_factor=2.0))
    for tape in (GradientTape(),):
        with tape:
            loss = scaled * scaled
        optimizer.minimize(loss, [scaled], tape=tape)
    assert float(scaled) == pytest.approx(float(unscaled))


def test_a_scaled_float16_loss_does_not_overflow():
    optimizer = optimizers.LossScaleOptimizer("sgd")
    assert float(optimizer.scale_loss(Tensor(jnp.asarray(100.0, "float16")))) == 100 * 2**15


def test_loss_scale_optimizer_forwards_the_learning_rate_and_has_a_config():
    optimizer = optimizers.LossScaleOptimizer(optimizers.Adam(0.5))
    optimizer.learning_rate = 0.25
    assert float(optimizer.lr) == float(optimizer.inner_optimizer.learning_rate) == 0.25
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config() and float(again.lr) == 0.25
    optimizer.build([Variable(1.0)])
    assert [v.path.split("/")[0] for v in optimizer.variables] == ["loss_scale_optimizer"] * 4 + [
        "adam"
    ] * 4


def test_loss_scale_optimizer_rejects_arguments_of_the_inner_optimizer():
    with pytest.raises(ValueError, match=r"was given clipnorm=1\.0; set it on the inner optimizer"):
        optimizers.LossScaleOptimizer("sgd", clipnorm=1.0)
    with pytest.raises(ValueError, match="dynamic=False"):
        optimizers.LossScaleOptimizer("sgd", dynamic=False)
    with pytest.raises(TypeError, match="without a loss scale"):
        optimizers.LossScaleOptimizer(optimizers.LossScaleOptimizer("sgd"))
    assert (
        optimizers.LossScaleOptimizer(
            "sgd", ema_momentum=0.99, use_ema=False, weight_decay=None
        ).dynamic_growth_steps
        == 2000
    )


# --- MultiOptimizer


def test_multi_optimizer_updates_each_variable_with_its_optimizer():
    chosen = optimizers.OptimizerMap(
        optimizers.SGD(0.5), {"b.*": optimizers.SGD(0.25, name="fine")}
    )
    both, a, b = optimizers.MultiOptimizer(chosen), Variable(1.0, name="a"), Variable(1.0, name="b")
    step = podium.function(lambda x: both.apply([x, x], [a, b]))
    step(Tensor(1.0))
    step(Tensor(1.0))
    assert (float(a), float(b)) == (0.0, 0.5) and int(both.iterations) == 2
    assert [optimizer.name for optimizer in both.optimizers] == ["fine", "sgd"]
    with pytest.raises(AttributeError, match=r"those of `optimizer\.optimizers`"):
        both.learning_rate = 0.5
    again = optimizers.deserialize(optimizers.serialize(both))
    assert again.get_config() == both.get_config()
    with pytest.raises(ValueError, match="No gradients provided"):
        both.apply([None, None], [a, b])


def test_optimizer_map_rejects_ambiguous_patterns_and_non_optimizers():
    chosen = optimizers.OptimizerMap(optimizers.SGD(), {"a.*": optimizers.Adam()})
    chosen[".*b"] = optimizers.Adam()
    with pytest.raises(ValueError, match=r"the patterns .* all match it"):
        chosen["ab"]
    with pytest.raises(ValueError, match=re.escape("has an optimizer for 'a.*' already")):
        chosen["a.*"] = optimizers.SGD()
    with pytest.raises(TypeError, match="default_optimizer='sgd' was given"):
        optimizers.OptimizerMap("sgd")


# --- optax


def weights():
    return [Variable([[1.0, 2.0], [3.0, 4.0]], name="kernel"), Variable([1.0, -1.0], name="bias")]


def gradients(step):
    rng = np.random.default_rng(step)
    return [rng.normal(size=(2, 2)).astype("float32"), rng.normal(size=2).astype("float32")]


TRANSFORMATIONS = {
    "adam": lambda: optax.adam(0.1),
    "chain": lambda: optax.chain(
        optax.clip_by_global_norm(0.5), optax.sgd(optax.cosine_decay_schedule(0.1, 5), momentum=0.9)
    ),
    "masked": lambda: optax.adamw(
        0.1, weight_decay=0.5, mask=lambda p: {name: name == "kernel" for name in p}
    ),
    "injected": lambda: optax.inject_hyperparams(optax.rmsprop)(learning_rate=0.1),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_an_optax_transformation_equals_calling_it_directly(name, compiled):
    transformation, variables = TRANSFORMATIONS[name](), weights()
    optimizer = optimizers.get(transformation)
    parameters = {variable.path: jnp.asarray(variable.numpy()) for variable in variables}
    state = transformation.init(parameters)
    apply = (
        podium.function(lambda *g: optimizer.apply(g, variables))
        if compiled
        else lambda *g: optimizer.apply(g, variables)
    )
    update = jax.jit(transformation.update)
    for step in range(4):
        apply(*gradients(step))
        by_name = dict(zip(("kernel", "bias"), map(jnp.asarray, gradients(step)), strict=True))
        with jax.numpy_dtype_promotion("standard"):
            updates, state = update(by_name, state, parameters)
        parameters = optax.apply_updates(parameters, updates)
    for variable in variables:
        np.testing.assert_allclose(variable.numpy(), parameters[variable.path], rtol=2e-6)
    arrays = [leaf for leaf in jax.tree.leaves(state) if isinstance(leaf, jax.Array)]
    assert sorted(v.shape for v in optimizer.variables) == sorted(
        [(), *(leaf.shape for leaf in arrays)]
    )


def test_setting_an_injected_learning_rate_does_not_recompile():
    optimizer = optimizers.from_optax(
        optax.chain(optax.clip(10.0), optax.inject_hyperparams(optax.sgd)(learning_rate=0.5))
    )
    w = Variable(1.0)
    assert float(optimizer.learning_rate) == 0.5  # before the first step
    step = podium.function(lambda: optimizer.apply([Tensor(1.0)], [w]))
    step()
    optimizer.learning_rate = 0.25
    step()
    assert float(w) == 0.25 and step.trace_count == 1 and float(optimizer.lr) == 0.25


@pytest.mark.parametrize(
    "make",
    [
        lambda: optax.sgd(0.5),
        lambda: optax.inject_hyperparams(optax.sgd)(optax.constant_schedule(0.5)),
    ],
)
def test_setting_a_fixed_optax_learning_rate_raises(make):
    optimizer = optimizers.get(make())
    assert not hasattr(optimizer, "learning_rate")
    with pytest.raises(TypeError, match=r"optax\.inject_hyperparams"):
        optimizer.learning_rate = 0.1
    optimizer.apply([Tensor(1.0)], [Variable(1.0)])


def test_optax_optimizers_support_the_shared_options():
    optimizer, w = (
        optimizers.from_optax(optax.sgd(0.5), gradient_accumulation_steps=2, clipvalue=1.0),
        Variable(1.0),
    )
    for gradient in (1.0, 9.0, 1.0):
        optimizer.apply([Tensor(gradient)], [w])
    assert float(w) == 0.5
    with pytest.raises(ValueError, match="put it in the chain"):
        optimizers.from_optax(optax.sgd(0.5), weight_decay=0.1)


def test_optax_optimizers_with_missing_gradients_and_new_variables():
    (kernel, bias), optimizer = weights(), optimizers.get(optax.adam(0.1))
    optimizer.build([kernel, bias])
    optimizer.apply(gradients(0)[1:], [bias])
    np.testing.assert_array_equal(kernel.numpy(), [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="variables that it was not built with"):
        optimizer.apply([Tensor(1.0)], [Variable(1.0)])
    with pytest.raises(NotImplementedError, match="made of functions and has no config"):
        optimizer.get_config()
    with pytest.raises(TypeError, match="an optax GradientTransformation was expected"):
        optimizers.OptaxOptimizer("adam")
