"""Calls on symbolic values: the specs of a layer's outputs, and the node that records the call.

It owns tracing a layer for its output shapes and masks. Shapes that a layer declares itself are
read by `Layer`; the graph of nodes is used by `podium.models`.
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
from podium.layers._masks import add_mask_arguments, output_masks

if TYPE_CHECKING:
    from podium.layers._layer import Layer


def trace_outputs(
    layer: Layer, arguments: dict[str, Any], training: bool | None
) -> tuple[Tree, list[Any] | None]:
    """Return the KerasTensors that a call returns and their masks, found by tracing it."""

    def run(arguments: dict[str, Any], masks: list[jax.Array | None]) -> Tree:
        tensors = _wrap_with_masks(arguments, masks)
        add_mask_arguments(layer._call_signature, tensors)
        with override(scope=VariableScope(parent=context.scope), tapes=()):
            outputs, output_masks = layer._run(tensors, training)
        return unwrap_result((outputs, output_masks))

    try:
        outputs, masks = symbolic_outputs(run, (dict(arguments), _masks_of_leaves(arguments)), {})
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
    return outputs, masks


def trace_masks(layer: Layer, arguments: dict[str, Any], outputs: Tree) -> list[Any] | None:
    """Return the masks of outputs that a layer has declared without being traced."""

    def run(arguments: dict[str, Any], masks: list[jax.Array | None]) -> Tree:
        tensors = _wrap_with_masks(arguments, masks)
        with override(scope=VariableScope(parent=context.scope), tapes=()):
            return unwrap_result(output_masks(layer, tensors, outputs))

    if not layer.supports_masking:
        return None
    masks = _masks_of_leaves(arguments)
    traced: list[Any] | None = symbolic_outputs(run, (dict(arguments), masks), {})
    return traced


def attach_symbolic_masks(outputs: Tree, masks: list[Any] | None) -> None:
    """Set the masks of symbolic outputs: values of a graph that read the mask of the output."""
    if masks is not None:
        for output, mask in zip(tree_leaves(outputs), masks, strict=True):
            if isinstance(output, KerasTensor) and isinstance(mask, KerasTensor):
                Node(_read_mask, (output,), {}, mask)
                output._keras_mask = mask


def _read_mask(value: Any) -> Any:
    return value._keras_mask


def _masks_of_leaves(arguments: dict[str, Any]) -> list[KerasTensor | None]:
    return [
        leaf._keras_mask if isinstance(leaf, KerasTensor) else None
        for leaf in tree_leaves(arguments)
    ]


def _wrap_with_masks(arguments: dict[str, Any], masks: list[jax.Array | None]) -> dict[str, Any]:
    """Return arguments with Tensors, which carry the masks, in the place of arrays."""
    tensors: dict[str, Any] = map_structure(
        lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, arguments
    )
    for leaf, mask in zip(tree_leaves(tensors), masks, strict=True):
        if mask is not None:
            leaf._keras_mask = wrap(mask)
    return tensors


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
