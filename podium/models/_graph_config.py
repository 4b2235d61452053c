"""A model made of inputs and outputs as plain data, in Keras 3's layout, and back: layers, calls,
and what feeds what.

A layer is listed once, with one entry for each of its calls. Values are named by `[layer, call,
output]`. Reading also knows the lists that Keras 2 wrote for calls. What layers say of themselves
is their own `get_config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core import KerasTensor, Node, map_structure, tree_leaves
from podium.layers import InputLayer, Layer
from podium.models._graph import Graph
from podium.models._graph_operations import operation_named, operation_of
from podium.saving import serialize_keras_object
from podium.saving.internal import build_from_config, find_class

_KERAS_TENSOR = "__keras_tensor__"


# --- writing


class _Names:
    """Names for what a graph is made of: layers have theirs, operations and bare inputs get one."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.used = {layer.name for layer in graph.layers}
        self.calls: dict[
            int, tuple[str, int]
        ] = {}  # id of a node -> the name of its layer, and which call it is
        self.starts: dict[int, str] = {}  # id of an input that no InputLayer made -> its name
        self.kept = {id(node) for node in graph.nodes}
        for symbol in graph.flat_inputs:
            if symbol.node is None or symbol.node.inputs:
                self.starts[id(symbol)] = self.new(symbol.name)

    def new(self, base: str) -> str:
        name, count = base, 0
        while name in self.used:
            count += 1
            name = f"{base}_{count}"
        self.used.add(name)
        return name

    def history(self, symbol: KerasTensor) -> list[Any]:
        if id(symbol) in self.starts:
            return [self.starts[id(symbol)], 0, 0]
        name, call = self.calls[id(symbol.node)]
        return [name, call, symbol.index]

    def leaf(self, leaf: Any) -> Any:
        if not isinstance(leaf, KerasTensor):
            return leaf
        config = {
            "shape": list(leaf.shape),
            "dtype": leaf.dtype.name,
            "keras_history": self.history(leaf),
        }
        return {"class_name": _KERAS_TENSOR, "config": config}


def functional_config(model: Any) -> dict[str, Any]:
    """Return the config of a model that has a graph."""
    if model._symbolic_losses:
        raise ValueError(
            f"Model {model.name!r} has symbolic losses from `add_loss`, which a config cannot "
            "hold. Add them in the `call` of a layer instead."
        )
    graph = model._graph
    names = _Names(graph)
    steps = graph.steps
    for step in steps:  # all names first: a layer may be called on what comes later in the list
        if isinstance(step, Layer):
            for call, node in enumerate(_calls_of(step, names)):
                names.calls[id(node)] = (step.name, call)
        else:
            names.calls[id(step)] = (
                names.new(operation_of(step).function.__name__),
                0,
            )  # refuses what has no name
    described = [
        _input_config(symbol, names) for symbol in graph.flat_inputs if id(symbol) in names.starts
    ]
    described += [
        _layer_config(step, names) if isinstance(step, Layer) else _operation_config(step, names)
        for step in steps
    ]
    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": described,
        "input_layers": map_structure(names.history, graph.inputs),
        "output_layers": map_structure(
            lambda symbol: _output_history(symbol, names), graph.outputs
        ),
    }


def _calls_of(layer: Any, names: _Names) -> list[Node]:
    if isinstance(layer, InputLayer):
        return layer._inbound_nodes[:1]
    return [node for node in layer._inbound_nodes if id(node) in names.kept]


def _output_history(symbol: KerasTensor, names: _Names) -> list[Any]:
    name, call, place = names.history(symbol)
    node = symbol.node
    inner = (
        node is not None
        and node.layer is not None
        and _is_functional(node.layer)
        and id(symbol) not in names.starts
    )
    return [
        name,
        call + 1 if inner else call,
        place,
    ]  # Keras counts a model's own graph as its first call, here alone


def _is_functional(layer: Any) -> bool:
    return getattr(layer, "_graph", None) is not None and not hasattr(layer, "_stack")


def _input_config(symbol: KerasTensor, names: _Names) -> dict[str, Any]:
    name = names.starts[id(symbol)]
    config = {
        "batch_shape": list(symbol.shape),
        "dtype": symbol.dtype.name,
        "sparse": False,
        "ragged": False,
        "name": name,
    }
    described = {
        "module": "keras.layers",
        "class_name": "InputLayer",
        "config": config,
        "registered_name": None,
    }
    return described | {"name": name, "inbound_nodes": []}


def _layer_config(layer: Any, names: _Names) -> dict[str, Any]:
    calls = (
        []
        if isinstance(layer, InputLayer)
        else [_call_config(n.args, n.kwargs, names) for n in _calls_of(layer, names)]
    )
    return serialize_keras_object(layer) | {"name": layer.name, "inbound_nodes": calls}


def _operation_config(node: Node, names: _Names) -> dict[str, Any]:
    operation = operation_of(node)
    name = names.calls[id(node)][0]
    settings, args, kwargs = operation.described(node)
    return {
        "module": f"keras.src.ops.{operation.module}",
        "class_name": operation.class_name,
        "config": {"name": name, **serialize_keras_object(settings)},
        "registered_name": operation.class_name,
        "name": name,
        "inbound_nodes": [_call_config(args, kwargs, names)],
    }


def _call_config(args: tuple, kwargs: dict[str, Any], names: _Names) -> dict[str, Any]:
    return {
        "args": serialize_keras_object(map_structure(names.leaf, args)),
        "kwargs": serialize_keras_object(map_structure(names.leaf, kwargs)),
    }


# --- reading


class NotYet(Exception):
    """A value is needed that has not been made so far."""


class _Reader:
    """Makes the layers of a config and calls them as it says."""

    def __init__(self, config: Mapping[str, Any]):
        if not isinstance(config.get("layers"), list) or not all(
            isinstance(one, Mapping) for one in config["layers"]
        ):
            raise ValueError(
                f"The config of a model has layers={config.get('layers')!r}; a list of layers "
                "was expected."
            )
        self.made: dict[str, Any] = {}
        self.outputs: dict[
            str, list[list[KerasTensor]]
        ] = {}  # name of a layer -> for each call its outputs
        self.pending: list[tuple[str, list[Any]]] = []
        for described in config["layers"]:
            self._make(described)
        self._call_all()

    def _make(self, described: Mapping[str, Any]) -> None:
        operation = operation_named(described)
        inner = described.get("config") or {}
        name = described.get("name") or inner.get("name")
        if not isinstance(name, str) or name in self.made:
            raise ValueError(
                f"The config of a model has a layer named {name!r}; a name that no other layer "
                "has was expected."
            )
        if operation is not None:
            settings = {key: value for key, value in inner.items() if key != "name"}
            self.made[name] = operation.made(build_from_config(settings))
        else:
            if str(described.get("module")).startswith("keras.src.ops"):
                raise ValueError(
                    f"The model uses Keras's operation {described.get('class_name')!r}, which is "
                    "not known here."
                )
            self.made[name] = self._layer(described)
        self.outputs[name] = []
        if isinstance(self.made[name], InputLayer):
            self.outputs[name].append(tree_leaves(self.made[name].output))
        nodes = described.get("inbound_nodes") or []
        if nodes:
            self.pending.append((name, list(nodes)))

    def _layer(self, described: Mapping[str, Any]) -> Layer:
        find_class(described)  # the clearer error comes first
        layer = build_from_config(
            {key: value for key, value in described.items() if key not in ("name", "inbound_nodes")}
        )
        if not isinstance(layer, Layer):
            raise ValueError(
                f"The config of a model lists {described.get('class_name')!r}; a layer was "
                "expected."
            )
        return layer

    def _call_all(self) -> None:
        """Call layers on what exists, again and again, until all calls are done."""
        while self.pending:
            left, done = [], 0
            for name, nodes in self.pending:
                while nodes and self._try_call(name, nodes[0]):
                    nodes.pop(0)
                    done += 1
                if nodes:
                    left.append((name, nodes))
            if left and not done:
                names = ", ".join(repr(name) for name, _ in left[:5])
                raise ValueError(
                    f"The graph of the model could not be made: the inputs of {names} form a "
                    "cycle, or do not exist."
                )
            self.pending = left

    def _try_call(self, name: str, node: Any) -> bool:
        try:
            args, kwargs = self._arguments(node)
        except NotYet:
            return False
        step = self.made[name]
        if isinstance(step, Layer) and _training_is_default(step):
            kwargs.pop(
                "training", None
            )  # Keras notes the default, which would rule the layer for ever
        self.outputs[name].append(tree_leaves(step(*args, **kwargs)))
        return True

    def _arguments(self, node: Any) -> tuple[list[Any], dict[str, Any]]:
        if isinstance(node, Mapping):
            args, kwargs = self._filled(node.get("args", [])), self._filled(node.get("kwargs", {}))
            return list(args), {key: value for key, value in kwargs.items() if value is not None}
        return self._keras_2_arguments(node)

    def _filled(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if isinstance(value, Mapping):
            if value.get("class_name") == _KERAS_TENSOR:
                return self._value(value["config"]["keras_history"])
            if "class_name" in value:
                return build_from_config(value)
            return {key: self._filled(item) for key, item in value.items()}
        return value

    def _keras_2_arguments(self, node: Any) -> tuple[list[Any], dict[str, Any]]:
        """Read Keras 2's form of a call: a list of `[layer, call, output, named arguments]`, or one
        of them.
        """
        if isinstance(node, Mapping) or not isinstance(node, list):
            raise ValueError(
                f"A call in the config of a model is {node!r}; a list or a dictionary was expected."
            )
        entries = [node] if node and isinstance(node[0], str) else node
        if any(not isinstance(entry, list) or len(entry) not in (3, 4) for entry in entries):
            raise ValueError(
                f"A call in the config of a model is {node!r}; lists of three or four items were "
                "expected."
            )
        values = [self._value(entry[:3], counts_itself=True) for entry in entries]
        named = entries[0][3] if len(entries[0]) == 4 else {}
        kwargs = {key: self._keras_2_value(value) for key, value in named.items()}
        return [values[0] if len(values) == 1 else values], {
            key: value for key, value in kwargs.items() if value is not None
        }

    def _keras_2_value(self, value: Any) -> Any:
        is_history = (
            isinstance(value, list)
            and len(value) >= 3
            and isinstance(value[0], str)
            and value[0] in self.made
        )
        return (
            self._value(value[:3], counts_itself=True) if is_history else build_from_config(value)
        )

    def _value(self, history: Any, counts_itself: bool = False) -> KerasTensor:
        if not isinstance(history, list) or len(history) != 3 or not isinstance(history[0], str):
            raise ValueError(
                f"A value in the config of a model is named {history!r}; [layer, call, output] "
                "was expected."
            )
        name, call, place = history
        if name not in self.made:
            raise ValueError(
                f"The config of a model refers to the layer {name!r}, which it does not list."
            )
        if counts_itself and getattr(self.made[name], "_graph", None) is not None and call > 0:
            call -= 1
        calls = self.outputs[name]
        if not isinstance(call, int) or not isinstance(place, int) or not 0 <= call < len(calls):
            raise NotYet
        if not 0 <= place < len(calls[call]):
            raise ValueError(
                f"The config of a model refers to output {place} of layer {name!r}, which has "
                f"{len(calls[call])}."
            )
        return calls[call][place]

    def ends(self, structure: Any, outputs: bool = False) -> Any:
        """Return the values that the config names as inputs or outputs."""
        if isinstance(structure, Mapping):
            return {key: self.ends(value, outputs) for key, value in structure.items()}
        if isinstance(structure, list) and len(structure) == 3 and isinstance(structure[0], str):
            inner = outputs and _is_functional(self.made.get(structure[0]))
            try:
                return self._value(structure, counts_itself=inner)
            except NotYet:
                raise ValueError(
                    f"The config of a model names {structure!r} as its end, which is never "
                    "computed."
                ) from None
        if isinstance(structure, list):
            return [self.ends(item, outputs) for item in structure]
        raise ValueError(
            f"The config of a model names its inputs or outputs as {structure!r}; lists were "
            "expected."
        )


def functional_from_config(cls: Any, config: Mapping[str, Any]) -> Any:
    """Make a model from `functional_config`'s result, or from Keras's."""
    for key in ("input_layers", "output_layers"):
        if key not in config:
            raise ValueError(
                f"The config of a model has no {key!r}; a functional model was expected."
            )
    reader = _Reader(config)
    others = {
        key: value
        for key, value in config.items()
        if key not in ("layers", "input_layers", "output_layers")
    }
    inputs = reader.ends(config["input_layers"])
    outputs = reader.ends(config["output_layers"], outputs=True)
    return cls(inputs=inputs, outputs=outputs, **others)


def _training_is_default(layer: Layer) -> bool:
    return (
        type(layer).__module__.startswith("podium.layers.")
        and layer._call_signature.training_default is False
    )
