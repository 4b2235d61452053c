"""Masks: passed to `call` with the tensors that carry them, and attached to its outputs.

A mask is an attribute of a Tensor. This module reads and sets it; which mask the outputs get is
decided by the layer's `compute_mask`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax

from podium._typing import Tree
from podium.core import KerasTensor, Tensor, tree_leaves
from podium.layers._call_context import CallSignature

if TYPE_CHECKING:
    from podium.layers._layer import Layer

_MASK_NAMES = ("mask", "previous_mask")


def accept_mask_names(compute_mask: Callable[..., Tree]) -> Callable[..., Tree]:
    """Wrap a `compute_mask` method so that it accepts its two arguments by position and by the
    names of both Keras versions: `inputs`, and `mask` or `previous_mask`.
    """
    parameters = [
        parameter
        for parameter in list(inspect.signature(compute_mask).parameters.values())[1:]
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(parameters) != 2:
        return compute_mask
    inputs_name, mask_name = parameters[0].name, parameters[1].name

    @functools.wraps(compute_mask)
    def call_by_position(self: Layer, *args: Any, **kwargs: Any) -> Tree:
        for name, own_name in (("inputs", inputs_name), *((n, mask_name) for n in _MASK_NAMES)):
            if name in kwargs and name != own_name and own_name not in kwargs:
                kwargs[own_name] = kwargs.pop(name)
        if mask_name not in kwargs and len(args) < 2:
            kwargs[mask_name] = None
        return compute_mask(self, *args, **kwargs)

    return call_by_position


def masks_of(value: Tree) -> Tree:
    """Return the mask of a Tensor, or the masks of the Tensors in a list."""
    if isinstance(value, (Tensor, KerasTensor)):
        return value._keras_mask
    if isinstance(value, (list, tuple)):
        return [masks_of(item) for item in value]
    return None


@contextlib.contextmanager
def override_masks(tensors: Sequence[Any], masks: Sequence[Any]) -> Iterator[None]:
    """Let tensors carry other masks inside a `with` block; None leaves a mask as it is."""
    pairs = zip(tensors, masks, strict=True)
    changed = [
        (tensor, tensor._keras_mask, mask)
        for tensor, mask in pairs
        if mask is not None and isinstance(tensor, (Tensor, KerasTensor))
    ]
    for tensor, _, mask in changed:
        tensor._keras_mask = mask
    try:
        yield
    finally:
        for tensor, previous, _ in changed:
            tensor._keras_mask = previous


def add_mask_arguments(signature: CallSignature, arguments: dict[str, Any]) -> None:
    """Add the masks of the arguments to those of a `call` that takes masks."""
    if signature.has_mask and arguments.get("mask") is None and signature.first in arguments:
        mask = masks_of(arguments[signature.first])
        leaves = jax.tree.leaves(mask, is_leaf=lambda m: m is None or isinstance(m, Tensor))
        if any(leaf is not None for leaf in leaves):
            arguments["mask"] = mask
    for name in list(arguments):
        mask_name = f"{name}_mask"
        if mask_name in signature.all_names and arguments.get(mask_name) is None:
            mask = getattr(arguments[name], "_keras_mask", None)
            if mask is not None:
                arguments[mask_name] = mask


def output_masks(layer: Layer, arguments: dict[str, Any], outputs: Tree) -> list[Any] | None:
    """Return one mask (or None) for each output; None if no output has a mask."""
    leaves = tree_leaves(outputs)
    masks = [getattr(leaf, "_keras_mask", None) for leaf in leaves]
    if not layer.supports_masking or all(mask is not None for mask in masks):
        return masks if any(mask is not None for mask in masks) else None
    first = layer._call_signature.first
    inputs = arguments.get(first) if first else None
    previous = arguments["mask"] if arguments.get("mask") is not None else masks_of(inputs)
    computed = layer.compute_mask(inputs, previous)
    if computed is None:
        return None
    masks = list(computed) if isinstance(computed, (list, tuple)) else [computed]
    return [*masks, *[None] * len(leaves)][: len(leaves)]


def attach_masks(outputs: Tree, masks: list[Any] | None) -> Tree:
    """Set the masks of the outputs, and return the outputs."""
    if masks is not None:
        for output, mask in zip(tree_leaves(outputs), masks, strict=True):
            if isinstance(output, Tensor):
                output._keras_mask = mask
    return outputs
