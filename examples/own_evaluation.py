"""An evaluation step of our own: how many digits can be read surely, and how many of those are read
right?

`test_step` is what `evaluate` does with a batch, and what `fit` does with the validation data. This
one keeps the loss and the metrics of `compile`, and adds two of its own: a digit counts as read if
the network is 90% sure of it.

Run: python examples/own_evaluation.py
"""

import numpy as np
from sklearn.datasets import load_digits

import podium
from podium import layers, ops

EPOCHS, SURE = 20, 0.9


class Reader(podium.Model):
    """Evaluates what it reads surely on its own."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.read = podium.metrics.Mean(
            name="read"
        )  # the model finds them among its attributes and resets them
        self.read_right = podium.metrics.Mean(name="read_right")

    def test_step(self, data):
        x, y = data
        y_pred = self(x, training=False)
        self.compiled_loss(y, y_pred, regularization_losses=self.losses)  # updates the running loss
        self.compiled_metrics.update_state(y, y_pred)
        sure = ops.cast(ops.max(y_pred, axis=-1) > SURE, "float32")
        right = ops.cast(ops.argmax(y_pred, axis=-1) == ops.cast(y, "int32"), "float32")
        self.read.update_state(sure)
        self.read_right.update_state(right, sample_weight=sure)
        return {metric.name: metric.result() for metric in self.metrics}


def main() -> None:
    podium.utils.set_random_seed(2)
    pixels, digit = load_digits(return_X_y=True)
    x = (pixels / 16).astype("float32")
    inputs = podium.Input((64,))
    hidden = layers.Dropout(0.3)(layers.Dense(64, activation="relu")(inputs))
    model = Reader(inputs, layers.Dense(10, activation="softmax")(hidden))
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    new = (x[1200:], digit[1200:])
    history = model.fit(
        x[:1200], digit[:1200], validation_data=new, epochs=EPOCHS, verbose=0
    ).history
    for epoch in range(0, EPOCHS, 5):
        right, read = history["val_accuracy"][epoch], history["val_read"][epoch]
        print(f"epoch {epoch + 1:2d} - accuracy on new digits: {right:.1%} - sure of {read:.1%}")

    values = model.evaluate(*new, return_dict=True, verbose=0)
    print(
        f"accuracy: {values['accuracy']:.1%}; sure of {values['read']:.1%}, and right in "
        f"{values['read_right']:.1%} of those"
    )
    by_hand = (model.predict(new[0], verbose=0).max(axis=-1) > SURE).mean()
    same = np.isclose(values["read"], [by_hand, history["val_read"][-1]]).all()
    print(f"fit, evaluate and a count by hand agree: {same}")


if __name__ == "__main__":
    main()
