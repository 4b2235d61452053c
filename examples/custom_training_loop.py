"""A custom training loop without `fit`: `podium.function`, a tape, an optimizer and metrics.

The state of the network, the optimizer and the metrics is in Variables, so the compiled steps
update it. The loop itself is plain Python.

Run: python examples/custom_training_loop.py
"""

import time

from sklearn.datasets import load_digits

import podium
from podium import layers

EPOCHS, BATCH = 20, 64


def main() -> None:
    podium.utils.set_random_seed(4)
    pixels, digit = load_digits(return_X_y=True)
    x = (pixels / 16).astype("float32")
    train = (
        podium.data.Dataset.from_tensor_slices((x[:1400], digit[:1400]))
        .shuffle(1400)
        .batch(BATCH, drop_remainder=True)
    )
    test = podium.data.Dataset.from_tensor_slices((x[1400:], digit[1400:])).batch(BATCH)

    model = podium.Sequential(
        [
            podium.Input((64,)),
            layers.Dense(64, activation="relu"),
            layers.Dropout(0.2),
            layers.Dense(10),
        ]
    )
    loss_fn = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = podium.optimizers.Adam(
        podium.optimizers.schedules.CosineDecay(0.01, decay_steps=EPOCHS * len(train))
    )
    mean_loss = podium.metrics.Mean()
    train_accuracy = podium.metrics.SparseCategoricalAccuracy()
    test_accuracy = podium.metrics.SparseCategoricalAccuracy()

    @podium.function
    def train_step(x, y):
        with podium.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_fn(y, logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        mean_loss.update_state(loss)
        train_accuracy.update_state(y, logits)

    @podium.function
    def test_step(x, y):
        test_accuracy.update_state(y, model(x, training=False))

    start = time.perf_counter()
    for epoch in range(EPOCHS):
        for metric in (mean_loss, train_accuracy, test_accuracy):
            metric.reset_state()
        for images, labels in train:
            train_step(images, labels)
        for images, labels in test:
            test_step(images, labels)
        print(
            f"epoch {epoch + 1:2d}/{EPOCHS} - loss: {float(mean_loss.result()):.4f}"
            f" - accuracy: {float(train_accuracy.result()):.1%} - test accuracy: "
            f"{float(test_accuracy.result()):.1%}"
        )
    steps = int(optimizer.iterations)
    print(
        f"{steps} steps in {time.perf_counter() - start:.1f} s, {train_step.trace_count} "
        "compiled program for training"
    )


if __name__ == "__main__":
    main()
