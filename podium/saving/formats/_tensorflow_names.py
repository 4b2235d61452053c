"""The objects of a model by the names that TensorFlow's checkpoints have for them.

Reading and writing traverse a model by these names. An object may have several: TensorFlow names
it by every attribute that refers to it, and weights also by the name given to `add_weight`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.core import Variable
from podium.layers import DepthwiseConv1D, DepthwiseConv2D, Layer
from podium.metrics import Metric
from podium.optimizers import Optimizer

_NOT_OWNED = ("_inbound_nodes", "_init_arguments", "_tracker", "_graph_layers", "_stack")


def objects_by_name(owner: object) -> Iterator[tuple[str, object]]:
    """Yield the Variables, layers, optimizers and containers that an object refers to, by name.

    Args:
        owner: A layer or model, a metric, or a list, tuple or dictionary.
    """
    if isinstance(owner, Layer):
        yield from _layer_objects(owner)
    elif isinstance(owner, Metric):
        for name, value in vars(owner).items():
            if isinstance(value, Variable):
                yield name, value
    elif isinstance(owner, dict):
        yield from ((str(key), value) for key, value in owner.items() if contains_variables(value))
    elif isinstance(owner, (list, tuple)):
        yield from ((str(i), value) for i, value in enumerate(owner) if contains_variables(value))


def contains_variables(value: object) -> bool:
    """Return whether a value is, or contains, something that has Variables."""
    if isinstance(value, (list, tuple)):
        return any(contains_variables(item) for item in value)
    if isinstance(value, dict):
        return any(contains_variables(item) for item in value.values())
    return isinstance(value, (Variable, Layer, Optimizer, Metric))


def _layer_objects(layer: Any) -> Iterator[tuple[str, object]]:
    attributes = vars(layer)
    if hasattr(layer, "get_layer") and layer._is_assembled():
        with_weights = [inner for inner in layer.layers if inner.weights]
        for index, inner in enumerate(with_weights):
            yield f"layer_with_weights-{index}", inner
    weights = layer._own_weights()
    if isinstance(layer, (DepthwiseConv1D, DepthwiseConv2D)):
        yield "depthwise_kernel", layer.kernel
    names = [weight.name for weight in weights]
    for weight in weights:
        if names.count(weight.name) == 1 and attributes.get(weight.name, weight) is weight:
            yield weight.name, weight
    owned = {id(weight) for weight in weights}
    for name, value in attributes.items():
        is_other = (isinstance(value, Variable) and id(value) not in owned) or (
            isinstance(value, Metric) and name.startswith("_")
        )  # such as seeds, and the metrics of `compile`
        is_other = is_other or (id(value) in owned and name.startswith("_"))  # listed above
        if name not in _NOT_OWNED and not is_other and contains_variables(value):
            yield name, value
    optimizer = getattr(layer, "optimizer", None)
    if isinstance(optimizer, Optimizer):
        yield "optimizer", optimizer


def weights_in_order(owner: object) -> list[Variable]:
    """Return the weights of an object in the order in which tf_keras trains them: those of a model
    itself follow those of its layers.
    """
    if isinstance(owner, Layer):
        layer: Any = owner
        inside = [weight for inner in layer._own_layers() for weight in weights_in_order(inner)]
        own = layer._own_weights()
        weights = inside + own if hasattr(layer, "get_layer") else own + inside
    else:
        values = [value for _, value in objects_by_name(owner)]
        weights = [weight for value in values for weight in weights_in_order(value)]
        if isinstance(owner, Variable):
            weights = [owner]
    return list({id(weight): weight for weight in weights}.values())
