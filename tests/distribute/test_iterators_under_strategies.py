"""`strategy.run(step, args=(next(iterator),))`: each replica receives its share of the batch, and
any number of replicas computes the update of one device. The values are tf_keras's.
"""

import numpy as np
import pytest

import podium
from podium import distribute

START = np.array([[0.5], [-0.3], [0.2]], "float32")
# How much the kernel moves in tf_keras 2.21: on one device, and for 64 samples on 2 and 4 as well.
PER_SAMPLE = {
    64: [-0.07209131, -0.00711131, -0.06883733],
    33: [-0.04719594, -0.00140464, -0.02788748],
    35: [-0.0529336, -0.00071022, -0.02292491],
}
MEANS = {
    64: [-0.00235581, -0.00023124, -0.00221653],
    33: [-0.00162709, 0.00050962, 0.00039645],
    35: [-0.00346726, 0.00038123, 0.00119235],
}
LOSSES = {
    "vector": (lambda model, y, p: podium.losses.mean_squared_error(y, p), PER_SAMPLE),
    "sum": (lambda model, y, p: podium.losses.MeanSquaredError(reduction="sum")(y, p), PER_SAMPLE),
    "compiled mean": (lambda model, y, p: model.compiled_loss(y, p), MEANS),
    "compiled sum": (lambda model, y, p: model.compiled_loss(y, p), PER_SAMPLE),
}


def make_data(count):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64, 3)).astype("float32"), rng.normal(size=(64, 1)).astype("float32")
    return x[:count], y[:count]


class Engine(podium.Model):
    """Runs steps as Keras 2's own `make_train_function` does."""

    loss_function = staticmethod(LOSSES["vector"][0])

    def train_step(self, data):
        x, y = data
        self.shapes.append(x.shape)
        with podium.GradientTape() as tape:
            loss = self.loss_function(self, y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": podium.ops.mean(loss)}

    def make_train_function(self, force=False):
        def train_function(iterator):
            for _ in range(self._steps_per_execution.numpy().item()):
                outputs = self.distribute_strategy.run(self.train_step, args=(next(iterator),))
            return distribute.reduce_per_replica(outputs)

        self.train_function = podium.function(train_function)
        return self.train_function


class OwnFit(Engine):
    """Has a `fit` of its own over a DataHandler."""

    def fit(self, x, y, **options):
        with self.distribute_strategy.scope():
            handler = podium.data.get_data_handler(x, y, batch_size=32)
            self.train_function = self.make_train_function()
            for _, iterator in handler.enumerate_epochs():
                for _ in handler.steps():
                    self.train_function(iterator)


def make_model(replicas, loss="vector", cls=Engine, steps=1):
    strategy = distribute.MirroredStrategy(replicas)
    with strategy.scope():
        inputs = podium.Input((3,))
        model = cls(inputs, podium.layers.Dense(1)(inputs))
        reduction = "sum" if loss == "compiled sum" else "sum_over_batch_size"
        model.compile(
            podium.optimizers.SGD(0.001),
            podium.losses.MeanSquaredError(reduction=reduction),
            steps_per_execution=steps,
        )
    model.loss_function, model.shapes = LOSSES[loss][0], []
    model.set_weights([START, np.zeros(1, "float32")])
    return model


def moved(model):
    return (model.get_weights()[0] - START).ravel()


@pytest.mark.parametrize("count", [64, 33, 35])
@pytest.mark.parametrize("replicas", [1, 2, 4])
@pytest.mark.parametrize("loss", LOSSES)
def test_replicas_train_like_one_device(loss, replicas, count):
    model = make_model(replicas, loss)
    model.fit(*make_data(count), batch_size=32, shuffle=False, verbose=0)
    np.testing.assert_allclose(moved(model), LOSSES[loss][1][count], atol=1e-6)
    remainder = {(count - 32, 3)} if count < 64 else set()
    assert set(model.shapes) == {(32 // replicas, 3), *remainder}


@pytest.mark.parametrize("replicas", [1, 4])
def test_own_fit_over_a_data_handler(replicas):
    model = make_model(replicas, cls=OwnFit)
    model.fit(*make_data(64))
    np.testing.assert_allclose(moved(model), PER_SAMPLE[64], atol=1e-6)
    assert set(model.shapes) == {(32 // replicas, 3)}


@pytest.mark.parametrize("compiled", [True, False])
def test_loop_over_a_dataset(compiled):
    model = make_model(4)
    strategy = model.distribute_strategy

    def run(batch):
        return strategy.run(model.train_step, args=(batch,))

    step = podium.function(run) if compiled else run
    for batch in podium.data.Dataset.from_tensor_slices(make_data(64)).batch(32):
        assert batch[0].shape == (32, 3)  # outside of `run`, the global batch
        step(batch)
    np.testing.assert_allclose(moved(model), PER_SAMPLE[64], atol=1e-6)
    assert set(model.shapes) == {(8, 3)}


def test_shorter_last_execution_reads_only_its_own_batches():
    models = [make_model(4, steps=steps) for steps in (1, 3)]
    data = podium.data.Dataset.from_tensor_slices(make_data(64)).batch(4).repeat()
    for model in models:
        model.fit(data, steps_per_epoch=7, epochs=2, verbose=0)
    np.testing.assert_allclose(moved(models[1]), moved(models[0]), atol=1e-6)


def test_value_that_is_not_split_with_its_batch_is_refused():
    model = make_model(4)
    x, y = next(iter(podium.data.Dataset.from_tensor_slices(make_data(32)).batch(32)))
    with pytest.raises(ValueError, match=r"another value of shape \(32, 3\), which each replica"):
        model.distribute_strategy.run(model.train_step, args=((x / 2.0, y),))


@pytest.mark.parametrize("distributed", [False, True])
def test_rows_that_are_not_samples_are_not_split(distributed):
    strategy = distribute.MirroredStrategy(4)
    table = np.arange(4.0, dtype="float32")  # as many rows as replicas
    x = np.ones((16, 1), "float32")

    def step(batch):
        values, weights = batch
        return podium.ops.sum(values) * podium.ops.sum(weights)

    batches = podium.data.Dataset.from_tensors((x, table))
    if distributed:
        batches = strategy.experimental_distribute_dataset(batches)
    with strategy.scope():
        (result,) = [strategy.run(step, args=(batch,)) for batch in batches]
    assert float(strategy.reduce("sum", result)) == 16.0 * 6.0


@pytest.mark.parametrize("reduction", ["sum_over_batch_size", "mean_with_sample_weight"])
def test_loss_that_is_a_mean_is_refused_on_replicas(reduction):
    loss = podium.losses.MeanSquaredError(reduction=reduction)
    model = make_model(2)
    model.loss_function = lambda model, y, p: loss(y, p)
    with pytest.raises(ValueError, match=rf"reduction='{reduction}' and was called in `strategy"):
        model.fit(*make_data(32), batch_size=32, verbose=0)
    model = make_model(1)
    model.loss_function = lambda model, y, p: loss(y, p)
    model.fit(*make_data(32), batch_size=32, verbose=0)


def test_distributed_iterator_ends_with_out_of_range():
    strategy = distribute.MirroredStrategy(2)
    dataset = podium.data.Dataset.from_tensor_slices(np.arange(8.0, dtype="float32")).batch(4)
    iterator = iter(strategy.experimental_distribute_dataset(dataset))
    total = podium.Variable(0.0)

    @podium.function
    def add_three(batches):
        for _ in range(3):
            total.assign_add(strategy.reduce("sum", next(batches), axis=0))

    with pytest.raises(podium.core.OutOfRange, match="no more elements"):
        add_three(iterator)
    assert float(total) == 28.0  # of the two steps that had data


def test_update_with_a_batch_that_is_not_split_warns():
    model = make_model(2)
    x, y = next(iter(podium.data.Dataset.from_tensor_slices(make_data(32)).batch(32)))
    with pytest.warns(UserWarning, match=r"value of shape \(32, 3\) on every replica") as caught:
        model.distribute_strategy.run(model.train_step, args=((x / 2.0, y / 2.0),))
    assert caught[0].filename == __file__
    model.distribute_strategy.run(model.train_step, args=((x, y),))
