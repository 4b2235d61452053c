"""Two models for files of TensorFlow's, built alike with tf_keras and with Podium."""

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
