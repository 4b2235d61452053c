"""clone_model: the same architecture with new weights."""

import numpy as np
import pytest

import podium
from podium import layers
from podium.models._clone import clone_model


def check_copy(model, copy, *inputs):
    """The copy has the same names and shapes, other Variables, and computes the same with the same
    weights.
    """
    assert type(copy) is type(model) and copy.name == model.name
    assert [layer.name for layer in copy.layers] == [layer.name for layer in model.layers]
    assert [w.path for w in copy.weights] == [w.path for w in model.weights]
    assert not {id(w) for w in copy.weights} & {id(w) for w in model.weights}
    copy.set_weights(model.get_weights())
    given = list(inputs) if len(inputs) > 1 else inputs[0]
    flat = zip(
        podium.core.tree_leaves(model(given)), podium.core.tree_leaves(copy(given)), strict=True
    )
    for one, another in flat:
        np.testing.assert_array_equal(one.numpy(), another.numpy())


ONES = np.ones((2, 3), "float32")


def test_clone_of_a_sequential_has_new_weights():
    model = podium.Sequential(
        [
            podium.Input((3,), name="x"),
            layers.Dense(4, name="a"),
            layers.Dropout(0.5),
            layers.Dense(1),
        ]
    )
    model.layers[0].trainable = False
    copy = clone_model(model)
    assert not np.array_equal(copy.get_weights()[0], model.get_weights()[0])
    assert copy.input_names == ["x"] and not copy.layers[0].trainable and copy.layers[2].trainable
    check_copy(model, copy, ONES)


def test_sequential_without_an_input():
    model = podium.Sequential([layers.Dense(4), layers.Dense(1)])
    assert not clone_model(model).built
    model(ONES)
    copy = clone_model(model)
    assert copy.built and copy.output_shape == model.output_shape
    check_copy(model, copy, ONES)


def test_graph_with_shared_and_nested_layers_operations_and_several_outputs():
    shared = layers.Dense(3, name="shared")
    inner_input = podium.Input((3,))
    inner = podium.Model(
        inner_input, shared(layers.Dense(3, name="inside")(inner_input)), name="inner"
    )
    stack = podium.Sequential([layers.Dense(3, name="in_stack")], name="stack")
    a, b = podium.Input((3,), name="a"), podium.Input((3,), name="b")
    h = podium.ops.concatenate([shared(a) * 2.0 + 1.0, stack(inner(b))], axis=-1)
    model = podium.Model(
        [a, b], {"sum": shared(inner(a)) + shared(b), "h": layers.Dense(1, name="out")(h)}, name="m"
    )
    copy = clone_model(model)
    assert copy.get_layer("inner").get_layer("shared") is copy.get_layer("shared")
    assert set(copy.output) == {"sum", "h"} and copy.input_names == ["a", "b"]
    check_copy(model, copy, ONES, -ONES)


def test_subclass_created_from_a_graph_keeps_its_class():
    class Own(podium.Model):
        def train_step(self, data):
            return {"loss": 0.0}

    x = podium.Input((3,))
    model = Own(x, layers.Dense(2)(x))
    check_copy(model, clone_model(model), ONES)


def test_functions_are_shared_even_if_a_config_cannot_hold_them():
    def twice(x):
        return 2.0 * x

    x = podium.Input((3,))
    h = layers.Dense(3, activation=twice)(layers.Lambda(lambda x: x + 1.0, name="plus")(x))
    model = podium.Model(x, layers.Lambda(twice)(h))
    copy = clone_model(model)
    assert copy.get_layer("plus").function is model.get_layer("plus").function
    check_copy(model, copy, ONES)


def test_custom_layers_need_no_registration():
    class Scale(layers.Layer):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def build(self, input_shape):
            self.scale = self.add_weight((input_shape[-1],), "ones", name="scale")

        def call(self, inputs):
            return inputs * self.scale * self.factor

    model = podium.Sequential([podium.Input((3,)), Scale(3.0), Scale(2.0)])
    check_copy(model, clone_model(model), ONES)


def test_layers_inside_layers_are_copied_too():
    x = podium.Input((4, 3))
    model = podium.Model(
        x, layers.Bidirectional(layers.LSTM(2))(layers.TimeDistributed(layers.Dense(3))(x))
    )
    copy = clone_model(model)
    check_copy(model, copy, np.ones((2, 4, 3), "float32"))


def test_clone_function_creates_or_shares_layers():
    model = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4, name="a"), layers.Dense(1, name="b")]
    )
    seen = []

    def keep_a(layer):
        seen.append(layer.name)
        return layer if layer.name == "a" else layers.Dense(7, name="wide")

    copy = clone_model(model, clone_function=keep_a)
    assert (
        seen == ["a", "b"] and copy.layers[0] is model.layers[0] and copy.output_shape == (None, 7)
    )
    with pytest.raises(TypeError, match="returned 'no' for layer 'a'"):
        clone_model(model, clone_function=lambda layer: "no")


def test_input_tensors_replace_the_inputs():
    a, b = podium.Input((3,), name="a"), podium.Input((3,), name="b")
    model = podium.Model([a, b], layers.Dense(2)(a - b))
    new = [podium.Input((3,), name="c"), podium.Input((3,), name="d")]
    assert clone_model(model, input_tensors=new).input_names == ["c", "d"]
    assert clone_model(model, input_tensors={"b": new[0], "a": new[1]}).input_names == ["d", "c"]
    with pytest.raises(ValueError, match="has 2 inputs, and as many symbolic values were expected"):
        clone_model(model, input_tensors=new[:1])
    stack = podium.Sequential([layers.Dense(2)])
    assert clone_model(stack, new[0]).inputs[0] is new[0]
    within = layers.Dense(5)(new[0])
    node = within.node
    assert clone_model(stack, within).input_shape == (None, 5) and within.node is node


def test_subclassed_model_needs_a_config():
    class Plain(podium.Model):
        def __init__(self, units=2, **kwargs):
            super().__init__(**kwargs)
            self.units, self.dense = units, layers.Dense(units)

        def call(self, inputs):
            return self.dense(inputs)

    class WithConfig(Plain):
        def get_config(self):
            return super().get_config() | {"units": self.units}

    with pytest.raises(ValueError, match=r"a subclassed model \(Plain\).*define `get_config`"):
        clone_model(Plain())
    copy = clone_model(WithConfig(5, name="five"))
    assert copy.units == 5 and copy.name == "five"
    with pytest.raises(TypeError, match="a model was expected"):
        clone_model(layers.Dense(1))


def test_call_function_replaces_the_calls_of_layers():
    inputs = podium.Input((3,))
    model = podium.Model(inputs, layers.Dense(2)(layers.Dense(4)(inputs)))

    def add_dropout(layer, *args, **kwargs):
        outputs = layer(*args, **kwargs)
        return layers.Dropout(0.5)(outputs) if isinstance(layer, layers.Dense) else outputs

    copy = podium.models.clone_model(model, call_function=add_dropout)
    kinds = [type(layer).__name__ for layer in copy.layers]
    assert kinds == ["InputLayer", "Dense", "Dropout", "Dense", "Dropout"]
    with pytest.raises(ValueError, match="which has no graph of calls"):
        podium.models.clone_model(podium.Sequential([inputs]), call_function=add_dropout)


@pytest.mark.parametrize("recursive", [False, True])
def test_layers_of_inner_models_are_cloned_if_that_is_asked_for(recursive):
    inner = podium.Sequential([podium.Input((3,)), layers.Dense(4, name="first")], name="inner")
    inputs = podium.Input((3,))
    model = podium.Model(inputs, layers.Dense(2, name="last")(inner(inputs)))
    seen = []

    def clone(layer):
        seen.append(layer.name)
        return type(layer).from_config(layer.get_config())

    copy = podium.models.clone_model(model, clone_function=clone, recursive=recursive)
    assert seen == (["first", "last"] if recursive else ["inner", "last"])
    assert copy.get_layer("inner").get_layer("first") is not inner.get_layer("first")
