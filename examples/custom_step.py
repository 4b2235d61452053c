"""A custom training step inside `fit`: the same five lines as the built-in step, as a starting
point for changes.

The step uses the loss and metrics passed to `compile`, as `compiled_loss` and `compiled_metrics`.
Unchanged, it trains exactly like the built-in step, which this program checks.

Run: python examples/custom_step.py
"""

import numpy as np
from sklearn.datasets import load_diabetes

import podium
from podium import layers

EPOCHS = 10


class CustomModel(podium.Model):
    """A model with its own training step."""

    def train_step(self, data):
        x, y = data
        with podium.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compiled_loss(y, y_pred, regularization_losses=self.losses)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.compiled_metrics.update_state(y, y_pred)
        return {metric.name: metric.result() for metric in self.metrics}  # the loss is one of them


def train(
    model_class: type[podium.Model], x: np.ndarray, y: np.ndarray, verbose: int
) -> tuple[podium.Model, dict]:
    """Train a small network of the given class; the seed gives both classes the same weights."""
    podium.utils.set_random_seed(3)
    inputs = podium.Input((x.shape[1],))
    hidden = layers.Dense(32, activation="relu", kernel_regularizer="l2")(inputs)
    model = model_class(inputs, layers.Dense(1)(hidden))
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    return model, model.fit(x, y, epochs=EPOCHS, verbose=verbose).history


def main() -> None:
    # 442 patients: ten measurements each, and the progression of the disease.
    x, y = load_diabetes(return_X_y=True)
    x = (x / x.std(axis=0)).astype("float32")
    y = ((y - y.mean()) / y.std()).astype("float32")[:, None]
    custom, logs = train(CustomModel, x, y, verbose=2)
    built_in, built_in_logs = train(podium.Model, x, y, verbose=0)
    pairs = zip(custom.get_weights(), built_in.get_weights(), strict=True)
    difference = max(np.abs(a - b).max() for a, b in pairs)
    print(
        f"loss: {logs['loss'][0]:.3f} -> {logs['loss'][-1]:.3f}, mae: {logs['mae'][0]:.3f} "
        f"-> {logs['mae'][-1]:.3f}"
    )
    print(
        f"largest difference from the built-in step: {difference:.1e} in weights; same logs: "
        f"{logs == built_in_logs}"
    )


if __name__ == "__main__":
    main()
