"""Sequential: a stack of layers, each called on the output of the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np

from podium._typing import Config, Tree
from podium.core import KerasTensor, custom_object_scope, function, tree_leaves
from podium.core.internal import as_text_array, is_text
from podium.layers import Input, InputLayer, Layer, Rescaling
from podium.layers.internal import (
    CompiledLayer,
    can_compile_call,
    is_shape,
    map_shapes,
    number_shared_layers,
    override_masks,
    share_layers,
)
from podium.models._graph import Graph
from podium.models._model import Model
from podium.saving import serialize_keras_object
from podium.saving.internal import build_from_config, find_class


class Sequential(Model):
    """Layers one after the other; each gets the output of the one before, the first one the inputs.

    With an `Input` first its shapes are known and its weights exist; without, both follow with the
    first call.

    Args:
        layers: The layers, in order; `add` adds more.
        trainable: Whether the weights are trained.
        name: The name of the model.
        **kwargs: Further arguments of `Layer`.

    Example:
        >>> layers = [podium.Input((8,)), podium.layers.Dense(4), podium.layers.Dense(1)]
        >>> model = podium.Sequential(layers)
        >>> model.output_shape, model.count_params()
        ((None, 1), 41)
    """

    _build_is_final = False

    def __init__(
        self,
        layers: Sequence[Layer | KerasTensor] | Layer | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._stack: list[Layer] = []
        self._records_layers_inside = type(self).call is Sequential.call
        if layers is not None and not isinstance(layers, (list, tuple)):
            layers = cast(list[Layer | KerasTensor], [layers])
        for layer in layers or []:
            self.add(layer, rebuild=False)
        self._rebuild()

    def add(self, layer: Layer | KerasTensor, rebuild: bool = True) -> None:
        """Add a layer (or an `Input`) at the end.

        Args:
            layer: The layer.
            rebuild: Whether to create the graph again; False if more layers follow.
        """
        if isinstance(layer, KerasTensor) and layer.node is not None:
            layer = layer.node.layer
        if not isinstance(layer, Layer):
            if not callable(layer):
                raise TypeError(f"Sequential.add was given {layer!r}; a layer was expected.")
            raise TypeError(
                f"Sequential.add was given the function {layer!r}; wrap it: "
                "`podium.layers.Lambda(fn)`."
            )
        if isinstance(layer, InputLayer) and self._stack:
            raise ValueError(
                f"Sequential model {self.name!r} has layers already; an Input can only come first."
            )
        if any(inner is self for inner in layer._flatten_layers()):
            what = "itself" if layer is self else f"the layer {layer.name!r}, which contains it"
            raise ValueError(
                f"Sequential model {self.name!r} was given {what}; a model cannot be a part of "
                "itself. Add another layer, or a copy: `podium.models.clone_model(model)`."
            )
        if any(layer is known for known in self._stack):
            raise ValueError(
                f"Layer {layer.name!r} is in Sequential model {self.name!r} already. To share a "
                "layer, use `Model(inputs, outputs)`; for another one like it, create a new layer."
            )
        if any(layer.name == known.name for known in self._stack):
            raise ValueError(
                f"Sequential model {self.name!r} has a layer named {layer.name!r} already. Give "
                "it another `name=`."
            )
        if (
            not self._stack
            and layer.batch_input_shape is not None
            and not isinstance(layer, InputLayer)
        ):
            self._stack.append(InputLayer(batch_shape=layer.batch_input_shape))
        self._stack.append(layer)
        if rebuild:
            self._rebuild()

    def pop(self, rebuild: bool = True) -> Layer:
        """Remove the last layer and return it."""
        if not self._stack:
            raise ValueError(f"Sequential model {self.name!r} has no layers to remove.")
        layer = self._stack.pop()
        if rebuild:
            self._rebuild()
        return layer

    def _rebuild(self) -> None:
        """Create the graph if the shape of the input is known; otherwise the first call does it."""
        self._graph, self._graph_layers, self.built = None, [], False
        self._text_part, self._prepares_inputs = None, type(self).call is Sequential.call
        if len(self._stack) > 1 and isinstance(self._stack[0], InputLayer):
            start = symbol = self._stack[0].output
            for layer in self._stack[1:]:
                symbol = layer(symbol)
            self._use_graph(Graph(start, symbol, self.name))
        elif self._stack and isinstance(self._stack[0], Model) and self._stack[0].inputs:
            self.build(self._stack[0].inputs[0].shape)

    def build(self, input_shape: Sequence[int | None] | None = None) -> None:
        """Create all weights for inputs of this shape, which includes the batch axis."""
        if self._graph is not None and input_shape is not None:
            self._check_matches(input_shape)
        if input_shape is None or self._graph is not None or not self._stack:
            self.built = self._graph is not None
            return
        if is_shape(input_shape):
            dtype = "float64" if self.variable_dtype == "float64" else "float32"
            start = Input(batch_shape=tuple(input_shape), dtype=dtype)
            # Data keep their dtype and sizes, which may be others: no `Input` declares them.
            graph = Graph(start, self._call_layers(start), self.name, declared=False)
            self._use_graph(graph)
        else:  # several inputs: the first layer takes them all
            symbols = map_shapes(lambda shape: KerasTensor(shape, self.compute_dtype), input_shape)
            self._call_layers(symbols)
            self.built, self.built_shape = True, input_shape

    def build_for_text(self, input_shape: Sequence[int | None]) -> None:
        """Create all weights for text of this shape, which includes the batch axis."""
        start = Input(batch_shape=(None, *input_shape[1:]), dtype="string")
        self._use_graph(Graph(start, self._call_layers(start), self.name))

    def _prepare_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._graph is None and self._stack and args and is_text(args[0]):
            self.build_for_text(np.shape(as_text_array(args[0], "inputs")))
        return super()._prepare_inputs(args)

    def _build_for_call(self, shapes: Sequence[Tree], inputs: Tree) -> None:
        if self._only_preprocesses():  # images of other sizes may follow
            shapes = [map_shapes(lambda shape: (None,) * len(shape), each) for each in shapes]
        super()._build_for_call(shapes, inputs)

    def _only_preprocesses(self) -> bool:
        """Return whether all layers preprocess images: there are no weights."""
        return type(self) is Sequential and all(
            isinstance(layer, (CompiledLayer, Rescaling)) for layer in self.layers
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Tree:
        """Call the layers; as one program if all of them preprocess images, as in `Dataset.map`."""
        if self.layers and self._only_preprocesses() and can_compile_call(args):
            return self._call_compiled(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    @function
    def _call_compiled(self, *args: Any, **kwargs: Any) -> Tree:
        return super().__call__(*args, **kwargs)

    def _check_matches(self, input_shape: Sequence[Any]) -> None:
        """Raise if the shapes that `build` is given differ from that of the model's input."""
        assert self._graph is not None
        expected = self._graph.flat_inputs[0].shape
        sizes = zip(expected, input_shape, strict=False)
        if len(input_shape) != len(expected) or any(
            None not in pair and pair[0] != pair[1] for pair in sizes
        ):
            raise ValueError(
                f"Sequential model {self.name!r} was built for the shape {expected} already, and "
                f"`build` was given {tuple(input_shape)}. Create another model for another shape."
            )

    def _call_layers(self, inputs: Any) -> Any:
        for layer in self._stack:
            if not isinstance(layer, InputLayer):
                inputs = layer(inputs)
        return inputs

    def _runs_graph(self) -> bool:
        return self._graph is not None and type(self).call is Sequential.call

    def _runs_layers(self) -> bool:
        return type(self).call is Sequential.call

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """Call the layers one after the other."""
        if self._graph is not None and len(self._graph.flat_inputs) == 1:
            return super().call(inputs, training, mask)
        if mask is None:
            return self._call_layers(inputs)
        with override_masks(tree_leaves(inputs), tree_leaves(mask)):
            return self._call_layers(inputs)

    @property
    def layers(self) -> list[Layer]:
        """The layers in order, without the Input."""
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]

    def _is_assembled(self) -> bool:
        return True

    def get_config(self) -> Config:
        """Return the name and the configs of the layers."""
        starts = (
            []
            if self._graph is None or isinstance(self._stack[0], InputLayer)
            else tree_leaves(self._graph.inputs)
        )
        inputs = [symbol.node.layer for symbol in starts if symbol.node is not None]
        return {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": self._config_from_arguments(common_only=True)["dtype"],
            "layers": number_shared_layers(
                lambda: [serialize_keras_object(layer) for layer in [*inputs, *self._stack]]
            ),
            "build_input_shape": self._graph.flat_inputs[0].shape
            if self._graph is not None
            else None,
        }

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a model from the result of `get_config`, with new weights."""
        if not isinstance(config.get("layers"), (list, tuple)):
            raise ValueError(
                f"The config of a Sequential model has layers={config.get('layers')!r}; a list "
                "was expected."
            )
        with custom_object_scope(dict(custom_objects or {})), share_layers():
            layers = [_create_layer(layer_config) for layer_config in config["layers"]]
        model = cls(
            layers,
            name=config.get("name"),
            trainable=config.get("trainable", True),
            dtype=config.get("dtype"),
        )
        if config.get("build_input_shape") is not None:
            model.build(config["build_input_shape"])
        return model


def _create_layer(layer_config: Layer | Mapping[str, Any]) -> Layer:
    if isinstance(layer_config, Layer):
        return layer_config
    find_class(layer_config)  # its error is clearer
    layer = build_from_config(layer_config)
    if not isinstance(layer, Layer):
        raise ValueError(
            f"The config of a Sequential model lists {layer_config.get('class_name')!r}; a layer "
            "was expected."
        )
    return layer
