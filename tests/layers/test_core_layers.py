"""Activation layers, EinsumDense, Lambda, Masking, Rescaling, Identity, Wrapper. Numbers:
`tests/oracle`.
"""

import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers, ops

CASES = [
    ("Activation", {"activation": "tanh"}, (2, 3)),
    ("ReLU", {"max_value": 1.0, "negative_slope": 0.1}, (2, 3)),
    ("LeakyReLU", {}, (2, 3)),
    ("ELU", {"alpha": 0.5}, (2, 3)),
    ("PReLU", {"shared_axes": [1]}, (2, 3, 4)),
    ("Softmax", {"axis": [1, 2]}, (2, 3, 4)),
    ("Identity", {}, (2, 3)),
    ("ActivityRegularization", {"l1": 0.1}, (2, 3)),
    ("Masking", {}, (2, 3, 4)),
    ("Rescaling", {"scale": [1.0, 2.0, 3.0], "offset": 1.0}, (2, 3)),
    (
        "EinsumDense",
        {"equation": "abc,cd->abd", "output_shape": [None, 5], "bias_axes": "d"},
        (2, 3, 4),
    ),
    (
        "EinsumDense",
        {"equation": "...x,xy->...y", "output_shape": 5, "activation": "relu"},
        (2, 3, 2, 4),
    ),
    (
        "EinsumDense",
        {"equation": "ab...,bc->ac...", "output_shape": 5, "bias_axes": "c"},
        (2, 3, 4),
    ),
]


@pytest.mark.parametrize("name, config, shape", CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config, shape):
    check_contract(name, config, shape)


def test_leaky_relu_takes_either_name_of_its_slope():
    x = np.array([-2.0, 1.0], "float32")
    assert (
        layers.LeakyReLU(alpha=0.5)(x).numpy().tolist()
        == layers.LeakyReLU(0.5)(x).numpy().tolist()
        == [-1, 1]
    )
    assert layers.LeakyReLU(alpha=0.5).get_config()["negative_slope"] == 0.5


def test_softmax_is_zero_where_masked():
    x = np.zeros((1, 2, 4), "float32")
    mask = np.array([[[True, True, False, False], [False] * 4]])
    assert layers.Softmax()(x, mask=mask).numpy().tolist() == [[[0.5, 0.5, 0, 0], [0, 0, 0, 0]]]


def test_masking_sets_mask_and_zeros():
    x = np.array([[[1.0, 0.0], [5.0, 5.0], [0.0, 2.0]]], "float32")
    y = layers.Masking(5.0)(x)
    assert y._keras_mask.numpy().tolist() == [[True, False, True]]
    assert y.numpy()[0, 1].tolist() == [0, 0]
    assert layers.Activation("relu")(y)._keras_mask.numpy().tolist() == [[True, False, True]]


def test_identity_keeps_integers_and_rescaling_converts_them_to_floats():
    ids = np.array([[1, 2]])
    assert layers.Identity()(ids).dtype == "int32" and layers.Rescaling(0.5)(
        ids
    ).numpy().tolist() == [[0.5, 1.0]]
    assert layers.Identity()(podium.Input((2,), dtype="int32")).dtype == "int32"


@podium.saving.register_keras_serializable("core_layer_tests")
def add_some(x, amount=1.0):
    return x + amount


def test_lambda_calls_a_function_with_arguments():
    layer = layers.Lambda(add_some, arguments={"amount": 3.0})
    assert layer(np.zeros((1, 1), "float32")).numpy().tolist() == [[3.0]]
    again = layers.Lambda.from_config(layer.get_config())
    assert again.function is add_some and again.arguments == {"amount": 3.0}


def test_lambda_passes_training_and_may_use_raw_jax():
    import jax

    layer = layers.Lambda(lambda x, training: jax.lax.exp(x) if training else x)
    x = np.zeros((1, 1), "float32")
    assert layer(x, training=True).numpy().tolist() == [[1.0]] and layer(x).numpy().tolist() == [
        [0.0]
    ]
    assert layers.Lambda(lambda x: ops.argmax(x, axis=-1))(podium.Input((3,))).dtype == "int32"
    assert layers.Lambda(lambda x: x, output_shape=(7,)).compute_output_shape((None, 3)) == (
        None,
        7,
    )


def test_lambda_function_cannot_be_recreated_from_a_config():
    config = layers.Lambda(lambda x: x).get_config()
    with pytest.raises(ValueError, match="wraps a `lambda`; a config stores only the name"):
        layers.Lambda.from_config(config)


def test_wrapper_builds_and_tracks_the_wrapped_layer():
    class Twice(layers.Wrapper):
        def call(self, inputs):
            return self.layer(inputs) * 2

    layer = Twice(layers.Dense(2))
    assert layer(np.ones((1, 3), "float32")).shape == (1, 2) and len(layer.weights) == 2
    again = Twice.from_config(layer.get_config())
    assert again.layer.units == 2


def test_einsum_dense_scales_by_the_right_axes():
    podium.utils.set_random_seed(1)
    layer = layers.EinsumDense("abc,cde->abde", (None, 20, 30), bias_axes="e")
    layer(np.ones((1, 2, 50), "float32"))
    limit = np.sqrt(6 / (50 + 600))
    assert layer.kernel.shape == (50, 20, 30) and layer.bias.shape == (30,)
    assert limit * 0.9 < np.abs(layer.kernel.numpy()).max() <= limit


def test_activity_regularization_adds_a_loss():
    layer = layers.ActivityRegularization(l1=2.0)
    layer(np.full((4, 3), -1.0, "float32"))
    assert [float(loss) for loss in layer.losses] == [6.0]


def test_wrong_arguments_raise():
    for make, message in [
        (
            lambda: layers.ReLU(negative_slope=-1),
            "ReLU was given negative_slope=-1; a number of at least 0",
        ),
        (lambda: layers.ReLU(max_value=-1), "max_value=-1"),
        (lambda: layers.LeakyReLU(None), "negative_slope=None"),
        (lambda: layers.PReLU(shared_axes=[0]), "shared_axes=.0.; ints of at least 1"),
        (lambda: layers.Activation("rellu"), "Did you mean 'relu'"),
        (lambda: layers.EinsumDense("ab,bc", 3), "equation='ab,bc'; one of the forms"),
        (lambda: layers.EinsumDense("ab,bc->ad", 3), "'d' has no size"),
        (
            lambda: layers.EinsumDense("ab,bc->ac", 3, bias_axes="b"),
            "bias_axes='b'.*whose output has the letters 'ac'",
        ),
        (lambda: layers.Wrapper("dense"), "Wrapper was given layer='dense'; a layer was expected"),
        (
            lambda: layers.EinsumDense("ab,bc->ac", 3)(np.ones((2, 3, 4), "float32")),
            "inputs of shape .2, 3, 4., with 3 dim",
        ),
        (
            lambda: layers.EinsumDense("abc,bd->adc", (3, 5))(np.ones((2, 3, 4), "float32")),
            "letter 'c' has size 4",
        ),
        (
            lambda: layers.Softmax()(np.ones((2, 3), "float32"), mask=np.ones((2, 2), bool)),
            "mask of shape .2, 2.",
        ),
        (
            lambda: layers.PReLU(shared_axes=[3])(np.ones((2, 3), "float32")),
            "shares axes .3., and its input has shape .2, 3.",
        ),
        (lambda: layers.PReLU()(podium.Input((None,))), "unknown .None."),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match="Lambda was given function=3"):
        layers.Lambda(3)
    with pytest.raises(TypeError, match="ReLU does not know the argument 'max_valve'"):
        layers.ReLU(max_valve=1)
