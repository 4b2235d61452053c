"""No text of an object of a public class shows one of Podium's private modules."""

import importlib
import inspect
import pkgutil
import re

import pytest

import podium
from podium.core import internal

# Namespaces of constants, a mark, a factory and an interface, of which there are no instances.
WITHOUT_INSTANCES = {
    "MAP_TO_NONE", "ReduceOp", "Reduction", "ResizeMethod", "SparseTensor", "StateOwner",
    "Variable", "VariableAggregation", "VariableSynchronization",
}  # fmt: skip
STARTS_PROCESSES = {"ParameterServerStrategy"}  # of Ray
PRIVATE = re.compile(r"podium[\w.]*\._")


def public_classes():
    classes = {}
    for info in pkgutil.walk_packages(podium.__path__, "podium."):
        parts = info.name.split(".")
        if info.ispkg and not any(part.startswith("_") or part == "internal" for part in parts):
            for name, value in vars(importlib.import_module(info.name)).items():
                if inspect.isclass(value) and value.__module__.startswith("podium"):
                    classes.setdefault(value, f"{info.name}.{name}")
    return classes


CLASSES = public_classes()


def is_protocol(cls):
    return getattr(cls, "_is_protocol", False)


def make_without_arguments(cls):
    """Return an object, or None if its class needs arguments."""
    try:
        inspect.signature(cls).bind()
        return cls()
    except (TypeError, ValueError, NotImplementedError, ImportError, RuntimeError):
        return None


@pytest.mark.parametrize("cls", CLASSES, ids=CLASSES.values())
def test_text_of_an_object_does_not_show_a_private_module(cls):
    if cls.__name__ in WITHOUT_INSTANCES or is_protocol(cls):
        return
    assert cls.__repr__ is not object.__repr__
    value = None if cls.__name__ in STARTS_PROCESSES else make_without_arguments(cls)
    if value is not None:
        assert not PRIVATE.search(repr(value)) and not PRIVATE.search(str(value))


def test_most_classes_are_made_without_arguments():
    made = [cls for cls in CLASSES if cls.__name__ not in WITHOUT_INSTANCES]
    assert sum(make_without_arguments(cls) is not None for cls in made) > 100


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (podium.GradientTape, "<podium.core.GradientTape>"),
        (podium.callbacks.History, "<podium.callbacks.History>"),
        (podium.initializers.Zeros, "<podium.initializers.Zeros>"),
        (
            lambda: podium.optimizers.schedules.CosineDecay(0.1, 10),
            "<podium.optimizers.schedules.CosineDecay>",
        ),
        (lambda: iter(podium.data.Dataset.range(3)), "<podium.data.Iterator>"),
    ],
)
def test_text_has_the_public_package(make, text):
    assert repr(make()) == text


def test_text_of_a_subclass_has_its_own_module():
    class Mine(podium.callbacks.Callback):
        pass

    assert repr(Mine()).startswith(f"<{__name__}.") and repr(Mine()).endswith("Mine>")


def test_public_name_of_a_class_without_a_public_package():
    assert internal.PublicRepr.__module__ == "podium.core._public_repr"
    assert repr(internal.PublicRepr()) == "<podium.core.PublicRepr>"


@pytest.mark.parametrize(
    "cls", [podium.GradientTape, podium.layers.Dense, podium.callbacks.History]
)
def test_sources_of_classes_are_found(cls):
    assert f"class {cls.__name__}" in inspect.getsource(cls)
