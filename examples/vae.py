"""A variational autoencoder lays the handwritten digits out on a plane. Leaves `vae.png`.

The encoder gives a place on the plane, and how sure it is; a sampling layer draws a point there,
and adds with `add_loss` what keeps the places together; the decoder draws a digit again. The rest
is `compile` and `fit` with one loss.

Run: python examples/vae.py
"""

import matplotlib
import numpy as np
from sklearn.datasets import load_digits

import podium
from podium import layers, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EPOCHS = 100


class Sampling(layers.Layer):
    """Draws a point for a mean and a log-variance, and adds their divergence from a normal
    distribution to the loss.
    """

    def __init__(self):
        super().__init__()
        self.divergence = podium.metrics.Mean(name="divergence")

    def call(self, inputs, training=False):
        mean, log_variance = inputs
        divergence = -0.5 * ops.mean(
            ops.sum(1 + log_variance - mean**2 - ops.exp(log_variance), axis=-1)
        )
        self.add_loss(divergence)
        self.divergence.update_state(divergence)
        if not training:
            return mean
        return mean + ops.exp(0.5 * log_variance) * podium.random.normal(ops.shape(mean))


def pixels_off(image, drawn):
    """Return how far a drawn image is from the real one: the cross-entropies of its pixels, added
    up.
    """
    return 64 * podium.losses.binary_crossentropy(image, drawn)


def build() -> tuple[podium.Model, podium.Model, podium.Model]:
    """Return the encoder, the decoder and both in one."""
    image = podium.Input((64,))
    hidden = layers.Dense(128, activation="relu")(layers.Dense(256, activation="relu")(image))
    place = [layers.Dense(2)(hidden), layers.Dense(2)(hidden)]
    encoder = podium.Model(image, Sampling()(place), name="encoder")
    decoder = podium.Sequential(
        [
            podium.Input((2,)),
            layers.Dense(128, activation="relu"),
            layers.Dense(256, activation="relu"),
            layers.Dense(64, activation="sigmoid"),
        ],
        name="decoder",
    )
    return encoder, decoder, podium.Model(image, decoder(encoder(image)), name="vae")


def main() -> None:
    podium.utils.set_random_seed(8)
    pixels, digit = load_digits(return_X_y=True)
    x = (pixels / 16).astype("float32")
    encoder, decoder, vae = build()
    vae.compile(optimizer=podium.optimizers.Adam(0.001), loss=pixels_off)
    history = vae.fit(x, x, batch_size=128, epochs=EPOCHS, verbose=0).history
    for epoch in sorted({0, EPOCHS // 2, EPOCHS - 1}):
        print(
            f"epoch {epoch + 1:3d} - loss: {history['loss'][epoch]:.2f} - divergence: "
            f"{history['divergence'][epoch]:.2f}"
        )
    draw(encoder.predict(x, verbose=0), digit, decoder)


def draw(places, digit, decoder) -> None:
    """Draw where the digits lie on the plane, and what the decoder makes of every place of it."""
    side = np.linspace(-2, 2, 13, dtype="float32")
    plane = np.stack(np.meshgrid(side, side[::-1]), axis=-1).reshape(-1, 2)
    drawn = decoder.predict(plane, verbose=0).reshape(13, 13, 8, 8)
    tiles = np.pad(drawn, [(0, 0), (0, 0), (1, 1), (1, 1)]).swapaxes(1, 2).reshape(130, 130)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.6))
    dots = left.scatter(*places.T, c=digit, cmap="tab10", vmin=-0.5, vmax=9.5, s=6)
    figure.colorbar(dots, ax=left, ticks=range(10))
    left.set(title="Where the encoder puts the digits", xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
    right.imshow(tiles, cmap="gray", extent=(-2.17, 2.17, -2.17, 2.17))
    right.set(title="What the decoder draws at each place")
    figure.tight_layout()
    figure.savefig("vae.png", dpi=110)
    print("wrote vae.png")


if __name__ == "__main__":
    main()
