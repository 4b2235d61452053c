"""check_layer: the contract of every layer."""

from __future__ import annotations

import copy
import os
import tempfile
from typing import Any

import numpy as np

from podium import core, ops
from podium._typing import Tree
from podium.core import convert_to_numpy, map_structure, tree_leaves
from podium.layers import Input, Layer
from podium.models import Model, load_model
from podium.testing._contract import Contract

_RTOL = 1e-5


def check_layer(layer: Layer, inputs: Tree, *, saveable: bool = True) -> None:
    """Check that a layer keeps the contract of layers.

    Checked are: the result of a call; `compute_output_shape` and symbolic calls against it, with a
    known and an unknown batch size; that inputs are not changed; that variables are made once; that
    compiled and eager calls agree; that trainable variables get gradients; `get_weights`,
    `set_weights`, `get_config` and `from_config`; and that a model with it can be saved and loaded.

    Args:
        layer: The layer, built or not. It is built and called.
        inputs: Example inputs with a batch axis: an array, or a structure of arrays.
        saveable: Whether to check configs and files too; False for layers that hold functions.

    Raises:
        ContractError: The layer breaks the contract; the message states how.

    Example:
        >>> class Scale(podium.layers.Layer):
        ...     def build(self, input_shape):
        ...         self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones")
        ...     def call(self, inputs):
        ...         return inputs * self.scale
        >>> podium.testing.check_layer(Scale(), np.ones((2, 3), "float32"))
    """
    contract = Contract("check_layer", layer)
    contract.require(
        isinstance(layer, Layer),
        f"a {type(layer).__name__} is not a layer.",
        "Pass an instance of a subclass of `podium.layers.Layer`.",
    )
    inputs = map_structure(np.asarray, inputs)
    before = copy.deepcopy(inputs)
    outputs = _call_layer(contract, layer, inputs)
    contract.require_equal(
        inputs, before, "a call changed its inputs.", "Compute new values instead.", rtol=0.0
    )
    _check_variables_are_made_once(contract, layer, inputs)
    _check_shapes(contract, layer, inputs, outputs)
    _check_compiled(contract, layer, inputs)
    _check_gradients(contract, layer, inputs)
    if saveable:
        _check_config(contract, layer, inputs)
        _check_file(contract, layer, inputs)


def _call_layer(contract: Contract, layer: Layer, inputs: Tree) -> Tree:
    with contract.succeeds("a call with the example inputs", "Are the inputs as it expects them?"):
        outputs = layer(inputs)
    leaves = tree_leaves(outputs)
    contract.require(
        outputs is not None and all(leaf is not None for leaf in leaves),
        "`call` returned None.",
        "Is a `return` missing?",
    )
    contract.require(
        all(core.is_tensor(leaf) for leaf in leaves),
        f"`call` returned {[type(leaf).__name__ for leaf in leaves]}.",
        "Return Tensors, in any nesting of lists, tuples and dictionaries.",
    )
    contract.require(layer.built, "`built` is False after a call.", "Do not reset `self.built`.")
    return outputs


def _check_variables_are_made_once(contract: Contract, layer: Layer, inputs: Tree) -> None:
    before = [id(variable) for variable in layer.variables]
    layer(inputs)
    contract.require(
        [id(variable) for variable in layer.variables] == before,
        "the second call made other variables than the first.",
        "Make weights in `__init__` or `build`, not in `call`.",
    )


def _check_shapes(contract: Contract, layer: Layer, inputs: Tree, outputs: Tree) -> None:
    fix = "Override `compute_output_shape` to return the shape that `call` returns."
    shapes = map_structure(lambda array: tuple(array.shape), inputs)
    expected = [tuple(leaf.shape) for leaf in tree_leaves(outputs)]
    with contract.succeeds(f"compute_output_shape({shapes})", fix):
        computed = _flat_shapes(layer.compute_output_shape(shapes))
    contract.require(
        computed == expected,
        f"compute_output_shape({shapes}) returned {computed}, and the call {expected}.",
        fix,
    )
    with contract.succeeds("a call with symbolic inputs", "Use `podium.ops` in `call`."):
        symbolic = tree_leaves(layer(_symbolic_inputs(inputs)))
    for node, output in zip(symbolic, tree_leaves(outputs), strict=True):
        contract.require(
            tuple(node.shape[1:]) == tuple(output.shape[1:]) and node.dtype == output.dtype,
            f"a symbolic call returned shape {tuple(node.shape)} and dtype {node.dtype}, and the "
            f"call itself {tuple(output.shape)} and {output.dtype}.",
            fix,
        )


def _flat_shapes(shapes: Any) -> list[tuple[int | None, ...]]:
    """Return the shapes in a structure of shapes as a flat list."""
    if isinstance(shapes, dict):
        return [shape for value in shapes.values() for shape in _flat_shapes(value)]
    if all(size is None or isinstance(size, (int, np.integer)) for size in shapes):
        return [tuple(shapes)]
    return [shape for value in shapes for shape in _flat_shapes(value)]


def _symbolic_inputs(inputs: Tree) -> Tree:
    return map_structure(lambda array: Input(array.shape[1:], dtype=str(array.dtype)), inputs)


def _check_compiled(contract: Contract, layer: Layer, inputs: Tree) -> None:
    fix = (
        "Use `podium.ops` or `jax.numpy` in `call`, keep state in Variables, and do not branch on "
        "values with `if`."
    )
    state = layer.get_weights()
    eager = layer(inputs, **_inference(layer))
    layer.set_weights(state)
    with contract.succeeds("the compiled call", fix):
        compiled = core.function(lambda x: layer(x, **_inference(layer)))(inputs)
    layer.set_weights(state)
    contract.require_equal(
        compiled, eager, "the compiled call differs from the eager one.", fix, rtol=_RTOL
    )


def _inference(layer: Layer) -> dict[str, bool]:
    """Return the arguments of a call that draws no random numbers, if the layer has a switch."""
    parameters = type(layer).call.__code__.co_varnames
    return {"training": False} if "training" in parameters else {}


def _check_gradients(contract: Contract, layer: Layer, inputs: Tree) -> None:
    variables = layer.trainable_variables
    if not variables:
        return
    rng = np.random.default_rng(0)
    with core.GradientTape() as tape:
        outputs = layer(inputs, **_inference(layer))
        total = sum(
            ops.sum(leaf * rng.normal(size=leaf.shape).astype(str(leaf.dtype)))
            for leaf in tree_leaves(outputs)
            if core.is_float_dtype(str(leaf.dtype))
        )
    gradients = tape.gradient(total, variables)
    unused = [
        variable.name
        for variable, gradient in zip(variables, gradients, strict=True)
        if gradient is None or not np.any(convert_to_numpy(gradient))
    ]
    contract.require(
        not unused,
        f"the gradients for the trainable variables {unused} are missing or all zero.",
        "Use them in `call`, or make them with `trainable=False`.",
    )


def _check_config(contract: Contract, layer: Layer, inputs: Tree) -> None:
    copy_of_layer = contract.rebuild(layer)
    copy_of_layer(inputs)
    weights = layer.get_weights()
    with contract.succeeds("set_weights(get_weights())", "Make weights in the same order always."):
        copy_of_layer.set_weights(weights)
    contract.require_equal(
        copy_of_layer.get_weights(), weights, "set_weights did not set them.", "Keep their order."
    )
    contract.require_equal(
        copy_of_layer(inputs, **_inference(layer)),
        layer(inputs, **_inference(layer)),
        "a layer made from the config, with the same weights, computes something else.",
        "Return every argument that matters from `get_config`.",
        rtol=_RTOL,
    )


def _check_file(contract: Contract, layer: Layer, inputs: Tree) -> None:
    fix = "Check `get_config`, `from_config` and `build`."
    rebuilt = type(layer).from_config(layer.get_config())
    symbolic = _symbolic_inputs(inputs)
    model = Model(symbolic, rebuilt(symbolic))
    rebuilt.set_weights(layer.get_weights())
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "model.keras")
        with contract.succeeds("saving and loading a model with it", fix):
            model.save(path)
            loaded = load_model(path, custom_objects={type(layer).__name__: type(layer)})
    contract.require_equal(
        map_structure(convert_to_numpy, loaded(inputs, training=False)),
        map_structure(convert_to_numpy, model(inputs, training=False)),
        "a model with it computes something else after it was saved and loaded.",
        fix,
        rtol=_RTOL,
    )
