"""TextPart: the layers of a graph that compute on the host, ahead of its compiled part.

Neither JAX nor a compiled step can hold text. So a graph with text is divided in two: the nodes
that text passes through, with what they need, run on the host; their results and the numeric inputs
are the inputs of the remaining graph. The results are a dictionary by name, which takes the place
of the inputs of the model in data, steps and calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium._typing import Tree
from podium.core import KerasTensor, Node, Tensor, is_symbolic, map_structure, tree_leaves
from podium.core.internal import as_text_array, is_string_dtype, is_text
from podium.models._graph import Graph


class TextPart:
    """Divides a graph that has text.

    Args:
        graph: The graph.
        name: The name of the model, for messages.

    Attributes:
        numeric: The remaining graph; its inputs are the results of this part, by name.
    """

    def __init__(self, graph: Graph, name: str):
        nodes = _host_nodes(graph)
        _check_not_trained(nodes, name)
        on_host = set(map(id, nodes))
        needed = [s for node in graph.nodes if id(node) not in on_host for s in node.inputs]
        symbols: dict[int, KerasTensor] = {}
        for symbol in [*needed, *graph.flat_outputs]:
            is_input = any(symbol is start for start in graph.flat_inputs)
            if is_input or id(symbol.node) in on_host:
                symbols[id(symbol)] = symbol
        self._results = _name_symbols(list(symbols.values()), name)
        self._host = Graph(graph.inputs, self._results, name, unique_names=False)
        self.numeric = Graph(self._results, graph.outputs, name, unique_names=False)

    def is_prepared(self, inputs: Tree) -> bool:
        """Return whether inputs are the results of `prepare`."""
        return isinstance(inputs, Mapping) and inputs.keys() == self._results.keys()

    def prepare(self, inputs: Tree) -> Tree:
        """Return what the remaining graph computes with, for inputs of the model with text; the
        results of `prepare` and symbolic values are returned as they are.
        """
        if self.is_prepared(inputs) or is_symbolic(inputs):
            return inputs
        if is_list_of_inputs(inputs, len(self._host.flat_inputs)):
            inputs = list(map(_hold_text, inputs))
        else:
            inputs = _hold_text(inputs)
        results: dict[str, Tensor] = self._host.run(inputs)
        return results


def is_list_of_inputs(inputs: Tree, num_inputs: int) -> bool:
    """Return whether a list has one item for each input, and is not one array as nested lists."""
    if not isinstance(inputs, (list, tuple)) or len(inputs) != num_inputs:
        return False
    return num_inputs > 1 or hasattr(inputs[0], "shape")


def _hold_text(inputs: Tree) -> Tree:
    """Return inputs with arrays for lists of text, whose items would be taken for inputs."""
    if isinstance(inputs, Mapping):
        return {name: _hold_text(value) for name, value in inputs.items()}
    return as_text_array(inputs, "inputs") if is_text(inputs) else inputs


def split_text_part(graph: Graph, name: str) -> TextPart | None:
    """Return the part of a graph that computes with text; None if it has no text."""
    while any(map(_text_model_of, graph.nodes)):
        graph = _inline_text_models(graph, name)
    symbols = [*graph.flat_inputs, *(s for node in graph.nodes for s in node.inputs)]
    has_text = any(is_string_dtype(symbol.dtype) for symbol in [*symbols, *graph.flat_outputs])
    return TextPart(graph, name) if has_text else None


def _text_model_of(node: Node) -> Any:
    """Return the model that a node calls, if it has a text part; else None."""
    return node.layer if getattr(node.layer, "_text_part", None) is not None else None


def _inline_text_models(graph: Graph, name: str) -> Graph:
    """Return a graph with the layers of the models with text that are inside of it."""
    values = {id(symbol): symbol for symbol in graph.flat_inputs}
    for node in graph.nodes:
        model, outputs = _text_model_of(node), tree_leaves(node.outputs)
        args, kwargs = map_structure(
            lambda leaf: values[id(leaf)] if isinstance(leaf, KerasTensor) else leaf,
            (node.args, node.kwargs),
        )
        if model is not None:
            results = tree_leaves(model._graph.run(args[0]))
        elif any(values[id(symbol)] is not symbol for symbol in node.inputs):
            results = tree_leaves(node.run(*args, **kwargs))
        else:
            results = outputs
        values.update(zip(map(id, outputs), results, strict=True))
    outputs = map_structure(lambda symbol: values[id(symbol)], graph.outputs)
    return Graph(graph.inputs, outputs, name, unique_names=False)


def _host_nodes(graph: Graph) -> list[Node]:
    """Return the nodes that text passes through, and those that compute what they need."""
    needed: set[int] = set()  # nodes, by id
    for node in reversed(graph.nodes):  # the nodes that use a value come after it
        values = [*node.inputs, *tree_leaves(node.outputs)]
        if id(node) in needed or any(is_string_dtype(value.dtype) for value in values):
            needed.add(id(node))
            needed.update(id(symbol.node) for symbol in node.inputs)
    return [node for node in graph.nodes if id(node) in needed]


def _check_not_trained(nodes: list[Node], name: str) -> None:
    """Raise if a layer that runs on the host would have to be trained."""
    for node in nodes:
        if node.layer is not None and node.layer.trainable_weights:
            raise ValueError(
                f"Layer {node.layer.name!r} ({type(node.layer).__name__}) of model {name!r} has "
                "weights to train, and text depends on its outputs or is inside of it. What "
                "computes with text runs on the host, ahead of the compiled step, and cannot be "
                "trained. Move its weights behind the layers that accept text."
            )


def _name_symbols(symbols: list[KerasTensor], name: str) -> dict[str, KerasTensor]:
    """Return symbols by the names of their layers, each with a name of its own."""
    named: dict[str, KerasTensor] = {}
    for symbol in symbols:
        if is_string_dtype(symbol.dtype):
            raise ValueError(
                f"Model {name!r} has the text {symbol.name!r} as an output; numbers were expected. "
                "Let the model return indices, and look the text up outside of it."
            )
        node = symbol.node
        base = key = symbol.name if node is None or not node.inputs else node.name
        while key in named:
            key = f"{base}_{len(named)}"
        named[key] = symbol
    return named
