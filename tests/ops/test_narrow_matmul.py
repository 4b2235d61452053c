"""`narrow_matmul` equals `x @ kernel`, in its value and in derivatives of every kind."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium.ops.nn import _narrow_matmul
from podium.ops.nn._narrow_matmul import _is_narrow, narrow_matmul

RNG = np.random.default_rng(0)
SHAPES = [((128, 512), (512, 10)), ((4, 32, 64), (64, 2)), ((2, 3, 64, 33), (33, 8))]


def arrays(*shapes):
    return [jnp.asarray(RNG.normal(size=shape).astype("float32")) for shape in shapes]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_value_and_gradients_equal_matmul(shapes):
    x, kernel = arrays(*shapes)
    assert _is_narrow(x, kernel)
    np.testing.assert_allclose(narrow_matmul(x, kernel), x @ kernel, rtol=1e-5, atol=1e-4)
    weights = arrays((*x.shape[:-1], kernel.shape[1]))[0]
    narrow, reference = (
        jax.grad(lambda x, k, f=f: jnp.sum(jnp.tanh(f(x, k)) * weights), (0, 1))
        for f in (narrow_matmul, jnp.matmul)
    )
    for actual, expected in zip(narrow(x, kernel), reference(x, kernel), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


def test_forward_mode_second_derivatives_and_vmap():
    x, kernel, step, directions = arrays((128, 64), (64, 4), (64, 4), (5, 64, 4))

    def of(f):
        return lambda k: jnp.mean(jnp.tanh(f(x, k)))

    for how in (
        lambda f: jax.jvp(of(f), (kernel,), (step,))[1],
        lambda f: jax.jvp(jax.grad(of(f)), (kernel,), (step,))[1],
        lambda f: jax.grad(lambda k: jnp.vdot(jax.grad(of(f))(k), step))(kernel),
        lambda f: jax.vmap(jax.grad(of(f)))(directions),
    ):
        np.testing.assert_allclose(how(narrow_matmul), how(jnp.matmul), rtol=1e-4, atol=1e-6)


def test_is_used_only_for_large_narrow_kernels_on_cpu():
    x, kernel = arrays((128, 512), (512, 10))
    assert not _is_narrow(x, jnp.ones((512, 1)))
    assert not _is_narrow(x, jnp.ones((512, 64)))
    assert not _is_narrow(x[:8], kernel)
    assert not _is_narrow(x[:, :16], kernel[:16])
    assert not _is_narrow(x.astype("bfloat16"), kernel)
    with podium.distribute.MirroredStrategy(2).scope():
        assert not _is_narrow(x, kernel)


def test_symbolic_batch_size_uses_matmul():
    model = podium.Sequential([podium.Input((512,)), podium.layers.Dense(10)])
    exported = podium.function(model).export(podium.TensorSpec(("batch", 512)))
    np.testing.assert_allclose(
        exported.call(jnp.ones((3, 512))), model(np.ones((3, 512), "float32")), rtol=1e-5
    )


def test_training_ends_with_the_same_weights(monkeypatch):
    x, y = RNG.normal(size=(512, 256)).astype("float32"), RNG.integers(0, 10, 512)
    ends = []
    for columns in (range(2, 33), range(0)):
        monkeypatch.setattr(_narrow_matmul, "_COLUMNS", columns)
        podium.utils.set_random_seed(0)
        model = podium.Sequential(
            [podium.Input((256,)), podium.layers.Dense(64, "relu"), podium.layers.Dense(10)]
        )
        model.compile("sgd", podium.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(x, y, batch_size=128, epochs=2, verbose=0)
        ends.append(model.get_weights())
    for narrow, reference in zip(*ends, strict=True):
        np.testing.assert_allclose(narrow, reference, rtol=1e-5, atol=1e-6)
