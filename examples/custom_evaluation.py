"""A custom evaluation step: how many digits are classified with confidence, and how many of those
correctly?

`evaluate` runs `test_step` on each batch, and `fit` runs it on the validation data. This one keeps
the loss and metrics of `compile` and adds two metrics for predictions with a probability above 90%.

Run: python examples/custom_evaluation.py
"""

import numpy as np
from sklearn.datasets import load_digits

import podium
from podium import layers, ops

EPOCHS, THRESHOLD = 20, 0.9


class ConfidenceModel(podium.Model):
    """Evaluates confident predictions separately."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # Metrics in attributes are tracked and reset by the model.
        self.confident = podium.metrics.Mean(name="confident")
        self.confident_accuracy = podium.metrics.Mean(name="confident_accuracy")

    def test_step(self, data):
        x, y = data
        y_pred = self(x, training=False)
        self.compiled_loss(y, y_pred, regularization_losses=self.losses)  # updates the running loss
        self.compiled_metrics.update_state(y, y_pred)
        confident = ops.cast(ops.max(y_pred, axis=-1) > THRESHOLD, "float32")
        correct = ops.cast(ops.argmax(y_pred, axis=-1) == ops.cast(y, "int32"), "float32")
        self.confident.update_state(confident)
        self.confident_accuracy.update_state(correct, sample_weight=confident)
        return {metric.name: metric.result() for metric in self.metrics}


def main() -> None:
    podium.utils.set_random_seed(2)
    pixels, digit = load_digits(return_X_y=True)
    x = (pixels / 16).astype("float32")
    inputs = podium.Input((64,))
    hidden = layers.Dropout(0.3)(layers.Dense(64, activation="relu")(inputs))
    model = ConfidenceModel(inputs, layers.Dense(10, activation="softmax")(hidden))
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    test = (x[1200:], digit[1200:])
    history = model.fit(
        x[:1200], digit[:1200], validation_data=test, epochs=EPOCHS, verbose=0
    ).history
    for epoch in range(0, EPOCHS, 5):
        accuracy, confident = history["val_accuracy"][epoch], history["val_confident"][epoch]
        print(f"epoch {epoch + 1:2d} - accuracy: {accuracy:.1%} - confident: {confident:.1%}")

    values = model.evaluate(*test, return_dict=True, verbose=0)
    print(
        f"accuracy: {values['accuracy']:.1%}; confident predictions: "
        f"{values['confident']:.1%}, of which {values['confident_accuracy']:.1%} are correct"
    )
    expected = (model.predict(test[0], verbose=0).max(axis=-1) > THRESHOLD).mean()
    same = np.isclose(values["confident"], [expected, history["val_confident"][-1]]).all()
    print(f"fit, evaluate and NumPy agree: {same}")


if __name__ == "__main__":
    main()
