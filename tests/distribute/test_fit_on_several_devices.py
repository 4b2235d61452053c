"""`fit`, `evaluate`, `predict` and similar methods under strategies of several devices equal one
device.
"""

import copy

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import podium
from podium import distribute, layers
from podium.distribute import _layout

X = np.random.default_rng(0).normal(size=(65, 6)).astype("float32")
Y = X[:, :2] - X[:, 2:4]


@pytest.fixture(autouse=True)
def warned_already(monkeypatch):
    monkeypatch.setattr(_layout, "_warned", {"small"})


def make(strategy, k=1, eagerly=False):
    podium.utils.set_random_seed(1)
    with strategy.scope():
        hidden = layers.Dense(8, activation="relu", kernel_regularizer="l2")
        model = podium.Sequential(
            [podium.Input((6,)), hidden, layers.Dropout(0.2), layers.Dense(2)]
        )
        optimizer = podium.optimizers.Adam(0.01, epsilon=1e-3)
        model.compile(optimizer, "mse", metrics=["mae"], steps_per_execution=k, run_eagerly=eagerly)
    return model


def run_all_methods(model):
    """Return the results of training, evaluation and prediction."""
    history = model.fit(X, Y, batch_size=32, epochs=2, verbose=0, validation_split=0.2)
    logs = [value for values in history.history.values() for value in values]
    return [
        *[weight.numpy() for weight in (*model.weights, *model.optimizer.variables)],
        np.array(logs),
        np.array(model.evaluate(X, Y, batch_size=32, verbose=0)),
        model.predict(X, batch_size=32, verbose=0),
        np.array(model.train_on_batch(X[:7], Y[:7])),
        np.array(model.test_on_batch(X[:8], Y[:8])),
        model.predict_on_batch(X[:8]),
        *model.predict_iter(X[:20], batch_size=8),
    ]


@pytest.fixture(scope="module")
def on_one_device():
    return run_all_methods(make(distribute.get_strategy()))


STRATEGIES = {
    "two": lambda: distribute.MirroredStrategy(2),
    "four": lambda: distribute.MirroredStrategy(),
    "fsdp": lambda: distribute.ShardedStrategy("fsdp", smallest=1),
    "tensor": lambda: distribute.ShardedStrategy("tensor"),
    "map": lambda: distribute.ShardedStrategy(
        {r"dense/kernel": (None, "model")}, mesh={"data": 2, "model": 2}
    ),
}


@pytest.mark.parametrize(
    ("name", "k"), [("two", 1), ("four", 3), ("fsdp", 1), ("tensor", 3), ("map", 1)]
)
def test_fit_evaluate_and_predict_equal_one_device(name, k, on_one_device):
    model = make(STRATEGIES[name](), k)
    found = run_all_methods(model)
    assert len(found) == len(on_one_device)
    for ours, one in zip(found, on_one_device, strict=True):
        np.testing.assert_allclose(ours, one, atol=2e-6)
    assert (
        model.train_function.trace_count <= 4
    )  # full batches, the rest of an epoch, rows, train_on_batch


def test_eager_steps_equal_one_device():
    one, many = make(distribute.get_strategy()), make(distribute.MirroredStrategy(2), eagerly=True)
    for model in (one, many):
        model.train_on_batch(X[:8], Y[:8])
    np.testing.assert_allclose(
        many.layers[0].kernel.numpy(), one.layers[0].kernel.numpy(), atol=1e-6
    )


def test_variables_and_slots_are_placed_by_the_layout():
    model = make(distribute.ShardedStrategy("fsdp", smallest=16))
    model.fit(X[:32], Y[:32], batch_size=16, verbose=0)
    kernel, bias = model.layers[0].kernel, model.layers[0].bias
    assert kernel.value.sharding.spec == P(None, "data") and bias.value.is_fully_replicated
    moments = [variable for variable in model.optimizer.variables if variable.shape == kernel.shape]
    assert len(moments) == 2 and all(
        slot.value.sharding == kernel.value.sharding for slot in moments
    )
    assert kernel.value.addressable_shards[0].data.shape == (6, 2)
    kernel.assign(np.zeros((6, 8)))
    assert kernel.value.sharding.spec == P(None, "data") and kernel.numpy().sum() == 0
    model.train_on_batch(X[:8], Y[:8])
    assert kernel.value.sharding.spec == P(None, "data")


def test_batches_are_split_among_the_devices():
    seen = []

    class Look(podium.layers.Layer):
        def call(self, inputs):
            jax.debug.inspect_array_sharding(inputs, callback=seen.append)
            return inputs

    with distribute.MirroredStrategy().scope():
        model = podium.Sequential([podium.Input((6,)), Look(), layers.Dense(2)])
        model.compile("sgd", "mse")
    model.fit(X[:16], Y[:16], batch_size=8, verbose=0)
    assert all(sharding.shard_shape((8, 6)) == (2, 6) for sharding in seen) and seen


def test_batch_smaller_than_the_replicas_is_exact_and_warns_once(monkeypatch):
    monkeypatch.setattr(_layout, "_warned", set())
    model = make(distribute.MirroredStrategy(4))
    with pytest.warns(
        UserWarning, match=r"A batch of 3 samples is smaller than the number of replicas, 4"
    ) as found:
        model.predict(X[:3], verbose=0)
        model.predict(X[:2], verbose=0)
    assert len(found) == 1


def test_models_of_several_devices_and_of_one_can_coexist(on_one_device):
    many, one = make(distribute.MirroredStrategy(4)), make(distribute.get_strategy())
    drawn = podium.random.normal(())  # the global generator's state was used by none yet
    for model in (many, one, many, one):
        model.fit(X[:32], Y[:32], batch_size=16, verbose=0, shuffle=False)
    assert (
        len(one.layers[0].kernel.value.devices()) == 1
        and len(many.layers[0].kernel.value.devices()) == 4
    )
    np.testing.assert_allclose(
        one.layers[0].kernel.numpy(), many.layers[0].kernel.numpy(), atol=1e-6
    )
    assert drawn.shape == ()


def test_random_state_is_shared_by_programs_of_several_devices_and_of_one():
    with distribute.MirroredStrategy(4).scope():
        w = podium.Variable(np.ones(4, "float32"))
    on_many = podium.function(lambda: w.assign(podium.random.uniform((4,))))
    v = podium.Variable(np.ones(4, "float32"))
    on_one = podium.function(lambda: v.assign(podium.random.uniform((4,))))
    drawn = [tuple(np.asarray(draw())) for draw in (on_many, on_one, on_many, on_one)]
    assert len(set(drawn)) == 4
    assert len(w.value.devices()) == 4 and len(v.value.devices()) == 1


def test_copies_and_saved_models_keep_their_values(tmp_path):
    model = make(distribute.MirroredStrategy(2))
    model.fit(X[:32], Y[:32], verbose=0)
    expected = model.predict(X[:4], verbose=0)
    model.save(tmp_path / "model.keras")
    with distribute.ShardedStrategy("fsdp", smallest=1).scope():
        loaded = podium.saving.load_model(tmp_path / "model.keras")
    assert loaded.layers[0].kernel.value.sharding.spec == P(None, "data")
    np.testing.assert_allclose(loaded.predict(X[:4], verbose=0), expected, atol=1e-6)
    np.testing.assert_allclose(copy.deepcopy(model).predict(X[:4], verbose=0), expected, atol=1e-6)


def test_fit_accepts_a_distributed_dataset():
    strategy = distribute.MirroredStrategy(2)
    data = podium.data.Dataset.from_tensor_slices((X, Y)).batch(32)
    one, other = make(strategy), make(strategy)
    one.fit(data, verbose=0)
    other.fit(strategy.experimental_distribute_dataset(data), verbose=0)
    np.testing.assert_array_equal(one.layers[0].kernel.numpy(), other.layers[0].kernel.numpy())


def test_layout_maps_and_meshes_are_validated():
    with pytest.raises(ValueError, match=r"Unknown layout 'fdsp'. Did you mean 'fsdp'"):
        distribute.ShardedStrategy("fdsp")
    with pytest.raises(ValueError, match=r"Unknown mesh axis 'modle'. Did you mean 'model'"):
        distribute.ShardedStrategy({"kernel": (None, "modle")}, mesh={"data": 2, "model": 2})
    with pytest.raises(ValueError, match=r"devices were requested, and this machine has 4"):
        distribute.ShardedStrategy("tensor", mesh={"data": 4, "model": 2})
    with pytest.raises(ValueError, match=r"for the axes 'data' and 'model' were expected"):
        distribute.ShardedStrategy("tensor", mesh={"data": 2})
    with pytest.raises(
        ValueError, match=r"devices=5 devices were requested, and this machine has 4"
    ):
        distribute.MirroredStrategy(5)
    with pytest.raises(ValueError, match=r"names a device twice"):
        distribute.MirroredStrategy(["/cpu:0", "/cpu:0"])
    with pytest.raises(ValueError, match=r"not a regular expression"):
        distribute.LayoutMap({"(": ("data",)})
    with pytest.raises(TypeError, match=r"one of data, fsdp, tensor, or a LayoutMap"):
        distribute.ShardedStrategy(3)
    strategy = distribute.ShardedStrategy({"kernel": (None, None, "data")})
    with (
        strategy.scope(),
        pytest.raises(ValueError, match=r"Give at most one axis for each dimension"),
    ):
        layers.Dense(2).build((None, 3))
