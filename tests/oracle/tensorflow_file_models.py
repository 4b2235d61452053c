"""Models for files of TensorFlow's, built alike with tf_keras and with Podium."""

import numpy as np


def functional(K):
    L = K.layers
    inner = K.Sequential(
        [L.Input((4,)), L.BatchNormalization(name="first"), L.Dense(4, name="middle")], name="inner"
    )
    x = L.Input((5, 3))
    attended = L.MultiHeadAttention(2, 3, name="attention")(x, x)
    y = inner(L.LSTM(4, name="lstm")(attended))
    shared = L.Dense(4, name="shared")
    model = K.Model(x, L.Dense(2, name="out")(shared(shared(y))))
    return model, np.random.default_rng(0).normal(size=(3, 5, 3)).astype("float32")


def subclassed(K):
    L = K.layers

    class Own(K.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [L.Dense(3), L.Dense(3)]
            self.head = L.Dense(2)
            self.table = {"extra": L.Dense(1)}
            self.scale = self.add_weight(name="a_scale", shape=(2,), initializer="ones")

        def call(self, inputs):
            for block in self.blocks:
                inputs = block(inputs)
            return self.head(inputs) * self.scale + self.table["extra"](inputs)

    model, x = Own(), np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    model(x)
    return model, x


def operations(K):
    """A compiled model with several inputs and outputs, TensorFlow's operations on symbolic values,
    and a layer that it shares with a model inside.
    """
    L = K.layers
    shared = L.Dense(3, activation="relu", name="shared")
    inner_input = L.Input((3,))
    inner = K.Model(inner_input, shared(inner_input) * 0.5, name="inner")
    a, b = L.Input((3,), name="a"), L.Input((3,), name="b")
    joined = inner(a) + shared(b)
    first = L.Dense(1, name="first")(1.0 - joined)
    second = L.Dense(2, name="second")(joined[:, 1:3] / 2.0)
    model = K.Model({"a": a, "b": b}, {"first": first, "second": second}, name="outer")
    model.compile(
        K.optimizers.Adam(0.01), {"first": "mse", "second": "mae"}, metrics={"first": ["mae"]}
    )
    rng = np.random.default_rng(0)
    x = {name: rng.normal(size=(4, 3)).astype("float32") for name in ("a", "b")}
    y = {"first": np.ones((4, 1), "float32"), "second": np.zeros((4, 2), "float32")}
    return model, x, y


def own_classes(K):
    """Return a class of models with arguments, and its class of layers."""
    L = K.layers

    class Block(L.Layer):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.units, self.inner = units, L.Dense(units)

        def build(self, shape):
            self.gain = self.add_weight(name="gain", shape=(self.units,), initializer="ones")

        def call(self, x):
            return self.inner(x) * self.gain

        def get_config(self):
            return super().get_config() | {"units": self.units}

    class Words(K.Model):
        def __init__(self, size, **kwargs):
            super().__init__(**kwargs)
            self.size = size
            self.table, self.block = L.Embedding(size, 4), Block(2)

        def call(self, x):
            return self.block(self.table(x))

        def get_config(self):
            return {"size": self.size}

    return {"Words": Words, "Block": Block}


def own(K):
    model, x = own_classes(K)["Words"](6), np.arange(6, dtype="int32").reshape(2, 3)
    model(x)
    return model, x
