"""Pooling equals plain `lax`: values, gradients with ties, gradients of gradients, edges."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from podium.ops.nn._pooling import average_pool, max_pool

# size, window, strides, padding
CASES = [
    ((8, 6), (2, 2), (2, 2), "valid"),
    ((7, 6), (2, 2), (2, 2), "valid"),
    ((7, 6), (2, 2), (2, 2), "same"),
    ((7, 8), (3, 3), (2, 2), "same"),
    ((7, 8), (3, 2), (1, 3), "valid"),
    ((2, 9), (3, 3), (1, 2), "same"),
    ((9, 9), (5, 5), (2, 2), "valid"),
    ((11,), (3,), (2,), "same"),
    ((4, 5, 6), (2, 2, 2), (2, 2, 2), "same"),
]


def tied(*shape, dtype="float32"):
    """Random numbers with many equals among them."""
    return jnp.asarray(np.random.default_rng(0).integers(-2, 3, shape).astype(dtype))


def lax_pool(x, start, reducer, window, strides, padding):
    return lax.reduce_window(x, start, reducer, (1, *window, 1), (1, *strides, 1), padding.upper())


def lax_max(x, *how):
    return lax_pool(x, -jnp.inf, lax.max, *how)


def lax_average(x, *how):
    counts = lax_pool(jnp.ones((1, *x.shape[1:-1], 1), x.dtype), 0.0, lax.add, *how)
    return lax_pool(x, 0.0, lax.add, *how) / counts


def derivatives(pool, x):
    """The value, its gradient, and the gradient of a function of that gradient."""

    def first(x):
        value, pullback = jax.vjp(pool, x)
        (dx,) = pullback(
            jnp.sin(value) + np.cos(np.arange(value.size, dtype=x.dtype)).reshape(value.shape)
        )
        return jnp.sum(jnp.sin(dx)), (value, dx)

    second, (value, dx) = jax.jit(jax.grad(first, has_aux=True))(x)
    return value, dx, second


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("pool, reference", [(max_pool, lax_max), (average_pool, lax_average)])
def test_pooling_and_its_derivatives_equal_lax(pool, reference, case):
    size, *how = case
    equals = tied(2, *size, 3)
    distinct = equals + np.linspace(0, 0.9, equals.size, dtype="float32").reshape(equals.shape)
    # Among equals lax's own second derivative follows other elements than its first does.
    for x, orders in ((equals, 2), (distinct, 3)):
        results = [derivatives(lambda x, f=f: f(x, *how), x)[:orders] for f in (pool, reference)]
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_first_of_equal_elements_gets_the_gradient():
    x = jnp.zeros((1, 4, 1))
    gradient = jax.grad(lambda x: jnp.sum(max_pool(x, (2,), (2,), "valid")))(x)
    assert gradient.ravel().tolist() == [1, 0, 1, 0]
    gradient = jax.grad(lambda x: jnp.sum(max_pool(x, (3,), (1,), "valid")))(x)
    assert gradient.ravel().tolist() == [1, 1, 0, 0]


def test_max_pool_propagates_nan_and_infinity():
    x = jnp.array([jnp.nan, 1, 1, jnp.nan, -jnp.inf, -jnp.inf]).reshape(1, 6, 1)
    pooled = max_pool(x, (2,), (2,), "valid").ravel().tolist()
    np.testing.assert_equal(pooled, [np.nan, np.nan, -np.inf])


def test_max_pool_accepts_integers():
    x = jnp.array([-5, -3, -7], "int32").reshape(1, 3, 1)
    assert max_pool(x, (2,), (2,), "same").ravel().tolist() == [-3, -7]


def test_average_pool_excludes_padding():
    assert jnp.all(average_pool(jnp.ones((1, 5, 5, 1)), (3, 3), (2, 2), "same") == 1)


@pytest.mark.parametrize("pool", [max_pool, average_pool])
def test_low_precision_keeps_its_dtype(pool):
    x = jnp.ones((1, 32, 32, 1), "bfloat16")
    pooled = pool(x, (32, 32), (32, 32), "valid")
    assert pooled.dtype == "bfloat16"
    assert pooled.item() == 1  # 1024 ones in bfloat16 would add up to 256


@pytest.mark.parametrize("pool", [max_pool, average_pool])
def test_jax_transformations_and_symbolic_batch_size(pool):
    f = lambda x: pool(x, (2, 2), (2, 2), "same")
    x = tied(4, 5, 5, 2)
    expected = np.asarray(f(x))
    np.testing.assert_allclose(jax.vmap(f)(x[:, None])[:, 0], expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jvp(f, (x,), (x,))[1], expected, rtol=1e-6)
    (batch,) = jax.export.symbolic_shape("batch")
    exported = jax.export.export(jax.jit(f))(jax.ShapeDtypeStruct((batch, 5, 5, 2), x.dtype))
    np.testing.assert_allclose(exported.call(x), expected, rtol=1e-6)
    assert f(x[:0]).shape == (0, 3, 3, 2)


@pytest.mark.parametrize("pool", [max_pool, average_pool])
def test_invalid_arguments_raise(pool):
    with pytest.raises(ValueError, match=r'Got padding=.full.\. Expected "valid" or "same"'):
        pool(jnp.zeros((1, 4, 4, 1)), (2, 2), (2, 2), "full")
    with pytest.raises(ValueError, match="2 numbers in window and strides"):
        pool(jnp.zeros((1, 4, 4, 1)), (2,), (2,), "valid")
