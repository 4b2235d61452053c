"""Graph: the steps between some symbolic inputs and outputs, in the order they must run.

It is made once from the Nodes that symbolic calls left behind. Running it calls each layer (or
operation) on real values, so tapes see the layers one by one. It owns order, matching of inputs and
pruning; layers own their computation.
"""

from __future__ import annotations

from typing import Any

from podium.core import (
    KerasTensor,
    Node,
    Tensor,
    closest_match,
    convert_to_tensor,
    map_structure,
    tree_leaves,
)


class Graph:
    """Runs the nodes between `inputs` and `outputs`; anything else is left out.

    Args:
        inputs: A KerasTensor, or a list, tuple or dictionary of them.
        outputs: KerasTensors computed from them, in any structure.
        name: The model's name, for messages.
    """

    def __init__(self, inputs: Any, outputs: Any, name: str):
        self.inputs, self.outputs, self._name = inputs, outputs, name
        self.flat_inputs = _symbols("inputs", inputs, name)
        self.flat_outputs = _symbols("outputs", outputs, name)
        self.nodes = self._ordered_nodes()
        self.steps = self._ordered_steps()
        self.layers = [
            step for step in self.steps if not isinstance(step, Node)
        ]  # each once, as Keras lists them
        self._check_layer_names()

    def _ordered_nodes(self) -> list[Node]:
        """Walk back from the outputs; every node comes after the nodes it needs."""
        given = {id(symbol) for symbol in self.flat_inputs}
        done: dict[int, Node] = {}
        order: list[Node] = []
        for output in self.flat_outputs:
            stack: list[tuple[KerasTensor, bool]] = [(output, False)]
            while stack:
                symbol, ready = stack.pop()
                if id(symbol) in given:
                    continue
                node = symbol.node
                if node is None or not node.inputs:
                    raise ValueError(self._disconnected(output, symbol))
                if id(node) in done:
                    continue
                if ready:
                    done[id(node)] = node
                    order.append(node)
                else:
                    stack.append((symbol, True))
                    stack.extend((needed, False) for needed in reversed(node.inputs))
        return order

    def _disconnected(self, output: KerasTensor, start: KerasTensor) -> str:
        listed = ", ".join(repr(symbol.name) for symbol in self.flat_inputs)
        return (
            f"The output {output.name!r} (shape {output.shape}) of model {self._name!r} depends on "
            f"{start.name!r} (shape {start.shape}), which is none of the model's inputs "
            f"({listed}). Add it: `Model(inputs=[..., {start.name}], outputs=...)`, or compute the "
            "output from the inputs given."
        )

    def _check_layer_names(self) -> None:
        by_name: dict[str, Any] = {}
        for layer in self.layers:
            other = by_name.setdefault(layer.name, layer)
            if other is not layer:
                raise ValueError(
                    f"Model {self._name!r} has two layers named {layer.name!r} "
                    f"({type(other).__name__} and {type(layer).__name__}). Names must be unique: "
                    "give one of them another `name=`."
                )

    def _ordered_steps(self) -> list[Any]:
        """List layers, and nodes that are no layer's, each once, in Keras's order: by distance from
        the outputs, farthest first.

        Files depend on it: Keras numbers layers of one class by their places in this list.
        """
        given = {id(symbol) for symbol in self.flat_inputs}
        place: dict[int, int] = {}  # of a step, in the order of a walk from the outputs
        finished: list[Node] = []
        done: set[int] = set()
        for output in self.flat_outputs:
            stack: list[tuple[KerasTensor, bool]] = [(output, False)]
            while stack:
                symbol, ready = stack.pop()
                node = symbol.node
                if node is None or id(node) in done or (id(symbol) in given and node.inputs):
                    continue
                if ready:
                    done.add(id(node))
                    finished.append(node)
                    continue
                place.setdefault(id(_step(node)), len(place))
                stack.append((symbol, True))
                stack.extend((needed, False) for needed in reversed(node.inputs))
        depths: dict[int, int] = {}  # of nodes
        steps: dict[int, tuple[int, int, Any]] = {}
        for node in reversed(finished):
            step = _step(node)
            depth = max(depths.get(id(node), 0), -steps[id(step)][0] if id(step) in steps else 0)
            steps[id(step)] = (-depth, place[id(step)], step)
            for symbol in node.inputs:
                if (
                    symbol.node is not None
                    and id(symbol.node) in done
                    and not (id(symbol) in given and symbol.node.inputs)
                ):
                    depths[id(symbol.node)] = max(depth + 1, depths.get(id(symbol.node), 0))
        for symbol in self.flat_inputs:  # inputs that no output needs
            if symbol.node is not None and not symbol.node.inputs:
                steps.setdefault(id(_step(symbol.node)), (0, -1, _step(symbol.node)))
        return [step for _, _, step in sorted(steps.values(), key=lambda entry: entry[:2])]

    # --- running

    def run(self, inputs: Any) -> Any:
        """Compute the outputs for real (or symbolic) inputs."""
        values = {id(s): v for s, v in zip(self.flat_inputs, self._matched(inputs), strict=True)}
        for node in self.nodes:
            args, kwargs = map_structure(
                lambda leaf: values[id(leaf)] if isinstance(leaf, KerasTensor) else leaf,
                (node.args, node.kwargs),
            )
            made = tree_leaves(node.run(*args, **kwargs))
            for symbol, value in zip(tree_leaves(node.outputs), made, strict=True):
                values[id(symbol)] = value
        return map_structure(lambda symbol: values[id(symbol)], self.outputs)

    def check(self, inputs: Any) -> None:
        """Raise if these inputs do not fit; nothing is computed."""
        self._matched(inputs)

    def _matched(self, inputs: Any) -> list[Any]:
        """Return one value per input, in order, from a list, a dictionary or a single value."""
        if isinstance(inputs, dict):
            flat = self._from_dictionary(inputs)
        else:
            flat = tree_leaves(inputs)
        if len(flat) != len(self.flat_inputs):
            names = ", ".join(f"{s.name!r} {s.shape}" for s in self.flat_inputs)
            raise ValueError(
                f"Model {self._name!r} takes {len(self.flat_inputs)} inputs ({names}) and was "
                f"given {len(flat)}."
            )
        return [
            self._fitted(symbol, value)
            for symbol, value in zip(self.flat_inputs, flat, strict=True)
        ]

    def _from_dictionary(self, inputs: dict[str, Any]) -> list[Any]:
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
        return flat

    def _fitted(self, symbol: KerasTensor, value: Any) -> Any:
        """Check a value against its input's shape; add or drop a last dimension of 1 as Keras
        does.
        """
        value = value if isinstance(value, (Tensor, KerasTensor)) else convert_to_tensor(value)
        shape, wanted = tuple(value.shape), symbol.shape
        if len(shape) == len(wanted) - 1 and wanted[-1] == 1:
            value = value[..., None]
        elif len(shape) == len(wanted) + 1 and shape[-1] == 1:
            value = value[..., 0]
        shape = tuple(value.shape)
        fits = len(shape) == len(wanted) and all(
            w is None or h is None or w == h for w, h in zip(wanted[1:], shape[1:], strict=True)
        )
        if not fits:
            raise ValueError(
                f"Model {self._name!r} was given an input of shape {shape} for {symbol.name!r}, "
                f"which was declared as Input(shape={wanted[1:]}): shape {wanted} was expected. "
                "Reshape the data, or change the `Input`."
            )
        return value


def _step(node: Node) -> Any:
    return node if node.layer is None else node.layer


def _symbols(argument: str, structure: Any, name: str) -> list[KerasTensor]:
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
