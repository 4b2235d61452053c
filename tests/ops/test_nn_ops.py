"""Behaviour of the operations of neural networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import ops

IMAGE = np.arange(2 * 5 * 5 * 3, dtype="float32").reshape(2, 5, 5, 3)
KERNEL = np.ones((3, 3, 3, 4), "float32")


def test_convolution_is_equal_in_both_data_formats():
    last = ops.conv(IMAGE, KERNEL, strides=2, padding="same").numpy()
    first = ops.conv(
        IMAGE.transpose(0, 3, 1, 2), KERNEL, strides=2, padding="same", data_format="channels_first"
    ).numpy()
    np.testing.assert_allclose(last, first.transpose(0, 2, 3, 1), rtol=1e-6)


def test_gradient_of_convolution_equals_that_of_lax():
    kernel = podium.Variable(np.random.default_rng(0).normal(size=KERNEL.shape).astype("float32"))
    with podium.GradientTape() as tape:
        loss = ops.sum(ops.conv(IMAGE, kernel, padding="same") ** 2)

    def plain(kernel):
        out = jax.lax.conv_general_dilated(
            IMAGE, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return jnp.sum(out**2)

    np.testing.assert_allclose(
        tape.gradient(loss, kernel).numpy(), jax.grad(plain)(kernel.numpy()), rtol=1e-4
    )


def test_strides_default_to_the_pool_size():
    assert ops.max_pool(IMAGE, 2).shape == (2, 2, 2, 3)
    assert ops.average_pool(IMAGE, (2, 1)).shape == (2, 2, 5, 3)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: ops.conv(x, KERNEL, padding="same"),
        lambda x: ops.conv_transpose(x, np.ones((3, 3, 4, 3), "float32")),
        lambda x: ops.max_pool(x, 2),
        lambda x: ops.adaptive_max_pool(x, 2),
        lambda x: ops.batch_normalization(x, np.ones(3), np.ones(3), axis=-1),
        lambda x: ops.image.resize(x, (8, 8)),
        lambda x: ops.image.extract_patches(x, 2),
        lambda x: ops.space_to_depth(x[:, :4, :4], 2),
    ],
)
def test_unknown_batch_size_is_kept(build):
    assert build(podium.KerasTensor((None, 5, 5, 3))).shape[0] is None


def test_batch_statistics_do_not_overflow_in_half_precision():
    x = np.full((4096,), 100.0, "float16")
    assert float(ops.mean(x)) == 100.0
    mean, variance = ops.moments(x, axes=0)
    assert (float(mean), float(variance)) == (100.0, 0.0)


def test_attention_with_a_soft_cap_equals_attention_for_a_high_cap():
    q = np.random.default_rng(0).normal(size=(1, 3, 2, 4)).astype("float32")
    capped = ops.dot_product_attention(q, q, q, is_causal=True, attn_logits_soft_cap=1e6)
    np.testing.assert_allclose(
        capped.numpy(), ops.dot_product_attention(q, q, q, is_causal=True).numpy(), atol=1e-5
    )


def test_crossentropy_from_logits_equals_that_of_probabilities():
    logits = np.array([[2.0, -1.0, 0.5]], "float32")
    direct = ops.sparse_categorical_crossentropy([0], logits, from_logits=True).numpy()
    np.testing.assert_allclose(
        ops.sparse_categorical_crossentropy([0], ops.softmax(logits)).numpy(), direct, rtol=1e-5
    )


def test_sparsemax_returns_probabilities_with_exact_zeros():
    x = np.random.default_rng(0).normal(size=(5, 6)).astype("float32")
    result = ops.sparsemax(x, axis=0).numpy()
    np.testing.assert_allclose(result.sum(axis=0), 1.0, rtol=1e-5)
    assert (result == 0.0).any() and (result >= 0.0).all()


def test_ctc_loss_has_gradients():
    logits = podium.Variable(np.zeros((1, 4, 3), "float32"))
    with podium.GradientTape() as tape:
        loss = ops.sum(ops.ctc_loss([[1, 2]], logits, [2], [4]))
    gradient = tape.gradient(loss, logits).numpy()
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(
        gradient.sum(axis=-1), 0.0, atol=1e-5
    )  # a softmax's gradient sums to zero


def test_softmax_over_one_class_warns():
    with pytest.warns(UserWarning, match="ops.sigmoid"):
        ops.softmax(np.ones((2, 1)))


def test_jvp_differentiates_a_convolution():
    _, tangent = ops.jvp(lambda k: ops.conv(IMAGE, k), (ops.array(KERNEL),), (ops.array(KERNEL),))
    np.testing.assert_allclose(tangent.numpy(), ops.conv(IMAGE, KERNEL).numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ops.conv(IMAGE, np.ones((3, 3, 2, 4), "float32")),
            r"ops.conv\(inputs=float32\[2,5,5,3\].*3 channels.*takes 2",
        ),
        (lambda: ops.conv(IMAGE, np.ones((3, 3, 4), "float32")), "needs 4 axes"),
        (lambda: ops.conv(IMAGE, KERNEL, padding="sane"), "Did you mean 'same'"),
        (
            lambda: ops.conv(IMAGE, KERNEL, strides=(1, 1, 1)),
            "`strides` must be an int of at least 1, or a tuple of 2",
        ),
        (
            lambda: ops.conv(IMAGE, KERNEL, data_format="channels_lats"),
            "Did you mean 'channels_last'",
        ),
        (lambda: ops.conv(IMAGE[:, :2], KERNEL), "ops.conv"),
        (lambda: ops.conv_transpose(IMAGE, KERNEL), "takes 4"),
        (
            lambda: ops.depthwise_conv(IMAGE, np.ones((2, 2, 4, 1), "float32")),
            "filters 4 channels and inputs have 3",
        ),
        (lambda: ops.max_pool(IMAGE, 6), "does not fit"),
        (
            lambda: ops.categorical_crossentropy(np.ones((2, 3)), np.ones((2, 4))),
            "sparse_categorical_crossentropy",
        ),
        (lambda: ops.binary_crossentropy(np.ones(2), np.ones((2, 1))), "expand_dims"),
        (
            lambda: ops.sparse_categorical_crossentropy(np.ones((2, 3)), np.ones((2, 3))),
            "ops.categorical_crossentropy",
        ),
        (lambda: ops.one_hot([1], 2, sparse=True), "sparse"),
        (lambda: ops.multi_hot([1]), "num_classes"),
        (lambda: ops.dot_product_attention(*[np.ones((2, 3, 4))] * 3), "4D"),
        (
            lambda: ops.ctc_decode(np.ones((1, 2, 3)), [2], strategy="gready"),
            "Did you mean 'greedy'",
        ),
        (lambda: ops.normalize([1.0], order=0), "at least 1"),
        (lambda: ops.depth_to_space(np.ones((1, 2, 2, 3)), 2), "multiple of 4"),
    ],
)
def test_errors_state_the_argument_and_the_expected_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
