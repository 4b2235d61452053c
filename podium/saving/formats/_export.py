"""A model as one program for other places: `jax.export`'s form, which plain JAX runs; TensorFlow's
and ONNX's through converters.

Weights are constants of the program. It is for running, not for keeping: a later JAX may refuse it.
Save the model beside it.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export
import jax.numpy as jnp

from podium.core import KerasTensor, TensorSpec, check_choice, function
from podium.saving.io._atomic_write import open_regular, place_for, replacing

FORMATS = ("jax", "tf_saved_model", "onnx")
_LARGEST = 16 << 30


def export_model(
    model: Any,
    filepath: Any,
    format: str = "jax",
    input_signature: Any = None,
    platforms: Sequence[str] | None = None,
    overwrite: bool = True,
) -> None:
    """Write a model as a program; the same as `model.export`.

    Args:
        model: The model, built.
        filepath: A file for "jax" and "onnx", a directory for "tf_saved_model".
        format: "jax", "tf_saved_model" (needs tensorflow) or "onnx" (needs jax2onnx).
        input_signature: TensorSpecs of the inputs; by default the model's, with an open batch size.
        platforms: For "jax": where it shall run, such as ("cpu", "cuda"); by default here.
        overwrite: Whether a file that is there may be replaced.

    Example:
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> podium.saving.export_model(model, "model", format="pickle")
        Traceback (most recent call last):
        ValueError: Unknown format 'pickle'. Choices: 'jax', 'onnx', 'tf_saved_model'.

    Raises:
        ValueError: The inputs are not known, or the model looks at the batch size while it runs.
        ImportError: The converter is not installed; the message names it.
    """
    check_choice("format", format, FORMATS)
    given = os.fsdecode(filepath)
    specs = _specs(model, input_signature)
    {"jax": _to_jax, "tf_saved_model": _to_tensorflow, "onnx": _to_onnx}[format](
        model, given, specs, platforms, overwrite
    )


def load_exported(filepath: Any) -> Callable:
    """Return the program of `Model.export` as a function of arrays; the model's code is not needed.

    Args:
        filepath: The file. It holds a program and no Python code; it is run by XLA.

    Raises:
        ValueError: The file is no such program, or JAX cannot read this version.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.export(os.path.join(folder, "model.jax"))
        ...     run = podium.saving.load_exported(os.path.join(folder, "model.jax"))
        >>> run(np.ones((5, 3), "float32")).shape
        (5, 2)
    """
    path = os.fsdecode(filepath)
    with open_regular("load_exported", path) as raw:
        content = raw.read(_LARGEST)
    _needed("flatbuffers", "flatbuffers", "load_exported")
    try:
        exported = jax.export.deserialize(bytearray(content))
    except Exception as error:
        raise ValueError(
            f"{path!r} cannot be read as a program of jax.export: it is damaged, or of a version "
            f"that this JAX ({jax.__version__}) does not read ({str(error)[:300]})."
        ) from error
    run = jax.jit(exported.call)

    def call(*inputs: Any) -> Any:
        _check_inputs(path, exported, inputs)
        return run(*inputs)

    return call


def _check_inputs(path: str, exported: Any, inputs: tuple) -> None:
    given = [jnp.shape(leaf) for leaf in jax.tree.leaves(inputs)]
    wanted = [tuple(aval.shape) for aval in exported.in_avals]
    same = len(given) == len(wanted) and all(
        len(one) == len(other)
        and all(not isinstance(b, int) or a == b for a, b in zip(one, other, strict=True))
        for one, other in zip(given, wanted, strict=True)
    )
    if not same:
        shown = ", ".join(f"({', '.join(map(str, shape))})" for shape in wanted)
        raise ValueError(
            f"The program of {path!r} was given inputs of shapes {given}; {shown} was expected."
        )


# --- the program


def _specs(model: Any, signature: Any) -> Any:
    """Return a structure of TensorSpecs like the model's input; the first length of each stays
    open.
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
    if getattr(model, "_graph", None) is not None:
        inputs, is_leaf = model._graph.inputs, lambda value: isinstance(value, KerasTensor)
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


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, tuple) and all(
        length is None or isinstance(length, int) for length in shape
    )


def _exported(model: Any, specs: Any, platforms: Any) -> Any:
    try:
        return function(lambda inputs: model(inputs, training=False)).export(
            specs, platforms=platforms
        )
    except (jax.errors.ConcretizationTypeError, jax.errors.InconclusiveDimensionOperation) as error:
        raise ValueError(
            f"Model {model.name!r} cannot be exported with an open batch size: it uses the size as "
            "a number while it runs (`if`, `range`, `int`). Use `ops.shape(x)[0]` only in shapes, "
            f"or pass an `input_signature` with fixed lengths. ({str(error)[:300]})"
        ) from error


def _to_jax(model: Any, given: str, specs: Any, platforms: Any, overwrite: bool) -> None:
    _needed("flatbuffers", "flatbuffers", "export")
    path = place_for("export", given, overwrite)
    content = _exported(model, specs, platforms).serialize()
    with replacing("export", path) as file:
        file.write(content)


def _to_tensorflow(model: Any, given: str, specs: Any, platforms: Any, overwrite: bool) -> None:
    tensorflow = _needed("tensorflow", "tensorflow-cpu", "export(format='tf_saved_model')")
    from jax.experimental import jax2tf

    if os.path.exists(given) and not overwrite:
        raise FileExistsError(
            f"export was given {given!r}, which exists, and overwrite=False. Choose another name."
        )
    exported = _exported(model, specs, None)
    flat = jax.tree.leaves(specs, is_leaf=_is_spec)
    shapes = [f"({', '.join(['b', *map(str, aval.shape[1:])])})" for aval in exported.in_avals]
    converted = jax2tf.convert(
        lambda *leaves: exported.call(_like(specs, leaves)),
        polymorphic_shapes=shapes,
        with_gradient=False,
    )
    signature = [
        tensorflow.TensorSpec(spec.shape, jnp.dtype(spec.dtype).name, name=f"input_{place}")
        for place, spec in enumerate(flat)
    ]
    module = tensorflow.Module()
    module.serve = tensorflow.function(converted, input_signature=signature, autograph=False)
    with tempfile.TemporaryDirectory(
        dir=os.path.dirname(os.path.abspath(given)), prefix=".export"
    ) as folder:
        beside = os.path.join(folder, "model")
        tensorflow.saved_model.save(
            module,
            beside,
            signatures={"serving_default": _named_outputs(tensorflow, module, signature)},
        )
        if os.path.exists(given):
            os.rename(given, os.path.join(folder, "old"))
        os.rename(beside, given)


def _named_outputs(tensorflow: Any, module: Any, signature: list[Any]) -> Any:
    """Return the function in the form that servers call: outputs by name."""

    def serving(*inputs: Any) -> dict[str, Any]:
        leaves = tensorflow.nest.flatten(module.serve(*inputs))
        return {f"output_{place}": leaf for place, leaf in enumerate(leaves)}

    return tensorflow.function(serving, input_signature=signature, autograph=False)


def _to_onnx(model: Any, given: str, specs: Any, platforms: Any, overwrite: bool) -> None:
    jax2onnx = _needed("jax2onnx", "jax2onnx", "export(format='onnx')")
    path = place_for("export", given, overwrite)
    flat = jax.tree.leaves(specs, is_leaf=_is_spec)
    trainable = [variable.read() for variable in model.trainable_variables]
    others = [variable.read() for variable in model.non_trainable_variables]

    def pure(*leaves: Any) -> Any:
        return model.stateless_call(trainable, others, _like(specs, leaves), training=False)[0]

    inputs = [
        jax.ShapeDtypeStruct(
            tuple("B" if length is None else length for length in spec.shape), spec.dtype
        )
        for spec in flat
    ]
    converted = jax2onnx.to_onnx(pure, inputs=inputs, model_name=model.name)
    with replacing("export", path) as file:
        file.write(converted.SerializeToString())


def _is_spec(value: Any) -> bool:
    return isinstance(value, TensorSpec)


def _like(specs: Any, leaves: Sequence[Any]) -> Any:
    return jax.tree.unflatten(jax.tree.structure(specs, is_leaf=_is_spec), leaves)


def _needed(module: str, package: str, asked: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{asked} needs the package {package!r}, which is not installed: `pip install "
            f"{package}`."
        ) from error
