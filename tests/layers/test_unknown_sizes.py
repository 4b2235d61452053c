"""Symbolic calls with unknown sizes: code of users runs as it does with data."""

import json
import zipfile

import numpy as np
import pytest

import podium
from podium import layers, ops


class FirstHundred(layers.Layer):
    def call(self, x):
        return x[:, :100] if x.shape[1] > 100 else x


class PositionTable(layers.Layer):
    """A table of 40 positions: longer inputs cannot be added."""

    def build(self, input_shape):
        self.table = self.add_weight(shape=(40, input_shape[-1]), name="table")

    def call(self, x):
        return x + self.table[: ops.shape(x)[1]]


class Sevenths(layers.Layer):
    def call(self, x):
        return ops.reshape(x, (-1, x.shape[1] // 7, 7 * x.shape[2]))


class FixedTotal(layers.Layer):
    def call(self, x):
        return ops.reshape(x, (10, 8))


class ScaledByMask(layers.Layer):
    def call(self, x, mask=None):
        return x * ops.cast(mask, x.dtype)[..., None]


@pytest.mark.parametrize(
    ("layer", "expected", "length"),
    [
        (FirstHundred, (None, None, 8), 120),
        (PositionTable, (None, None, 8), 40),
        (Sevenths, (None, None, 56), 21),
    ],
)
def test_layers_that_depend_on_a_size_are_called_on_unknown_ones(layer, expected, length):
    inputs = podium.Input((None, 8))
    outputs = layer()(inputs)
    assert outputs.shape == expected
    model = podium.Model(inputs, outputs)
    x = np.random.default_rng(0).normal(size=(2, length, 8)).astype("float32")
    np.testing.assert_array_equal(model.predict(x, verbose=0), model.layers[-1](x).numpy())


def test_reshape_of_an_unknown_size_to_a_fixed_total():
    inputs = podium.Input((None, 8))
    outputs = FixedTotal()(inputs)
    assert outputs.shape == (10, 8)
    model = podium.Model(inputs, outputs)
    assert model(np.ones((2, 5, 8))).shape == (10, 8)
    with pytest.raises(ValueError, match="both must hold the same number of elements"):
        model(np.ones((2, 6, 8)))
    with pytest.raises(ValueError, match="both must hold the same number of elements"):
        FixedTotal()(podium.Input(batch_shape=(2, 6, 8)))


def test_number_of_dimensions_must_not_depend_on_an_unknown_size():
    def squeeze_long(x):
        return x[:, 0] if x.shape[1] > 100 else x

    with pytest.raises(ValueError, match="the number of dimensions of the result depends"):
        layers.Lambda(squeeze_long)(podium.Input((None, 8)))


def test_error_of_the_first_attempt_is_raised_if_no_size_fits():
    with pytest.raises(ValueError, match=r"cannot take inputs of shape \(None, None, 8\)"):
        layers.Lambda(lambda x: ops.matmul(x, ops.ones((3, 2))))(podium.Input((None, 8)))


class Outer(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.inner = podium.Sequential([layers.Conv1D(4, 3, padding="same"), layers.Dense(2)])

    def call(self, x):
        return self.inner(x)


def test_layers_inside_are_built_for_unknown_sizes(tmp_path):
    outer = Outer()
    inputs = podium.Input((None, 8))
    model = podium.Model(inputs, outer(inputs))
    assert outer.inner.input_shape == (None, None, 8)
    assert [layer.built_shape for layer in outer.inner.layers] == [(None, None, 8), (None, None, 4)]
    model.save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        config = json.loads(archive.read("config.json"))
    assert "5184" not in json.dumps(config)
    for length in (5, 9):
        assert model.predict(np.ones((2, length, 8)), verbose=0).shape == (2, length, 2)


def test_masks_propagate_through_symbolic_calls():
    tokens = podium.Input((None,), dtype="int32")
    embedded = layers.Embedding(10, 4, mask_zero=True)(tokens)
    hidden = layers.Dropout(0.5)(embedded)
    for value in (embedded, hidden):
        assert value._keras_mask.shape == (None, None) and value._keras_mask.dtype == bool
    length = ops.sum(ops.cast(hidden._keras_mask, "int32"), axis=1)
    states = layers.LSTM(3)(hidden)
    assert states._keras_mask is None
    model = podium.Model(tokens, [ScaledByMask()(hidden), length, states])
    scaled, lengths, _ = model(np.array([[1, 2, 0], [3, 0, 0]]))
    assert lengths.numpy().tolist() == [2, 1]
    assert np.asarray(scaled)[:, -1].tolist() == [[0] * 4] * 2 and np.asarray(scaled)[:, 0].all()


class Tokens(podium.Model):
    def __init__(self):
        super().__init__()
        self.embedding, self.dense = layers.Embedding(10, 4), layers.Dense(1)
        self.dtypes = []

    def call(self, inputs):
        self.dtypes.append(inputs["tokens"].dtype.name)
        return self.dense(self.embedding(inputs["tokens"]) * inputs["scale"][..., None])


def test_subclassed_models_are_built_with_the_dtypes_of_their_inputs():
    data = {"tokens": np.ones((4, 3), "int64"), "scale": np.ones((4, 3))}
    model = Tokens()
    model.compile("sgd", "mse")
    model.fit(data, np.ones((4, 3, 1)), verbose=0)
    symbolic = Tokens()
    symbolic({"tokens": podium.Input((3,), dtype="int32"), "scale": podium.Input((3,))})
    assert set(model.dtypes) == set(symbolic.dtypes) == {"int32"}
