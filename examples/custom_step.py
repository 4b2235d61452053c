"""A training step of our own inside `fit`: the same five lines that the built-in step takes, there
to be changed.

The step uses what `compile` was given: `compiled_loss` for the loss, `compiled_metrics` for the
metrics. As long as nothing in it is changed, it trains exactly like the built-in one, which is what
this program checks.

Run: python examples/custom_step.py
"""

import numpy as np
from sklearn.datasets import load_diabetes

import podium
from podium import layers

EPOCHS = 10


class CustomModel(podium.Model):
    """A model that spells out what happens with a batch."""

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
    kind: type[podium.Model], x: np.ndarray, y: np.ndarray, verbose: int
) -> tuple[podium.Model, dict]:
    """Train a small network of the given class on the data; the seed makes both start from the same
    weights.
    """
    podium.utils.set_random_seed(3)
    inputs = podium.Input((x.shape[1],))
    hidden = layers.Dense(32, activation="relu", kernel_regularizer="l2")(inputs)
    model = kind(inputs, layers.Dense(1)(hidden))
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    return model, model.fit(x, y, epochs=EPOCHS, verbose=verbose).history


def main() -> None:
    x, y = load_diabetes(
        return_X_y=True
    )  # 442 patients, ten measurements each, and how their illness went on
    x = (x / x.std(axis=0)).astype("float32")
    y = ((y - y.mean()) / y.std()).astype("float32")[:, None]
    ours, logs = train(CustomModel, x, y, verbose=2)
    built_in, built_in_logs = train(podium.Model, x, y, verbose=0)
    pairs = zip(ours.get_weights(), built_in.get_weights(), strict=True)
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
