"""Graph: the nodes between symbolic inputs and outputs, in the order in which they must run.

It is created once from the Nodes that symbolic calls recorded. Running it calls each layer (or
operation) on values, so tapes record the layers one by one. It owns the order and the pruning;
`_graph_inputs.py` matches values and inputs, and layers own their computation.
"""

from __future__ import annotations

from typing import Any

from podium._typing import Tree
from podium.core import KerasTensor, Node, map_structure, tree_leaves
from podium.layers import Layer
from podium.layers.internal import override_masks
from podium.models._graph_inputs import GraphInputs


class Graph:
    """Runs the nodes between `inputs` and `outputs`; others are not part of it.

    Args:
        inputs: A KerasTensor, or a list, tuple or dictionary of them.
        outputs: KerasTensors computed from them, in any structure. A call returns the output itself
            if it is a list of one, as Keras does; Keras 2's files have one for every single output.
        name: The model's name, for messages.
        declared: Whether the caller chose the dtypes and the sizes of the inputs.
        unique_names: Whether layers must have different names; False for a part of a graph, or for
            one with the layers of the models inside of it.
    """

    def __init__(
        self,
        inputs: Tree,
        outputs: Tree,
        name: str,
        declared: bool = True,
        unique_names: bool = True,
    ):
        self.inputs, self.outputs, self._name = inputs, outputs, name
        self.result = unwrap_single(outputs)  # the structure that a call returns
        self.flat_inputs = _flatten_symbols("inputs", inputs, name)
        self.flat_outputs = _flatten_symbols("outputs", outputs, name)
        self._inputs = GraphInputs(inputs, name, declared)
        self.nodes = self._sort_nodes()
        self.steps = self._sort_steps()
        # Each layer once, in Keras's order.
        self.layers: list[Layer] = [step for step in self.steps if not isinstance(step, Node)]
        if unique_names:
            self._check_layer_names()

    def _sort_nodes(self) -> list[Node]:
        """List the nodes that the outputs need, each after the nodes it needs itself."""
        input_ids = {id(symbol) for symbol in self.flat_inputs}
        done: dict[int, Node] = {}
        order: list[Node] = []
        for output in self.flat_outputs:
            stack: list[tuple[KerasTensor, bool]] = [(output, False)]
            while stack:
                symbol, ready = stack.pop()
                if id(symbol) in input_ids:
                    continue
                node = symbol.node
                if node is None or not node.inputs:
                    raise ValueError(self._disconnected_message(output, symbol))
                if id(node) in done:
                    continue
                if ready:
                    done[id(node)] = node
                    order.append(node)
                else:
                    stack.append((symbol, True))
                    stack.extend((needed, False) for needed in reversed(node.inputs))
        return order

    def _disconnected_message(self, output: KerasTensor, start: KerasTensor) -> str:
        names = ", ".join(repr(symbol.name) for symbol in self.flat_inputs)
        return (
            f"The output {output.name!r} (shape {output.shape}) of model {self._name!r} depends on "
            f"{start.name!r} (shape {start.shape}), which is none of the model's inputs "
            f"({names}). Add it: `Model(inputs=[..., {start.name}], outputs=...)`, or compute the "
            "output from the inputs given."
        )

    def _check_layer_names(self) -> None:
        by_name: dict[str, Layer] = {}
        for layer in self.layers:
            other = by_name.setdefault(layer.name, layer)
            if other is not layer:
                raise ValueError(
                    f"Model {self._name!r} has two layers named {layer.name!r} "
                    f"({type(other).__name__} and {type(layer).__name__}). Names must be unique: "
                    "give one of them another `name=`."
                )

    def _sort_steps(self) -> list[Layer | Node]:
        """List layers, and nodes of operations, each once, in Keras's order: by distance from the
        outputs, farthest first.

        Files depend on it: Keras numbers layers of one class by their positions in this list.
        """
        input_ids = {id(symbol) for symbol in self.flat_inputs}
        position: dict[int, int] = {}  # of a step, in a depth-first traversal from the outputs
        finished: list[Node] = []
        done: set[int] = set()
        for output in self.flat_outputs:
            stack: list[tuple[KerasTensor, bool]] = [(output, False)]
            while stack:
                symbol, ready = stack.pop()
                node = symbol.node
                if node is None or id(node) in done or (id(symbol) in input_ids and node.inputs):
                    continue
                if ready:
                    done.add(id(node))
                    finished.append(node)
                    continue
                position.setdefault(id(_step_of(node)), len(position))
                stack.append((symbol, True))
                stack.extend((needed, False) for needed in reversed(node.inputs))
        depths: dict[int, int] = {}  # of nodes
        steps: dict[int, tuple[int, int, Layer | Node]] = {}
        for node in reversed(finished):
            step = _step_of(node)
            depth = max(depths.get(id(node), 0), -steps[id(step)][0] if id(step) in steps else 0)
            steps[id(step)] = (-depth, position[id(step)], step)
            for symbol in node.inputs:
                if (
                    symbol.node is not None
                    and id(symbol.node) in done
                    and not (id(symbol) in input_ids and symbol.node.inputs)
                ):
                    depths[id(symbol.node)] = max(depth + 1, depths.get(id(symbol.node), 0))
        for symbol in self.flat_inputs:  # inputs that no output needs
            if symbol.node is not None and not symbol.node.inputs:
                step = _step_of(symbol.node)
                steps.setdefault(id(step), (0, -1, step))
        return [step for _, _, step in sorted(steps.values(), key=lambda entry: entry[:2])]

    # --- running

    def run(self, inputs: Tree, mask: Tree = None) -> Tree:
        """Compute the outputs for inputs, which may be symbolic.

        Args:
            inputs: The inputs.
            mask: Masks in the structure of the inputs, for those that carry none or another one.
        """
        start = self._inputs.convert(inputs)
        if mask is None:
            return self._run_nodes(start)
        with override_masks(start, self._inputs.flatten(mask)):
            return self._run_nodes(start)

    def _run_nodes(self, start: list[Any]) -> Tree:
        values = dict(zip(map(id, self.flat_inputs), start, strict=True))
        for node in self.nodes:
            args, kwargs = map_structure(
                lambda leaf: values[id(leaf)] if isinstance(leaf, KerasTensor) else leaf,
                (node.args, node.kwargs),
            )
            results = tree_leaves(node.run(*args, **kwargs))
            for symbol, value in zip(tree_leaves(node.outputs), results, strict=True):
                values[id(symbol)] = value
        return map_structure(lambda symbol: values[id(symbol)], self.result)

    def check(self, inputs: Tree) -> None:
        """Raise if these inputs do not match; nothing is computed."""
        self._inputs.check(inputs)

    def flatten_inputs(self, inputs: Tree) -> list[Any]:
        """Return one value per input, in the order of `flat_inputs`."""
        return self._inputs.flatten(inputs)


def _step_of(node: Node) -> Layer | Node:
    return node if node.layer is None else node.layer


def unwrap_single(symbols: Tree) -> Tree:
    """Return the element of a list of one, else the symbolic inputs or outputs as they are."""
    is_single = isinstance(symbols, list) and len(tree_leaves(symbols)) == 1
    return symbols[0] if is_single else symbols


def _flatten_symbols(argument: str, structure: Tree, name: str) -> list[KerasTensor]:
    flat = tree_leaves(structure)
    for leaf in flat:
        if not isinstance(leaf, KerasTensor):
            raise ValueError(
                f"Model {name!r} was given {argument}={leaf!r}; symbolic values were expected. "
                "Start from `x = podium.Input(shape=...)` and pass what layers return for it."
            )
    if not flat:
        raise ValueError(f"Model {name!r} was given no {argument}.")
    if argument == "inputs" and len({id(leaf) for leaf in flat}) != len(flat):
        raise ValueError(
            f"Model {name!r} lists the same input more than once. List each input once."
        )
    return flat
