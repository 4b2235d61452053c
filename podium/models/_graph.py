"""Graph: the nodes between symbolic inputs and outputs, in the order in which they must run.

It is created once from the Nodes that symbolic calls recorded. Running it calls each layer (or
operation) on values, so tapes record the layers one by one. It owns the order, the matching of
inputs and the pruning; layers own their computation.
"""

from __future__ import annotations

from typing import Any

from podium._typing import TensorLike, Tree
from podium.core import (
    KerasTensor,
    Node,
    Tensor,
    closest_match,
    convert_to_tensor,
    map_structure,
    tree_leaves,
    warn_user,
)
from podium.layers import Layer


class Graph:
    """Runs the nodes between `inputs` and `outputs`; others are not part of it.

    Args:
        inputs: A KerasTensor, or a list, tuple or dictionary of them.
        outputs: KerasTensors computed from them, in any structure.
        name: The model's name, for messages.
    """

    def __init__(self, inputs: Tree, outputs: Tree, name: str):
        self.inputs, self.outputs, self._name = inputs, outputs, name
        self.flat_inputs = _flatten_symbols("inputs", inputs, name)
        self.flat_outputs = _flatten_symbols("outputs", outputs, name)
        self.nodes = self._sort_nodes()
        self.steps = self._sort_steps()
        # Each layer once, in Keras's order.
        self.layers: list[Layer] = [step for step in self.steps if not isinstance(step, Node)]
        self._check_layer_names()
        self._unexpected_keys: tuple[str, ...] = ()  # of inputs; a warning named them

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

    def run(self, inputs: Tree) -> Tree:
        """Compute the outputs for inputs, which may be symbolic."""
        values = dict(zip(map(id, self.flat_inputs), self._match(inputs), strict=True))
        for node in self.nodes:
            args, kwargs = map_structure(
                lambda leaf: values[id(leaf)] if isinstance(leaf, KerasTensor) else leaf,
                (node.args, node.kwargs),
            )
            results = tree_leaves(node.run(*args, **kwargs))
            for symbol, value in zip(tree_leaves(node.outputs), results, strict=True):
                values[id(symbol)] = value
        return map_structure(lambda symbol: values[id(symbol)], self.outputs)

    def check(self, inputs: Tree) -> None:
        """Raise if these inputs do not match; nothing is computed."""
        self._match(inputs)

    def _match(self, inputs: Tree) -> list[Tensor | KerasTensor]:
        """Return one value per input, in order, from a list, a dictionary or a single value."""
        flat = self.flatten_dict(inputs) if isinstance(inputs, dict) else tree_leaves(inputs)
        if len(flat) != len(self.flat_inputs):
            names = ", ".join(f"{s.name!r} {s.shape}" for s in self.flat_inputs)
            raise ValueError(
                f"Model {self._name!r} takes {len(self.flat_inputs)} inputs ({names}) and was "
                f"given {len(flat)}."
            )
        return [
            self._match_shape(symbol, value)
            for symbol, value in zip(self.flat_inputs, flat, strict=True)
        ]

    def flatten_dict(self, inputs: dict[str, Any]) -> list[Any]:
        """Return the values of a dictionary in the order of the inputs."""
        if isinstance(self.inputs, dict):
            by_key = {key: tree_leaves(symbol)[0] for key, symbol in self.inputs.items()}
        else:
            by_key = {symbol.name: symbol for symbol in self.flat_inputs}
        by_id = {id(symbol): key for key, symbol in by_key.items()}
        flat = []
        for symbol in self.flat_inputs:
            key = by_id[id(symbol)]
            if key not in inputs:
                close = closest_match(key, inputs)
                hint = f" Did you mean {key!r} where you wrote {close!r}?" if close else ""
                raise ValueError(
                    f"Model {self._name!r} needs the input {key!r} and was given the keys "
                    f"{sorted(inputs)}.{hint}"
                )
            flat.append(inputs[key])
        unexpected = tuple(key for key in inputs if key not in by_key)
        if unexpected and unexpected != self._unexpected_keys:
            self._unexpected_keys = unexpected
            warn_user(
                f"Model {self._name!r} was given inputs with the keys {list(unexpected)}, which it "
                f"does not have; they are ignored. Its inputs are {list(by_key)}."
            )
        return flat

    def _match_shape(self, symbol: KerasTensor, value: TensorLike) -> Tensor | KerasTensor:
        """Return a value with the rank of its input: a last axis of size 1 is added or removed, as
        in Keras.

        Raises:
            ValueError: The shape does not match.
        """
        tensor = value if isinstance(value, (Tensor, KerasTensor)) else convert_to_tensor(value)
        expected = symbol.shape
        if len(tensor.shape) == len(expected) - 1 and expected[-1] == 1:
            tensor = tensor[..., None]
        elif len(tensor.shape) == len(expected) + 1 and tensor.shape[-1] == 1:
            tensor = tensor[..., 0]
        shape = tuple(tensor.shape)
        matches = len(shape) == len(expected) and all(
            None in sizes or sizes[0] == sizes[1]
            for sizes in zip(expected[1:], shape[1:], strict=True)
        )
        if not matches:
            raise ValueError(
                f"Model {self._name!r} was given an input of shape {shape} for {symbol.name!r}, "
                f"which was declared as Input(shape={expected[1:]}): shape {expected} was "
                "expected. Reshape the data, or change the `Input`."
            )
        return tensor


def _step_of(node: Node) -> Layer | Node:
    return node if node.layer is None else node.layer


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
