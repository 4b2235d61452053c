"""A complete training engine in one class: custom `compile`, `fit`, `evaluate` and `predict` on a
plain Layer.

For changes beyond the training step. It uses the same public API as `podium.Model`:
`podium.function` compiles several steps into one program that reads its batches with
`next(iterator)`, and `CallbackList` calls the callbacks and shows the progress bar. Copy the class
as a starting point.

Run: python examples/forked_engine.py
"""

import numpy as np

import podium
from podium import layers

EPOCHS = 10


class Engine(layers.Layer):
    """A trainable layer without `podium.Model`; it accepts Datasets of (x, y) batches."""

    def __init__(self, network):
        super().__init__()
        self.network = network
        self.stop_training = False  # callbacks set it

    def call(self, inputs, training=False):
        return self.network(inputs, training=training)

    def compile(self, optimizer, loss, metrics=(), steps_per_execution=1):
        self.optimizer = podium.optimizers.get(optimizer)
        self.loss = podium.losses.get(loss)
        self.loss_mean = podium.metrics.Mean(name="loss")
        self.metrics_list = [podium.metrics.get(metric) for metric in metrics]
        self.steps_per_execution = steps_per_execution
        self.train_function = podium.function(self.run_steps)
        self.test_function = podium.function(lambda iterator: self.test_step(next(iterator)))

    def train_step(self, data):
        x, y = data
        with podium.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.loss(y, y_pred) + sum(self.losses)
        self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
        return self.update_metrics(loss, y, y_pred)

    def test_step(self, data):
        x, y = data
        y_pred = self(x, training=False)
        return self.update_metrics(self.loss(y, y_pred) + sum(self.losses), y, y_pred)

    def update_metrics(self, loss, y, y_pred):
        """Update the metrics with a batch and return their results."""
        self.loss_mean.update_state(loss, sample_weight=len(y))
        for metric in self.metrics_list:
            metric.update_state(y, y_pred)
        return {metric.name: metric.result() for metric in [self.loss_mean, *self.metrics_list]}

    def run_steps(self, iterator):
        """Run `steps_per_execution` steps; compiled, they are one program."""
        for _ in range(self.steps_per_execution):
            logs = self.train_step(next(iterator))
        return logs

    def fit(self, dataset, epochs=1, verbose=1, callbacks=None):
        steps = len(dataset) // self.steps_per_execution * self.steps_per_execution
        callback_list = podium.callbacks.CallbackList(
            callbacks,
            add_history=True,
            add_progbar=verbose != 0,
            model=self,
            verbose=verbose,
            epochs=epochs,
            steps=steps,
        )
        # The callbacks are called at the end also if an exception is raised.
        with callback_list.ensure_end("train"):
            callback_list.on_train_begin()
            for epoch in range(epochs):
                self.reset_metrics()
                callback_list.on_epoch_begin(epoch)
                iterator = iter(dataset)
                for step in range(0, steps, self.steps_per_execution):
                    callback_list.on_train_batch_begin(step)
                    logs = self.train_function(iterator)
                    callback_list.on_train_batch_end(step + self.steps_per_execution - 1, logs)
                callback_list.on_epoch_end(
                    epoch, {name: float(value) for name, value in logs.items()}
                )
                if self.stop_training:
                    break
            callback_list.on_train_end()
        return callback_list.history

    def evaluate(self, dataset):
        self.reset_metrics()
        iterator = iter(dataset)
        for _ in range(len(dataset)):
            logs = self.test_function(iterator)
        return {name: float(value) for name, value in logs.items()}

    def predict(self, dataset):
        return np.concatenate([self(x, training=False).numpy() for x, *_ in dataset])

    def reset_metrics(self):
        for metric in [self.loss_mean, *self.metrics_list]:
            metric.reset_state()


def main() -> None:
    podium.utils.set_random_seed(11)
    x = np.random.default_rng(11).uniform(-1, 1, size=(2000, 2)).astype("float32")
    y = (x[:, :1] * x[:, 1:] > 0).astype("float32")  # 1 if both signs are equal
    dataset = podium.data.Dataset.from_tensor_slices((x, y)).shuffle(2000).batch(50)
    hidden = [
        layers.Dense(32, activation="tanh", kernel_regularizer=podium.regularizers.L2(1e-5))
        for _ in range(2)
    ]
    engine = Engine(
        podium.Sequential([podium.Input((2,)), *hidden, layers.Dense(1, activation="sigmoid")])
    )
    engine.compile(
        podium.optimizers.Adam(0.01),
        "binary_crossentropy",
        ["binary_accuracy"],
        steps_per_execution=5,
    )
    print("before:", engine.evaluate(dataset))
    history = engine.fit(
        dataset, epochs=EPOCHS, callbacks=[podium.callbacks.EarlyStopping("loss", patience=3)]
    )
    print("after:", engine.evaluate(dataset))
    loss_falls = history.history["loss"][-1] < history.history["loss"][0]
    print(f"loss falls: {loss_falls}; predictions: {engine.predict(dataset).shape}")
    print(
        f"{engine.train_function.trace_count} compiled program of "
        f"{engine.steps_per_execution} steps"
    )


if __name__ == "__main__":
    main()
