"""Exports a model as one program: in `jax.export`'s format, which plain JAX runs, or as a
TensorFlow SavedModel or ONNX file through converters.

Weights are constants of the program. It is for inference, not for storage: a later JAX may reject
it, so save the model too.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import jax
import jax.export
import jax.numpy as jnp

from podium._typing import PathLike, Tree
from podium.core import KerasTensor, TensorSpec, check_choice, function
from podium.saving._savable_model import SavableModel
from podium.saving.io._atomic_write import atomic_write, open_regular_file, resolve_target

FORMATS = ("jax", "tf_saved_model", "onnx")
_MAX_BYTES = 16 << 30


def export_model(
    model: SavableModel,
    filepath: PathLike,
    format: str = "jax",
    input_signature: Tree = None,
    platforms: Sequence[str] | None = None,
    overwrite: bool = True,
) -> None:
    """Write a model as a program; the same as `model.export`.

    Args:
        model: The model, built.
        filepath: A file for "jax" and "onnx", a directory for "tf_saved_model".
        format: "jax", "tf_saved_model" (needs tensorflow) or "onnx" (needs jax2onnx).
        input_signature: TensorSpecs of the inputs; by default the model's, with any batch size.
        platforms: For "jax": the platforms to run on, such as ("cpu", "cuda"); by default the
            current one.
        overwrite: Whether an existing file may be replaced.

    Example:
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> podium.saving.export_model(model, "model", format="pickle")
        Traceback (most recent call last):
        ValueError: Unknown format 'pickle'. Choices: 'jax', 'onnx', 'tf_saved_model'.

    Raises:
        ValueError: The inputs are not known, or the model uses the batch size as a number.
        ImportError: The converter is not installed; the message names it.
    """
    check_choice("format", format, FORMATS)
    target = os.fsdecode(filepath)
    specs = _input_specs(model, input_signature)
    {"jax": _to_jax, "tf_saved_model": _to_tensorflow, "onnx": _to_onnx}[format](
        model, target, specs, platforms, overwrite
    )


def load_exported(filepath: PathLike) -> Callable[..., Any]:
    """Return the program of `Model.export` as a function of arrays; the model's code is not needed.

    Args:
        filepath: The file. It contains a program for XLA, and no Python code.

    Raises:
        ValueError: The file is not such a program, or JAX cannot read its version.

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
    with open_regular_file("load_exported", path) as raw:
        content = raw.read(_MAX_BYTES)
    _import_optional("flatbuffers", "flatbuffers", "load_exported")
    try:
        exported = jax.export.deserialize(bytearray(content))
    except Exception as error:
        raise ValueError(
            f"{path!r} cannot be read as a program of jax.export: it is damaged, or of a version "
            f"that this JAX ({jax.__version__}) does not read ({str(error)[:300]})."
        ) from error
    run = jax.jit(exported.call)

    def call(*inputs: Any) -> Tree:
        _check_inputs(path, exported, inputs)
        return run(*inputs)

    return call


def _check_inputs(path: str, exported: Any, inputs: tuple[Any, ...]) -> None:
    shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(inputs)]
    expected = [tuple(aval.shape) for aval in exported.in_avals]
    is_same = len(shapes) == len(expected) and all(
        len(shape) == len(other)
        and all(not isinstance(b, int) or a == b for a, b in zip(shape, other, strict=True))
        for shape, other in zip(shapes, expected, strict=True)
    )
    if not is_same:
        shown = ", ".join(f"({', '.join(map(str, shape))})" for shape in expected)
        raise ValueError(
            f"The program of {path!r} was given inputs of shapes {shapes}; {shown} was expected."
        )


# --- the program


def _input_specs(model: SavableModel, signature: Tree) -> Tree:
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


def _export_program(
    model: Any, specs: Tree, platforms: Sequence[str] | None
) -> jax.export.Exported:
    try:
        exported: jax.export.Exported = function(
            lambda inputs: model(inputs, training=False)
        ).export(specs, platforms=platforms)
        return exported
    except (jax.errors.ConcretizationTypeError, jax.errors.InconclusiveDimensionOperation) as error:
        raise ValueError(
            f"Model {model.name!r} cannot be exported with a variable batch size: it uses it as "
            "a number (`if`, `range`, `int`). Use `ops.shape(x)[0]` only in shapes, "
            f"or pass an `input_signature` with fixed lengths. ({str(error)[:300]})"
        ) from error


def _to_jax(
    model: SavableModel,
    target: str,
    specs: Tree,
    platforms: Sequence[str] | None,
    overwrite: bool,
) -> None:
    _import_optional("flatbuffers", "flatbuffers", "export")
    path = resolve_target("export", target, overwrite)
    content = _export_program(model, specs, platforms).serialize()
    with atomic_write("export", path) as file:
        file.write(content)


def _to_tensorflow(
    model: SavableModel,
    target: str,
    specs: Tree,
    platforms: Sequence[str] | None,
    overwrite: bool,
) -> None:
    tensorflow = _import_optional("tensorflow", "tensorflow-cpu", "export(format='tf_saved_model')")
    from jax.experimental import jax2tf

    if os.path.exists(target) and not overwrite:
        raise FileExistsError(
            f"export was given {target!r}, which exists, and overwrite=False. Choose another name."
        )
    exported = _export_program(model, specs, None)
    flat = jax.tree.leaves(specs, is_leaf=_is_spec)
    shapes = [f"({', '.join(['b', *map(str, aval.shape[1:])])})" for aval in exported.in_avals]
    converted = jax2tf.convert(
        lambda *leaves: exported.call(_unflatten_like(specs, leaves)),
        polymorphic_shapes=shapes,
        with_gradient=False,
    )
    signature = [
        tensorflow.TensorSpec(spec.shape, jnp.dtype(spec.dtype).name, name=f"input_{index}")
        for index, spec in enumerate(flat)
    ]
    module = tensorflow.Module()
    module.serve = tensorflow.function(converted, input_signature=signature, autograph=False)
    with tempfile.TemporaryDirectory(
        dir=os.path.dirname(os.path.abspath(target)), prefix=".export"
    ) as folder:
        temporary = os.path.join(folder, "model")
        tensorflow.saved_model.save(
            module,
            temporary,
            signatures={"serving_default": _named_outputs(tensorflow, module, signature)},
        )
        if os.path.exists(target):
            os.rename(target, os.path.join(folder, "old"))
        os.rename(temporary, target)


def _named_outputs(tensorflow: Any, module: Any, signature: list[Any]) -> object:
    """Return the function in the form that servers call, with named outputs."""

    def serve(*inputs: Any) -> dict[str, Any]:
        leaves = tensorflow.nest.flatten(module.serve(*inputs))
        return {f"output_{index}": leaf for index, leaf in enumerate(leaves)}

    return tensorflow.function(serve, input_signature=signature, autograph=False)


def _to_onnx(
    model: Any, target: str, specs: Tree, platforms: Sequence[str] | None, overwrite: bool
) -> None:
    jax2onnx = _import_optional("jax2onnx", "jax2onnx", "export(format='onnx')")
    path = resolve_target("export", target, overwrite)
    flat = jax.tree.leaves(specs, is_leaf=_is_spec)
    trainable = [variable.read() for variable in model.trainable_variables]
    others = [variable.read() for variable in model.non_trainable_variables]

    def pure(*leaves: Any) -> Tree:
        return model.stateless_call(
            trainable, others, _unflatten_like(specs, leaves), training=False
        )[0]

    inputs = [
        jax.ShapeDtypeStruct(
            tuple("B" if size is None else size for size in spec.shape), spec.dtype
        )
        for spec in flat
    ]
    converted = jax2onnx.to_onnx(pure, inputs=inputs, model_name=model.name)
    with atomic_write("export", path) as file:
        file.write(converted.SerializeToString())


def _is_spec(value: object) -> bool:
    return isinstance(value, TensorSpec)


def _unflatten_like(specs: Tree, leaves: Sequence[Any]) -> Tree:
    return jax.tree.unflatten(jax.tree.structure(specs, is_leaf=_is_spec), leaves)


def _import_optional(module: str, package: str, caller: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{caller} needs the package {package!r}, which is not installed: `pip install "
            f"{package}`."
        ) from error
