"""The gradients of training steps equal `jax.grad` of the same step, eagerly and compiled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import layers, ops

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.normal(size=shape).astype("float32")


def values(variables):
    return [jnp.asarray(v.numpy()) for v in variables]


def assert_equal(actual, expected):
    actual = [None if g is None else np.asarray(g) for g in actual]
    for gradient, reference in zip(actual, expected, strict=True):
        atol = 1e-6 * max(1.0, float(np.abs(reference).max()))
        np.testing.assert_allclose(gradient, reference, rtol=1e-6, atol=atol)


def check(step, expected):
    """Compare a step's gradients with the expected ones, eager and compiled as one program."""
    assert_equal(step(), expected)
    compiled = podium.function(step)
    assert_equal(compiled(), expected)
    compiled()
    assert compiled.trace_count == 1


def test_mlp_gradients():
    model = podium.Sequential(
        [podium.Input((5,)), layers.Dense(8, activation="relu"), layers.Dense(3)]
    )
    x, y = draw(16, 5), RNG.integers(0, 3, 16)

    def step():
        with podium.GradientTape() as tape:
            logits = model(x)
            loss = -ops.mean(ops.take_along_axis(ops.log_softmax(logits), y[:, None], axis=1))
        return tape.gradient(loss, model.trainable_variables)

    def loss(p):
        logits = jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3]
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(16), y])

    check(step, jax.jit(jax.grad(loss))(values(model.trainable_variables)))


def test_wgan_gradient_penalty_gradients():
    critic = podium.Sequential(
        [podium.Input((4,)), layers.Dense(8, activation="tanh"), layers.Dense(1)]
    )
    generator = podium.Sequential([podium.Input((3,)), layers.Dense(4)])
    z, real, mix = draw(16, 3), draw(16, 4), RNG.uniform(size=(16, 1)).astype("float32")
    variables = critic.trainable_variables + generator.trainable_variables

    def step():
        with podium.GradientTape() as tape:
            fake = generator(z, training=True)
            between = real + mix * (fake - real)
            with podium.GradientTape() as penalty_tape:
                penalty_tape.watch(between)
                score = critic(between, training=True)
            slope = penalty_tape.gradient(score, [between])[0]
            norm = ops.sqrt(ops.sum(ops.square(slope), axis=1) + 1e-8)
            loss = (
                ops.mean(critic(fake)) - ops.mean(critic(real)) + 10.0 * ops.mean((norm - 1.0) ** 2)
            )
        return tape.gradient(loss, variables)

    def loss(p):
        score = lambda x: jnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3]
        fake = z @ p[4] + p[5]
        slope = jax.grad(lambda i: score(i).sum())(real + mix * (fake - real))
        norm = jnp.sqrt((slope**2).sum(1) + 1e-8)
        return score(fake).mean() - score(real).mean() + 10 * ((norm - 1) ** 2).mean()

    check(step, jax.jit(jax.grad(loss))(values(variables)))


class Physics(podium.Model):
    """A network that returns u and the residual u'' + u, with tapes opened inside `call`."""

    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(16, activation="tanh")
        self.out = layers.Dense(1)

    def call(self, x):
        with podium.GradientTape() as outer:
            outer.watch(x)
            with podium.GradientTape() as inner:
                inner.watch(x)
                u = self.out(self.hidden(x))
            slope = inner.gradient(u, x)
        curve = outer.gradient(slope, x)
        return u, curve + u


def test_physics_informed_network_gradients():
    model, x = Physics(), draw(32, 1)
    model(x)

    def step():
        with podium.GradientTape() as tape:
            u, residual = model(x)
            loss = ops.mean(residual**2) + ops.mean(u**2)
        return tape.gradient(loss, model.trainable_variables)

    def loss(p):
        u = lambda t: (jnp.tanh(t[None] @ p[0] + p[1]) @ p[2] + p[3])[0, 0]
        uu = jax.vmap(u)(x)
        curve = jax.vmap(lambda t: jax.hessian(u)(t)[0, 0])(x)
        return jnp.mean((curve + uu) ** 2) + jnp.mean(uu**2)

    check(step, jax.jit(jax.grad(loss))(values(model.trainable_variables)))


def test_gan_step_with_two_updates_gradients():
    critic = podium.Sequential(
        [podium.Input((4,)), layers.Dense(8), layers.LeakyReLU(negative_slope=0.2), layers.Dense(1)]
    )
    generator = podium.Sequential([podium.Input((3,)), layers.Dense(4)])
    z, real = draw(16, 3), draw(16, 4)

    def bce(labels, logits):
        return ops.mean(
            ops.maximum(logits, 0) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits)))
        )

    def step():
        fake = generator(z)
        both = ops.concatenate([fake, real], axis=0)
        labels = ops.concatenate([ops.ones((16, 1)), ops.zeros((16, 1))], axis=0)
        with podium.GradientTape() as tape:
            critic_loss = bce(labels, critic(both))
        for variable, gradient in zip(
            critic.trainable_weights,
            tape.gradient(critic_loss, critic.trainable_weights),
            strict=True,
        ):
            variable.assign_sub(0.1 * gradient)
        with podium.GradientTape() as tape:
            generator_loss = bce(ops.zeros((16, 1)), critic(generator(z)))
        for variable, gradient in zip(
            generator.trainable_weights,
            tape.gradient(generator_loss, generator.trainable_weights),
            strict=True,
        ):
            variable.assign_sub(0.1 * gradient)
        return critic_loss, generator_loss

    @jax.jit
    def by_hand(c, g):
        plain = lambda labels, logits: jnp.mean(
            jnp.maximum(logits, 0) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits)))
        )
        score = lambda c, x: jax.nn.leaky_relu(x @ c[0] + c[1], 0.2) @ c[2] + c[3]
        make = lambda g: z @ g[0] + g[1]
        labels = jnp.concatenate([jnp.ones((16, 1)), jnp.zeros((16, 1))])
        first, dc = jax.value_and_grad(
            lambda c: plain(labels, score(c, jnp.concatenate([make(g), real])))
        )(c)
        c = [v - 0.1 * d for v, d in zip(c, dc, strict=True)]
        second, dg = jax.value_and_grad(lambda g: plain(jnp.zeros((16, 1)), score(c, make(g))))(g)
        return c, [v - 0.1 * d for v, d in zip(g, dg, strict=True)], (first, second)

    start = [v.numpy() for v in critic.weights + generator.weights]
    c, g, losses = by_hand(start[:4], start[4:])
    c2, g2, losses2 = by_hand(c, g)
    for run in (step, podium.function(step)):
        critic.set_weights(start[:4]), generator.set_weights(start[4:])
        assert_equal(run(), losses)
        assert_equal(critic.weights + generator.weights, c + g)
        assert_equal(run(), losses2)
        assert_equal(critic.weights + generator.weights, c2 + g2)
    assert run.trace_count == 1


def test_batch_norm_and_dropout_gradients_and_state():
    model = podium.Sequential(
        [
            podium.Input((6,)),
            layers.Dense(8),
            layers.BatchNormalization(),
            layers.Dropout(0.5, seed=3),
            layers.Dense(1),
        ]
    )
    x = draw(32, 6)
    norm, dropout = model.layers[1], model.layers[2]
    first_mask_state = dropout.seed_generator.state.numpy()

    def step():
        with podium.GradientTape() as tape:
            loss = ops.mean(model(x, training=True) ** 2)
        return tape.gradient(loss, model.trainable_variables)

    eager = [np.asarray(g) for g in step()]
    moved = norm.moving_mean.numpy()
    keep = np.asarray(layers.Dropout(0.5, seed=3)(np.ones((32, 8), "float32"), training=True)) / 2

    def loss(p):
        h = x @ p[0] + p[1]
        mean, variance = h.mean(0), h.var(0)
        h = (h - mean) / jnp.sqrt(variance + 1e-3) * p[2] + p[3]
        return jnp.mean(((h * keep * 2) @ p[4] + p[5]) ** 2)

    assert_equal(eager, jax.jit(jax.grad(loss))(values(model.trainable_variables)))
    np.testing.assert_allclose(
        moved,
        0.01 * (x @ model.layers[0].kernel.numpy() + model.layers[0].bias.numpy()).mean(0),
        rtol=1e-4,
        atol=1e-6,
    )
    # The same step compiled, from the same state, has the same gradients, statistics and next
    # draws.
    norm.moving_mean.assign(np.zeros(8)), norm.moving_variance.assign(np.ones(8))
    dropout.seed_generator.state.assign(first_mask_state)
    compiled = podium.function(step)
    assert_equal(compiled(), eager)
    np.testing.assert_allclose(norm.moving_mean.numpy(), moved, rtol=1e-6)
    second = [np.asarray(g) for g in compiled()]
    assert not np.allclose(second[0], eager[0])
    assert (
        compiled.trace_count == 1
        and dropout.seed_generator.state.numpy()[1] == first_mask_state[1] + 2
    )


def test_persistent_tape_with_two_targets_gradients():
    model = podium.Sequential([podium.Input((5,)), layers.Dense(4, activation="tanh")])
    x = draw(8, 5)

    def step():
        with podium.GradientTape(persistent=True) as tape:
            h = model(x)
            a, b = ops.mean(h), ops.mean(h * h)
        return [
            *tape.gradient(a, model.trainable_variables),
            *tape.gradient(b, model.trainable_variables),
        ]

    h = lambda p: jnp.tanh(x @ p[0] + p[1])
    gradients = jax.jit(
        lambda p: [*jax.grad(lambda p: h(p).mean())(p), *jax.grad(lambda p: (h(p) ** 2).mean())(p)]
    )
    check(step, gradients(values(model.trainable_variables)))


class Subclassed(podium.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(6, activation="tanh"), layers.Dense(3)

    def call(self, x):
        features = self.first(x)
        return features, self.second(features * features)


class SubclassedRaw(Subclassed):
    def call(self, x):
        features = self.first(x)
        return features, self.second(jnp.square(features))


def functional():
    x = podium.Input((5,))
    features = layers.Dense(6, activation="tanh")(x)
    return podium.Model(x, [features, layers.Dense(3)(features * features)])


@pytest.mark.parametrize("make", [functional, Subclassed])
def test_grad_cam_gradients(make):
    """The gradient of a model's output with respect to an intermediate output."""
    model, x = make(), draw(8, 5)
    model(x)

    def step():
        with podium.GradientTape() as tape:
            features, scores = model(x)
            best = ops.max(scores, axis=1)
        return [tape.gradient(best, features)]

    p = values(model.weights)
    scores = lambda f: (f * f) @ p[2] + p[3]
    features = jnp.tanh(x @ p[0] + p[1])
    check(step, [jax.jit(jax.grad(lambda f: scores(f).max(1).sum()))(features)])


@pytest.mark.parametrize("make", [functional, Subclassed])
def test_grad_cam_inside_an_outer_tape(make):
    model, x = make(), draw(8, 5)
    model(x)

    def step():
        with podium.GradientTape() as outer:
            with podium.GradientTape() as tape:
                features, scores = model(x)
                total = ops.sum(scores**2)
            slope = tape.gradient(total, features)
            loss = ops.sum(slope**2)
        return outer.gradient(loss, model.trainable_variables)

    def loss(p):
        features = jnp.tanh(x @ p[0] + p[1])
        slope = jax.grad(lambda f: jnp.sum(((f * f) @ p[2] + p[3]) ** 2))(features)
        return jnp.sum(slope**2)

    expected = jax.jit(jax.grad(loss))(values(model.trainable_variables))
    gradients = [np.asarray(g) for g in step()]
    for gradient, reference in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, reference, rtol=2e-5, atol=2e-5)


def test_gradient_of_an_unreachable_inner_value_raises():
    model, x = SubclassedRaw(), draw(8, 5)
    model(x)
    with podium.GradientTape() as tape:
        features, scores = model(x)
    with pytest.raises(ValueError, match=r"raw JAX functions.*podium.ops"):
        tape.gradient(scores, features)


def test_variables_of_an_unused_output_have_gradient_none():
    class TwoHeads(podium.Model):
        def __init__(self):
            super().__init__()
            self.a, self.b = layers.Dense(2), layers.Dense(2)

        def call(self, x):
            return self.a(x), self.b(x)

    model, x = TwoHeads(), draw(4, 3)
    with podium.GradientTape() as tape:
        first, _ = model(x)
        loss = ops.sum(first)
    gradients = tape.gradient(loss, model.trainable_variables)
    assert [g is None for g in gradients] == [False, False, True, True]


def test_two_open_tapes_record_the_same_call():
    layer, x = layers.Dense(3, activation="tanh"), draw(4, 2)
    layer(x)
    with podium.GradientTape() as first, podium.GradientTape() as second:
        y = layer(x)
        loss = ops.sum(y * y)
    assert_equal(
        first.gradient(loss, layer.weights),
        [np.asarray(g) for g in second.gradient(loss, layer.weights)],
    )


def test_layers_may_use_raw_jax():
    class Raw(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(shape[-1], 3), name="w")

        def call(self, x):
            h = jax.lax.dot(x, self.w.value)
            return jax.nn.relu(h) + jnp.sum(x, axis=-1, keepdims=True)

    layer, x = Raw(), draw(4, 2)

    def step():
        with podium.GradientTape() as tape:
            loss = ops.sum(layer(x) ** 2)
        return tape.gradient(loss, layer.weights)

    layer(x)
    loss = lambda p: jnp.sum((jax.nn.relu(x @ p[0]) + x.sum(-1, keepdims=True)) ** 2)
    check(step, jax.jit(jax.grad(loss))(values(layer.weights)))


def test_tensors_and_variables_read_by_closure_have_gradients():
    scale, outside = podium.Variable(2.0), podium.Variable(3.0)
    x = podium.Tensor(draw(4, 2))
    with podium.GradientTape() as tape:
        factor = scale * 5
        y = layers.Lambda(lambda t: t * factor * outside)(x)
        loss = ops.sum(y)
    total = float(np.asarray(x).sum())
    np.testing.assert_allclose(
        [float(g) for g in tape.gradient(loss, [scale, outside])],
        [total * 15, total * 10],
        rtol=1e-5,
    )


def test_losses_of_layers_are_recorded():
    class Penalised(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(2,), initializer="ones", regularizer="l2")

        def call(self, x):
            self.add_loss(ops.sum(self.w * self.w))
            return x * self.w

    class Outer(podium.Model):
        def __init__(self):
            super().__init__()
            self.inner = Penalised(activity_regularizer="l1")

        def call(self, x):
            return self.inner(x)

    for make in (Outer, lambda: podium.Sequential([Penalised(activity_regularizer="l1")])):
        model, x = make(), np.ones((4, 2), "float32")
        model(x)

        def step():
            with podium.GradientTape() as tape:
                model(x)
                loss = sum(model.losses)
            return tape.gradient(loss, model.trainable_variables)

        # add_loss: 2w, activity: sum|x w| / batch * 0.01 -> 0.01, regularizer: 0.01 w^2 -> 0.02 w
        check(step, [jnp.full(2, 2.0 + 0.01 + 0.02)])
        assert len(model.losses) == 3


def test_closures_inside_nested_calls_have_gradients():
    """A Tensor of the outer tape, read inside a layer that is called under a tape inside another
    layer.
    """
    w, x = podium.Variable(2.0), podium.Tensor([3.0])

    class Outer(layers.Layer):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def call(self, t):
            with podium.GradientTape() as tape:
                tape.watch(t)
                y = layers.Lambda(lambda v: v * v * self.factor())(t)
            return tape.gradient(y, t)

    def step():
        with podium.GradientTape() as tape:
            factor = w * 5
            out = Outer(lambda: factor)(x)  # d(v^2 f)/dv = 2 v f
        return [tape.gradient(out, w)]

    check(step, [jnp.float32(2 * 3.0 * 5)])


def test_second_derivatives_of_mixed_precision_layers_keep_their_dtypes():
    layer = layers.Dense(3, activation="tanh", dtype="mixed_bfloat16")
    x = podium.Tensor(draw(4, 2))
    layer(x)
    with podium.GradientTape() as outer:
        with podium.GradientTape() as inner:
            inner.watch(x)
            y = layer(x)
        slope = inner.gradient(y, x)
        loss = ops.sum(slope * slope)
    gradient = outer.gradient(loss, layer.kernel)
    assert y.dtype == "bfloat16" and slope.dtype == np.float32 and gradient.dtype == np.float32
    with podium.GradientTape() as tape:  # the same, recorded operation by operation
        tape.watch(x)
        y = ops.tanh(ops.matmul(ops.cast(x, "bfloat16"), ops.cast(layer.kernel, "bfloat16")))
    assert tape.gradient(y, layer.kernel).dtype == np.float32
