"""`keras.distribution` over Podium's strategies: the results of one device."""

import jax
import numpy as np
import pytest

import podium
from podium.compat import keras

DEVICES = ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]
X = np.random.RandomState(0).normal(size=(32, 4)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


def train():
    podium.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(X, Y, batch_size=8, epochs=2, verbose=0)
    return model


def model_parallel(shape=(2, 2)):
    mesh = keras.distribution.DeviceMesh(shape, ["batch", "model"], DEVICES)
    layouts = keras.distribution.LayoutMap(mesh)
    layouts[".*dense/kernel"] = (None, "model")
    layouts[".*dense/bias"] = ("model",)
    return keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch")


def test_distributed_training_equals_one_device():
    expected = train().get_weights()
    for each in (keras.distribution.DataParallel(devices=DEVICES), model_parallel()):
        with each.scope():
            assert keras.distribution.distribution() is each
            weights = train().get_weights()
        for value, other in zip(weights, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=2e-4, atol=1e-5)
    assert keras.distribution.distribution() is None


def test_model_parallel_splits_weights_and_slots():
    each = model_parallel()
    keras.distribution.set_distribution(each)
    try:
        model = train()
    finally:
        keras.distribution.set_distribution(None)
    kernel = model.layers[0].kernel
    assert kernel.value.addressable_shards[0].data.shape == (4, 4)
    slot = next(v for v in model.optimizer.variables if v.shape == (4, 8))
    assert slot.value.addressable_shards[0].data.shape == (4, 4)
    assert each.get_variable_layout(kernel).axes == (None, "model")
    assert each.get_variable_layout(model.layers[1].kernel).axes == (None, None)
    assert each.get_data_layout((8, 4)).axes == ("batch", None)
    assert (each.num_model_replicas, each.num_processes, each.batch_dim_name) == (2, 1, "batch")
    assert each.distribute_dataset(X) is X and each.get_tensor_layout("x") is None


def test_mesh_of_several_axes_warns_in_data_parallel():
    mesh = keras.distribution.DeviceMesh((2, 2), ["a", "b"], DEVICES)
    with pytest.warns(UserWarning, match="split along its first axis only"):
        assert keras.distribution.DataParallel(mesh).num_model_replicas == 2


def test_tensors_are_distributed_eagerly_and_in_steps():
    mesh = keras.distribution.DeviceMesh((4,), ["batch"], DEVICES)
    layout = keras.distribution.TensorLayout(["batch", None], mesh)
    x = keras.distribution.distribute_tensor(X, layout)
    assert x.value.sharding == layout.backend_layout
    double = podium.function(lambda x: keras.distribution.distribute_tensor(2 * x, layout))
    np.testing.assert_allclose(double(X).numpy(), 2 * X)
    symbol = keras.Input((4,))
    assert keras.distribution.distribute_tensor(symbol, layout) is symbol
    assert keras.distribution.list_devices() == DEVICES
    assert keras.distribution.get_device_count("CPU") == 4


def test_initialize_reads_the_environment(monkeypatch):
    calls = []
    monkeypatch.setattr(jax.distributed, "initialize", lambda **options: calls.append(options))
    monkeypatch.setenv("KERAS_DISTRIBUTION_JOB_ADDRESSES", "10.0.0.1:1,10.0.0.2:1")
    monkeypatch.setenv("KERAS_DISTRIBUTION_NUM_PROCESSES", "2")
    monkeypatch.setenv("KERAS_DISTRIBUTION_PROCESS_ID", "1")
    keras.distribution.initialize()
    keras.distribution.initialize("10.0.0.3:1", 4, 0)
    assert calls == [
        {"coordinator_address": "10.0.0.1:1", "num_processes": 2, "process_id": 1},
        {"coordinator_address": "10.0.0.3:1", "num_processes": 4, "process_id": 0},
    ]
    with pytest.raises(ValueError, match="has 2 addresses, and num_processes=3"):
        keras.distribution.initialize(num_processes=3)


def test_wrong_meshes_and_layouts_are_refused():
    distribution = keras.distribution
    with pytest.raises(ValueError, match="a name for each axis was expected"):
        distribution.DeviceMesh((2,), ["a", "b"])
    with pytest.raises(ValueError, match="which has 3 places, and 4 devices"):
        distribution.DeviceMesh((3,), ["a"], DEVICES)
    mesh = distribution.DeviceMesh((4,), ["a"], DEVICES)
    with pytest.raises(ValueError, match=r"\['b'\] are not among the axes of the mesh, \['a'\]"):
        distribution.TensorLayout(["b"], mesh)
    with pytest.raises(ValueError, match="has no mesh; pass `device_mesh=`"):
        _ = distribution.TensorLayout(["b"]).backend_layout
    layout = distribution.TensorLayout(["a"], mesh)
    with pytest.raises(ValueError, match="has a mesh already"):
        layout.device_mesh = mesh
    layouts = distribution.LayoutMap(mesh)
    layouts["x.*"] = layout
    layouts[".*y"] = ("a",)
    with pytest.raises(ValueError, match=r"has a layout for 'x\.\*' already"):
        layouts["x.*"] = layout
    with pytest.raises(ValueError, match="a TensorLayout, or a tuple of axes"):
        layouts["z"] = 3
    with pytest.raises(ValueError, match="at most one pattern was expected to match"):
        _ = layouts["xy"]
    assert sorted(layouts) == [".*y", "x.*"] and len(layouts) == 2
    del layouts[".*y"]


def test_wrong_distributions_are_refused():
    distribution = keras.distribution
    with pytest.raises(ValueError, match="layout_map=None was given; a LayoutMap was expected"):
        distribution.ModelParallel()
    with pytest.raises(TypeError, match=r"does not know the arguments \['layouts'\]"):
        distribution.ModelParallel(layouts=3)
    with pytest.raises(ValueError, match="device_mesh=3 was given; a DeviceMesh was expected"):
        distribution.DataParallel(3)
    with pytest.raises(TypeError, match="a DataParallel, a ModelParallel or None was expected"):
        distribution.set_distribution(podium.distribute.MirroredStrategy(2))
    with model_parallel((1, 4)).scope(), pytest.raises(ValueError, match="whose size divides"):
        keras.layers.Dense(6, name="dense").build((None, 4))
