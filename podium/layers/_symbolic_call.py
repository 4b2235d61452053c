"""Calls on symbolic values: the specs of a layer's outputs, and the node that records the call.

It owns tracing a layer for its output shapes. Shapes that a layer declares itself are read by
`Layer`; the graph of nodes is used by `podium.models`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from podium._typing import Tree
from podium.core import KerasTensor, Node, map_structure, tree_leaves
from podium.core.internal import (
    VariableScope,
    context,
    override,
    symbolic_outputs,
    unwrap_result,
    wrap,
)
from podium.layers._call_context import keep_references

if TYPE_CHECKING:
    from podium.layers._layer import Layer


def trace_outputs(layer: Layer, arguments: dict[str, Any], training: bool | None) -> Tree:
    """Return the KerasTensors that a call returns, found by tracing it."""

    def run(arguments: dict[str, Any]) -> Tree:
        tensors = map_structure(
            lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, arguments
        )
        with override(scope=VariableScope(parent=context.scope), tapes=()):
            outputs, _ = layer._run(tensors, training)
        return unwrap_result(outputs)

    try:
        return symbolic_outputs(run, (dict(arguments),), {})
    except (TypeError, ValueError) as error:
        if f"Layer {layer.name!r}" in str(error):
            raise
        shapes = ", ".join(
            str(v.shape) for v in tree_leaves(arguments) if isinstance(v, KerasTensor)
        )
        raise type(error)(
            f"Layer {layer.name!r} ({type(layer).__name__}) cannot take inputs of shape "
            f"{shapes}: {error}"
        ) from error


def add_layer_node(
    layer: Layer,
    arguments: dict[str, Any],
    bound: dict[str, Any],
    outputs: Tree,
    keep_training: bool,
) -> None:
    """Record a symbolic call of a layer as a node of the graph.

    Args:
        layer: The layer.
        arguments: The converted arguments of the call, by name.
        bound: The arguments as they were passed. A Variable among them is read whenever the graph
            runs, so the node refers to the Variable itself; a symbolic value is cast then.
        outputs: The symbolic outputs.
        keep_training: Whether `training` was passed; otherwise it is decided when the graph runs.
    """
    named = {name: keep_references(value, bound.get(name)) for name, value in arguments.items()}
    if not keep_training:
        named.pop("training", None)
    signature = layer._call_signature
    if signature.has_args:
        args, named = signature.unbind(named)
    else:
        args = (named.pop(signature.first),) if signature.first in named else ()
    layer._inbound_nodes.append(Node(layer, args, named, outputs, layer=layer))
