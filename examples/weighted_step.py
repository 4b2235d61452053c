"""A step of our own that honours `sample_weight` and `class_weight`, and what they are good for.

Both arrive in the step as a third part of the data. The task is one where they matter: find the
eights among the handwritten digits, when only one digit in ten is an eight. Without weights a short
training hardly dares to say "eight".

Run: python examples/weighted_step.py
"""

import numpy as np
from sklearn.datasets import load_digits

import podium
from podium import layers

EPOCHS = 10


class Weighted(podium.Model):
    """Passes the weights of samples on to the loss and to the metrics."""

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
    """Train the same small network from the same start, with the weights given to `fit`."""
    podium.utils.set_random_seed(5)
    inputs = podium.Input((64,))
    model = Weighted(inputs, layers.Dense(1, activation="sigmoid")(inputs))
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
    seen, asked = slice(1200), slice(1200, None)
    kinds = {
        "no weights": {},
        "class_weight": {"class_weight": {0: 1.0, 1: 9.0}},
        "sample_weight": {"sample_weight": np.where(y[seen, 0] == 1, 9.0, 1.0)},
    }
    answers = {}
    for name, weights in kinds.items():
        answers[name] = train(x[seen], y[seen], **weights).predict(x[asked], verbose=0)
        eight = answers[name] > 0.5
        found, wrong = eight[y[asked] == 1].mean(), eight[y[asked] == 0].mean()
        print(f"{name}: finds {found:.0%} of the eights, takes {wrong:.0%} of the others for one")
    print(
        "class_weight and sample_weight agree: "
        f"{np.allclose(answers['class_weight'], answers['sample_weight'])}"
    )


if __name__ == "__main__":
    main()
