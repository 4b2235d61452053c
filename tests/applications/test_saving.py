"""The layers of ConvNeXt and InceptionResNetV2: results, configs, and files that name them."""

import json

import numpy as np
import pytest

import podium
from podium.applications.convnext import LayerScale, StochasticDepth
from podium.applications.inception_resnet_v2 import CustomScaleLayer
from podium.testing import check_layer


def test_layers_pass_the_contract_check():
    images = np.random.default_rng(0).normal(size=(4, 2, 2, 3)).astype("float32")
    check_layer(LayerScale(0.5, 3), images)
    check_layer(StochasticDepth(0.5), images)
    check_layer(CustomScaleLayer(0.5), [images, images])


def test_stochastic_depth_drops_entire_samples_and_keeps_the_mean():
    x = np.ones((2000, 2, 2, 1), "float32")
    layer = StochasticDepth(0.25)
    np.testing.assert_array_equal(layer(x).numpy(), x)
    dropped = layer(x, training=True).numpy()
    assert np.all(dropped == dropped[:, :1, :1])
    np.testing.assert_allclose(np.unique(dropped), [0, 4 / 3], rtol=1e-6)
    assert abs(dropped.mean() - 1) < 0.05


@pytest.mark.parametrize(
    ("layer", "module"),
    [
        (LayerScale(0.5, 3), "keras.src.applications.convnext"),
        (StochasticDepth(0.5), "keras.src.applications.convnext"),
        (CustomScaleLayer(0.5), "keras.src.applications.inception_resnet_v2"),
    ],
)
def test_configs_name_keras_s_modules(layer, module):
    config = json.loads(json.dumps(podium.saving.serialize_keras_object(layer)))
    assert config["module"] == module
    restored = podium.saving.deserialize_keras_object(config)
    assert type(restored) is type(layer) and restored.get_config() == layer.get_config()


def test_saved_model_with_these_layers_is_loaded(tmp_path):
    images = podium.Input((4, 4, 3))
    x = podium.layers.Conv2D(3, 1)(images)
    x = CustomScaleLayer(0.5)([images, StochasticDepth(0.1)(LayerScale(0.5, 3)(x))])
    model = podium.Model(images, x)
    for suffix in (".keras", ".h5"):
        model.save(tmp_path / f"model{suffix}")
        loaded = podium.models.load_model(tmp_path / f"model{suffix}")
        values = np.random.default_rng(0).normal(size=(2, 4, 4, 3)).astype("float32")
        np.testing.assert_array_equal(loaded(values).numpy(), model(values).numpy())
