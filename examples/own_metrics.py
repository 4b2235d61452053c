"""A lower level: a step that computes its own loss and keeps its own metrics; `compile` only brings
the optimizer.

The metrics live outside of the model. Listing them in the `metrics` property is all it takes to
have them start anew with every epoch and every `evaluate`, so that what `fit` shows are means over
the epoch.

Run: python examples/own_metrics.py
"""

import numpy as np
from sklearn.datasets import load_diabetes

import podium
from podium import layers

EPOCHS = 10

loss_tracker = podium.metrics.Mean(name="loss")
mae_metric = podium.metrics.MeanAbsoluteError(name="mae")


class LowerLevel(podium.Model):
    """Trains on a loss that is written out in the step."""

    def train_step(self, data):
        x, y = data
        with podium.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = podium.losses.mean_squared_error(
                y, y_pred
            )  # one value per sample; the tape adds them up
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return self.track(loss, y, y_pred)

    def test_step(self, data):
        x, y = data
        y_pred = self(x, training=False)
        return self.track(podium.losses.mean_squared_error(y, y_pred), y, y_pred)

    def track(self, loss, y, y_pred):
        """Take a batch into both metrics and return what they stand at."""
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
    model = LowerLevel(inputs, layers.Dense(1)(layers.Dense(32, activation="relu")(inputs)))
    model.compile(optimizer=podium.optimizers.SGD(0.001))
    logs = model.fit(x, y, epochs=EPOCHS, verbose=2).history
    print(
        f"loss: {logs['loss'][0]:.3f} -> {logs['loss'][-1]:.3f}, mae: {logs['mae'][0]:.3f} "
        f"-> {logs['mae'][-1]:.3f}"
    )

    _, mae = model.evaluate(x, y, verbose=0)
    by_hand = np.abs(model.predict(x, verbose=0) - y).mean()
    print(f"mae from evaluate: {mae:.4f}, by hand: {by_hand:.4f}")


if __name__ == "__main__":
    main()
