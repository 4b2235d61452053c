"""clone_model: the same architecture once more, with new layers and new weights.

A graph is copied by calling copies of its layers, and the same operations, on new inputs. A layer
that is used twice is copied once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from podium.core import KerasTensor, Variable, custom_object_scope, map_structure, tree_leaves
from podium.layers import Input, InputLayer, Layer
from podium.models._model import Model
from podium.models._sequential import Sequential


def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable[[Layer], Layer] | None = None
) -> Any:
    """Copy a model: layers of the same kinds and names, with weights of their own that start anew.

    The copy is not compiled. What layers share in the model, their copies share in the copy.
    Functions (of Lambda layers, for instance) and Variables that the graph uses outside of layers
    are not copied: both models use them.

    Args:
        model: A Sequential model or one made of `inputs` and `outputs`. A subclassed model must
            define `get_config`.
        input_tensors: Symbolic values to start from, in the structure of the model's inputs; new
            ones by default.
        clone_function: What makes the copy of a layer (or of a model inside the model); called once
            for each layer but the inputs. It may return the layer itself, to share it. By default
            layers are made from their `get_config`.

    Returns:
        The new model.

    Raises:
        TypeError: It is not a model, or `clone_function` returned something else than a layer.
        ValueError: A subclassed model cannot be copied, or `input_tensors` do not fit.

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
    return _Copier(clone_function).model(model, input_tensors)


class _Copier:
    """Copies layers and models, each once."""

    def __init__(self, clone_function: Callable[[Layer], Layer] | None):
        self._clone_function = clone_function
        self._copies: dict[int, Layer] = {}

    def model(self, model: Any, input_tensors: Any = None) -> Any:
        if isinstance(model, Sequential):
            return self._sequential(model, input_tensors)
        if model._graph is not None:
            return self._functional(model, input_tensors)
        if (
            input_tensors is not None
            or self._clone_function is not None
            or type(model).get_config is Model.get_config
        ):
            raise ValueError(
                f"clone_model was given {model.name!r}, a subclassed model "
                f"({type(model).__name__}): what its `call` does cannot "
                "be copied. Make another one with its constructor, or define `get_config` and "
                "leave the other arguments out."
            )
        return _from_config(model)

    def _functional(self, model: Any, input_tensors: Any) -> Any:
        graph = model._graph
        by_name = isinstance(input_tensors, dict)
        given = (
            graph._from_dictionary(input_tensors)
            if by_name
            else _given(model, input_tensors, graph.flat_inputs)
        )
        values = dict(zip(map(id, graph.flat_inputs), given, strict=True))
        for node in graph.nodes:
            args, kwargs = map_structure(
                lambda leaf: values[id(leaf)] if isinstance(leaf, KerasTensor) else leaf,
                (node.args, node.kwargs),
            )
            run = node.run if node.layer is None else self._layer(node.layer)
            made = tree_leaves(run(*args, **kwargs))
            values.update(zip(map(id, tree_leaves(node.outputs)), made, strict=True))
        inputs, outputs = map_structure(
            lambda symbol: values[id(symbol)], (graph.inputs, graph.outputs)
        )
        return _like(model, Model, inputs, outputs)

    def _sequential(self, model: Any, input_tensors: Any) -> Any:
        starts = [layer.output for layer in model._stack if isinstance(layer, InputLayer)]
        if input_tensors is None:
            first = [_new_input(symbol) for symbol in starts]
        else:
            first = [
                symbol if _is_start(symbol) else _new_input(symbol)
                for symbol in _given(model, input_tensors, [None])
            ]
        copy = _like(model, Sequential, [*first, *map(self._layer, model.layers)])
        if model._graph is not None and not copy.built:
            copy.build(model._graph.flat_inputs[0].shape)
        return copy

    def _layer(self, layer: Any) -> Layer:
        if id(layer) not in self._copies:
            self._copies[id(layer)] = self._copy(layer)
        return self._copies[id(layer)]

    def _copy(self, layer: Any) -> Layer:
        if self._clone_function is not None:
            copy = self._clone_function(layer)
            if not isinstance(copy, Layer):
                raise TypeError(
                    f"`clone_function` returned {copy!r} for layer {layer.name!r}; a layer was "
                    "expected."
                )
            return copy
        if isinstance(layer, Sequential) or (isinstance(layer, Model) and layer._graph is not None):
            return self.model(layer)
        return _from_config(layer)


def _from_config(layer: Any) -> Any:
    """Make a layer from its config, or from what its constructor was given if a config cannot say
    that.
    """
    own_classes = {type(one).__name__: type(one) for one in layer._flatten_layers()}
    try:
        with custom_object_scope(own_classes):
            return type(layer).from_config(layer.get_config())
    except (NotImplementedError, TypeError, ValueError) as error:
        args, kwargs = layer._init_arguments
        if any(isinstance(leaf, (Layer, Variable)) for leaf in tree_leaves((args, kwargs))):
            raise ValueError(
                f"Layer {layer.name!r} ({type(layer).__name__}) cannot be copied: its config does "
                f"not make it again ({error}). Define `get_config` (and `from_config` if needed), "
                "or pass a `clone_function`."
            ) from error
    copy = type(layer)(
        *args, **kwargs
    )  # functions among the arguments, such as a Lambda's, are shared
    copy._name = layer.name
    if not layer.trainable:
        copy.trainable = False
    return copy


def _like(model: Any, plain: Any, *args: Any) -> Any:
    """Make a model of the same class; a plain one if the class has a constructor of its own."""
    named = {"name": model.name, "trainable": model.trainable, "dtype": model.dtype_policy}
    try:
        inspect.signature(type(model)).bind(*args, **named)
    except TypeError:
        return plain(*args, **named)
    return type(model)(*args, **named)


def _is_start(symbol: KerasTensor) -> bool:
    return symbol.node is not None and isinstance(symbol.node.layer, InputLayer)


def _new_input(symbol: Any) -> KerasTensor:
    if _is_start(symbol):
        return InputLayer.from_config(symbol.node.layer.get_config()).output
    return Input(batch_shape=symbol.shape, dtype=symbol.dtype.name, name=symbol.name)


def _given(model: Any, input_tensors: Any, wanted: list[Any]) -> list[KerasTensor]:
    """Return as many symbolic values as the model has inputs: those given, or new ones."""
    if input_tensors is None:
        return [_new_input(symbol) for symbol in wanted]
    flat = tree_leaves(input_tensors)
    if len(flat) != len(wanted) or not all(isinstance(leaf, KerasTensor) for leaf in flat):
        raise ValueError(
            f"clone_model was given input_tensors={input_tensors!r}; model {model.name!r} has "
            f"{len(wanted)} inputs, and as many symbolic values were expected. Make them with "
            "`podium.Input(shape=...)`."
        )
    return flat
