"""clone_model: copies the architecture of a model, with new layers and new weights.

A graph is copied by calling copies of its layers, and the same operations, on new inputs. A layer
that is used twice is copied once.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

from podium._typing import Tree
from podium.core import KerasTensor, Variable, custom_object_scope, map_structure, tree_leaves
from podium.layers import Input, InputLayer, Layer
from podium.layers.internal import (
    add_number,
    build_layer_once,
    number_shared_layers,
    share_layers,
)
from podium.models._graph import Graph
from podium.models._model import Model
from podium.models._sequential import Sequential


def clone_model(
    model: Model,
    input_tensors: Tree = None,
    clone_function: Callable[[Layer], Layer] | None = None,
    call_function: Callable[..., Tree] | None = None,
    recursive: bool = False,
) -> Model:
    """Copy a model: layers of the same classes and names, with new weights.

    The copy is not compiled. What layers share in the model, their copies share in the copy.
    Functions (of Lambda layers, for example) and Variables that the graph uses outside of layers
    are not copied: both models use them.

    Args:
        model: A Sequential model or one created from `inputs` and `outputs`. A subclassed model
            must define `get_config`.
        input_tensors: Symbolic values to start from, in the structure of the model's inputs; new
            ones by default.
        clone_function: Returns the copy of a layer (or of a model inside the model); called once
            for each layer except the inputs. It may return the layer itself, to share it. By
            default layers are created from their `get_config`.
        call_function: Called with the copy of a layer and the arguments of its call, to return
            other outputs than the call's; only for models created from `inputs` and `outputs`.
        recursive: Whether `clone_function` is called for the layers of models inside the model,
            and not for these models.

    Returns:
        The new model.

    Raises:
        TypeError: It is not a model, or `clone_function` returned something else than a layer.
        ValueError: A subclassed model cannot be copied, or `input_tensors` do not match.

    Example:
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2, name="dense")])
        >>> copy = podium.models.clone_model(model)
        >>> [layer.name for layer in copy.layers], copy.output_shape
        (['dense'], (None, 2))
        >>> bool(np.all(copy.get_weights()[0] == model.get_weights()[0]))
        False
    """
    if not isinstance(model, Model):
        raise TypeError(f"clone_model was given {model!r}; a model was expected.")
    if clone_function is not None and not callable(clone_function):
        raise TypeError(
            f"clone_model was given clone_function={clone_function!r}; a function of a layer was "
            "expected."
        )
    if call_function is not None and (isinstance(model, Sequential) or model._graph is None):
        raise ValueError(
            f"clone_model was given call_function for {model.name!r}, which has no graph of calls; "
            "a model created from `inputs` and `outputs` was expected."
        )
    copier = _Copier(clone_function, call_function, recursive)
    with share_layers(is_new_config=True):  # layers inside wrappers are copied by their configs
        return number_shared_layers(lambda: copier.copy_model(model, input_tensors))


class _Copier:
    """Copies layers and models, each once."""

    def __init__(
        self,
        clone_function: Callable[[Layer], Layer] | None,
        call_function: Callable[..., Tree] | None,
        recursive: bool,
    ):
        self._clone_function = clone_function
        self._call_function = call_function
        self._recursive = recursive
        self._copies: dict[int, Layer] = {}

    def copy_model(self, model: Model, input_tensors: Tree = None) -> Model:
        """Return the copy of a model."""
        if isinstance(model, Sequential):
            return self._copy_sequential(model, input_tensors)
        if model._graph is not None:
            return self._copy_functional(model, model._graph, input_tensors)
        if (
            input_tensors is not None
            or self._clone_function is not None
            or type(model).get_config is Model.get_config
        ):
            raise ValueError(
                f"clone_model was given {model.name!r}, a subclassed model "
                f"({type(model).__name__}): what its `call` does cannot "
                "be copied. Create another one with its constructor, or define `get_config` and "
                "leave the other arguments out."
            )
        return cast(Model, _copy_by_config(model))

    def _copy_functional(self, model: Model, graph: Graph, input_tensors: Tree) -> Model:
        if isinstance(input_tensors, dict):
            start = graph.flatten_inputs(input_tensors)
        else:
            start = _start_values(model, input_tensors, graph.flat_inputs)
        values = dict(zip(map(id, graph.flat_inputs), start, strict=True))
        for node in graph.nodes:
            args, kwargs = map_structure(
                lambda leaf: values[id(leaf)] if isinstance(leaf, KerasTensor) else leaf,
                (node.args, node.kwargs),
            )
            run = node.run if node.layer is None else self._copy_once(node.layer)
            if node.layer is not None and self._call_function is not None:
                run = functools.partial(self._call_function, run)
            results = tree_leaves(run(*args, **kwargs))
            values.update(zip(map(id, tree_leaves(node.outputs)), results, strict=True))
        inputs, outputs = map_structure(
            lambda symbol: values[id(symbol)], (graph.inputs, graph.outputs)
        )
        return _create_like(model, Model, inputs, outputs)

    def _copy_sequential(self, model: Sequential, input_tensors: Tree) -> Model:
        inputs = [layer.output for layer in model._stack if isinstance(layer, InputLayer)]
        if input_tensors is None:
            first = [_copy_input(symbol) for symbol in inputs]
        else:
            first = [
                symbol if _has_input_layer(symbol) else _copy_input(symbol)
                for symbol in _start_values(model, input_tensors, [None])
            ]
        copy = _create_like(model, Sequential, [*first, *map(self._copy_once, model.layers)])
        if model._graph is not None and not copy.built:
            copy.build(model._graph.flat_inputs[0].shape)
        return copy

    def _copy_once(self, layer: Layer) -> Layer:
        if id(layer) not in self._copies:
            self._copies[id(layer)] = self._copy(layer)
        return self._copies[id(layer)]

    def _copy(self, layer: Layer) -> Layer:
        has_layers = isinstance(layer, Model) and (
            isinstance(layer, Sequential) or layer._graph is not None
        )
        if self._clone_function is not None and not (has_layers and self._recursive):
            copy = self._clone_function(layer)
            if not isinstance(copy, Layer):
                raise TypeError(
                    f"`clone_function` returned {copy!r} for layer {layer.name!r}; a layer was "
                    "expected."
                )
            return copy
        if has_layers:
            return self.copy_model(cast(Model, layer))
        return _copy_by_config(layer)


def _copy_by_config(layer: Layer) -> Layer:
    """Create a layer from its config, or from the arguments of its constructor if the config cannot
    hold them.
    """
    classes = {type(inner).__name__: type(inner) for inner in layer._flatten_layers()}
    try:
        with custom_object_scope(classes):
            config = add_number(
                layer, {"class_name": type(layer).__name__, "config": layer.get_config()}
            )
            copy: Layer = build_layer_once(
                config, lambda config: type(layer).from_config(config["config"])
            )
            return copy
    except (NotImplementedError, TypeError, ValueError) as error:
        args, kwargs = layer._init_arguments
        if any(isinstance(leaf, (Layer, Variable)) for leaf in tree_leaves((args, kwargs))):
            raise ValueError(
                f"Layer {layer.name!r} ({type(layer).__name__}) cannot be copied: its config does "
                f"not recreate it ({error}). Define `get_config` (and `from_config` if needed), "
                "or pass a `clone_function`."
            ) from error
    # Functions among the arguments, such as that of a Lambda layer, are shared.
    copy = type(layer)(*args, **kwargs)
    copy._name = layer.name
    if not layer.trainable:
        copy.trainable = False
    return copy


def _create_like(model: Model, default_class: type[Model], *args: Any) -> Model:
    """Create a model of the same class, or of `default_class` if the constructor of the class takes
    other arguments.
    """
    kwargs: dict[str, Any] = {
        "name": model.name,
        "trainable": model.trainable,
        "dtype": model.dtype_policy,
    }
    try:
        inspect.signature(type(model)).bind(*args, **kwargs)
    except TypeError:
        return default_class(*args, **kwargs)
    return type(model)(*args, **kwargs)


def _has_input_layer(symbol: KerasTensor) -> bool:
    return symbol.node is not None and isinstance(symbol.node.layer, InputLayer)


def _copy_input(symbol: KerasTensor) -> KerasTensor:
    if symbol.node is not None and isinstance(symbol.node.layer, InputLayer):
        copy: KerasTensor = InputLayer.from_config(symbol.node.layer.get_config()).output
        return copy
    return Input(batch_shape=symbol.shape, dtype=symbol.dtype.name, name=symbol.name)


def _start_values(model: Model, input_tensors: Tree, inputs: list[Any]) -> list[KerasTensor]:
    """Return one symbolic value per input of the model: the argument, or new ones."""
    if input_tensors is None:
        return [_copy_input(symbol) for symbol in inputs]
    flat = tree_leaves(input_tensors)
    if len(flat) != len(inputs) or not all(isinstance(leaf, KerasTensor) for leaf in flat):
        raise ValueError(
            f"clone_model was given input_tensors={input_tensors!r}; model {model.name!r} has "
            f"{len(inputs)} inputs, and as many symbolic values were expected. Create them with "
            "`podium.Input(shape=...)`."
        )
    return flat
