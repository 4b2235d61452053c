"""A GAN learns to generate digits. Writes `gan.png` with samples during training and both losses.

The discriminator learns to distinguish real digits from generated ones, the generator learns to
fool it. The model has a custom `compile` and `train_step`, with a tape and an optimizer for each
network; `fit` does the rest. The data are the 1797 handwritten digits of scikit-learn. Takes about
a minute on two cores.

Run: python examples/gan.py
"""

import time

import matplotlib
import numpy as np
from sklearn.datasets import load_digits

import podium
from podium import layers, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EPOCHS, STEPS, BATCH, LATENT = 15, 300, 64, 64
SHOWN_AFTER = (0, 1, 2, 5, 15)  # epochs


class GAN(podium.Model):
    """Trains a generator against a discriminator."""

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
        batch_size = ops.shape(real_images)[0]
        generated_images = self.generator(
            podium.random.normal((batch_size, self.latent_dim)), training=True
        )
        images = ops.concatenate([generated_images, real_images], axis=0)
        # 1 means generated; noise keeps the discriminator from overconfidence.
        labels = ops.concatenate([ops.ones((batch_size, 1)), ops.zeros((batch_size, 1))], axis=0)
        labels += 0.05 * podium.random.uniform(ops.shape(labels))

        with podium.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(images, training=True))
        weights = self.discriminator.trainable_weights
        self.d_optimizer.apply_gradients(zip(tape.gradient(d_loss, weights), weights, strict=True))

        latent = podium.random.normal((batch_size, self.latent_dim))
        with podium.GradientTape() as tape:  # updates the generator only
            predictions = self.discriminator(self.generator(latent, training=True), training=True)
            g_loss = self.loss_fn(ops.zeros((batch_size, 1)), predictions)
        weights = self.generator.trainable_weights
        self.g_optimizer.apply_gradients(zip(tape.gradient(g_loss, weights), weights, strict=True))
        return {"d_loss": d_loss, "g_loss": g_loss}


class Samples(podium.callbacks.Callback):
    """Stores images generated from fixed latent vectors, before training and after some epochs."""

    def __init__(self, latent, epochs):
        super().__init__()
        self.latent, self.epochs, self.images = latent, epochs, {}

    def on_train_begin(self, logs=None):
        self.on_epoch_end(-1)

    def on_epoch_end(self, epoch, logs=None):
        if epoch + 1 in self.epochs:
            self.images[epoch + 1] = self.model.generator(self.latent, training=False).numpy()


def build_networks() -> tuple[podium.Model, podium.Model]:
    """Return the discriminator and the generator, for images of 8 x 8 pixels."""
    discriminator = podium.Sequential([podium.Input((8, 8, 1))], name="discriminator")
    for filters in (32, 96):
        discriminator.add(layers.Conv2D(filters, 4, strides=2, padding="same"))
        discriminator.add(layers.LeakyReLU(0.2))
    discriminator.add(layers.Flatten())
    discriminator.add(layers.Dense(1))

    generator = podium.Sequential(
        [podium.Input((LATENT,)), layers.Dense(2 * 2 * 64)], name="generator"
    )
    generator.add(layers.Reshape((2, 2, 64)))
    for filters in (32, 32):
        generator.add(layers.BatchNormalization(momentum=0.9))
        generator.add(layers.LeakyReLU(0.2))
        generator.add(layers.Conv2DTranspose(filters, 4, strides=2, padding="same"))
    generator.add(layers.BatchNormalization(momentum=0.9))
    generator.add(layers.LeakyReLU(0.2))
    generator.add(layers.Conv2D(1, 3, padding="same", activation="sigmoid"))
    return discriminator, generator


def main() -> None:
    start = time.perf_counter()
    podium.utils.set_random_seed(1)
    digits = load_digits().images[..., None].astype("float32") / 16
    dataset = (
        podium.data.Dataset.from_tensor_slices(digits).shuffle(len(digits)).repeat().batch(BATCH)
    )
    gan = GAN(*build_networks(), latent_dim=LATENT)
    gan.compile(
        d_optimizer=podium.optimizers.Adam(2e-3, beta_1=0.5),
        g_optimizer=podium.optimizers.Adam(1e-3, beta_1=0.5),
        loss_fn=podium.losses.BinaryCrossentropy(from_logits=True),
    )
    samples = Samples(
        np.random.default_rng(1).normal(size=(12, LATENT)).astype("float32"), SHOWN_AFTER
    )
    history = gan.fit(dataset, epochs=EPOCHS, steps_per_epoch=STEPS, callbacks=[samples])
    plot(samples.images, digits, history.history)
    print(f"wrote gan.png after {EPOCHS * STEPS} steps, {time.perf_counter() - start:.0f} s in all")


def plot(stages, digits, losses) -> None:
    """Plot a row of generated digits for each stage, real digits below, and the losses."""
    rows = {f"{epoch * STEPS} steps": images for epoch, images in stages.items()} | {
        "real": digits[:12]
    }
    tiles = [
        np.hstack([np.pad(image[..., 0], 1, constant_values=0.3) for image in images])
        for images in rows.values()
    ]
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.8), width_ratios=(2, 1))
    left.imshow(np.vstack(tiles), cmap="gray", vmin=0, vmax=1)
    left.set_yticks([4.5 + 10 * row for row in range(len(rows))], labels=list(rows))
    left.set(title="Digits generated from the same latent vectors", xticks=[])
    for name, values in losses.items():
        right.plot(range(1, len(values) + 1), values, label=name)
    right.set(title="Losses", xlabel=f"epoch of {STEPS} steps")
    right.legend()
    figure.tight_layout()
    figure.savefig("gan.png", dpi=110)


if __name__ == "__main__":
    main()
