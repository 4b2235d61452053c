"""Variables by path: the paths that files and checkpoints use, and each variable once."""

import podium
from podium import layers
from podium.state import state_nodes, variables_by_path


def paths(model):
    return [node.path for node in state_nodes(model)]


def test_paths_number_layers_of_one_class():
    model = podium.Sequential([layers.Dense(1), layers.Dense(1), layers.ReLU()])
    assert paths(model) == ["", "layers/dense", "layers/dense_1", "layers/re_lu"]


def test_functional_model_inside_a_model_is_listed_as_functional():
    inputs = podium.Input((2,))
    inner = podium.Model(inputs, layers.Dense(3)(inputs))
    assert paths(podium.Sequential([inner]))[1] == "layers/functional"


def test_attributes_are_visited_by_name_and_private_ones_last():
    class Block(layers.Layer):
        def __init__(self):
            super().__init__()
            self._hidden = layers.Dense(1)
            self.parts = [layers.Dense(1), {"inner": [layers.Dense(1)]}]
            self.first = layers.Dense(1)

    expected = ["", "first", "parts/dense", "parts/container/container/dense", "_hidden"]
    assert paths(Block()) == expected


def test_projections_of_attention_have_public_names():
    layer = layers.MultiHeadAttention(1, 2)
    layer.build((None, 3, 4), (None, 3, 4))
    names = [path for path in paths(layer) if path.endswith("_dense")]
    assert names == ["key_dense", "output_dense", "query_dense", "value_dense"]


def test_shared_variables_are_listed_once():
    shared = layers.Dense(1)
    model = podium.Sequential([podium.Input((1,)), shared])
    model.again = [shared]
    by_path = variables_by_path(model)
    assert len({id(variable) for variable in by_path.values()}) == len(by_path)


def test_other_variables_have_unique_paths():
    model = podium.Sequential([podium.Input((1,)), layers.Dense(1)])
    others = [podium.Variable(1.0, name="scale"), podium.Variable(2.0, name="scale")]
    by_path = variables_by_path(model, [*others, model.weights[0]])
    assert [path for path in by_path if path.startswith("others/")] == [
        "others/scale",
        "others/scale_1",
    ]


def test_slots_and_training_state_are_included():
    model = podium.Sequential([podium.Input((1,)), layers.Dense(1)])
    model.compile(podium.optimizers.LossScaleOptimizer("sgd"), "mse")
    model.optimizer.build(model.trainable_variables)
    by_path = variables_by_path(model)
    assert "optimizer/vars/0" in by_path
    assert "optimizer/inner_optimizer/vars/0" in by_path
    assert "counters/train" in by_path
