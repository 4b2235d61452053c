"""`keras.backend` where it depends on the learning phase, on symbolic values or on prints."""

import numpy as np
import pytest
from jax.experimental import sparse

import podium
from podium.compat import keras

K = keras.backend


class PhaseLayer(podium.layers.Layer):
    """Returns the learning phase of its call."""

    def call(self, x):
        return x * 0 + K.in_train_phase(1.0, 0.0) + 10 * K.learning_phase()


def test_learning_phase_is_that_of_the_running_layer():
    layer, x = PhaseLayer(), np.zeros((1,), "float32")
    results = [float(layer(x, training=training)[0]) for training in (True, False, None)]
    with K.learning_phase_scope(1):
        results.append(float(layer(x)[0]))
        results.append(float(layer(x, training=False)[0]))
    assert results == [11, 0, 0, 11, 0]


def test_set_learning_phase_reaches_layers_until_the_session_is_cleared():
    layer, x = podium.layers.Dropout(0.999, seed=1), np.ones((1, 50), "float32")
    K.set_learning_phase(1)
    try:
        dropped = float(K.sum(K.abs(layer(x) - x)))
    finally:
        K.clear_session()
    assert dropped > 10 and K.learning_phase() == 0
    assert float(K.sum(K.abs(layer(x) - x))) == 0
    with pytest.raises(ValueError, match=r"learning phase 2 was given; 0 or 1 was expected"):
        K.set_learning_phase(2)


def test_functions_work_on_symbolic_values():
    x = podium.Input((4, 3))
    outputs = {
        "rnn": K.rnn(lambda x, s: (x + s[0], [x + s[0]]), x, [K.sum(x, axis=1) * 0])[1],
        "switch": K.switch(K.greater(x, 0), x, lambda: K.zeros_like(x)),
        "local": K.local_conv1d(x, np.ones((3, 6, 2), "float32"), (2,), (1,)),
        "dot": K.batch_dot(x, x, axes=(2, 2)),
        "volumes": K.resize_volumes(x[:, :, :, None, None], 1, 2, 1, "channels_last"),
    }
    model = podium.Model(x, outputs)
    values = model(np.arange(24, dtype="float32").reshape(2, 4, 3) - 5)
    assert {name: tuple(value.shape) for name, value in values.items()} == {
        "rnn": (2, 4, 3),
        "switch": (2, 4, 3),
        "local": (2, 3, 2),
        "dot": (2, 4, 4),
        "volumes": (2, 4, 6, 1, 1),
    }
    np.testing.assert_allclose(values["rnn"][0, :, 0], [-5, -7, -6, -2])


def test_rnn_of_a_layer_trains():
    class Loop(podium.layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1], shape[-1]), initializer="ones")

        def call(self, x):
            return K.rnn(self.step, x, [K.zeros_like(x[:, 0])])[0]

        def step(self, x, states):
            return K.tanh(K.dot(x, self.kernel) + states[0]), [x]

    model = podium.Sequential([Loop()])
    model.compile("sgd", "mse")
    x = np.random.default_rng(0).normal(size=(8, 3, 2)).astype("float32")
    losses = model.fit(x, np.zeros((8, 2), "float32"), epochs=3, verbose=0).history["loss"]
    assert losses[0] > losses[1] > losses[2]


def test_print_tensor_prints_in_compiled_functions(capfd):
    @podium.core.function
    def run(x):
        return K.print_tensor(x * 2, message="twice:") + 1

    assert run(np.array([1.0, 2.0], "float32")).numpy().tolist() == [3.0, 5.0]
    assert "twice: [2. 4.]" in capfd.readouterr().out
    K.print_tensor(np.arange(20), "short:", summarize=2)
    K.print_tensor(np.arange(9), "all:", summarize=-1)
    assert capfd.readouterr().out == "short: [ 0  1 ... 18 19]\nall: [0 1 2 3 4 5 6 7 8]\n"


def test_sparse_arrays():
    matrix = sparse.BCOO.fromdense(np.eye(2, dtype="float32"))
    assert K.is_sparse(matrix) and not K.is_sparse(np.eye(2))
    np.testing.assert_array_equal(K.to_dense(matrix), np.eye(2))
    with pytest.raises(ValueError, match=r"one length per row was expected"):
        K.ctc_label_dense_to_sparse([[1, 2]], [1, 2])


def test_random_values():
    sample = K.eval(K.random_bernoulli((2000,), p=0.3, seed=1))
    assert set(sample) == {0.0, 1.0} and abs(sample.mean() - 0.3) < 0.05
    assert abs(float(K.mean(K.random_normal_variable((2000,), 3.0, 0.5, seed=2))) - 3) < 0.1
    uniform = K.eval(K.random_uniform_variable((100,), 2.0, 3.0, seed=3))
    assert uniform.min() >= 2 and uniform.max() <= 3
    with pytest.warns(UserWarning, match=r"random_binomial is deprecated"):
        K.random_binomial((2,), p=0.5)
    with pytest.warns(UserWarning, match=r"disable_tf_random_generator has no effect"):
        K.experimental.disable_tf_random_generator()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: K.gradients(1.0, []), RuntimeError, r"with tf\.GradientTape\(\) as tape"),
        (lambda: K.function([], [], updates=[1]), ValueError, r"need a graph of TensorFlow 1"),
        (lambda: K.manual_variable_initialization(True), ValueError, r"needs a session"),
        (lambda: K.placeholder(), ValueError, r"neither `shape` nor `ndim`"),
        (lambda: K.eval(podium.Input((2,))), TypeError, r"has no numbers"),
        (lambda: K.softmax([1.0, 2.0]), ValueError, r"at least two dimensions"),
        (lambda: K.bias_add(np.ones((2, 3, 4)), np.ones((2, 3, 4))), ValueError, r"with 1 or 2"),
        (lambda: K.batch_dot(np.ones((2, 3)), np.ones((3, 3))), ValueError, r"same size"),
        (lambda: K.batch_dot(np.ones((2, 3)), np.ones((2, 4))), ValueError, r"differ"),
        (lambda: K.batch_dot(np.ones((2, 3)), np.ones((2, 3)), 0), ValueError, r"is the batch"),
        (lambda: K.batch_dot(np.ones(2), np.ones(2)), ValueError, r"at least two dimensions"),
        (lambda: K.repeat(np.ones(2), 2), ValueError, r"a matrix was expected"),
        (lambda: K.tile(np.ones((2, 2)), 2), ValueError, r"one number per dimension"),
        (lambda: K.temporal_padding(np.ones((2, 2))), ValueError, r"3 dimensions was expected"),
        (lambda: K.pool2d(np.ones((1, 2, 2, 1)), (2,)), ValueError, r"two numbers for each"),
        (lambda: K.switch(np.ones((2, 2)), [1.0], [2.0]), ValueError, r"may not have more"),
        (
            lambda: K.resize_images(np.ones((1, 2, 2, 1)), 2, 2, "channels_last", "gaussian"),
            ValueError,
            r"interpolation='gaussian'",
        ),
        (
            lambda: K.conv2d_transpose(np.ones((1, 2, 2, 1)), np.ones((3, 3, 1, 1)), (1, 9, 4, 1)),
            ValueError,
            r"has not the shape",
        ),
        (
            lambda: K.rnn(lambda x, s: (x, []), np.ones((1, 2, 3)), [], mask=np.ones((1, 2))),
            ValueError,
            r"Pass at least one state",
        ),
        (
            lambda: K.rnn(lambda x, s: (x, []), np.ones((1, 2, 3)), [], input_length=1),
            ValueError,
            r"sequences of 2 steps",
        ),
    ],
)
def test_wrong_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        call()
