"""Building: the weights of a layer are created once, with the shapes of the first call.

It owns the choice of the shapes that `build` receives and the conditions under which it runs. The
weights themselves are created by the `build` methods of layers.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from podium._typing import SymbolicShape, Tree
from podium.core.internal import context, layer_name_scope, override, restore_on_error, state_lock
from podium.layers._call_context import is_tensor_like, map_shapes, shapes_of
from podium.layers._variable_tracker import flatten_layers

if TYPE_CHECKING:
    from podium.layers._layer import Layer


def build_for_arguments(layer: Layer, arguments: dict[str, Any]) -> None:
    """Build a layer with the shapes of the tensors among its arguments, unless it is built."""
    if layer.built:
        return
    inputs = {name: value for name, value in arguments.items() if is_tensor_like(value)}
    with state_lock:  # of several threads that call the layer, one builds it
        if not layer.built:
            # Weights get concrete values, recorded by no tape; a running trace finds them by use.
            with restore_on_error(), jax.ensure_compile_time_eval(), override(tapes=()):
                _build(layer, inputs)


def _build(layer: Layer, inputs: dict[str, Any]) -> None:
    shapes = {name: _without_placeholders(shapes_of(value)) for name, value in inputs.items()}
    parameters = inspect.signature(type(layer).build).parameters
    names = [
        name
        for name, parameter in list(parameters.items())[1:]
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    required = {name for name in names if parameters[name].default is inspect.Parameter.empty}
    by_name = {
        name: shapes[name.removesuffix("_shape")]
        for name in names
        if name.removesuffix("_shape") in shapes
    }
    first_name = layer._call_signature.first or ""
    first = shapes.get(first_name)
    with layer_name_scope(layer.name), override(autocast_dtype=None, bare_arrays=False):
        if len(names) > 1 and by_name and required <= set(by_name):
            layer.build(**by_name)  # `build(query_shape, value_shape)`: one per tensor argument
        else:
            layer._build_for_call([first][: len(names)], inputs.get(first_name))
    layer.built = True
    layer.built_shape = first


def _without_placeholders(shapes: Tree) -> Tree:
    """Return shapes with None for the unknown sizes of an inference of shapes."""
    placeholder = context.placeholder_size
    if placeholder is None:
        return shapes

    def remove(shape: SymbolicShape) -> SymbolicShape:
        return tuple(None if size == placeholder else size for size in shape)

    return map_shapes(remove, shapes)


def record_build(build: Callable[..., None]) -> Callable[..., None]:
    """Wrap a `build` method so that its weights get the layer's name, and a direct call counts."""

    @functools.wraps(build)
    def build_and_record(self: Layer, *args: Any, **kwargs: Any) -> None:
        before = None if self._trainable else set(map(id, flatten_layers(self)))
        with layer_name_scope(self._name):
            build(self, *args, **kwargs)
        if before is not None:
            _freeze_new_layers(self, before)
        if self._build_is_final:
            self.built = True
            if self.built_shape is None:
                self.built_shape = args[0] if args else next(iter(kwargs.values()), None)

    return build_and_record


def _freeze_new_layers(layer: Layer, before: set[int]) -> None:
    """Freeze the weights of a frozen layer, and the layers that its `build` created.

    Args:
        layer: The frozen layer.
        before: The ids of the layers that existed before; a layer that was passed in from outside
            keeps its own setting, because it may be part of other layers too.
    """
    for inner in flatten_layers(layer):
        if inner is layer or id(inner) not in before:
            inner._set_own_trainable(False)
