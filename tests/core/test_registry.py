"""Registered names of classes and functions."""

import pytest

import podium


def test_configs_can_name_registered_classes_only():
    @podium.saving.register_keras_serializable("my_project", name="Identity")
    class CustomLayer(podium.layers.Layer):
        def call(self, x):
            return x

    assert podium.saving.get_registered_name(CustomLayer) == "my_project>Identity"
    loaded = podium.layers.deserialize(podium.layers.serialize(CustomLayer(name="n")))
    assert type(loaded) is CustomLayer and loaded.name == "n"
    with pytest.raises(ValueError, match=r"Unknown layer 'os\.system'"):
        podium.layers.deserialize({"class_name": "os.system", "module": "os", "config": {}})
    with pytest.raises(ValueError, match="has no `get_config`"):
        podium.saving.register_keras_serializable()(int)


def test_custom_objects_are_known_inside_their_scope_only():
    with podium.saving.custom_object_scope({"thrice": lambda x: 3 * x}):
        assert float(podium.activations.get("thrice")(podium.Tensor(1.0))) == 3.0
    with pytest.raises(ValueError, match="Unknown activation"):
        podium.activations.get("thrice")


def test_scope_without_objects_changes_nothing():
    before = dict(podium.saving.get_custom_objects())
    with podium.saving.custom_object_scope(None):
        assert dict(podium.saving.get_custom_objects()) == before
