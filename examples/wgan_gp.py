"""A Wasserstein GAN with gradient penalty finds eight places on a ring. Leaves `wgan_gp.png`.

The critic's gradient by its input is part of its own loss: a tape inside a tape, in a `train_step`
that `fit` compiles. The critic is trained several times for each time the generator is, in an
ordinary Python loop.

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


def ring(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return points near eight places on a ring."""
    angle = rng.integers(0, 8, size=count) * np.pi / 4
    return (
        np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(scale=0.05, size=(count, 2))
    ).astype("float32")


class WGAN(podium.Model):
    """Trains a generator against a critic whose slope is kept near one."""

    def __init__(self, critic, generator):
        super().__init__()
        self.critic, self.generator = critic, generator

    def compile(self, c_optimizer, g_optimizer, **kwargs):
        super().compile(**kwargs)
        self.c_optimizer, self.g_optimizer = c_optimizer, g_optimizer

    def penalty(self, real, generated):
        """Return how far the critic's slope is from one, at points between real and generated
        ones.
        """
        part = podium.random.uniform((ops.shape(real)[0], 1))
        between = part * real + (1 - part) * generated
        with podium.GradientTape() as tape:
            tape.watch(between)
            verdict = self.critic(between, training=True)
        slope = ops.sqrt(ops.sum(tape.gradient(verdict, between) ** 2, axis=-1) + 1e-12)
        return ops.mean((slope - 1) ** 2)

    def train_step(self, real):
        latent = (ops.shape(real)[0], LATENT)
        for _ in range(CRITIC_STEPS):
            generated = self.generator(podium.random.normal(latent), training=True)
            with podium.GradientTape() as tape:
                distance = ops.mean(self.critic(real, training=True)) - ops.mean(
                    self.critic(generated, training=True)
                )
                loss = PENALTY * self.penalty(real, generated) - distance
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
    points = ring(STEPS * BATCH, rng)
    wgan = WGAN(network(2, 1), network(LATENT, 2))
    optimizers = [podium.optimizers.Adam(0.001, beta_1=0.5, beta_2=0.9) for _ in range(2)]
    wgan.compile(*optimizers, steps_per_execution=20)
    history = wgan.fit(points, batch_size=BATCH, epochs=EPOCHS, verbose=2).history

    made = wgan.generator(rng.normal(size=(2000, LATENT)).astype("float32")).numpy()
    place = np.round(np.arctan2(made[:, 1], made[:, 0]) / (np.pi / 4)).astype(int) % 8
    near = np.abs(np.hypot(*made.T) - 1) < 0.2
    share = np.bincount(place[near], minlength=8) / len(made)
    print(
        f"generated points on the ring: {near.mean():.0%}; places found: "
        f"{(share > 0.02).sum()} of 8"
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
    left.scatter(*points[:2000].T, s=5, color="0.75", label="real")
    left.scatter(*made.T, s=5, color="tab:red", label="generated")
    left.set(title="Eight places on a ring", aspect="equal")
    left.legend(loc="upper right")
    right.plot(range(1, EPOCHS + 1), history["distance"])
    right.set(title="Wasserstein distance, as the critic sees it", xlabel="epoch")
    figure.tight_layout()
    figure.savefig("wgan_gp.png", dpi=110)
    print("wrote wgan_gp.png")


if __name__ == "__main__":
    main()
