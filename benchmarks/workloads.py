"""The workloads in the Keras API: they run unchanged on Podium, Keras 3 and tf_keras.

Nothing here imports a library: `build` receives one (`keras`), and TensorFlow (`tf`) where a
workload has a custom step. Sizes, data and the number of steps are shared with `jax_workloads.py`
and `lightning_workloads.py`.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

LATENT = 128  # of the GAN


@dataclasses.dataclass(frozen=True)
class Workload:
    """A workload: a model, its data, and the length of one run.

    Attributes:
        title: Its name in the tables.
        arrays: Returns the inputs and the targets for a random generator and a number of samples.
        build: Returns the compiled model for the library, TensorFlow's names if there are any, and
            further arguments of `compile`.
        samples: Samples of an epoch.
        batch: Samples of a step.
        epochs: Epochs of one run, which is one call of `fit`.
        kind: "fit" on arrays, "generator" for `fit` on a generator, "predict".
        shuffle: Whether `fit` shuffles.
        steps_per_execution: The values to measure Keras with; None is its default.
        rounds: The maximum number of rounds.
    """

    title: str
    arrays: Callable
    build: Callable
    samples: int
    batch: int
    epochs: int = 1
    kind: str = "fit"
    shuffle: bool = True
    steps_per_execution: tuple[int | None, ...] = (None,)
    rounds: int = 100

    @property
    def steps(self) -> int:
        """The number of steps of a run."""
        return self.epochs * math.ceil(self.samples / self.batch)

    def data(self) -> tuple:
        """Return the inputs and the targets, the same at every call."""
        return self.arrays(np.random.default_rng(0), self.samples)

    def run(self, model: Any, data: tuple) -> Any:
        """Run the workload once, with the Keras API."""
        x, y = data
        if self.kind == "predict":
            return model.predict(x, batch_size=self.batch, verbose=0)
        if self.kind == "generator":
            steps = self.samples // self.batch
            return model.fit(
                batches(x, y, self.batch), steps_per_epoch=steps, epochs=self.epochs, verbose=0
            )
        return model.fit(
            x, y, batch_size=self.batch, epochs=self.epochs, shuffle=self.shuffle, verbose=0
        )


def batches(x: np.ndarray, y: np.ndarray, size: int) -> Iterator[tuple]:
    """Yield batches without end, as a user's generator does."""
    for number in itertools.count():
        start = number * size % (len(x) - size + 1)
        yield x[start : start + size], y[start : start + size]


# --- data


def regression_data(*shape: int) -> Callable:
    """Inputs of that shape, and one value to predict."""
    return lambda rng, count: (
        rng.random((count, *shape), "float32"),
        rng.random((count, 1), "float32"),
    )


def classification_data(*shape: int) -> Callable:
    """Inputs of that shape, and one of ten classes."""
    return lambda rng, count: (
        rng.random((count, *shape), "float32"),
        rng.integers(0, 10, count).astype("int32"),
    )


def token_data(rng: np.random.Generator, count: int) -> tuple:
    """Sequences of 32 tokens, and one of ten classes."""
    return rng.integers(0, 1000, (count, 32)).astype("int32"), rng.integers(0, 10, count).astype(
        "int32"
    )


def zeros_and_ones(rng: np.random.Generator, count: int) -> tuple:
    """The data of the seed's example with steps_per_execution=5."""
    return np.zeros((count, 10), "float32"), np.ones((count, 1), "float32")


def images_only(rng: np.random.Generator, count: int) -> tuple:
    """Images without targets."""
    return rng.random((count, 28, 28, 1), "float32"), None


# --- models


def classifier(make_layers: Callable) -> Callable:
    """A stack of layers that ends in ten logits, trained with Adam."""

    def build(keras: Any, tf: Any = None, **options: Any) -> Any:
        model = keras.Sequential(make_layers(keras, keras.layers))
        return as_classifier(keras, model, options)

    return build


def as_classifier(keras: Any, model: Any, options: dict) -> Any:
    """Compile a model that returns ten logits."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"], **options)
    return model


def dense(keras: Any, tf: Any = None, **options: Any) -> Any:
    """The first model of the seeds: Dense(1)."""
    inputs = keras.Input(shape=(32,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    model.compile(optimizer="adam", loss="mse", metrics=["mae"], **options)
    return model


def dense_five_fused_steps(keras: Any, tf: Any = None, **options: Any) -> Any:
    """The seed's example with five steps in an execution."""
    model = keras.Sequential([keras.Input(shape=(10,)), keras.layers.Dense(1)])
    loss, metric = (
        keras.losses.MeanSquaredError(reduction="sum"),
        keras.metrics.MeanAbsolutePercentageError(),
    )
    model.compile("sgd", loss=loss, metrics=[metric], **{"steps_per_execution": 5, **options})
    return model


def one_hidden_layer(keras: Any, tf: Any = None, **options: Any) -> Any:
    """One hidden layer."""
    model = keras.Sequential(
        [keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)]
    )
    model.compile(optimizer="adam", loss="mse", metrics=["mae"], **options)
    return model


def mlp(keras: Any, layers: Any) -> list:
    """784-512-512-10."""
    hidden = [layers.Dense(512, activation="relu") for _ in range(2)]
    return [keras.Input((784,)), *hidden, layers.Dense(10)]


def cnn(keras: Any, layers: Any) -> list:
    """Two convolutions with pooling."""
    stack = [keras.Input((28, 28, 1))]
    for filters in (16, 32):
        stack += [
            layers.Conv2D(filters, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
        ]
    return [*stack, layers.Flatten(), layers.Dense(10)]


def lstm(keras: Any, layers: Any) -> list:
    """An LSTM over the rows of an image."""
    return [keras.Input((28, 28)), layers.LSTM(128), layers.Dense(10)]


def residual(keras: Any, tf: Any = None, **options: Any) -> Any:
    """Two blocks of two convolutions with batch normalization and a shortcut."""
    layers = keras.layers

    def convolve(x: Any, filters: int, strides: int = 1, size: int = 3) -> Any:
        x = layers.Conv2D(filters, size, strides=strides, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    inputs = keras.Input((32, 32, 3))
    x = layers.ReLU()(convolve(inputs, 16))
    for filters, strides in ((16, 1), (32, 2)):
        shortcut = x if strides == 1 else convolve(x, filters, strides, size=1)
        main = convolve(layers.ReLU()(convolve(x, filters, strides)), filters)
        x = layers.ReLU()(layers.Add()([main, shortcut]))
    outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
    return as_classifier(keras, keras.Model(inputs, outputs), options)


def transformer(keras: Any, tf: Any = None, **options: Any) -> Any:
    """Two blocks of attention and a small MLP, normalized before; 32 tokens, width 64, four
    heads.
    """
    layers = keras.layers

    class Positions(layers.Layer):
        def build(self, shape: Any) -> None:
            self.table = self.add_weight(name="table", shape=(32, 64), initializer="uniform")

        def call(self, x: Any) -> Any:
            return x + self.table

    inputs = keras.Input((32,), dtype="int32")
    x = Positions()(layers.Embedding(1000, 64)(inputs))
    for _ in range(2):
        h = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 16)(h, h)])
        h = layers.Dense(128, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
        x = layers.Add()([x, layers.Dense(64)(h)])
    outputs = layers.Dense(10)(layers.GlobalAveragePooling1D()(x))
    return as_classifier(keras, keras.Model(inputs, outputs), options)


def gan(keras: Any, tf: Any = None, **options: Any) -> Any:
    """The seed's GAN: it overrides `compile` and `train_step`, with tapes."""
    if tf is None:
        raise NotImplementedError(
            "its train_step uses tf.GradientTape, which steps of this library do not support"
        )
    layers = keras.layers
    discriminator = keras.Sequential(
        [
            keras.Input(shape=(28, 28, 1)),
            layers.Conv2D(64, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(128, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(0.2),
            layers.GlobalMaxPooling2D(),
            layers.Dense(1),
        ],
        name="discriminator",
    )
    generator = keras.Sequential(
        [
            keras.Input(shape=(LATENT,)),
            layers.Dense(7 * 7 * 128),
            layers.LeakyReLU(0.2),
            layers.Reshape((7, 7, 128)),
            layers.Conv2DTranspose(128, (4, 4), strides=(2, 2), padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2DTranspose(128, (4, 4), strides=(2, 2), padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(1, (7, 7), padding="same", activation="sigmoid"),
        ],
        name="generator",
    )

    class GAN(keras.Model):
        def __init__(self, discriminator, generator, latent_dim):
            super().__init__()
            self.discriminator = discriminator
            self.generator = generator
            self.latent_dim = latent_dim

        def compile(self, d_optimizer, g_optimizer, loss_fn, **kwargs):
            super().compile(**kwargs)
            self.d_optimizer = d_optimizer
            self.g_optimizer = g_optimizer
            self.loss_fn = loss_fn

        def train_step(self, real_images):
            if isinstance(real_images, tuple):
                real_images = real_images[0]
            batch_size = tf.shape(real_images)[0]
            generated_images = self.generator(tf.random.normal(shape=(batch_size, self.latent_dim)))
            combined_images = tf.concat([generated_images, real_images], axis=0)
            labels = tf.concat([tf.ones((batch_size, 1)), tf.zeros((batch_size, 1))], axis=0)
            labels += 0.05 * tf.random.uniform(tf.shape(labels))

            with tf.GradientTape() as tape:
                d_loss = self.loss_fn(labels, self.discriminator(combined_images))
            weights = self.discriminator.trainable_weights
            self.d_optimizer.apply_gradients(
                zip(tape.gradient(d_loss, weights), weights, strict=True)
            )

            random_latent_vectors = tf.random.normal(shape=(batch_size, self.latent_dim))
            with tf.GradientTape() as tape:
                predictions = self.discriminator(self.generator(random_latent_vectors))
                g_loss = self.loss_fn(tf.zeros((batch_size, 1)), predictions)
            weights = self.generator.trainable_weights
            self.g_optimizer.apply_gradients(
                zip(tape.gradient(g_loss, weights), weights, strict=True)
            )
            return {"d_loss": d_loss, "g_loss": g_loss}

    model = GAN(discriminator, generator, LATENT)
    adam = keras.optimizers.Adam
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(
        d_optimizer=adam(learning_rate=0.0003),
        g_optimizer=adam(learning_rate=0.0003),
        loss_fn=loss,
        **options,
    )
    return model


KERAS_STEPS_PER_EXECUTION = (None, 8, 32)

WORKLOADS = {
    "dense": Workload(
        "Dense(1), 1,000 x 32, batch 32",
        regression_data(32),
        dense,
        1000,
        32,
        epochs=30,
        steps_per_execution=KERAS_STEPS_PER_EXECUTION,
    ),
    "dense_long": Workload(
        "Dense(1), 64,000 x 32, batch 32",
        regression_data(32),
        dense,
        64_000,
        32,
        steps_per_execution=KERAS_STEPS_PER_EXECUTION,
    ),
    "five": Workload(
        "Dense(1), five steps an execution",
        zeros_and_ones,
        dense_five_fused_steps,
        1000,
        10,
        epochs=10,
        shuffle=False,
    ),
    "mlp": Workload(
        "MLP 784-512-512-10, batch 128",
        classification_data(784),
        classifier(mlp),
        6400,
        128,
        epochs=2,
    ),
    "cnn": Workload(
        "small CNN, 28 x 28, batch 64", classification_data(28, 28, 1), classifier(cnn), 1280, 64
    ),
    "residual": Workload(
        "residual CNN, 32 x 32, batch 32", classification_data(32, 32, 3), residual, 256, 32
    ),
    "transformer": Workload("transformer, 2 layers, batch 64", token_data, transformer, 1280, 64),
    "lstm": Workload(
        "LSTM(128), 28 x 28, batch 64", classification_data(28, 28), classifier(lstm), 2560, 64
    ),
    "gan": Workload("the seed's GAN, batch 64", images_only, gan, 64, 64, rounds=3),
    "predict": Workload(
        "predict, 64 hidden, batch 32",
        regression_data(32),
        one_hidden_layer,
        25_600,
        32,
        kind="predict",
    ),
    "generator": Workload(
        "generator, 64 hidden, batch 32",
        regression_data(32),
        one_hidden_layer,
        8192,
        32,
        epochs=2,
        kind="generator",
    ),
}
