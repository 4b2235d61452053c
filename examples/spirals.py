"""A small network classifies two spirals, trained in a custom loop. Writes `spirals.png`.

The example has all parts of a training loop: layers, a gradient tape, Variables for the optimizer's
state, and `podium.function`, which compiles the step to one XLA program.

Run: python examples/spirals.py
"""

import time

import matplotlib
import numpy as np

import podium
from podium import layers, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STEPS, BATCH, LEARNING_RATE = 2000, 128, 0.003


def sample_spirals(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy points on two arms of a spiral, and the arm of each point."""
    turn = np.sqrt(rng.uniform(size=count)) * 3.2 * np.pi
    arm = rng.integers(0, 2, size=count)
    angle = turn + np.pi * arm
    points = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1) / 4
    return (points + rng.normal(scale=0.12, size=points.shape)).astype("float32"), arm.astype(
        "float32"
    )


class Adam:
    """Adam in ten lines; its state is in Variables, which `podium.function` updates."""

    def __init__(self, variables: list[podium.Variable], learning_rate: float):
        self.variables, self.learning_rate = variables, learning_rate
        self.step = podium.Variable(0.0, trainable=False)
        self.first = [
            podium.Variable(np.zeros(v.shape, "float32"), trainable=False) for v in variables
        ]
        self.second = [
            podium.Variable(np.zeros(v.shape, "float32"), trainable=False) for v in variables
        ]

    def apply(self, gradients: list[podium.Tensor]) -> None:
        step = self.step.assign_add(1.0)
        rate = self.learning_rate * ops.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        for variable, first, second, gradient in zip(
            self.variables, self.first, self.second, gradients, strict=True
        ):
            m = first.assign_add(0.1 * (gradient - first))
            v = second.assign_add(0.001 * (gradient * gradient - second))
            variable.assign_sub(rate * m / (ops.sqrt(v) + 1e-7))


def main() -> None:
    podium.utils.set_random_seed(7)
    rng = np.random.default_rng(7)
    points, arm = sample_spirals(4000, rng)
    model = podium.Sequential(
        [
            podium.Input((2,)),
            layers.Dense(64, activation="relu"),
            layers.Dense(64, activation="relu"),
            layers.Dense(64, activation="relu"),
            layers.Dense(1),
        ]
    )
    model.summary()
    optimizer = Adam(model.trainable_variables, LEARNING_RATE)

    @podium.function
    def train_step(x, y):
        with podium.GradientTape() as tape:
            logits = model(x, training=True)[:, 0]
            loss = ops.mean(ops.softplus(logits) - y * logits)
        optimizer.apply(tape.gradient(loss, model.trainable_variables))
        return loss

    losses, start = [], time.perf_counter()
    for step in range(STEPS):
        rows = rng.integers(0, len(points), size=BATCH)
        losses.append(train_step(points[rows], arm[rows]))
        if (step + 1) % 500 == 0:
            print(f"step {step + 1:4d}/{STEPS} - loss: {float(losses[-1]):.4f}")
    print(
        f"{STEPS} steps in {time.perf_counter() - start:.1f} s, {train_step.trace_count} "
        "compiled program"
    )

    test_points, test_arm = sample_spirals(2000, rng)
    predicted = model(test_points).numpy()[:, 0] > 0
    accuracy = float((predicted == (test_arm > 0.5)).mean())
    print(f"accuracy on {len(test_points)} test points: {accuracy:.1%}")
    plot(model, test_points, test_arm, [float(loss) for loss in losses], accuracy)


def plot(model, points, arm, losses, accuracy) -> None:
    """Plot the predicted probability with the points on top, and the loss."""
    side = np.linspace(-2.75, 2.75, 300, dtype="float32")
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    probability = ops.sigmoid(model(grid)).numpy().reshape(300, 300)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
    left.imshow(
        probability,
        extent=(-2.75, 2.75, -2.75, 2.75),
        origin="lower",
        cmap="coolwarm",
        vmin=0,
        vmax=1,
    )
    left.scatter(*points.T, c=arm, cmap="coolwarm", s=6, edgecolors="white", linewidths=0.3)
    left.set(title=f"Two spirals, accuracy {accuracy:.1%}", xticks=[], yticks=[])
    right.plot(losses, color="0.8", linewidth=0.7)
    right.plot(np.convolve(losses, np.ones(50) / 50, mode="valid"), color="tab:red")
    right.set(title="Loss", xlabel="step", yscale="log")
    figure.tight_layout()
    figure.savefig("spirals.png", dpi=110)
    print("wrote spirals.png")


if __name__ == "__main__":
    main()
