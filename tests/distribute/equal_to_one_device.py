"""Four models under each strategy on 8 virtual devices, beside one device: how far apart they are
after 20 steps.

Run as a script, it prints a table of the largest differences and fails above 1e-5.
`test_equal_to_one_device.py` runs it.
"""

import os
import sys
import warnings

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import numpy as np

import podium
from podium import layers, ops

STRATEGIES = {
    "mirrored": podium.distribute.MirroredStrategy,
    "fsdp": lambda: podium.distribute.ShardedStrategy("fsdp", smallest=1),
    "tensor 4x2": lambda: podium.distribute.ShardedStrategy("tensor", mesh={"data": 4, "model": 2}),
}


class GAN(podium.Model):
    """Two networks, two optimizers, a step of its own, with randomness in it."""

    def __init__(self):
        super().__init__()
        self.generator = podium.Sequential(
            [podium.Input((4,)), layers.Dense(16, activation="tanh"), layers.Dense(8)]
        )
        self.critic = podium.Sequential(
            [podium.Input((8,)), layers.Dense(16, activation="relu"), layers.Dense(1)]
        )
        self.seeds = podium.random.SeedGenerator(7)

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn

    def train_step(self, real):
        real = real[0] if isinstance(real, tuple) else real
        count = ops.shape(real)[0]
        noise = podium.random.normal((count, 4), seed=self.seeds)
        labels = ops.concatenate([ops.ones((count, 1)), ops.zeros((count, 1))], axis=0)
        both = ops.concatenate([self.generator(noise), real], axis=0)
        with podium.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.critic(both))
        weights = self.critic.trainable_weights
        self.d_optimizer.apply_gradients(zip(tape.gradient(d_loss, weights), weights, strict=True))
        with podium.GradientTape() as tape:
            g_loss = self.loss_fn(ops.zeros((count, 1)), self.critic(self.generator(noise)))
        weights = self.generator.trainable_weights
        self.g_optimizer.apply_gradients(zip(tape.gradient(g_loss, weights), weights, strict=True))
        return {"d_loss": d_loss, "g_loss": g_loss}


def mlp():
    model = podium.Sequential(
        [
            podium.Input((8,)),
            layers.Dense(16, activation="relu"),
            layers.Dropout(0.25),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(
        podium.optimizers.Adam(0.01, epsilon=1e-3),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model, (8,), "labels"


def cnn():
    model = podium.Sequential(
        [
            podium.Input((6, 6, 2)),
            layers.Conv2D(8, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4),
        ]
    )
    model.compile(podium.optimizers.SGD(0.05, momentum=0.9), "mse")
    return model, (6, 6, 2), "numbers"


def gan():
    model = GAN()
    make = lambda: podium.optimizers.Adam(0.01, epsilon=1e-3)
    model.compile(make(), make(), podium.losses.BinaryCrossentropy(from_logits=True))
    return model, (8,), None


def transformer():
    tokens = podium.Input((6,), dtype="int32")
    x = layers.Embedding(16, 8)(tokens)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    x = layers.LayerNormalization()(x + layers.Dense(8)(layers.Dense(16, activation="relu")(x)))
    model = podium.Model(tokens, layers.Dense(4)(layers.GlobalAveragePooling1D()(x)))
    model.compile(podium.optimizers.SGD(0.05, momentum=0.9), "mse")
    return model, "tokens", "numbers"


def trained(make, strategy):
    """Return the weights, the history and the predictions of a model after 20 steps.

    The first two models get 65 samples in batches of 32, so that each epoch ends with a batch of
    one.
    """
    podium.utils.set_random_seed(5)
    with strategy.scope():
        model, shape, targets = make()
    rng = np.random.default_rng(0)
    count, epochs = (65, 7) if make in (mlp, cnn) else (64, 10)
    x = (
        rng.integers(0, 16, size=(count, 6))
        if shape == "tokens"
        else rng.normal(size=(count, *shape)).astype("float32")
    )
    y = {
        "labels": rng.integers(0, 4, size=count),
        "numbers": rng.normal(size=(count, 4)).astype("float32"),
        None: None,
    }[targets]
    history = model.fit(x, y, batch_size=32, epochs=epochs, verbose=0)
    logs = [value for values in history.history.values() for value in values]
    weights = [weight.numpy() for weight in model.weights]
    if count == 64:
        return [*weights, np.array(logs)]
    evaluated = np.array(model.evaluate(x, y, batch_size=32, verbose=0))
    return [*weights, np.array(logs), evaluated, model.predict(x, batch_size=32, verbose=0)]


def main():
    warnings.filterwarnings("ignore", message="A batch of 1 samples")
    worst = 0.0
    for make in (mlp, cnn, gan, transformer):
        one = trained(make, podium.distribute.get_strategy())
        for name, strategy in STRATEGIES.items():
            other = trained(make, strategy())
            apart = max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))
            worst = max(worst, apart)
            print(f"{make.__name__:12s} {name:12s} {apart:.1e}", flush=True)
    print("equal to one device: ", worst < 1e-5)
    return 0 if worst < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
