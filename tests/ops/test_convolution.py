"""Our convolutions equal plain `lax`: values, gradients, gradients of gradients; in every
transformation.
"""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from podium.ops.nn._convolution import convolve, convolve_transpose, lax_convolutions


def draw(*shape, seed=0, dtype=None):
    values = np.random.default_rng(seed).standard_normal(shape)
    return jnp.asarray(values.astype(dtype or jax.dtypes.canonicalize_dtype(float)))


def reference(x, kernel, *, strides, padding, dilation, groups=1):
    """Straight from `lax`, sharing no code with Podium."""
    space = "DHW"[-len(strides) :]
    return lax.conv_general_dilated(
        x,
        kernel,
        strides,
        padding.upper() if isinstance(padding, str) else padding,
        rhs_dilation=dilation,
        dimension_numbers=(f"N{space}C", f"{space}IO", f"N{space}C"),
        feature_group_count=groups,
    )


def assert_close(actual, expected, tolerance):
    for a, b in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        a, b = np.asarray(a), np.asarray(b)
        scale = max(1.0, np.abs(b).max(initial=0))
        np.testing.assert_allclose(a / scale, b / scale, rtol=0, atol=tolerance)


def derivatives(f):
    """The value, both gradients, and the gradients of a function of those gradients."""

    def first(x, kernel):
        value, pullback = jax.vjp(f, x, kernel)
        dx, dkernel = pullback(value * np.cos(np.arange(value.size)).reshape(value.shape))
        return jnp.sum(jnp.sin(dx)) + jnp.sum(jnp.cos(dkernel)), (value, dx, dkernel)

    return jax.grad(first, argnums=(0, 1), has_aux=True)


def assert_same_derivatives(actual, expected, x_shape, kernel_shape):
    # In double precision: a sine of a large gradient has few digits left in single.
    with jax.enable_x64(True):
        both = jax.jit(
            lambda x, kernel: (derivatives(actual)(x, kernel), derivatives(expected)(x, kernel))
        )
        assert_close(*both(draw(*x_shape), draw(*kernel_shape, seed=1)), 1e-10)


# size, window, channels, features, strides, padding, dilation, groups
CASES = {
    "dense": ((6, 7), (3, 3), 4, 8, (1, 1), "same", (1, 1), 1),
    "valid": ((6, 7), (3, 2), 4, 8, (1, 1), "valid", (1, 1), 1),
    "valid, many channels": ((5, 5), (3, 3), 32, 8, (1, 1), "valid", (1, 1), 1),
    "strided": ((7, 8), (3, 3), 4, 6, (2, 2), "same", (1, 1), 1),
    "few features": ((6, 6), (5, 5), 8, 1, (1, 1), "same", (1, 1), 1),
    "few features, strided": ((6, 6), (5, 5), 8, 1, (2, 3), "same", (1, 1), 1),
    "window over input": ((2, 3), (5, 4), 3, 5, (1, 2), "same", (1, 1), 1),
    "stride over window": ((9, 8), (2, 1), 3, 5, (4, 3), "valid", (1, 1), 1),
    "pointwise": ((4, 5), (1, 1), 3, 5, (1, 1), "valid", (1, 1), 1),
    "dilated and strided": ((9, 11), (3, 2), 3, 5, (2, 3), "same", (3, 2), 1),
    "explicit": ((5, 6), (3, 3), 3, 5, (2, 1), ((2, 0), (0, 3)), (1, 1), 1),
    "negative": ((7, 8), (3, 3), 3, 5, (1, 2), ((-1, 0), (2, -2)), (1, 1), 1),
    "grouped": ((6, 5), (3, 3), 6, 9, (2, 1), "same", (1, 1), 3),
    "depthwise": ((6, 5), (3, 3), 4, 4, (1, 2), "same", (1, 1), 4),
    "depthwise, multiplied": ((6, 5), (2, 3), 3, 6, (2, 1), "valid", (1, 1), 3),
    "one feature a group": ((5, 5), (3, 3), 6, 3, (1, 1), "same", (1, 1), 3),
    "line": ((11,), (4,), 3, 5, (2,), "same", (2,), 1),
    "volume": ((4, 5, 3), (2, 3, 2), 3, 5, (1, 2, 1), "same", (1, 1, 1), 1),
}


def assert_convolve_equals_lax(case):
    size, window, channels, features, strides, padding, dilation, groups = case
    options = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    assert_same_derivatives(
        lambda x, kernel: convolve(x, kernel, **options),
        lambda x, kernel: reference(x, kernel, **options),
        (3, *size, channels),
        (*window, channels // groups, features),
    )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_convolve_and_its_derivatives_equal_lax(case):
    assert_convolve_equals_lax(case)


@st.composite
def cases(draw):
    rank = draw(st.integers(1, 3))
    each = lambda low, high: draw(st.tuples(*[st.integers(low, high)] * rank))
    window, strides, dilation = each(1, 4), each(1, 3), each(1, 2)
    padding = draw(st.sampled_from(["same", "valid", "explicit"]))
    fit = 1 if padding == "same" else 7  # the largest window, dilated, has an extent of 7
    if padding == "explicit":
        padding = draw(st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * rank))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, features = (groups * draw(st.integers(1, 5)) for _ in range(2))
    return each(fit, 8), window, channels, features, strides, padding, dilation, groups


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(cases())
def test_convolve_and_its_derivatives_equal_lax_for_any_shape(case):
    assert_convolve_equals_lax(case)


def transposed_reference(x, kernel, *, strides, padding, output_padding, dilation):
    """`lax.conv_transpose` with the number of zeros around x that Keras 3 gives it."""
    pads = []
    extras = output_padding or (None,) * len(strides)
    for window, stride, gap, extra in zip(kernel.shape, strides, dilation, extras, strict=False):
        extent = (window - 1) * gap + 1
        if padding == "valid":
            extra = max(extent, stride) - extent if extra is None else extra
            pads.append((extent - 1, extent - 1 + extra))
        else:
            total = stride + extent - 2 if extra is None else extent + extent % 2 - 2 + extra
            low = min(total // 2 + total % 2, extent - 1)
            pads.append((low, total - low))
    space = "DHW"[-len(strides) :]
    return lax.conv_transpose(
        x,
        kernel,
        strides,
        pads,
        rhs_dilation=dilation,
        dimension_numbers=(f"N{space}C", f"{space}IO", f"N{space}C"),
        transpose_kernel=True,
    )


# size, window, channels, features, strides, padding, output_padding, dilation
TRANSPOSED_CASES = {
    "generator": ((3, 4), (4, 4), 4, 5, (2, 2), "same", None, (1, 1)),
    "odd window": ((3, 4), (3, 5), 4, 5, (2, 3), "same", None, (1, 1)),
    "valid": ((3, 4), (3, 4), 4, 5, (2, 1), "valid", None, (1, 1)),
    "stride over window": ((3, 2), (2, 1), 4, 5, (3, 4), "valid", None, (1, 1)),
    "same, stride over window": ((3, 2), (2, 1), 4, 5, (3, 4), "same", None, (1, 1)),
    "output padding": ((3, 4), (3, 3), 4, 5, (2, 3), "same", (1, 0), (1, 1)),
    "valid, output padding": ((3, 4), (3, 2), 4, 5, (2, 3), "valid", (1, 2), (1, 1)),
    "dilated": ((4, 5), (3, 2), 4, 5, (1, 1), "same", None, (2, 3)),
    "few features": ((4, 4), (5, 5), 8, 1, (1, 1), "same", None, (1, 1)),
    "few features, strided": ((4, 4), (5, 5), 8, 1, (2, 2), "same", None, (1, 1)),
    "one position": ((1,), (5,), 3, 4, (2,), "same", None, (1,)),
    "volume": ((2, 3, 2), (2, 3, 3), 3, 4, (2, 1, 2), "same", None, (1, 1, 1)),
}


@pytest.mark.parametrize("case", TRANSPOSED_CASES.values(), ids=TRANSPOSED_CASES.keys())
def test_convolve_transpose_and_its_derivatives_equal_lax(case):
    size, window, channels, features, strides, padding, output_padding, dilation = case
    options = {
        "strides": strides,
        "padding": padding,
        "output_padding": output_padding,
        "dilation": dilation,
    }
    assert_same_derivatives(
        lambda x, kernel: convolve_transpose(x, kernel, **options),
        lambda x, kernel: transposed_reference(x, kernel, **options),
        (3, *size, channels),
        (*window, features, channels),
    )


def test_convolve_transpose_equals_keras():
    # keras.ops.conv_transpose 3.15.1 of x = [1, 2, 3] and kernel = [1, 10, 100].
    def transpose(**options):
        options = {"strides": (2,), "dilation": (1,)} | options
        x, kernel = np.array([1, 2, 3], "float32"), np.array([1, 10, 100], "float32")
        f = jax.jit(lambda x, kernel: convolve_transpose(x, kernel, **options))
        return np.ravel(f(x.reshape(1, 3, 1), kernel.reshape(3, 1, 1))).tolist()

    assert transpose(padding="valid") == [1, 10, 102, 20, 203, 30, 300]
    assert transpose(padding="same") == [1, 10, 102, 20, 203, 30]
    assert transpose(padding="same", output_padding=(0,)) == [10, 102, 20, 203, 30]
    assert transpose(padding="valid", output_padding=(1,)) == [1, 10, 102, 20, 203, 30, 300, 0]
    assert transpose(padding="valid", strides=(4,)) == [1, 10, 100, 0, 2, 20, 200, 0, 3, 30, 300, 0]
    assert transpose(padding="same", strides=(1,), dilation=(2,)) == [13, 20, 130]


def test_third_derivatives_equal_lax():
    options = {"strides": (2, 2), "padding": "same", "dilation": (1, 1)}

    def third(f):
        with jax.enable_x64(True):
            x, kernel = draw(2, 4, 4, 2), draw(3, 3, 2, 3, seed=1)
            g = lambda t: jnp.sum(jnp.sin(f(t * x, t * kernel, **options)))
            return jax.jit(jax.grad(jax.grad(jax.grad(g))))(1.0)

    assert third(convolve) == pytest.approx(float(third(reference)), rel=1e-9)


def loss(convolution, x, kernel, **options):
    return jnp.sum(jnp.square(convolution(x, kernel, **options)))


SAME = {"strides": (1, 1), "padding": "same", "dilation": (1, 1)}
BOTH = pytest.mark.parametrize("convolution", [convolve, convolve_transpose])


def test_kernel_gradient_of_a_batch_in_blocks_equals_lax():
    # 64 channels at 12x12 take 83,000 elements of patches a sample: 15 samples fill a block,
    # so 24 samples are two blocks of 12, and 17 (a prime) are blocks of one.
    for batch in (24, 17):
        x, kernel = draw(batch, 12, 12, 64), draw(3, 3, 64, 32, seed=1)
        actual, expected = (
            jax.jit(jax.grad(lambda kernel, f=f: loss(f, x, kernel, **SAME)))(kernel)
            for f in (convolve, reference)
        )
        assert_close(actual, expected, 1e-5)


@BOTH
def test_gradient_inside_scan_equals_gradient_outside(convolution):
    batches, kernel = draw(3, 2, 6, 6, 4), draw(3, 3, 4, 4, seed=1)

    def step(kernel, x):
        return kernel - 1e-4 * jax.grad(loss, argnums=2)(convolution, x, kernel, **SAME), None

    fused, _ = jax.jit(lambda kernel: lax.scan(step, kernel, batches))(kernel)
    single = jax.jit(step)
    for x in batches:
        kernel, _ = single(kernel, x)
    assert_close(fused, kernel, 1e-6)


@BOTH
def test_vmap_and_map_equal_a_loop(convolution):
    xs, kernels = draw(3, 2, 5, 5, 4), draw(3, 3, 3, 4, 4, seed=1)
    gradients = jax.grad(lambda x, kernel: loss(convolution, x, kernel, **SAME), argnums=(0, 1))
    single = jax.jit(gradients)
    pairs = [single(x, kernel) for x, kernel in zip(xs, kernels, strict=True)]
    loop = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs)
    assert_close(jax.jit(jax.vmap(gradients))(xs, kernels), loop, 1e-5)
    mapped = jax.jit(lambda *pairs: lax.map(lambda pair: gradients(*pair), pairs))
    assert_close(mapped(xs, kernels), loop, 1e-5)


@BOTH
def test_forward_mode_works_under_lax_convolutions(convolution):
    x, kernel = draw(2, 5, 5, 3), draw(3, 3, 3, 3, seed=1)
    f = lambda x: convolution(x, kernel, **SAME)
    with lax_convolutions():
        value, tangent = jax.jvp(f, (x,), (x,))
    assert_close((value, tangent), (f(x), f(x)), 1e-5)  # linear: its own derivative
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(f, (x,), (x,))


def test_lax_convolutions_ends_with_its_block_and_stays_in_its_thread():
    x, kernel = draw(1, 4, 4, 1), draw(3, 3, 1, 1)
    trace = lambda: str(jax.make_jaxpr(lambda x: convolve(x, kernel, **SAME))(x))
    seen = []
    with lax_convolutions():
        with lax_convolutions():
            pass
        assert "custom_vjp" not in trace()
        thread = threading.Thread(target=lambda: seen.append(trace()))
        thread.start()
        thread.join()
    assert "custom_vjp" in seen[0]
    assert "custom_vjp" in trace()


@BOTH
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_low_precision_accumulates_in_float32(convolution, dtype):
    # 3x3x64 ones: a sum of 576 in steps of one stalls at 256 in bfloat16.
    x, kernel = jnp.ones((2, 6, 6, 64), dtype), jnp.ones((3, 3, 64, 64), dtype)

    def value_and_gradients(x, kernel):
        value, pullback = jax.vjp(lambda x, k: convolution(x, k, **SAME), x, kernel)
        return value, *pullback(jnp.ones_like(value))

    value, dx, dkernel = jax.jit(value_and_gradients)(x, kernel)
    assert value.dtype == dx.dtype == dkernel.dtype == dtype
    assert value[0, 2, 2, 0] == dx[0, 2, 2, 0] == 576
    assert dkernel[1, 1, 0, 0] == 72


@pytest.mark.parametrize("features, groups", [(1, 1), (8, 8), (4, 2)])
def test_low_precision_is_close_to_float32(features, groups, dtype="bfloat16"):
    x, kernel = draw(2, 6, 6, 8, dtype=dtype), draw(3, 3, 8 // groups, features, dtype=dtype)
    gradients = jax.jit(
        jax.grad(lambda x, k: loss(convolve, x, k, groups=groups, **SAME), argnums=(0, 1))
    )
    low, single = gradients(x, kernel), gradients(x.astype("float32"), kernel.astype("float32"))
    assert [g.dtype for g in low] == [dtype, dtype]
    assert_close(jax.tree.map(lambda g: g.astype("float32"), low), single, 2e-2)


def depthwise(x, kernel, **options):
    return convolve(x, kernel[:, :, :1], groups=4, **options)


@pytest.mark.parametrize("convolution", [convolve, convolve_transpose, depthwise])
def test_symbolic_batch_size(convolution):
    kernel = draw(3, 3, 4, 4, seed=1)
    f = jax.jit(
        jax.value_and_grad(
            lambda x, k: loss(convolution, x, k, **SAME | {"strides": (2, 2)}), (0, 1)
        )
    )
    (batch,) = jax.export.symbolic_shape("batch")
    x = jax.ShapeDtypeStruct((batch, 6, 6, 4), kernel.dtype)
    exported = jax.export.export(f)(x, kernel)
    x = draw(5, 6, 6, 4)
    assert_close(exported.call(x, kernel), f(x, kernel), 1e-5)


@pytest.mark.parametrize("convolution", [convolve, convolve_transpose, depthwise])
def test_empty_batch_has_zero_gradient(convolution):
    x, kernel = jnp.zeros((0, 6, 6, 4)), draw(3, 3, 4, 4)
    dx, dkernel = jax.jit(jax.grad(lambda x, k: loss(convolution, x, k, **SAME), argnums=(0, 1)))(
        x, kernel
    )
    assert dx.shape == x.shape
    assert not dkernel.any()


def test_invalid_arguments_raise():
    x, kernel = jnp.zeros((1, 4, 4, 3)), jnp.zeros((3, 3, 3, 5))
    with pytest.raises(ValueError, match=r'Got padding=.smae.\. Expected "valid", "same" or a'):
        convolve(x, kernel, **SAME | {"padding": "smae"})
    with pytest.raises(ValueError, match=r"Expected x to have 3 \* 2 channels"):
        convolve(x, kernel, groups=2, **SAME)
    with pytest.raises(ValueError, match=r"which leave no output: \(0, 0\)"):
        convolve(x, kernel, strides=(1, 1), padding="valid", dilation=(2, 2))
    with pytest.raises(ValueError, match="the kernel, strides and dilation to have as many"):
        convolve(x, kernel, **SAME | {"strides": (1,)})
    with pytest.raises(TypeError, match="Got x of dtype float32 and kernel of dtype bfloat16"):
        convolve(x, kernel.astype("bfloat16"), **SAME)
    with pytest.raises(ValueError, match="last dimension to equal x's 3 channels"):
        convolve_transpose(x, kernel, **SAME)
    with pytest.raises(ValueError, match=r'Expected "valid" or "same"'):
        convolve_transpose(x, jnp.zeros((3, 3, 5, 3)), **SAME | {"padding": ((1, 1), (1, 1))})
