"""A program of its own, which needs tensorflow and not Podium: it writes a SavedModel.

    python _tensorflow_process.py FOLDER

The folder has `request.json`, `program.bin` (StableHLO) and a checkpoint `weights`; the result is
in its `model`. TensorFlow runs in a process of its own: it does not take the memory of devices that
JAX uses, and works where `import tensorflow` means Podium. `_saved_model_writer.py` starts it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

_Json = Any


def main(folder: str) -> None:
    """Write the SavedModel that the files of a folder describe."""
    with open(os.path.join(folder, "request.json"), encoding="utf-8") as file:
        request = json.load(file)
    sys.path[:] = request["sys_path"]
    import tensorflow as tf

    nodes = _make_nodes(tf, request["nodes"], os.path.join(folder, "weights"))
    if "endpoints" in request:
        _write_archive(tf, request, folder, nodes)
        return
    with open(os.path.join(folder, "program.bin"), "rb") as file:
        run = _make_call(tf, request["program"], file.read(), nodes)
    root = nodes[0]
    specs = [
        tf.TensorSpec(spec["shape"], spec["dtype"], spec["name"]) for spec in request["inputs"]
    ]
    call = _make_structured_call(tf, request, specs, run)
    variables = [nodes[index] for index in request["weights"]]
    attributes = {
        "__call__": call,  # of the object, and not of its class: so SavedModels have it
        "serve": call,
        "variables": variables,
        "trainable_variables": [variable for variable in variables if variable.trainable],
    }
    for name, value in attributes.items():
        if name not in vars(root):
            setattr(root, name, value)
    serve = _make_serving_call(tf, request["output_names"], specs, run)
    tf.saved_model.save(root, os.path.join(folder, "model"), {"serving_default": serve})


def _make_nodes(tf: Any, nodes: list[_Json], prefix: str) -> list[Any]:
    """Return the objects of the model: variables, and others that refer to objects by name."""
    reader = tf.train.load_checkpoint(prefix)
    objects = []
    for node in nodes:
        key = node["key"]
        if key is None:
            objects.append(tf.__internal__.tracking.AutoTrackable())
        else:
            value = reader.get_tensor(key)
            objects.append(tf.Variable(value, trainable=node["trainable"], name=node["name"]))
    for node, owner in zip(nodes, objects, strict=True):
        for name, index in node["children"].items():
            setattr(owner, name, objects[index])
    return objects


def _make_call(
    tf: Any, program: _Json, module: bytes, nodes: list[Any]
) -> Callable[[list[Any]], list[Any]]:
    """Return the program as a function from the leaves of the inputs to those of the outputs."""
    from tensorflow.compiler.tf2xla.python import xla

    supported = xla.call_module_maximum_supported_version()
    if program["version"] > supported:
        raise RuntimeError(
            f"TensorFlow {tf.__version__} runs programs up to version {supported}, and this JAX "
            f"makes version {program['version']}: update tensorflow"
        )
    variables = [nodes[index] for index in program["variables"]]

    def run(leaves: list[Any]) -> list[Any]:
        arguments = [  # counters are int64 in files of TensorFlow, and int32 in the program
            tf.cast(value, dtype)
            for value, dtype in zip([*variables, *leaves], program["dtypes"], strict=True)
        ]
        outputs = xla.call_module(
            [arguments[index] for index in program["kept"]],
            version=program["version"],
            module=module,
            Tout=[output["dtype"] for output in program["outputs"]],
            Sout=[tf.TensorShape(output["shape"]) for output in program["outputs"]],
            platforms=program["platforms"],
            disabled_checks=program["disabled_checks"],
            use_shardy_partitioner=program["use_shardy_partitioner"],
        )
        return list(outputs)

    return run


def _make_structured_call(
    tf: Any, request: _Json, specs: list[Any], run: Callable[[list[Any]], list[Any]]
) -> object:
    """Return the function that is called as the model is, on one structure of inputs."""
    structure = request["input_structure"]

    def call(inputs: Any, training: bool = False) -> Any:
        leaves: list[Any] = [None] * len(specs)
        _place_leaves(structure, inputs, leaves)
        return _build_structure(request["output_structure"], run(leaves))

    signature = [_build_structure(structure, specs)]
    return tf.function(call, input_signature=signature, autograph=False)


def _make_serving_call(
    tf: Any, names: list[str], specs: list[Any], run: Callable[[list[Any]], list[Any]]
) -> object:
    """Return the function that servers call, with named inputs and outputs."""

    def serve(*inputs: Any) -> dict[str, Any]:
        return dict(zip(names, run(list(inputs)), strict=True))

    return tf.function(serve, input_signature=specs, autograph=False)


def _write_archive(tf: Any, request: _Json, folder: str, nodes: list[Any]) -> None:
    """Write a SavedModel with several endpoints, and lists of variables."""
    root = tf.__internal__.tracking.AutoTrackable()
    root._all_variables = nodes
    for name, indices in request["lists"].items():
        setattr(root, name, [nodes[index] for index in indices])
    signatures = {}
    for index, endpoint in enumerate(request["endpoints"]):
        with open(os.path.join(folder, f"program_{index}.bin"), "rb") as file:
            program = _make_call(tf, endpoint["program"], file.read(), nodes)
        run = _assign_results(program, [nodes[index] for index in endpoint["written"]], tf)
        specs = [
            tf.TensorSpec(spec["shape"], spec["dtype"], spec["name"]) for spec in endpoint["inputs"]
        ]
        setattr(root, endpoint["name"], _make_endpoint(tf, endpoint, specs, run))
        signatures[endpoint["name"]] = _make_serving_call(tf, endpoint["output_names"], specs, run)
    signatures.setdefault("serving_default", next(iter(signatures.values())))
    tf.saved_model.save(root, os.path.join(folder, "model"), signatures)


def _assign_results(
    run: Callable[[list[Any]], list[Any]], written: list[Any], tf: Any
) -> Callable[[list[Any]], list[Any]]:
    """Return a function that assigns the last results of another one to variables."""

    def run_and_assign(leaves: list[Any]) -> list[Any]:
        results = run(leaves)
        count = len(results) - len(written)
        for variable, value in zip(written, results[count:], strict=True):
            variable.assign(tf.cast(value, variable.dtype))
        return results[:count]

    return run_and_assign


def _make_endpoint(
    tf: Any, endpoint: _Json, specs: list[Any], run: Callable[[list[Any]], list[Any]]
) -> object:
    """Return the function that is called as the endpoint is, on one structure per argument."""
    structures = endpoint["input_structures"]

    def call(*arguments: Any) -> Any:
        leaves: list[Any] = [None] * len(specs)
        for structure, argument in zip(structures, arguments, strict=True):
            _place_leaves(structure, argument, leaves)
        return _build_structure(endpoint["output_structure"], run(leaves))

    signature = [_build_structure(structure, specs) for structure in structures]
    return tf.function(call, input_signature=signature, autograph=False)


def _place_leaves(structure: _Json, value: Any, leaves: list[Any]) -> None:
    """Put the leaves of a value in the places that a structure has for them."""
    if isinstance(structure, int):
        leaves[structure] = value
    elif structure is not None:
        for key, item in structure[1]:
            _place_leaves(item, value[key], leaves)


def _build_structure(structure: _Json, leaves: list[Any]) -> Any:
    """Return a structure with its leaves. It is an index, null, or a kind and pairs of key and
    structure.
    """
    if structure is None or isinstance(structure, int):
        return None if structure is None else leaves[structure]
    kind, items = structure
    if kind == "dict":
        return {key: _build_structure(item, leaves) for key, item in items}
    values = [_build_structure(item, leaves) for _, item in items]
    return tuple(values) if kind == "tuple" else values


if __name__ == "__main__":
    main(sys.argv[1])
