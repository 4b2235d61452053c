"""A small network learns from a large one: distillation, by overriding `compute_loss`.

The teacher classifies handwritten digits well. The student is a tenth of its size and has labels of
only a few digits, but also learns from the probabilities that the teacher predicts for many more.

Run: python examples/distillation.py
"""

import numpy as np
from sklearn.datasets import load_digits

import podium
from podium import layers, ops

EPOCHS, NUM_LABELED, TEMPERATURE = 40, 100, 3.0


class Student(podium.Model):
    """Learns from the labels where there are any, and from the teacher everywhere."""

    def __init__(self, network, teacher):
        super().__init__()
        self.network = network
        self.teacher = teacher
        self.teacher.trainable = False
        self.distance = podium.metrics.Mean(name="distance")

    def call(self, x, training=False):
        return self.network(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        from_labels = super().compute_loss(x, y, y_pred, sample_weight, training)
        teacher_probabilities = ops.softmax(self.teacher(x, training=False) / TEMPERATURE)
        probabilities = ops.softmax(y_pred / TEMPERATURE)
        distance = ops.mean(podium.losses.kl_divergence(teacher_probabilities, probabilities))
        self.distance.update_state(distance)
        return from_labels + TEMPERATURE**2 * distance


def network(units: int) -> podium.Sequential:
    """Return a network with one hidden layer."""
    return podium.Sequential(
        [podium.Input((64,)), layers.Dense(units, activation="relu"), layers.Dense(10)]
    )


def train(
    name: str,
    model: podium.Model,
    x: np.ndarray,
    y: np.ndarray,
    test: tuple,
    weight: np.ndarray | None = None,
) -> dict:
    """Train a model of logits on digits, and return its metrics on test digits."""
    loss = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=podium.optimizers.Adam(0.005), loss=loss, metrics=["accuracy"])
    model.fit(x, y, sample_weight=weight, epochs=EPOCHS, verbose=0)
    values = model.evaluate(*test, verbose=0, return_dict=True)
    size = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    print(f"{name:20s} {size:6d} weights - accuracy on test digits: {values['accuracy']:.1%}")
    return values


def main() -> None:
    podium.utils.set_random_seed(6)
    pixels, digit = load_digits(return_X_y=True)
    x = (pixels / 16).astype("float32")
    test = (x[1200:], digit[1200:])

    teacher = network(256)
    train("teacher", teacher, x[:1200], digit[:1200], test)
    train("student alone", network(24), x[:NUM_LABELED], digit[:NUM_LABELED], test)
    # The labels of the other digits have weight 0.
    has_label = (np.arange(1200) < NUM_LABELED).astype("float32")
    values = train(
        "student with teacher",
        Student(network(24), teacher),
        x[:1200],
        digit[:1200],
        test,
        has_label,
    )
    print(f"distance from the teacher on test digits: {values['distance']:.3f}")


if __name__ == "__main__":
    main()
