"""Behaviour of the operations on images."""

import numpy as np
import pytest

import podium
from podium import ops

RNG = np.random.default_rng(0)
IMAGES = RNG.uniform(size=(2, 6, 5, 3)).astype("float32")
IDENTITY = [1.0, 0, 0, 0, 1.0, 0, 0, 0]


def test_single_image_equals_a_batch_of_one():
    np.testing.assert_allclose(
        ops.image.resize(IMAGES[0], (3, 4)).numpy(), ops.image.resize(IMAGES, (3, 4)).numpy()[0]
    )
    np.testing.assert_allclose(
        ops.image.gaussian_blur(IMAGES[0]).numpy(),
        ops.image.gaussian_blur(IMAGES).numpy()[0],
        rtol=1e-5,
    )


def test_identity_transforms_return_the_input():
    np.testing.assert_allclose(
        ops.image.affine_transform(IMAGES, IDENTITY).numpy(), IMAGES, rtol=1e-6
    )
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 5.0], [4.0, 5.0]], "float32")
    np.testing.assert_allclose(
        ops.image.perspective_transform(IMAGES[0], corners, corners).numpy(), IMAGES[0], atol=1e-4
    )
    np.testing.assert_allclose(
        ops.image.hsv_to_rgb(ops.image.rgb_to_hsv(IMAGES)).numpy(), IMAGES, atol=1e-5
    )


def test_one_transform_applies_to_all_images_of_a_batch():
    shift = [1.0, 0, 1, 0, 1.0, 0, 0, 0]
    np.testing.assert_allclose(
        ops.image.affine_transform(IMAGES, shift).numpy(),
        ops.image.affine_transform(IMAGES, [shift, shift]).numpy(),
    )


def test_integer_images_keep_their_dtype():
    byte = (IMAGES * 255).astype("uint8")
    assert ops.image.resize(byte, (3, 3)).dtype == np.uint8
    assert ops.image.rgb_to_grayscale(byte).dtype == np.uint8


def test_resize_has_gradients():
    x = podium.Variable(IMAGES)
    with podium.GradientTape() as tape:
        y = ops.sum(ops.image.resize(x, (12, 10)))
    np.testing.assert_allclose(float(ops.sum(tape.gradient(y, x))), 12 * 10 * 3 * 2, rtol=1e-4)


def test_elastic_transform_is_reproducible_and_keeps_constant_images():
    once, again = (ops.image.elastic_transform(IMAGES, seed=3).numpy() for _ in range(2))
    np.testing.assert_array_equal(once, again)
    assert not np.allclose(once, IMAGES)
    flat = np.full((8, 8, 1), 0.5, "float32")
    np.testing.assert_allclose(ops.image.elastic_transform(flat, seed=1).numpy(), flat, atol=1e-5)


def test_cropping_is_the_inverse_of_padding():
    padded = ops.image.pad_images(IMAGES, 1, 2, 3, 4)
    assert padded.shape == (2, 10, 11, 3)
    np.testing.assert_array_equal(ops.image.crop_images(padded, 1, 2, 3, 4).numpy(), IMAGES)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ops.image.resize(IMAGES, (3, 4), interpolation="bilinaer"),
            ValueError,
            "Did you mean 'bilinear'.*Choices",
        ),
        (
            lambda: ops.image.resize(IMAGES, (3,)),
            ValueError,
            r"ops.image.resize\(images=float32\[2,6,5,3\].*height, width",
        ),
        (lambda: ops.image.resize(IMAGES[0, 0], (3, 4)), ValueError, r"3D.*4D.*\(5, 3\)"),
        (
            lambda: ops.image.resize(
                IMAGES, (3, 4), crop_to_aspect_ratio=True, pad_to_aspect_ratio=True
            ),
            ValueError,
            "only one",
        ),
        (lambda: ops.image.affine_transform(IMAGES, [1.0]), ValueError, "8 numbers"),
        (
            lambda: ops.image.affine_transform(IMAGES, IDENTITY, fill_mode="edge"),
            ValueError,
            "fill_mode",
        ),
        (
            lambda: ops.image.map_coordinates(np.ones((2, 2)), [[0.5]], order=1),
            ValueError,
            "coordinates",
        ),
        (lambda: ops.image.map_coordinates(np.ones(2), [[0.5]], order=3), ValueError, "order"),
        (lambda: ops.image.rgb_to_hsv(IMAGES.astype("uint8")), ValueError, "Divide by 255"),
        (lambda: ops.image.rgb_to_grayscale(IMAGES[..., :2]), ValueError, "3 channels"),
        (lambda: ops.image.pad_images(IMAGES, 1, 2), ValueError, "exactly two"),
        (lambda: ops.image.crop_images(IMAGES, 9, 2, 0, 0), ValueError, "does not fit"),
        (lambda: ops.image.extract_patches(IMAGES, "2"), TypeError, "int or a tuple"),
        (lambda: ops.image.ssim(IMAGES, IMAGES[0]), ValueError, "same shape"),
    ],
)
def test_errors_state_the_argument_and_the_expected_value(call, error, message):
    with pytest.raises(error, match=message):
        call()
