"""Configs of functional models, in Keras 3's layout: layers, their calls, and the connections.

A layer is listed once, with one entry for each of its calls. Values are named by `[layer, call,
output]`. Reading also accepts the lists that Keras 2 wrote for calls. The config of a layer is its
own `get_config`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from podium._typing import Config, Tree
from podium.core import KerasTensor, Node, map_structure, tree_leaves
from podium.layers import InputLayer, Layer
from podium.layers.internal import number_shared_layers, share_layers
from podium.models._graph import Graph
from podium.models._graph_operations import find_operation, operation_of
from podium.models._tensorflow_operations import CLASSES, find_tensorflow_function
from podium.saving import serialize_keras_object
from podium.saving.internal import build_from_config, find_class

if TYPE_CHECKING:
    from podium.models._model import Model

_KERAS_TENSOR = "__keras_tensor__"
_CONSTANT = "_CONSTANT_VALUE"  # Keras 2's mark of a first argument that is a plain value


# --- writing


class _Names:
    """The names in a config: layers have one, operations and inputs without an InputLayer get one.

    Attributes:
        calls: By id of a node, the name of its layer or operation and the number of the call.
        bare_inputs: By id of an input that no InputLayer created, its name.
        node_ids: The ids of the nodes of the graph.
    """

    def __init__(self, graph: Graph):
        self._used = {layer.name for layer in graph.layers}
        self.calls: dict[int, tuple[str, int]] = {}
        self.bare_inputs: dict[int, str] = {}
        self.node_ids = {id(node) for node in graph.nodes}
        for symbol in graph.flat_inputs:
            if symbol.node is None or symbol.node.inputs:
                self.bare_inputs[id(symbol)] = self.make_unique(symbol.name)

    def make_unique(self, base: str) -> str:
        """Return `base`, with a number if the name is used already."""
        name, count = base, 0
        while name in self._used:
            count += 1
            name = f"{base}_{count}"
        self._used.add(name)
        return name

    def history(self, symbol: KerasTensor) -> list[Any]:
        """Return `[layer, call, output]` of a value."""
        if id(symbol) in self.bare_inputs:
            return [self.bare_inputs[id(symbol)], 0, 0]
        name, call = self.calls[id(symbol.node)]
        return [name, call, symbol.index]

    def leaf_config(self, leaf: object) -> object:
        """Return the config of an argument of a call: symbolic values are replaced by their
        history.
        """
        if not isinstance(leaf, KerasTensor):
            return leaf
        config = {
            "shape": list(leaf.shape),
            "dtype": leaf.dtype.name,
            "keras_history": self.history(leaf),
        }
        return {"class_name": _KERAS_TENSOR, "config": config}


def functional_config(model: Model) -> Config:
    """Return the config of a model that has a graph."""
    return number_shared_layers(lambda: _functional_config(model))


def _functional_config(model: Model) -> Config:
    if model._symbolic_losses:
        raise ValueError(
            f"Model {model.name!r} has symbolic losses from `add_loss`, which a config cannot "
            "hold. Add them in the `call` of a layer instead."
        )
    graph = model._graph
    assert graph is not None
    names = _Names(graph)
    steps = graph.steps
    for step in steps:  # all names first: a layer may be called on a value of a later step
        if isinstance(step, Layer):
            for call, node in enumerate(_calls_of(step, names)):
                names.calls[id(node)] = (step.name, call)
        else:
            function = operation_of(step).function  # raises for unknown operations
            names.calls[id(step)] = (names.make_unique(function.__name__), 0)
    configs = [
        _input_config(symbol, names)
        for symbol in graph.flat_inputs
        if id(symbol) in names.bare_inputs
    ]
    configs += [
        _layer_config(step, names) if isinstance(step, Layer) else _operation_config(step, names)
        for step in steps
    ]
    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": configs,
        "input_layers": map_structure(names.history, graph.inputs),
        "output_layers": map_structure(
            lambda symbol: _output_history(symbol, names), graph.outputs
        ),
    }


def _calls_of(layer: Layer, names: _Names) -> list[Node]:
    if isinstance(layer, InputLayer):
        return layer._inbound_nodes[:1]
    return [node for node in layer._inbound_nodes if id(node) in names.node_ids]


def _output_history(symbol: KerasTensor, names: _Names) -> list[Any]:
    name, call, index = names.history(symbol)
    node = symbol.node
    is_model_output = (
        node is not None
        and node.layer is not None
        and _is_functional(node.layer)
        and id(symbol) not in names.bare_inputs
    )
    # For outputs alone, Keras counts the graph of a model inside as its first call.
    return [name, call + 1 if is_model_output else call, index]


def _is_functional(layer: object) -> bool:
    return getattr(layer, "_graph", None) is not None and not hasattr(layer, "_stack")


def _input_config(symbol: KerasTensor, names: _Names) -> Config:
    name = names.bare_inputs[id(symbol)]
    config = {
        "batch_shape": list(symbol.shape),
        "dtype": symbol.dtype.name,
        "sparse": False,
        "ragged": False,
        "name": name,
    }
    return {
        "module": "keras.layers",
        "class_name": "InputLayer",
        "config": config,
        "registered_name": None,
        "name": name,
        "inbound_nodes": [],
    }


def _layer_config(layer: Layer, names: _Names) -> Config:
    nodes = [] if isinstance(layer, InputLayer) else _calls_of(layer, names)
    config: Config = serialize_keras_object(layer)
    calls = [_call_config(node.args, node.kwargs, names) for node in nodes]
    return config | {"name": layer.name, "inbound_nodes": calls}


def _operation_config(node: Node, names: _Names) -> Config:
    operation = operation_of(node)
    name = names.calls[id(node)][0]
    settings, args = operation.split_arguments(node)
    return {
        "module": f"keras.src.ops.{operation.module}",
        "class_name": operation.class_name,
        "config": {"name": name, **serialize_keras_object(settings)},
        "registered_name": operation.class_name,
        "name": name,
        "inbound_nodes": [_call_config(args, {}, names)],
    }


def _call_config(args: tuple[Any, ...], kwargs: Mapping[str, Any], names: _Names) -> Config:
    return {
        "args": serialize_keras_object(map_structure(names.leaf_config, args)),
        "kwargs": serialize_keras_object(map_structure(names.leaf_config, dict(kwargs))),
    }


# --- reading


class NotComputedYet(Exception):
    """A value is the output of a call that has not been made yet."""


class _GraphReader:
    """Creates the layers of a config and makes the calls that it lists."""

    def __init__(self, config: Mapping[str, Any]):
        if not isinstance(config.get("layers"), (list, tuple)) or not all(
            isinstance(layer, Mapping) for layer in config["layers"]
        ):
            raise ValueError(
                f"The config of a model has layers={config.get('layers')!r}; a list of layers "
                "was expected."
            )
        self._steps: dict[str, Layer | Callable[..., Any]] = {}  # layers and operations by name
        self._outputs: dict[str, list[list[KerasTensor]]] = {}  # by name, for each call
        self._pending: list[tuple[str, list[Any]]] = []  # names, and calls that are not made yet
        self._is_keras_2 = False
        for layer_config in config["layers"]:
            self._add_step(layer_config)
        self._call_all()

    def _add_step(self, layer_config: Mapping[str, Any]) -> None:
        operation = find_operation(layer_config)
        config = layer_config.get("config") or {}
        name = layer_config.get("name") or config.get("name")
        if not isinstance(name, str) or name in self._steps:
            raise ValueError(
                f"The config of a model has a layer named {name!r}; a name that no other layer "
                "has was expected."
            )
        if operation is not None:
            settings = {key: value for key, value in config.items() if key != "name"}
            step: Any = operation.bind_settings(build_from_config(settings))
        elif layer_config.get("class_name") in CLASSES:
            step = find_tensorflow_function(layer_config)
        else:
            if str(layer_config.get("module")).startswith("keras.src.ops"):
                raise ValueError(
                    f"The model uses Keras's operation {layer_config.get('class_name')!r}, which "
                    "is not known here."
                )
            step = self._create_layer(layer_config)
        self._steps[name] = step
        self._outputs[name] = []
        if isinstance(step, InputLayer):
            self._outputs[name].append(tree_leaves(step.output))
        nodes = layer_config.get("inbound_nodes") or []
        if nodes:
            self._pending.append((name, list(nodes)))

    def _create_layer(self, layer_config: Mapping[str, Any]) -> Layer:
        find_class(layer_config)  # its error is clearer
        layer = build_from_config(
            {
                key: value
                for key, value in layer_config.items()
                if key not in ("name", "inbound_nodes")
            }
        )
        if not isinstance(layer, Layer):
            raise ValueError(
                f"The config of a model lists {layer_config.get('class_name')!r}; a layer was "
                "expected."
            )
        return layer

    def _call_all(self) -> None:
        """Make the calls whose arguments exist, repeatedly, until all calls are made."""
        while self._pending:
            left, num_calls = [], 0
            for name, nodes in self._pending:
                while nodes and self._try_call(name, nodes[0]):
                    nodes.pop(0)
                    num_calls += 1
                if nodes:
                    left.append((name, nodes))
            if left and not num_calls:
                names = ", ".join(repr(name) for name, _ in left[:5])
                raise ValueError(
                    f"The graph of the model could not be created: the inputs of {names} form a "
                    "cycle, or do not exist."
                )
            self._pending = left

    def _try_call(self, name: str, node: Any) -> bool:
        try:
            args, kwargs = self._arguments(node)
        except NotComputedYet:
            return False
        step = self._steps[name]
        if isinstance(step, Layer) and _training_is_default(step):
            # Keras stores the default, which would fix the argument for all later calls.
            kwargs.pop("training", None)
        self._outputs[name].append(tree_leaves(step(*args, **kwargs)))
        return True

    def _arguments(self, node: Any) -> tuple[list[Any], dict[str, Any]]:
        if isinstance(node, Mapping):
            args = self._build_argument(node.get("args", []))
            kwargs = self._build_argument(node.get("kwargs", {}))
            return list(args), {key: value for key, value in kwargs.items() if value is not None}
        return self._keras_2_arguments(node)

    def _build_argument(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            items = [self._build_argument(item) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, Mapping):
            if value.get("class_name") == _KERAS_TENSOR:
                return self._value(list(value["config"]["keras_history"]))
            if "class_name" in value:
                return build_from_config(value)
            return {key: self._build_argument(item) for key, item in value.items()}
        return value

    def _keras_2_arguments(self, node: Any) -> tuple[list[Any], dict[str, Any]]:
        """Read a call as Keras 2 wrote it: a list of `[layer, call, output, named arguments]`, or a
        single one.
        """
        self._is_keras_2 = True
        if not isinstance(node, (list, tuple)):
            raise ValueError(
                f"A call in the config of a model is {node!r}; a list or a dictionary was expected."
            )
        entries = [node] if node and isinstance(node[0], str) else node
        if any(
            not isinstance(entry, (list, tuple)) or len(entry) not in (3, 4) for entry in entries
        ):
            raise ValueError(
                f"A call in the config of a model is {node!r}; lists of three or four items were "
                "expected."
            )
        values = [
            entry[2] if entry[0] == _CONSTANT else self._value(list(entry[:3]), counts_itself=True)
            for entry in entries
        ]
        named = entries[0][3] if len(entries[0]) == 4 else {}
        kwargs = {key: self._keras_2_value(value) for key, value in named.items()}
        return [values[0] if len(values) == 1 else values], {
            key: value for key, value in kwargs.items() if value is not None
        }

    def _keras_2_value(self, value: Any) -> Any:
        is_history = (
            isinstance(value, (list, tuple))
            and len(value) >= 3
            and isinstance(value[0], str)
            and value[0] in self._steps
        )
        return (
            self._value(list(value[:3]), counts_itself=True)
            if is_history
            else build_from_config(value)
        )

    def _value(self, history: Any, counts_itself: bool = False) -> KerasTensor:
        if not isinstance(history, list) or len(history) != 3 or not isinstance(history[0], str):
            raise ValueError(
                f"A value in the config of a model is named {history!r}; [layer, call, output] "
                "was expected."
            )
        name, call, index = history
        if name not in self._steps:
            raise ValueError(
                f"The config of a model refers to the layer {name!r}, which it does not list."
            )
        if counts_itself and getattr(self._steps[name], "_graph", None) is not None and call > 0:
            call -= 1
        calls = self._outputs[name]
        if not isinstance(call, int) or not isinstance(index, int) or not 0 <= call < len(calls):
            raise NotComputedYet
        if not 0 <= index < len(calls[call]):
            raise ValueError(
                f"The config of a model refers to output {index} of layer {name!r}, which has "
                f"{len(calls[call])}."
            )
        return calls[call][index]

    def find_values(self, structure: Any, are_outputs: bool = False) -> Tree:
        """Return the values that the config names as inputs or outputs of the model."""
        if isinstance(structure, Mapping):
            return {key: self.find_values(value, are_outputs) for key, value in structure.items()}
        if (
            isinstance(structure, (list, tuple))
            and len(structure) == 3
            and isinstance(structure[0], str)
        ):
            step = self._steps.get(structure[0])
            # In Keras 2, Sequential is a functional model.
            counts_itself = _is_functional(step) or (self._is_keras_2 and hasattr(step, "_stack"))
            is_model_output = are_outputs and counts_itself
            try:
                return self._value(list(structure), counts_itself=is_model_output)
            except NotComputedYet:
                raise ValueError(
                    f"The config of a model names {structure!r} as an input or output, which is "
                    "never computed."
                ) from None
        if isinstance(structure, (list, tuple)):
            values = [self.find_values(item, are_outputs) for item in structure]
            return tuple(values) if isinstance(structure, tuple) else values
        raise ValueError(
            f"The config of a model names its inputs or outputs as {structure!r}; lists were "
            "expected."
        )


def functional_from_config(cls: type[Model], config: Mapping[str, Any]) -> Model:
    """Create a model from the result of `functional_config`, or from a config of Keras."""
    for key in ("input_layers", "output_layers"):
        if key not in config:
            raise ValueError(
                f"The config of a model has no {key!r}; a functional model was expected."
            )
    with share_layers():
        reader = _GraphReader(config)
    arguments = {
        key: value
        for key, value in config.items()
        if key not in ("layers", "input_layers", "output_layers")
    }
    inputs = reader.find_values(config["input_layers"])
    outputs = reader.find_values(config["output_layers"], are_outputs=True)
    return cls(inputs=inputs, outputs=outputs, **arguments)


def _training_is_default(layer: Layer) -> bool:
    return (
        type(layer).__module__.startswith("podium.layers.")
        and layer._call_signature.training_default is False
    )
