"""The program of a model, for exports: its inputs, their names, and tracing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.export

from podium._typing import Tree
from podium.core import KerasTensor, TensorSpec, Variable, function
from podium.saving._savable_model import SavableModel


def input_specs(model: SavableModel, signature: Tree) -> Tree:
    """Return TensorSpecs in the structure of the model's input; the size of the batch is not
    fixed.
    """
    if not model.built:
        raise ValueError(
            f"export was called on model {model.name!r} ({type(model).__name__}), which is not "
            "built: it has no weights yet. Call it on a batch first."
        )
    if signature is not None:
        return (
            signature[0]
            if isinstance(signature, (list, tuple)) and len(signature) == 1
            else signature
        )
    graph = getattr(model, "_graph", None)
    if graph is not None:
        inputs, is_leaf = graph.inputs, lambda value: isinstance(value, KerasTensor)
        return jax.tree.map(
            lambda symbol: TensorSpec((None, *symbol.shape[1:]), symbol.dtype),
            inputs,
            is_leaf=is_leaf,
        )
    if model.built_shape is None:
        raise ValueError(
            f"export was called on model {model.name!r} ({type(model).__name__}), whose inputs are "
            "not known. Pass `input_signature=[podium.TensorSpec((None, 3))]`."
        )
    return jax.tree.map(
        lambda shape: TensorSpec((None, *shape[1:]), model.compute_dtype),
        model.built_shape,
        is_leaf=_is_shape,
    )


def _is_shape(shape: object) -> bool:
    return isinstance(shape, tuple) and all(size is None or isinstance(size, int) for size in shape)


def export_program(
    model: Any,
    specs: Tree,
    platforms: Sequence[str] | None,
    variables: Sequence[Variable] | None = None,
) -> jax.export.Exported:
    """Return the call of a model with `training=False` as a program.

    Args:
        model: The model.
        specs: TensorSpecs of the inputs.
        platforms: The platforms to compile for; None for the present one.
        variables: Variables whose values become the first argument, and not constants.

    Raises:
        ValueError: The model uses the batch size as a number, or writes Variables.
    """
    try:
        exported: jax.export.Exported = function(
            lambda inputs: model(inputs, training=False)
        ).export(specs, platforms=platforms, variables=variables)
        return exported
    except (jax.errors.ConcretizationTypeError, jax.errors.InconclusiveDimensionOperation) as error:
        raise ValueError(
            f"Model {model.name!r} cannot be exported with a variable batch size: it uses it as "
            "a number (`if`, `range`, `int`). Use `ops.shape(x)[0]` only in shapes, "
            f"or pass an `input_signature` with fixed lengths. ({str(error)[:300]})"
        ) from error


def is_spec(value: object) -> bool:
    """Return whether a value is a TensorSpec."""
    return isinstance(value, TensorSpec)


def unflatten_like(specs: Tree, leaves: Sequence[Any]) -> Tree:
    """Return leaves in the structure of TensorSpecs."""
    return jax.tree.unflatten(jax.tree.structure(specs, is_leaf=is_spec), leaves)


def input_names(model: SavableModel, count: int) -> list[str]:
    """Return names for the inputs of a model: those of its `Input`s, or `input_1`, `input_2`."""
    graph = getattr(model, "_graph", None)
    symbols = [] if graph is None else jax.tree.leaves(graph.inputs, is_leaf=_is_symbol)
    if len(symbols) != count:
        return [f"input_{index + 1}" for index in range(count)]
    return make_argument_names(symbol.name for symbol in symbols)


def _is_symbol(value: object) -> bool:
    return isinstance(value, KerasTensor)


def make_argument_names(names: Iterable[str]) -> list[str]:
    """Return names that are different and that arguments can have."""
    result: list[str] = []
    for name in names:
        base = re.sub(r"\W", "_", name)
        base = base if base[:1].isalpha() else f"_{base}".replace("__", "x_", 1)
        unique, count = base, 0
        while unique in result:
            count += 1
            unique = f"{base}_{count}"
        result.append(unique)
    return result
