"""Cases of layers and constraints that only Keras 2 has: tf_keras runs them when fixtures are
recorded, Podium in the tests.
"""

import numpy as np


def _random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def _outputs(layer, x):
    layer.build((None, *x.shape[1:]))
    weights = [_random(*w.shape, seed=i) for i, w in enumerate(layer.weights, 1)]
    layer.set_weights(weights)
    config = layer.get_config()
    return [[list(w.shape) for w in weights], layer(x), [config[name] for name in _ARGUMENTS]]


_ARGUMENTS = (
    "filters",
    "kernel_size",
    "strides",
    "padding",
    "data_format",
    "activation",
    "use_bias",
    "implementation",
)


def locally_connected_1d(keras):
    layer = keras.layers.LocallyConnected1D
    x = _random(2, 7, 3)
    return [
        _outputs(layer(4, 3), x),
        _outputs(layer(4, 2, strides=2, activation="tanh", use_bias=False), x),
        _outputs(layer(2, 3, data_format="channels_first"), x),
        _outputs(layer(4, 3, implementation=2, padding="same"), x),
        _outputs(layer(4, 2, strides=3, implementation=2, padding="same"), x),
        _outputs(layer(4, 3, implementation=3, strides=2), x),
        _outputs(layer(2, 4, implementation=3, padding="same"), x),
    ]


def locally_connected_1d_channels_first(keras):
    layer, x = keras.layers.LocallyConnected1D, _random(2, 3, 7)
    return [
        _outputs(layer(4, 3, data_format="channels_first", implementation=number), x)
        for number in (1, 2, 3)
    ]


def locally_connected_2d(keras):
    layer = keras.layers.LocallyConnected2D
    x = _random(2, 5, 6, 2)
    return [
        _outputs(layer(3, (2, 3)), x),
        _outputs(layer(2, 2, strides=(2, 1), activation="relu"), x),
        _outputs(layer(3, (2, 3), implementation=2, padding="same"), x),
        _outputs(layer(3, (3, 2), strides=2, implementation=2), x),
        _outputs(layer(3, (2, 3), implementation=3, padding="same", strides=2), x),
        _outputs(layer(2, 3, implementation=3), x),
    ]


def locally_connected_2d_channels_first(keras):
    layer, x = keras.layers.LocallyConnected2D, _random(2, 2, 5, 6)
    return [
        _outputs(layer(3, (2, 3), data_format="channels_first", implementation=number), x)
        for number in (1, 2, 3)
    ]


def random_fourier_features(keras):
    results = []
    for kernel in ("gaussian", "laplacian", keras.initializers.Ones()):
        layer = keras.layers.experimental.RandomFourierFeatures(4, kernel, trainable=True)
        layer.build((None, 5))
        layer.set_weights([np.abs(_random(*w.shape, seed=3)) for w in layer.get_weights()])
        results.append([layer(_random(2, 5)), len(layer.trainable_weights), layer.scale])
    return results


def thresholded_relu(keras):
    layer = keras.layers.ThresholdedReLU(theta=0.5)
    return [layer(_random(3, 4)), layer.get_config()["theta"], keras.layers.ThresholdedReLU().theta]


def radial_constraint(keras):
    constraint = keras.constraints.RadialConstraint()
    results = []
    for size in (2, 3, 4, 5, 6):
        weights = _random(size, size, 2, 3, seed=size)
        results.append(constraint(keras.backend.constant(weights)))
    return results


def experimental_names(keras):
    schedule = keras.experimental.CosineDecay(0.1, 10, alpha=0.1)
    restarts = keras.experimental.CosineDecayRestarts(0.1, 4)
    optimizer = keras.optimizers.experimental.SGD(0.5, momentum=0.9)
    return [
        [schedule(step) for step in (0, 3, 12)],
        [restarts(step) for step in (0, 3, 7)],
        optimizer.get_config()["momentum"],
        issubclass(keras.callbacks.experimental.BackupAndRestore, keras.callbacks.BackupAndRestore),
    ]


CASES = [
    locally_connected_1d,
    locally_connected_1d_channels_first,
    locally_connected_2d,
    locally_connected_2d_channels_first,
    random_fourier_features,
    thresholded_relu,
    radial_constraint,
    experimental_names,
]
