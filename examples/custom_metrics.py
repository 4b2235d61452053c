"""A training step with its own loss and metrics; only the optimizer is passed to `compile`.

The metrics are created outside of the model. Because the `metrics` property lists them, they are
reset for every epoch and every `evaluate`, so that `fit` shows means over the epoch.

Run: python examples/custom_metrics.py
"""

import numpy as np
from sklearn.datasets import load_diabetes

import podium
from podium import layers

EPOCHS = 10

loss_tracker = podium.metrics.Mean(name="loss")
mae_metric = podium.metrics.MeanAbsoluteError(name="mae")


class CustomModel(podium.Model):
    """Trains on a loss that is computed in the step."""

    def train_step(self, data):
        x, y = data
        with podium.GradientTape() as tape:
            y_pred = self(x, training=True)
            # One value per sample; the tape sums them.
            loss = podium.losses.mean_squared_error(y, y_pred)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return self.update_metrics(loss, y, y_pred)

    def test_step(self, data):
        x, y = data
        y_pred = self(x, training=False)
        return self.update_metrics(podium.losses.mean_squared_error(y, y_pred), y, y_pred)

    def update_metrics(self, loss, y, y_pred):
        """Update both metrics with a batch and return their results."""
        loss_tracker.update_state(loss)
        mae_metric.update_state(y, y_pred)
        return {"loss": loss_tracker.result(), "mae": mae_metric.result()}

    @property
    def metrics(self):
        return [loss_tracker, mae_metric]


def main() -> None:
    podium.utils.set_random_seed(3)
    x, y = load_diabetes(return_X_y=True)
    x = (x / x.std(axis=0)).astype("float32")
    y = ((y - y.mean()) / y.std()).astype("float32")[:, None]
    inputs = podium.Input((x.shape[1],))
    model = CustomModel(inputs, layers.Dense(1)(layers.Dense(32, activation="relu")(inputs)))
    model.compile(optimizer=podium.optimizers.SGD(0.001))
    logs = model.fit(x, y, epochs=EPOCHS, verbose=2).history
    print(
        f"loss: {logs['loss'][0]:.3f} -> {logs['loss'][-1]:.3f}, mae: {logs['mae'][0]:.3f} "
        f"-> {logs['mae'][-1]:.3f}"
    )

    _, mae = model.evaluate(x, y, verbose=0)
    expected = np.abs(model.predict(x, verbose=0) - y).mean()
    print(f"mae from evaluate: {mae:.4f}, from NumPy: {expected:.4f}")


if __name__ == "__main__":
    main()
