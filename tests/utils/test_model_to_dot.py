"""`model_to_dot` with each of its packages; `tests/oracle` compares the graphs with Keras's."""

import importlib

import pytest

import podium
from podium import utils
from podium.compat import keras


def small_model():
    inputs = podium.Input((4,), name="start")
    return podium.Model(inputs, podium.layers.Dense(2, name="a<b")(inputs) * 2)


@pytest.fixture
def hide_package(monkeypatch):
    """A function that makes imports of packages fail."""
    imported, hidden = importlib.import_module, set()

    def refuse(name, *args):
        if name in hidden:
            raise ImportError(name)
        return imported(name, *args)

    monkeypatch.setattr(importlib, "import_module", refuse)
    return hidden.update


def test_graphviz_draws_operations_and_escapes_names(hide_package):
    hide_package({"pydot"})
    source = keras.utils.model_to_dot(small_model(), rankdir="LR", dpi=50).source
    assert "rankdir=LR" in source and "dpi=50" in source
    assert "<b>a&lt;b</b> (Dense)" in source and "<b>multiply</b> (Operation)" in source
    assert source.count("->") == 2


def test_pydot_draws_a_graph_and_clusters():
    pydot = pytest.importorskip("pydot", reason="pydot is not installed (extra podium[plot])")
    dot = utils.model_to_dot(small_model())
    assert isinstance(dot, pydot.Dot) and len(dot.get_nodes()) == 4 and len(dot.get_edges()) == 2
    assert isinstance(utils.model_to_dot(small_model(), subgraph=True), pydot.Cluster)


def test_a_model_without_a_graph_is_one_node(hide_package):
    hide_package({"pydot"})

    class Doubled(podium.Model):
        def call(self, inputs):
            return inputs * 2

    model = Doubled(name="doubled")
    model.build((None, 2))
    assert "<b>doubled</b> (Doubled)" in utils.model_to_dot(model).source


def test_wrong_arguments_and_missing_packages_raise(hide_package):
    with pytest.raises(ValueError, match="is not built"):
        utils.model_to_dot(podium.Sequential([podium.layers.Dense(1)]))
    with pytest.raises(ValueError, match="layer_range"):
        utils.model_to_dot(small_model(), layer_range=["a", "b"])
    hide_package({"pydot", "graphviz"})
    with pytest.raises(ImportError, match="needs pydot, or graphviz"):
        utils.model_to_dot(small_model())
