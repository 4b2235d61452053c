"""Writes SavedModels: TensorFlow does it, in a process of its own (`_tensorflow_process.py`), from
a program of `jax.export` and a checkpoint that are prepared here.

The variables stay variables, by the names that Keras 2 has for them. The directory is complete
before it gets its name.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp

from podium._typing import Tree
from podium.saving._savable_model import SavableModel
from podium.saving.formats._model_program import (
    export_program,
    input_names,
    is_spec,
    make_argument_names,
)
from podium.saving.formats._saved_model import TEXTS_DIRECTORY
from podium.saving.formats._tensorflow_checkpoint import collect_checkpoint
from podium.saving.io._replace_directory import replace_directory
from podium.saving.tensorflow_files import _tensorflow_process
from podium.saving.tensorflow_files._object_graph import VALUE_ATTRIBUTE
from podium.saving.tensorflow_files._tensor_bundle_writer import write_bundle

SAVED_MODEL_NAMES = ("saved_model.pb", "keras_metadata.pb", "fingerprint.pb", "variables", "assets",
          "assets.extra", "debug")  # fmt: skip
_UNSAFE = re.compile(r"[^A-Za-z0-9_.\\/>-]")  # in the names of TensorFlow's variables
_MAX_ERROR = 1500


class Signature(NamedTuple):
    """How a SavedModel is called.

    Attributes:
        inputs: TensorSpecs in the structure of the model's input.
        output_names: Names of the outputs; by default `output_0`, `output_1`, ...
        platforms: The platforms to compile for; by default the CPU and the present one.
    """

    inputs: Tree
    output_names: Sequence[str] | None = None
    platforms: Sequence[str] | None = None


def require_tensorflow(caller: str) -> None:
    """Raise ImportError if tensorflow is not installed. It is not imported."""
    if not _has_tensorflow():
        raise ImportError(
            f"{caller} needs the package 'tensorflow', which is not installed: `pip install "
            "tensorflow` (or `tensorflow-cpu`). Without it, `model.save('model.keras')` saves the "
            "whole model, `model.save_weights('ckpt')` writes a checkpoint that TensorFlow reads, "
            "and `model.export('model.jax')` a program for JAX."
        )


def _has_tensorflow() -> bool:
    """Return whether the real package is installed, whatever `import tensorflow` means here."""
    if sys.modules.get("tensorflow", True) is None:  # imports of it are blocked
        return False
    spec = importlib.machinery.PathFinder.find_spec("tensorflow")
    return spec is not None and spec.origin is not None


def write_saved_model(
    caller: str,
    model: SavableModel,
    target: str,
    signature: Signature,
    texts: Mapping[str, bytes],
    overwrite: bool,
    with_optimizer: bool,
) -> None:
    """Write a SavedModel. If writing fails, an existing one is unchanged.

    Args:
        caller: The function that the user called, for messages.
        model: The model, built.
        target: The directory. It may exist if it is a SavedModel.
        signature: How it is called.
        texts: The texts from which Podium rebuilds the model, by name; none for programs alone.
        overwrite: Whether an existing SavedModel may be replaced.
        with_optimizer: Whether to write the state of the optimizer.
    """
    require_tensorflow(caller)
    with replace_directory(caller, target, SAVED_MODEL_NAMES, overwrite) as folder:
        _write_request(caller, model, folder, signature, with_optimizer)
        run_tensorflow(caller, folder)
        result = os.path.join(folder, "model")
        if texts:
            os.makedirs(os.path.join(result, TEXTS_DIRECTORY))
        for name, text in texts.items():
            with open(os.path.join(result, TEXTS_DIRECTORY, name), "wb") as file:
                file.write(text)


def _write_request(
    caller: str, model: SavableModel, folder: str, signature: Signature, with_optimizer: bool
) -> None:
    checkpoint = collect_checkpoint(model, model.weights, with_optimizer)
    write_bundle(caller, os.path.join(folder, "weights"), checkpoint.tensors)
    variables = list(checkpoint.variables.values())
    node_of = {
        key: index
        for index, node in enumerate(checkpoint.nodes)
        if (key := node.value_key) is not None
    }
    captured = [(node_of[key], variable) for key, variable in checkpoint.variables.items()]
    by_id = {id(variable): node for node, variable in captured}
    trainable = {id(variable) for variable in model.trainable_variables}
    is_trainable = {node: id(variable) in trainable for node, variable in captured}
    platforms = signature.platforms or sorted({"cpu", jax.default_backend().replace("gpu", "cuda")})
    exported = export_program(model, signature.inputs, platforms, variables)
    with open(os.path.join(folder, "program.bin"), "wb") as file:
        file.write(exported.mlir_module_serialized)
    outputs = jax.tree.unflatten(exported.out_tree, range(len(exported.out_avals)))
    flat = jax.tree.leaves(signature.inputs, is_leaf=is_spec)
    request = {
        "sys_path": sys.path,
        "nodes": [
            {
                "children": {
                    name: child for name, child in node.children.items() if child != index
                },
                "key": node.value_key,
                "name": make_variable_name(node.full_names.get(VALUE_ATTRIBUTE, "")),
                "trainable": is_trainable.get(index, False),
            }
            for index, node in enumerate(checkpoint.nodes)
        ],
        "weights": [by_id[id(variable)] for variable in model.weights],
        "program": make_program_entry(exported, [node for node, _ in captured]),
        "inputs": [
            {"shape": list(spec.shape), "dtype": jnp.dtype(spec.dtype).name, "name": name}
            for spec, name in zip(flat, input_names(model, len(flat)), strict=True)
        ],
        "input_structure": encode_structure(
            jax.tree.unflatten(
                jax.tree.structure(signature.inputs, is_leaf=is_spec), range(len(flat))
            )
        ),
        "output_structure": encode_structure(outputs),
        "output_names": make_output_names(signature.output_names, outputs, len(exported.out_avals)),
    }
    with open(os.path.join(folder, "request.json"), "w", encoding="utf-8") as text_file:
        json.dump(request, text_file)


def make_program_entry(exported: jax.export.Exported, variables: list[int]) -> dict[str, Any]:
    """Return how TensorFlow runs a program, given the nodes of its variables."""
    return {
        "version": exported.calling_convention_version,
        "platforms": [platform.upper() for platform in exported.platforms],
        "disabled_checks": [str(check) for check in exported.disabled_safety_checks],
        "use_shardy_partitioner": bool(jax.config.jax_use_shardy_partitioner),  # type: ignore[attr-defined]
        "variables": variables,
        "dtypes": [aval.dtype.name for aval in exported.in_avals],
        "kept": list(exported.module_kept_var_idx),
        "outputs": [
            {"shape": [_size_or_none(size) for size in aval.shape], "dtype": aval.dtype.name}
            for aval in exported.out_avals
        ],
    }


def _size_or_none(size: object) -> int | None:
    return size if isinstance(size, int) else None


def encode_structure(structure: Tree) -> Tree:
    """Return a structure of indices as `_tensorflow_process.py` reads it."""
    if structure is None or isinstance(structure, int):
        return structure
    if isinstance(structure, Mapping):
        if not all(isinstance(key, str) for key in structure):
            raise ValueError(
                f"A SavedModel cannot have inputs or outputs under the names {list(structure)}; "
                "strings were expected."
            )
        return ["dict", [[key, encode_structure(item)] for key, item in structure.items()]]
    kind = "tuple" if isinstance(structure, tuple) else "list"
    return [kind, [[index, encode_structure(item)] for index, item in enumerate(structure)]]


def make_variable_name(name: str) -> str:
    """Return a name that a variable of TensorFlow can have."""
    return _UNSAFE.sub("_", name)


def make_output_names(names: Sequence[str] | None, outputs: Tree, count: int) -> list[str]:
    """Return the names of outputs for servers: the keys of a dictionary, or those of the caller."""
    if isinstance(outputs, dict) and all(isinstance(value, int) for value in outputs.values()):
        names = sorted(outputs, key=outputs.__getitem__)
    elif names is None or len(names) != count:
        names = [f"output_{index}" for index in range(count)]
    return make_argument_names(names)


def run_tensorflow(caller: str, folder: str) -> None:
    """Run TensorFlow on the files of a folder, isolated from this process and its environment."""
    command = [sys.executable, "-I", "-W", "ignore", _tensorflow_process.__file__, folder]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = "\n".join(lines)[-_MAX_ERROR:] or f"exit status {done.returncode}"
        raise RuntimeError(
            f"{caller} could not write the SavedModel: TensorFlow failed. The end of its "
            f"messages:\n{reason}"
        )
