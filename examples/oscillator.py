"""A network learns a harmonic oscillator from its equation: u'' + u = 0, u(0) = 1, u'(0) = 0.

There is no data: the loss is the residual of the equation. The second derivative is computed with
two nested gradient tapes in the `call` of the model; the training step around them is one compiled
program.

Run: python examples/oscillator.py
"""

import numpy as np

import podium
from podium import layers, ops

LENGTH, STEPS, LEARNING_RATE = 6.0, 4000, 0.003


class Oscillator(podium.Model):
    """Returns u, u' and the residual of the equation at the given times."""

    def __init__(self):
        super().__init__()
        self.network = podium.Sequential(
            [
                layers.Dense(32, activation="tanh"),
                layers.Dense(32, activation="tanh"),
                layers.Dense(1),
            ]
        )

    def call(self, t):
        with podium.GradientTape() as outer:
            outer.watch(t)
            with podium.GradientTape() as inner:
                inner.watch(t)
                u = self.network(t / LENGTH)
            speed = inner.gradient(u, t)
        return u, speed, outer.gradient(speed, t) + u


def main() -> None:
    podium.utils.set_random_seed(0)
    model = Oscillator()
    times = np.linspace(0, LENGTH, 64, dtype="float32")[:, None]
    model(times)
    weights = model.trainable_variables
    momentum = [podium.Variable(np.zeros(w.shape, "float32"), trainable=False) for w in weights]
    squares = [podium.Variable(np.zeros(w.shape, "float32"), trainable=False) for w in weights]

    @podium.function
    def train_step(t):
        with podium.GradientTape() as tape:
            u, speed, residual = model(t)
            loss = ops.mean(residual**2) + 10 * (u[0, 0] - 1) ** 2 + 10 * speed[0, 0] ** 2
        for w, m, s, g in zip(
            weights, momentum, squares, tape.gradient(loss, weights), strict=True
        ):
            m.assign(0.9 * m + 0.1 * g)
            s.assign(0.99 * s + 0.01 * g * g)
            w.assign_sub(LEARNING_RATE * m / (ops.sqrt(s) + 1e-8))
        return loss

    for step in range(STEPS):
        loss = train_step(times)
        if (step + 1) % 1000 == 0:
            print(f"step {step + 1:4d}/{STEPS} - loss: {float(loss):.2e}")
    error = np.abs(model(times)[0].numpy() - np.cos(times)).max()
    print(
        f"largest difference from the true solution cos(t): {error:.4f}; compiled programs: "
        f"{train_step.trace_count}"
    )


if __name__ == "__main__":
    main()
