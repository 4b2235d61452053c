"""Objects from configs: names are resolved by registries only, and failures are ValueErrors."""

import pytest

import podium
from podium.core.internal import build_object, load_class, resolve_class


class Scale:
    def __init__(self, factor=1):
        self.factor = factor

    @classmethod
    def from_config(cls, config):
        return cls(config["factor"])


def find_nothing(config):
    raise ValueError(f"Unknown class {config['class_name']!r}.")


def test_custom_objects_precede_builtin_ones():
    config = {"class_name": "Scale", "config": {"factor": 3}}
    scale = build_object(config, find_nothing, {"Scale": Scale})
    assert scale.factor == 3


def test_registered_name_precedes_class_name():
    config = {"class_name": "Other", "registered_name": "mine>Scale", "config": {"factor": 2}}
    objects = {"mine>Scale": Scale, "Other": dict}
    assert resolve_class(config, find_nothing, objects) is Scale


def test_scope_is_searched_too():
    with podium.saving.custom_object_scope({"Scale": Scale}):
        config = {"class_name": "Scale", "config": {"factor": 4}}
        assert build_object(config, find_nothing).factor == 4


def test_functions_are_returned_without_a_call():
    config = {"class_name": "find_nothing", "config": {}}
    assert build_object(config, find_nothing, {"find_nothing": find_nothing}) is find_nothing


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"class_name": "system", "module": "os", "config": {}}, "Unknown class 'system'"),
        ({"class_name": 3, "config": {}}, "class_name=3; the name of a class was expected"),
        ({"config": {}}, "class_name=None; the name of a class was expected"),
        ({"class_name": "Scale", "config": [1]}, r"'Scale' is \[1\]; a dictionary"),
        ({"class_name": "Scale", "config": {}}, r"'Scale' does not have the expected form \(Key"),
    ],
)
def test_bad_configs_raise_value_errors(config, message):
    with pytest.raises(ValueError, match=message):
        build_object(config, find_nothing, {"Scale": Scale})


def test_classes_of_packages_above_are_loaded_by_name():
    assert load_class("Functional") is podium.Model
    assert load_class("Sequential") is podium.Sequential
    assert load_class("system") is None
