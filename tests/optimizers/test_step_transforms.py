"""Transforms of a step inside a compiled fit: gradient accumulation, loss scaling, averaged
weights, rematerialization.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4)).astype("float32")
Y = (X[:, :1] - X[:, 1:2] ** 2).astype("float32")


def small_model(optimizer, **options):
    podium.utils.set_random_seed(3)
    model = podium.Sequential(
        [podium.Input((4,)), podium.layers.Dense(8, activation="tanh"), podium.layers.Dense(1)]
    )
    model.compile(optimizer, "mse", **options)
    return model


def values(variables):
    return [variable.numpy().copy() for variable in variables]


# --- accumulated gradients

OPTIMIZERS = {
    "sgd": lambda **options: podium.optimizers.SGD(0.1, momentum=0.9, **options),
    "adam": lambda **options: podium.optimizers.Adam(0.01, **options),
    "clipped": lambda **options: podium.optimizers.SGD(
        0.1, global_clipnorm=0.1, weight_decay=0.01, **options
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_accumulated_gradients_equal_a_large_batch_and_the_last_group_is_flushed(name):
    # 5 steps of 8 samples: a group of 4 steps, and one remaining step, which is a batch of 8 in the
    # other run.
    accumulating = small_model(OPTIMIZERS[name](gradient_accumulation_steps=4))
    accumulating.fit(X, Y, batch_size=8, shuffle=False, verbose=0)
    large_batches = small_model(OPTIMIZERS[name]())
    large_batches.fit(X, Y, batch_size=32, shuffle=False, verbose=0)
    pairs = zip(values(accumulating.variables), values(large_batches.variables), strict=True)
    for value, expected in pairs:
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-6)
    assert int(accumulating.optimizer.iterations) == 2
    assert int(large_batches.optimizer.iterations) == 2


@pytest.mark.parametrize("fused", [1, 3])
def test_accumulation_continues_across_epochs_and_flushes_at_the_end_of_training(fused):
    model = small_model(
        podium.optimizers.SGD(0.1, gradient_accumulation_steps=4), steps_per_execution=fused
    )
    counts = []
    counter = podium.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: counts.append(int(model.optimizer.iterations))
    )
    model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[counter])
    assert counts == [1, 2]  # 5 steps, then 10: two groups, and two remaining steps
    assert int(model.optimizer.iterations) == 3
    accumulators = [v for v in model.optimizer.variables if "gradient_accumulator" in v.name]
    assert len(accumulators) == 4 and all(not np.any(v.numpy()) for v in accumulators)


def test_flush_applies_the_mean_of_pending_gradients_and_does_nothing_without_any():
    weight = podium.Variable(1.0)
    optimizer = podium.optimizers.SGD(1.0, gradient_accumulation_steps=3)
    optimizer.flush()
    for gradient in (0.25, 0.75):
        optimizer.apply([podium.Tensor(gradient)], [weight])
    assert float(weight) == 1.0
    optimizer.flush()
    assert float(weight) == 0.5 and int(optimizer.iterations) == 1
    optimizer.flush()
    assert float(weight) == 0.5
    for _ in range(3):  # the next group is a full one
        optimizer.apply([podium.Tensor(0.5)], [weight])
    assert float(weight) == 0.0 and int(optimizer.iterations) == 2


def test_wrappers_flush_their_inner_optimizers():
    first, second = podium.Variable(1.0, name="first"), podium.Variable(1.0, name="second")
    every_second = podium.optimizers.SGD(1.0, gradient_accumulation_steps=2)
    every_fourth = podium.optimizers.SGD(1.0, gradient_accumulation_steps=4)
    both = podium.optimizers.MultiOptimizer(
        lambda variable: every_second if variable is first else every_fourth
    )
    both.apply([podium.Tensor(0.5), podium.Tensor(0.25)], [first, second])
    both.flush()
    assert (float(first), float(second)) == (0.5, 0.75)
    scaled = podium.optimizers.LossScaleOptimizer(
        podium.optimizers.SGD(1.0, gradient_accumulation_steps=2), initial_scale=4.0
    )
    scaled.apply([podium.Tensor(2.0)], [first])
    scaled.flush([first])
    assert float(first) == 0.0


# --- loss scaling


@pytest.mark.parametrize("fused", [1, 2])
def test_float16_fit_skips_steps_that_overflow_and_halves_the_loss_scale(fused):
    podium.utils.set_random_seed(0)
    podium.core.set_dtype_policy("mixed_float16")
    inner = podium.optimizers.SGD(0.01, momentum=0.9)
    optimizer = podium.optimizers.LossScaleOptimizer(
        inner, initial_scale=2.0**10, dynamic_growth_steps=3
    )
    model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(1, dtype="mixed_float16")])
    model.compile(optimizer, "mse", steps_per_execution=fused)
    x, y = X.copy(), Y.copy()
    x[8:16] = 6e4  # the second of five batches: their squares overflow float16
    states = []

    class Recorder(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            states.append(
                (
                    float(optimizer.dynamic_scale),
                    int(optimizer.iterations),
                    model.layers[-1].kernel.numpy().copy(),
                )
            )

    model.fit(x, y, batch_size=8, shuffle=False, verbose=0, callbacks=[Recorder()])
    # Halved by the second batch, doubled by the three after it.
    assert float(optimizer.dynamic_scale) == 2.0**10
    assert int(optimizer.iterations) == 4
    assert all(np.isfinite(value).all() for value in values(model.variables))
    if fused == 1:
        assert [scale for scale, _, _ in states] == [2.0**10, 2.0**9, 2.0**9, 2.0**9, 2.0**10]
        assert [count for _, count, _ in states] == [1, 1, 2, 3, 4]
        np.testing.assert_array_equal(states[0][2], states[1][2])


# --- averaged weights


def test_fit_averages_weights_and_assigns_the_averages_at_its_end():
    model = small_model(podium.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5))
    snapshots = []

    class Recorder(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            snapshots.append(values(model.trainable_variables))

    model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=[Recorder()])
    averages = snapshots[0]
    for snapshot in snapshots[1:]:
        averages = [
            0.5 * average + 0.5 * value for average, value in zip(averages, snapshot, strict=True)
        ]
    for value, average in zip(values(model.trainable_variables), averages, strict=True):
        np.testing.assert_allclose(value, average, rtol=0, atol=1e-6)


def test_averages_overwrite_the_weights_at_the_given_frequency():
    model = small_model(
        podium.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2)
    )
    equal = []

    class Recorder(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            averages = [v.numpy() for v in model.optimizer.variables if v.name.endswith("average")]
            weights = values(model.trainable_variables)
            equal.append(all(np.array_equal(*pair) for pair in zip(averages, weights, strict=True)))

    model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=[Recorder()])
    assert equal == [True, True, False, True, False]  # the first average is the first value


# --- rematerialization


class Block(podium.layers.Layer):
    """Several wide operations with dropout, batch statistics and an added loss."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.wide = podium.layers.Dense(32, activation="tanh")
        self.normalization = podium.layers.BatchNormalization()
        self.dropout = podium.layers.Dropout(0.2, seed=5)
        self.narrow = podium.layers.Dense(4)

    def call(self, inputs, training=None):
        hidden = self.dropout(self.normalization(self.wide(inputs)))
        for _ in range(4):
            hidden = podium.ops.sin(hidden) * podium.ops.sigmoid(hidden)
        self.add_loss(1e-3 * podium.ops.mean(hidden**2))
        return inputs + self.narrow(hidden)


def model_of_blocks(mode, **options):
    podium.core.reset_names()
    podium.utils.set_random_seed(1)
    with podium.RematScope(mode, **options):
        blocks = [Block() for _ in range(2)]
    model = podium.Sequential([podium.Input((4,)), *blocks, podium.layers.Dense(1)])
    model.compile(podium.optimizers.SGD(0.05), "mse")
    return model


def residual_bytes(layer, x):
    """Return the size of the values kept between the forward and the backward pass."""
    _, pull = jax.vjp(lambda x: layer(podium.Tensor(x), training=True).value, x)
    return sum(leaf.nbytes for leaf in jax.tree.leaves(pull))


@pytest.fixture(scope="module")
def fit_without_remat():
    model = model_of_blocks(None)
    history = model.fit(X, Y, batch_size=8, epochs=2, verbose=0)
    return history.history["loss"], values(model.variables)


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("full", {}),
        ("activations", {}),
        ("larger_than", {"output_size_threshold": 16}),
        ("list_of_layers", {"layer_names": ["block", "dense_2"]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_fit_with_rematerialization_equals_fit_without(mode, options, fit_without_remat):
    losses, expected = fit_without_remat
    model = model_of_blocks(mode, **options)
    history = model.fit(X, Y, batch_size=8, epochs=2, verbose=0)
    np.testing.assert_allclose(history.history["loss"], losses, rtol=1e-5)
    for value, expected_value in zip(values(model.variables), expected, strict=True):
        np.testing.assert_allclose(value, expected_value, rtol=0, atol=1e-5)


def test_rematerialization_stores_fewer_residuals():
    x = jnp.ones((64, 4))
    without = residual_bytes(model_of_blocks(None).layers[0], x)
    full = residual_bytes(model_of_blocks("full").layers[0], x)
    some = residual_bytes(model_of_blocks("activations").layers[0], x)
    small = residual_bytes(model_of_blocks("larger_than", output_size_threshold=10**6).layers[0], x)
    assert full < without / 4 and full < some < without and small == without


def test_remat_of_functions_and_layers_returns_the_same_gradients_and_state():
    rows = []
    for wrap in (lambda f: f, podium.remat):
        podium.core.reset_names()
        podium.utils.set_random_seed(2)
        block, weight = Block(), podium.Variable(np.full(4, 0.5, "float32"))
        block(X[:8])
        called = wrap(block)
        scaled = wrap(lambda x: podium.ops.sin(x * weight))
        with podium.GradientTape() as tape:
            loss = podium.ops.sum(
                called(scaled(podium.Tensor(X[:8])), training=True)
            ) + podium.ops.sum(block.losses[0])
        gradients = tape.gradient(loss, [weight, *block.trainable_variables])
        rows.append([float(loss), *gradients, *values(block.non_trainable_variables)])
    for expected, value in zip(*rows, strict=True):
        np.testing.assert_allclose(np.asarray(value), np.asarray(expected), rtol=1e-5, atol=1e-6)


def test_remat_keeps_masks_and_constants_and_rejects_unsupported_arguments():
    embed = podium.layers.Embedding(5, 3, mask_zero=True)
    with podium.RematScope():
        outer = podium.layers.Masking()
    with podium.GradientTape() as tape:
        ids = podium.ops.convert_to_tensor(np.array([[1, 0]]))
        masked = outer(embed(ids))
        result, constant = podium.remat(lambda x: (x * 2.0, "text"))(masked)
    assert constant == "text" and masked._keras_mask is not None
    assert tape.gradient(result, embed.embeddings).shape == (5, 3)
    with pytest.raises(TypeError, match="RematScope"):
        podium.remat(podium.layers.Dense(1))(podium.Input((2,)))
    with pytest.raises(ValueError, match="Did you mean 'full'"):
        podium.RematScope("ful")


# --- gradients that are new values


def test_overwriting_gradients_are_accumulated_by_their_maximum():
    overwritten, trained = podium.Variable([1.0, 2.0]), podium.Variable([1.0, 2.0])
    overwritten.overwrite_with_gradient = True
    optimizer = podium.optimizers.SGD(1.0, gradient_accumulation_steps=2)
    values = []
    for gradient in ([3.0, 5.0], [4.0, 1.0], [1.0, 1.0], [0.5, 2.0]):
        gradient = podium.convert_to_tensor(gradient)
        optimizer.apply_gradients([(gradient, overwritten), (gradient, trained)])
        values.append(overwritten.numpy().tolist())
    assert values == [[1.0, 2.0], [4.0, 5.0], [4.0, 5.0], [1.0, 2.0]]
    assert trained.numpy().tolist() == [1.0 - 3.5 - 0.75, 2.0 - 3.0 - 1.5]
