"""A training loop forked from that of Keras, as users fork it: scope, run, unwrap and a distributed
dataset.

Run as a script it is one of the workers of a MultiWorkerMirroredStrategy, or trains alone with
`--alone`, and prints the result.
"""

import sys

import numpy as np

import podium
from podium import distribute


class Forked(podium.layers.Layer):
    """Uses only the public methods of strategies."""

    def __init__(self):
        super().__init__()
        self.dense = podium.layers.Dense(
            1, kernel_initializer="ones", kernel_regularizer=podium.regularizers.L2(0.1)
        )
        self.distribute_strategy = distribute.get_strategy()
        aggregation = distribute.VariableAggregation.ONLY_FIRST_REPLICA
        self._train_counter = podium.Variable(
            0, dtype="int32", aggregation=aggregation, trainable=False
        )

    def compile(self, optimizer, loss, metrics, steps_per_execution=1):
        with self.distribute_strategy.scope():
            self.optimizer = podium.optimizers.get(optimizer)
            self.loss, self.metrics_list, self.train_function = loss, metrics, None
            self.steps_per_execution = steps_per_execution

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        x, y = data
        with podium.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.loss(y, y_pred)
            for extra_loss in self.losses:
                loss += distribute.scale_loss_for_distribution(extra_loss)
        self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
        return {"loss": loss, **self.compute_metrics(y, y_pred)}

    def test_step(self, x, y):
        y_pred = self(x, training=False)
        loss = self.loss(y, y_pred)
        for extra_loss in self.losses:
            loss += distribute.scale_loss_for_distribution(extra_loss)
        return {"loss": loss, **self.compute_metrics(y, y_pred)}

    def compute_metrics(self, y, y_pred):
        logs = {}
        for metric in self.metrics_list:
            metric.update_state(y, y_pred, None)
            logs[metric.name] = metric.result()
        return logs

    def make_train_function(self):
        def step_function(model, iterator):
            def run_step(data):
                outputs = model.train_step(data)
                model._train_counter.assign_add(1)
                return outputs

            data = next(iterator)
            outputs = model.distribute_strategy.run(run_step, args=(data,))
            return model.distribute_strategy.unwrap(outputs)[0]

        def train_function(iterator):
            for _ in range(self.steps_per_execution):
                outputs = step_function(self, iterator)
            return outputs

        self.train_function = podium.function(train_function)
        return self.train_function

    def fit(self, dataset, epochs, callbacks=()):
        callbacks = podium.callbacks.CallbackList(
            list(callbacks), add_history=True, model=self, epochs=epochs
        )
        dataset = self.distribute_strategy.experimental_distribute_dataset(dataset)
        self.make_train_function()
        self._train_counter.assign(0)
        callbacks.on_train_begin()
        for epoch in range(epochs):
            iterator = iter(dataset)
            callbacks.on_epoch_begin(epoch)
            while True:
                try:
                    logs = self.train_function(iterator)
                except StopIteration:
                    break
            callbacks.on_epoch_end(epoch, None)
        return {name: float(value) for name, value in logs.items()}

    def evaluate(self, dataset):
        for metric in self.metrics_list:
            metric.reset_state()
        logs = [self.test_step(x, y) for x, y in dataset]
        return {name: sum(float(row[name]) for row in logs) / len(logs) for name in logs[0]}

    def predict(self, dataset):
        return podium.ops.concatenate([self(x, training=False) for x, _ in dataset], axis=0)


def train(strategy, batch_size=4, callbacks=()):
    """Train a model under a strategy; return it, its last logs, and the data."""
    x, y = (
        np.random.default_rng(1).normal(size=(10, 2)).astype("float32"),
        np.ones((10, 1), "float32"),
    )
    data = podium.data.Dataset.from_tensor_slices((x, y)).batch(batch_size)
    with strategy.scope():
        model = Forked()
        metric = podium.metrics.MeanAbsoluteError()
    model.compile(
        podium.optimizers.SGD(0.01), podium.losses.MeanSquaredError(reduction="sum"), [metric]
    )
    with strategy.scope():
        model.build((None, 2))
    return model, model.fit(data, epochs=2, callbacks=callbacks), data


class PrintsEpochs(podium.callbacks.Callback):
    """Prints the index of each epoch."""

    def on_epoch_end(self, epoch, logs=None):
        print(f"end of epoch {epoch}", flush=True)


if __name__ == "__main__":
    strategy = (
        distribute.get_strategy()
        if "--alone" in sys.argv
        else distribute.MultiWorkerMirroredStrategy()
    )
    model, logs, data = train(strategy, callbacks=[PrintsEpochs()])
    assert int(model._train_counter) == 6
    evaluated, predicted = model.evaluate(data), model.predict(data)
    error = logs["mean_absolute_error"]  # of all replicas; the loss is one replica's
    results = [
        *model.dense.kernel.numpy().ravel(),
        error,
        *evaluated.values(),
        *predicted.numpy().ravel(),
    ]
    print("result", *(f"{result:.9g}" for result in results), flush=True)
