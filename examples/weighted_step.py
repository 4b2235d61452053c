"""A custom training step that supports `sample_weight` and `class_weight`.

Both are passed to the step as a third part of the data. The task is imbalanced: detect the eights
among the handwritten digits, where only one digit in ten is an eight. Without weights, a briefly
trained model rarely predicts an eight.

Run: python examples/weighted_step.py
"""

import numpy as np
from sklearn.datasets import load_digits

import podium
from podium import layers

EPOCHS = 10


class WeightedModel(podium.Model):
    """Passes sample weights to the loss and the metrics."""

    def train_step(self, data):
        x, y, sample_weight = data if len(data) == 3 else (*data, None)
        with podium.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compiled_loss(
                y, y_pred, sample_weight=sample_weight, regularization_losses=self.losses
            )
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.compiled_metrics.update_state(y, y_pred, sample_weight=sample_weight)
        return {metric.name: metric.result() for metric in self.metrics}


def train(x: np.ndarray, y: np.ndarray, **weights) -> podium.Model:
    """Train a small network from the same initial weights, with the weights passed to `fit`."""
    podium.utils.set_random_seed(5)
    inputs = podium.Input((64,))
    model = WeightedModel(inputs, layers.Dense(1, activation="sigmoid")(inputs))
    model.compile(
        optimizer=podium.optimizers.Adam(0.003),
        loss="binary_crossentropy",
        weighted_metrics=["accuracy"],
    )
    history = model.fit(x, y, epochs=EPOCHS, verbose=0, **weights).history
    print(f"loss: {history['loss'][0]:.3f} -> {history['loss'][-1]:.3f}", end=", ")
    return model


def main() -> None:
    pixels, digit = load_digits(return_X_y=True)
    x = (pixels / 16).astype("float32")
    y = (digit == 8).astype("float32")[:, None]
    train_rows, test_rows = slice(1200), slice(1200, None)
    options = {
        "no weights": {},
        "class_weight": {"class_weight": {0: 1.0, 1: 9.0}},
        "sample_weight": {"sample_weight": np.where(y[train_rows, 0] == 1, 9.0, 1.0)},
    }
    predictions = {}
    for name, weights in options.items():
        predictions[name] = train(x[train_rows], y[train_rows], **weights).predict(
            x[test_rows], verbose=0
        )
        is_eight = predictions[name] > 0.5
        recall, false_positives = (
            is_eight[y[test_rows] == 1].mean(),
            is_eight[y[test_rows] == 0].mean(),
        )
        print(f"{name}: recall {recall:.0%}, false positives {false_positives:.0%}")
    print(
        "class_weight and sample_weight agree: "
        f"{np.allclose(predictions['class_weight'], predictions['sample_weight'])}"
    )


if __name__ == "__main__":
    main()
