"""Variables, sublayers and metrics are found when attributes change, and not at every request."""

import collections
import copy
import functools
import pickle
import sys

import numpy as np
import pytest

import podium
from podium import layers
from podium.layers import _layer

X = np.ones((2, 3), "float32")


def count_calls(function):
    """Return how many of Podium's functions a call of `function` calls."""
    root = podium.__path__[0]
    calls = collections.Counter()

    def count(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(root):
            calls[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return sum(calls.values())


class Stack(podium.Model):
    def __init__(self, depth):
        super().__init__()
        self.blocks = [layers.Dense(3) for _ in range(depth)]

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def sequential(depth):
    return podium.Sequential([podium.Input((3,)), *[layers.Dense(3) for _ in range(depth)]])


def subclassed(depth):
    model = Stack(depth)
    model(X)
    return model


@pytest.mark.parametrize("make_model", [sequential, subclassed])
def test_trainable_variables_of_fifty_layers_take_few_calls(make_model):
    model = make_model(50)
    assert len(model.trainable_variables) == 100
    assert count_calls(lambda: model.trainable_variables) < 60
    small = make_model(5)
    assert len(small.trainable_variables) == 10
    calls = [count_calls(lambda: m.trainable_variables) for m in (small, model)]
    assert calls[0] == calls[1]


@pytest.mark.parametrize("make_model", [sequential, subclassed])
def test_taped_call_does_not_search_attributes(make_model, monkeypatch):
    model = make_model(4)
    with podium.GradientTape():
        model(X)
    assert len(model.trainable_variables) == 8
    searches = []
    search = _layer.VariableTracker.search

    def record_search(tracker, attributes, layer_type):
        searches.append(attributes)
        return search(tracker, attributes, layer_type)

    monkeypatch.setattr(_layer.VariableTracker, "search", record_search)
    with podium.GradientTape() as tape:
        loss = podium.ops.sum(model(X))
    assert all(g is not None for g in tape.gradient(loss, model.trainable_variables))
    assert searches == []


def names(variables):
    return [variable.name for variable in variables]


def variable(name, trainable=True):
    return podium.Variable(0.0, name=name, trainable=trainable)


def test_changes_of_attributes_are_seen_immediately():
    layer = layers.Layer()
    assert layer.weights == []
    layer.b = variable("b")
    layer.a = variable("a")
    assert names(layer.weights) == ["b", "a"]
    layer.b = variable("c")
    assert names(layer.weights) == ["c", "a"]
    layer.b = None
    assert names(layer.weights) == ["a"]
    del layer.a
    assert layer.weights == []
    layer.inner = layers.Dense(2)
    layer.inner.build((None, 3))
    assert names(layer.weights) == ["kernel", "bias"]
    layer.inner = layers.Dense(2, use_bias=False)
    assert layer.weights == []
    layer.inner.build((None, 3))
    assert names(layer.weights) == ["kernel"]


def test_changes_of_containers_are_seen_immediately():
    layer = layers.Layer()
    layer.items, layer.named, layer.group = [], {}, set()
    layer.nested = ({"deep": []},)
    assert layer.weights == []
    layer.items.append(variable("a"))
    assert names(layer.weights) == ["a"]
    layer.items[0] = variable("b")
    assert names(layer.weights) == ["b"]
    layer.named["c"] = variable("c")
    layer.group.add(variable("d"))
    layer.nested[0]["deep"].append(variable("e"))
    assert names(layer.weights) == ["b", "c", "d", "e"]
    layer.items.insert(0, variable("f"))
    layer.named["c"] = variable("g")
    assert names(layer.weights) == ["f", "b", "g", "d", "e"]
    layer.items.reverse()
    del layer.named["c"]
    layer.group.clear()
    layer.nested[0]["deep"] += [layers.Layer()]
    layer.nested[0]["deep"][-1].inside = [variable("h")]
    assert names(layer.weights) == ["b", "f", "e", "h"]
    layer.items[:] = [1, None]
    layer.nested[0]["deep"].clear()
    assert layer.weights == []


def test_containers_stay_the_objects_that_were_assigned():
    layer = layers.Layer()
    items, named = [layers.Dense(1)], collections.OrderedDict(a=layers.Dense(1))
    layer.items, layer.named = items, named
    assert layer.items is items and type(layer.items) is list
    assert layer.named is named
    items.append(layers.Dense(1))
    assert len(layer._flatten_layers()) == 4


def test_container_that_contains_itself_is_searched_once():
    layer = layers.Layer()
    layer.items = [variable("a")]
    layer.items.append(layer.items)
    layer.itself = layer
    assert names(layer.weights) == ["a"] and layer._flatten_layers() == [layer]


def test_replaced_item_is_seen_although_its_address_is_used_again():
    layer = layers.Layer()
    layer.items = [None]
    for number in range(200):
        layer.items[0] = [float(number)] if number % 2 else layers.Layer()
        assert len(layer._flatten_layers()) == (1 if number % 2 else 2)
        layer.items[0] = None


def test_cached_properties_are_searched():
    class Lazy(layers.Layer):
        @functools.cached_property
        def scale(self):
            return variable("scale")

    layer = Lazy()
    assert layer.weights == []
    assert layer.scale is layer.weights[0]
    del layer.scale
    assert layer.weights == []


def test_freezing_deep_inside_is_seen_immediately():
    inner = sequential(2)
    model = podium.Sequential([podium.Input((3,)), inner, layers.Dense(1)])
    assert len(model.trainable_variables) == 6
    inner.layers[0].trainable = False
    assert len(model.trainable_variables) == 4 and len(model.non_trainable_variables) == 2
    inner.trainable = False
    assert len(model.trainable_variables) == 2
    model.trainable = True
    assert len(model.trainable_variables) == 6
    inner.layers[1].kernel.trainable = False
    assert len(model.trainable_variables) == 5


def test_seeds_and_metrics_are_part_of_the_variables():
    class Measured(layers.Layer):
        def __init__(self):
            super().__init__()
            self.means = [podium.metrics.Mean(name="mean")]
            self.dropout = layers.Dropout(0.5)
            self.statistic = variable("statistic", trainable=False)
            self.scale = variable("scale")

        def call(self, x):
            self.add_metric(podium.ops.sum(x), name="added")
            return self.dropout(x)

    layer = Measured()
    layer(X)
    assert names(layer.weights) == ["scale", "statistic"]
    assert [metric.name for metric in layer.metrics] == ["mean", "added"]
    assert len(layer.variables) == 2 + 1 + 4
    layer.means.append(podium.metrics.Mean(name="other"))
    assert [metric.name for metric in layer.metrics] == ["mean", "other", "added"]
    assert len(layer.variables) == 2 + 1 + 6


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_find_their_own_variables(duplicate):
    model = subclassed(2)
    model.count = model.add_weight(name="count", trainable=False)
    other = duplicate(model)
    assert names(other.weights) == names(model.weights) and len(model.weights) == 5
    shared = duplicate is copy.copy
    assert all((a is b) == shared for a, b in zip(other.weights, model.weights, strict=True))
    other.extra = variable("extra")
    assert len(other.weights) == 6 and len(model.weights) == 5
    other.blocks = []
    assert len(other.weights) == 2 and len(model.weights) == 5


@pytest.mark.parametrize("protocol", [0, pickle.HIGHEST_PROTOCOL])
def test_pickled_layer_finds_its_own_variables(protocol):
    dense = layers.Dense(2)
    dense(X)
    other = pickle.loads(pickle.dumps(dense, protocol))
    np.testing.assert_array_equal(other(X), dense(X))
    assert names(other.weights) == ["kernel", "bias"] and other.weights[0] is other.kernel


def test_attributes_may_be_set_before_the_constructor_of_the_base_class():
    class Early(layers.Layer):
        def __init__(self):
            self.scale = variable("scale")
            super().__init__()

    class Forgetful(layers.Layer):
        def __init__(self):
            self.scale = variable("scale")

    assert names(Early().weights) == ["scale"]
    outer = layers.Layer()
    outer.inner = Forgetful()
    with pytest.raises(RuntimeError, match=r"Forgetful was used before `super\(\).__init__\(\)`"):
        _ = outer.weights


def test_attributes_that_are_metrics_are_listed_before_added_ones():
    class Model(podium.Model):
        def __init__(self):
            super().__init__()
            self.mean = podium.metrics.Mean(name="attribute")
            self.dense = podium.layers.Dense(1)

        def call(self, x):
            self.add_metric(podium.ops.sum(x), name="added")
            self.add_metric(self.mean(x))
            return self.dense(x)

    model = Model()
    model.compile(loss="mse")
    x, y = np.full((4, 1), 2.0, "float32"), np.zeros((4, 1), "float32")
    assert model.evaluate(x, y, verbose=0)[1:] == [2.0, 8.0]
    assert model.metrics_names == ["loss", "attribute", "added"]


def test_attributes_of_a_method_without_tracking_are_not_searched():
    from podium.layers.internal import no_automatic_dependency_tracking

    class Wrapped(layers.Layer):
        def __init__(self):
            super().__init__()
            self.own = layers.Dense(2)
            self.add_other()

        @no_automatic_dependency_tracking
        def add_other(self):
            """Add a layer that is the caller's."""
            self.others = [layers.Dense(3)]
            return len(self.others)

    layer = Wrapped()
    assert layer.add_other() == 1 and Wrapped.add_other.__doc__.startswith("Add a layer")
    for part in (layer.own, *layer.others):
        part.build((None, 4))
    assert [tuple(weight.shape) for weight in layer.weights] == [(4, 2), (2,)]
