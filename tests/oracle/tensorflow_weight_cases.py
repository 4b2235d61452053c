"""Models for weights in TensorFlow's checkpoints, built alike with tf_keras and with Podium."""

import numpy as np


def data(*shape):
    return np.random.default_rng(0).normal(size=(4, *shape)).astype("float32")


def dense(K):
    L = K.layers
    layers = [L.Input((3,)), L.Dense(4, activation="relu"), L.Dropout(0.5), L.Dense(2)]
    return K.Sequential(layers), data(3)


def convolutions(K):
    L = K.layers
    x = L.Input((8, 8, 3))
    y = L.BatchNormalization()(L.Conv2D(4, 3)(x))
    y = L.SeparableConv2D(3, 2)(L.DepthwiseConv2D(2)(y))
    return K.Model(x, L.Dense(2)(L.Flatten()(L.Conv2DTranspose(2, 2)(y)))), data(8, 8, 3)


def lstm(K):
    L = K.layers
    return K.Sequential([L.Input((5, 3)), L.LSTM(4, return_sequences=True), L.SimpleRNN(3)]), data(
        5, 3
    )


def bidirectional_gru(K):
    L = K.layers
    layers = [L.Input((5, 3)), L.Bidirectional(L.GRU(3, return_sequences=True))]
    return K.Sequential([*layers, L.TimeDistributed(L.Dense(2))]), data(5, 3)


def embedding(K):
    L = K.layers
    layers = [L.Input((6,)), L.Embedding(10, 4), L.GlobalAveragePooling1D(), L.Dense(2)]
    return K.Sequential(layers), (np.abs(data(6)) * 3).astype("int32")


def attention(K):
    L = K.layers
    x = L.Input((5, 4))
    y = L.LayerNormalization()(x + L.MultiHeadAttention(2, 3)(x, x))
    return K.Model(x, L.Dense(2)(y)), data(5, 4)


def nested(K):
    L = K.layers
    innermost = K.Sequential([L.Input((4,)), L.Dense(4, name="a"), L.BatchNormalization()])
    x = L.Input((4,))
    inner = K.Model(x, L.Dense(4, name="a")(innermost(x)))
    x = L.Input((4,))
    return K.Model(x, L.Dense(2, name="a")(inner(x))), data(4)


def shared(K):
    L = K.layers
    a, b, layer = L.Input((3,)), L.Input((3,)), L.Dense(3)
    model = K.Model([a, b], L.Dense(2)(layer(layer(a)) + layer(b)))
    return model, [data(3), data(3) + 1]


def subclassed(K):
    L = K.layers

    class Block(L.Layer):
        def __init__(self, units):
            super().__init__()
            self.inner = {"main": L.Dense(units), "others": [L.Dense(units)]}
            self.units = units

        def build(self, shape):
            self.gain = self.add_weight(name="a_gain", shape=(self.units,), initializer="ones")

        def call(self, x):
            return self.inner["main"](x) * self.gain + self.inner["others"][0](x)

    class Own(K.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [Block(3), Block(3)]
            self.head = L.Dense(2)
            self.mean_loss = K.metrics.Mean()

        def call(self, x):
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    model = Own()
    model(data(3))
    return model, data(3)


def built_late(K):
    L = K.layers
    model = K.Sequential([L.Dense(4), L.BatchNormalization(), L.Dense(2)])
    model.build((None, 3))
    return model, data(3)


def normalization(K):
    L = K.layers
    layer = L.Normalization()
    layer.adapt(data(3) * 2 + 1)
    return K.Sequential([L.Input((3,)), layer, L.PReLU(), L.Dense(2)]), data(3)


def train(K, make, optimizer):
    model, x = make(K)
    model.compile(optimizer, "mse")
    y = np.ones((len(x), 2), "float32")
    model.fit(x, y, batch_size=2, epochs=2, verbose=0, shuffle=False)
    return model, x


def adam(K):
    return train(K, dense_without_dropout, K.optimizers.Adam(0.01, amsgrad=True))


def rmsprop(K):
    rmsprop = K.optimizers.RMSprop(0.01, momentum=0.9, centered=True)
    return train(K, convolutions_and_norm, rmsprop)


def sgd_subclassed(K):
    return train(K, subclassed, K.optimizers.SGD(0.01, momentum=0.9))


def dense_without_dropout(K):
    L = K.layers
    return K.Sequential([L.Input((3,)), L.Dense(4, activation="relu"), L.Dense(2)]), data(3)


def convolutions_and_norm(K):
    L = K.layers
    x = L.Input((6, 6, 2))
    y = L.BatchNormalization()(L.Conv2D(3, 3)(x))
    return K.Model(x, L.Dense(2)(L.Flatten()(y))), data(6, 6, 2)


CASES = [
    dense,
    convolutions,
    lstm,
    bidirectional_gru,
    embedding,
    attention,
    nested,
    shared,
    subclassed,
    built_late,
    normalization,
    adam,
    rmsprop,
    sgd_subclassed,
]


def randomize(model, seed):
    rng = np.random.default_rng(seed)
    model.set_weights(
        [rng.uniform(0.1, 1.0, weight.shape).astype(weight.dtype) for weight in model.get_weights()]
    )


def predictions(model, x):
    return np.asarray(model.predict(x, verbose=0))


def optimizer_values(model):
    """Return the state of the optimizer, sorted: the sides have Variables in different orders."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return np.zeros(0)
    variables = optimizer.variables() if callable(optimizer.variables) else optimizer.variables
    rate = float(optimizer.learning_rate.numpy())
    values = [np.ravel(v.numpy()) for v in variables if "learning_rate" not in v.name]
    return np.concatenate([[rate], *(value.astype("float64") for value in values)])
