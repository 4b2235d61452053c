"""Exports a model as one program: as a SavedModel for TensorFlow, in `jax.export`'s format, which
plain JAX runs, or as an ONNX file.

It is for inference, not for storage: a later JAX may reject it, so save the model too. Weights are
constants of the program, except in a SavedModel.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, BinaryIO

import jax
import jax.export
import jax.numpy as jnp

from podium._typing import PathLike, Tree
from podium.core import check_choice
from podium.saving._savable_model import SavableModel
from podium.saving.formats._model_program import (
    export_program,
    input_specs,
    is_spec,
    unflatten_like,
)
from podium.saving.formats._saved_model_writer import (
    Signature,
    require_tensorflow,
    write_saved_model,
)
from podium.saving.io._atomic_write import atomic_write, open_regular_file, resolve_target
from podium.saving.io._errors import InvalidFileError, name_path
from podium.saving.io._sidecar import check_sidecar

FORMATS = ("jax", "tf_saved_model", "onnx")
_SUFFIXES = {".jax": "jax", ".onnx": "onnx"}
_DIGEST_MARK = b"\x89PODIUM export\n"  # before the SHA-256 at the end of the file
_DIGEST_SIZE = len(_DIGEST_MARK) + 32


def export_model(
    model: SavableModel,
    filepath: PathLike,
    format: str | None = None,
    input_signature: Tree = None,
    platforms: Sequence[str] | None = None,
    overwrite: bool = True,
) -> None:
    """Write a model as a program; the same as `model.export`.

    Args:
        model: The model, built.
        filepath: A file for "jax" and "onnx", a directory for "tf_saved_model".
        format: "jax", "tf_saved_model" (needs tensorflow) or "onnx" (needs jax2onnx). By default
            names that end in `.jax` and `.onnx` get these formats, and all others
            "tf_saved_model", as in Keras.
        input_signature: TensorSpecs of the inputs; by default the model's, with any batch size.
        platforms: For "jax" and "tf_saved_model": the platforms to run on, such as
            ("cpu", "cuda"); by default the current one, and for "tf_saved_model" the CPU too.
        overwrite: Whether an existing file or SavedModel may be replaced.

    Example:
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> podium.saving.export_model(model, "model", format="pickle")
        Traceback (most recent call last):
        ValueError: Unknown format 'pickle'. Choices: 'jax', 'onnx', 'tf_saved_model'.

    Raises:
        ValueError: The inputs are not known, or the model uses the batch size as a number.
        ImportError: The converter is not installed; the message names it.
    """
    target = os.fsdecode(filepath)
    if format is None:
        format = _SUFFIXES.get(os.path.splitext(target)[1].lower(), "tf_saved_model")
    check_choice("format", format, FORMATS)
    if format == "tf_saved_model":
        require_tensorflow("export to a SavedModel")
    specs = input_specs(model, input_signature)
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
        check_sidecar(path, raw)
        content = raw.read()
    _import_optional("flatbuffers", "flatbuffers", "load_exported")
    try:
        check_program_digest(content)
    except InvalidFileError as error:
        raise ValueError(name_path(path, error)) from None
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


def check_program_digest(content: bytes) -> bool:
    """Compare an exported program with the digest at its end; return whether it has one.

    Raises:
        InvalidFileError: It is damaged.
    """
    program, end = content[:-_DIGEST_SIZE], content[-_DIGEST_SIZE:]
    if not end.startswith(_DIGEST_MARK):
        return False
    if hashlib.sha256(program).digest() != end[len(_DIGEST_MARK) :]:
        raise InvalidFileError("is corrupt: the program does not fit the checksum at its end.")
    return True


def has_program_digest(file: BinaryIO) -> bool:
    """Return whether an open file ends with the digest of an exported program."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _DIGEST_SIZE))
    return file.read(len(_DIGEST_MARK)) == _DIGEST_MARK


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


def _to_jax(
    model: SavableModel,
    target: str,
    specs: Tree,
    platforms: Sequence[str] | None,
    overwrite: bool,
) -> None:
    _import_optional("flatbuffers", "flatbuffers", "export")
    path = resolve_target("export", target, overwrite)
    content = export_program(model, specs, platforms).serialize()
    with atomic_write("export", path) as file:
        file.write(content)
        # JAX ignores bytes after the program.
        file.write(_DIGEST_MARK + hashlib.sha256(content).digest())


def _to_tensorflow(
    model: SavableModel,
    target: str,
    specs: Tree,
    platforms: Sequence[str] | None,
    overwrite: bool,
) -> None:
    signature = Signature(specs, None, platforms)
    write_saved_model("export", model, target, signature, {}, overwrite, with_optimizer=False)


def _to_onnx(
    model: Any, target: str, specs: Tree, platforms: Sequence[str] | None, overwrite: bool
) -> None:
    jax2onnx = _import_optional("jax2onnx", "jax2onnx", "export(format='onnx')")
    path = resolve_target("export", target, overwrite)
    flat = jax.tree.leaves(specs, is_leaf=is_spec)
    trainable = [variable.read() for variable in model.trainable_variables]
    others = [variable.read() for variable in model.non_trainable_variables]

    def pure(*leaves: Any) -> Tree:
        return model.stateless_call(
            trainable, others, unflatten_like(specs, leaves), training=False
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


def _import_optional(module: str, package: str, caller: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{caller} needs the package {package!r}, which is not installed: `pip install "
            f"{package}`."
        ) from error
