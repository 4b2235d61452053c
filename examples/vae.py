"""A variational autoencoder embeds handwritten digits in two dimensions. Writes `vae.png`.

The encoder predicts a mean and a variance; a sampling layer samples a point and adds the divergence
with `add_loss`; the decoder reconstructs the digit. The rest is `compile` and `fit` with one loss.

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
    """Samples from a mean and a log-variance, and adds the divergence from a standard normal
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


def reconstruction_loss(image, reconstruction):
    """Return the sum of the cross-entropies of the pixels."""
    return 64 * podium.losses.binary_crossentropy(image, reconstruction)


def build_models() -> tuple[podium.Model, podium.Model, podium.Model]:
    """Return the encoder, the decoder and the autoencoder."""
    image = podium.Input((64,))
    hidden = layers.Dense(128, activation="relu")(layers.Dense(256, activation="relu")(image))
    mean_and_log_variance = [layers.Dense(2)(hidden), layers.Dense(2)(hidden)]
    encoder = podium.Model(image, Sampling()(mean_and_log_variance), name="encoder")
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
    encoder, decoder, vae = build_models()
    vae.compile(optimizer=podium.optimizers.Adam(0.001), loss=reconstruction_loss)
    history = vae.fit(x, x, batch_size=128, epochs=EPOCHS, verbose=0).history
    for epoch in sorted({0, EPOCHS // 2, EPOCHS - 1}):
        print(
            f"epoch {epoch + 1:3d} - loss: {history['loss'][epoch]:.2f} - divergence: "
            f"{history['divergence'][epoch]:.2f}"
        )
    plot(encoder.predict(x, verbose=0), digit, decoder)


def plot(embeddings, digit, decoder) -> None:
    """Plot the embeddings of the digits, and the decoded digits on a grid."""
    side = np.linspace(-2, 2, 13, dtype="float32")
    plane = np.stack(np.meshgrid(side, side[::-1]), axis=-1).reshape(-1, 2)
    decoded = decoder.predict(plane, verbose=0).reshape(13, 13, 8, 8)
    tiles = np.pad(decoded, [(0, 0), (0, 0), (1, 1), (1, 1)]).swapaxes(1, 2).reshape(130, 130)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.6))
    dots = left.scatter(*embeddings.T, c=digit, cmap="tab10", vmin=-0.5, vmax=9.5, s=6)
    figure.colorbar(dots, ax=left, ticks=range(10))
    left.set(title="Embeddings of the digits", xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
    right.imshow(tiles, cmap="gray", extent=(-2.17, 2.17, -2.17, 2.17))
    right.set(title="Decoded digits")
    figure.tight_layout()
    figure.savefig("vae.png", dpi=110)
    print("wrote vae.png")


if __name__ == "__main__":
    main()
