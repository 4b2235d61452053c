"""Running the `call` method of a layer: on Tensors or bare arrays, with errors that name the layer.

A user's `call` may pass its arguments to `jax.lax`, which accepts arrays only. That is found out
the first time it runs and remembered by the layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from podium._typing import Tree
from podium.core import Tensor, Variable, map_structure
from podium.core.internal import (
    TENSOR_IN_LAX,
    VariableScope,
    context,
    override,
    unwrap_result,
    wrap,
)

if TYPE_CHECKING:
    from podium.layers._layer import Layer


def run_call(layer: Layer, arguments: dict[str, Any]) -> Tree:
    """Run `call` and return its outputs as Tensors.

    A layer created in a RematScope is recomputed when its gradients are.
    """
    scope = layer._remat_scope
    if scope is None or layer._records_layers_inside:
        outputs = _call_with_tensors_or_arrays(layer, arguments)
    else:

        def call(arguments: dict[str, Any]) -> Tree:
            return _call_with_tensors_or_arrays(layer, arguments)

        outputs = scope.apply_to(call, layer.name, bool(layer._own_layers()))(arguments)
    return outputs if isinstance(outputs, Tensor) else map_structure(_as_output, outputs)


def _call_with_tensors_or_arrays(layer: Layer, arguments: dict[str, Any]) -> Tree:
    if layer._takes_arrays is None:
        trial = VariableScope(parent=context.scope)
        try:
            with override(scope=trial, bare_arrays=False):
                outputs = _call_with_located_errors(layer, arguments)
        except (ValueError, TypeError) as error:
            if "__jax_array__" not in str(error) and str(error) != TENSOR_IN_LAX:
                raise
            layer._takes_arrays = True  # what the failed trial wrote is dropped with its scope
        else:
            trial.commit()
            layer._takes_arrays = False
            return outputs
    if not layer._takes_arrays:
        with override(bare_arrays=False):
            return _call_with_located_errors(layer, arguments)
    with override(bare_arrays=True):
        return _call_with_located_errors(layer, unwrap_result(arguments))


def _call_with_located_errors(layer: Layer, arguments: dict[str, Any]) -> Tree:
    args, kwargs = layer._call_signature.unbind(arguments)
    try:
        if layer.quantization_mode is not None:
            return layer.quantized_call(*args, **kwargs)
        return layer.call(*args, **kwargs)
    except AttributeError as error:
        if isinstance(getattr(error, "obj", None), Tensor):
            raise TypeError(_no_array_method(layer, error.name)) from error
        _add_location(error, layer)
        raise
    except Exception as error:
        _add_location(error, layer)
        raise


def _as_output(leaf: Any) -> Any:
    """Convert an output to a Tensor: a bare array, or a Variable, whose value may change later."""
    if isinstance(leaf, Variable):
        return leaf.read_value()
    return wrap(leaf) if isinstance(leaf, jax.Array) else leaf


def _add_location(error: Exception, layer: Layer) -> None:
    """Add a note that names the innermost layer in which the error was raised."""
    notes = getattr(error, "__notes__", ())
    if not any(note.startswith("This happened in layer") for note in notes):
        error.add_note(f"This happened in layer {layer.name!r} ({type(layer).__name__}).")


def _no_array_method(layer: Layer, name: str | None) -> str:
    return (
        f"Layer {layer.name!r} ({type(layer).__name__}) accessed `.{name}` of a Tensor, which does "
        "not exist: a Tensor has no methods of NumPy arrays. Use `podium.ops` "
        f"(`ops.{name}(x)`, if it exists), and `ops.cond` or `ops.where` instead of a Python "
        "`if` on values."
    )
