"""A Wasserstein GAN with gradient penalty learns eight modes on a ring. Writes `wgan_gp.png`.

The gradient of the critic by its input is part of its loss: nested tapes in a `train_step` that
`fit` compiles. The critic is updated several times for each update of the generator, in a Python
loop.

Run: python examples/wgan_gp.py
"""

import matplotlib
import numpy as np

import podium
from podium import layers, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EPOCHS, STEPS, BATCH, LATENT = 20, 200, 128, 8
CRITIC_STEPS, PENALTY = 3, 0.1


def sample_ring(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return points near eight modes on a ring."""
    angle = rng.integers(0, 8, size=count) * np.pi / 4
    return (
        np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(scale=0.05, size=(count, 2))
    ).astype("float32")


class WGAN(podium.Model):
    """Trains a generator against a critic with a gradient norm near one."""

    def __init__(self, critic, generator):
        super().__init__()
        self.critic, self.generator = critic, generator

    def compile(self, c_optimizer, g_optimizer, **kwargs):
        super().compile(**kwargs)
        self.c_optimizer, self.g_optimizer = c_optimizer, g_optimizer

    def gradient_penalty(self, real, generated):
        """Return the squared distance of the gradient norm from one, between the samples."""
        fraction = podium.random.uniform((ops.shape(real)[0], 1))
        interpolated = fraction * real + (1 - fraction) * generated
        with podium.GradientTape() as tape:
            tape.watch(interpolated)
            output = self.critic(interpolated, training=True)
        gradient = tape.gradient(output, interpolated)
        norm = ops.sqrt(ops.sum(gradient**2, axis=-1) + 1e-12)
        return ops.mean((norm - 1) ** 2)

    def train_step(self, real):
        latent = (ops.shape(real)[0], LATENT)
        for _ in range(CRITIC_STEPS):
            generated = self.generator(podium.random.normal(latent), training=True)
            with podium.GradientTape() as tape:
                distance = ops.mean(self.critic(real, training=True)) - ops.mean(
                    self.critic(generated, training=True)
                )
                loss = PENALTY * self.gradient_penalty(real, generated) - distance
            self.c_optimizer.minimize(loss, self.critic.trainable_weights, tape=tape)
        with podium.GradientTape() as tape:
            g_loss = -ops.mean(
                self.critic(
                    self.generator(podium.random.normal(latent), training=True), training=True
                )
            )
        self.g_optimizer.minimize(g_loss, self.generator.trainable_weights, tape=tape)
        return {"distance": distance, "g_loss": g_loss}


def network(inputs: int, outputs: int) -> podium.Sequential:
    """Return a network of two hidden layers."""
    hidden = [layers.Dense(64, activation="leaky_relu") for _ in range(2)]
    return podium.Sequential([podium.Input((inputs,)), *hidden, layers.Dense(outputs)])


def main() -> None:
    podium.utils.set_random_seed(9)
    rng = np.random.default_rng(9)
    points = sample_ring(STEPS * BATCH, rng)
    wgan = WGAN(network(2, 1), network(LATENT, 2))
    optimizers = [podium.optimizers.Adam(0.001, beta_1=0.5, beta_2=0.9) for _ in range(2)]
    wgan.compile(*optimizers, steps_per_execution=20)
    history = wgan.fit(points, batch_size=BATCH, epochs=EPOCHS, verbose=2).history

    generated = wgan.generator(rng.normal(size=(2000, LATENT)).astype("float32")).numpy()
    mode = np.round(np.arctan2(generated[:, 1], generated[:, 0]) / (np.pi / 4)).astype(int) % 8
    near = np.abs(np.hypot(*generated.T) - 1) < 0.2
    share = np.bincount(mode[near], minlength=8) / len(generated)
    print(
        f"generated points on the ring: {near.mean():.0%}; modes found: {(share > 0.02).sum()} of 8"
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
    left.scatter(*points[:2000].T, s=5, color="0.75", label="real")
    left.scatter(*generated.T, s=5, color="tab:red", label="generated")
    left.set(title="Eight modes on a ring", aspect="equal")
    left.legend(loc="upper right")
    right.plot(range(1, EPOCHS + 1), history["distance"])
    right.set(title="Wasserstein distance estimated by the critic", xlabel="epoch")
    figure.tight_layout()
    figure.savefig("wgan_gp.png", dpi=110)
    print("wrote wgan_gp.png")


if __name__ == "__main__":
    main()
