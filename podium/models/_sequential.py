"""Sequential: a plain stack of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.core import KerasTensor, custom_object_scope, tree_leaves
from podium.layers import Input, InputLayer, Layer
from podium.models._graph import Graph
from podium.models._model import Model
from podium.saving import serialize_keras_object
from podium.saving.internal import build_from_config, find_class


class Sequential(Model):
    """Layers one after the other, each with one input and one output.

    With an `Input` first (or once it has been called) it has known shapes; without, the weights are
    made on the first call.

    Args:
        layers: The layers, in order; more can follow with `add`.
        trainable: Whether the weights shall be trained.
        name: A name.

    Example:
        >>> model = podium.Sequential([podium.Input((8,)), podium.layers.Dense(4), podium.layers.Dense(1)])
        >>> model.output_shape, model.count_params()
        ((None, 1), 41)
    """

    _build_is_final = False

    def __init__(
        self,
        layers: Sequence[Any] | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._stack: list[Layer] = []
        self._records_layers_inside = type(self).call is Sequential.call
        if layers is not None and not isinstance(layers, (list, tuple)):
            layers = [layers]
        for layer in layers or []:
            self.add(layer, rebuild=False)
        self._rebuild()

    def add(self, layer: Any, rebuild: bool = True) -> None:
        """Put a layer (or an `Input`) on top of the stack."""
        if isinstance(layer, KerasTensor):
            layer = layer.node.layer if layer.node is not None else layer
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
        if any(layer is known for known in self._stack):
            raise ValueError(
                f"Layer {layer.name!r} is in Sequential model {self.name!r} already. To share a "
                "layer, use `Model(inputs, outputs)`; for another one like it, make a new layer."
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
        """Take the top layer off the stack and return it."""
        if not self._stack:
            raise ValueError(f"Sequential model {self.name!r} has no layers to take off.")
        layer = self._stack.pop()
        if rebuild:
            self._rebuild()
        return layer

    def _rebuild(self) -> None:
        """Make the graph anew if the first layer says the input's shape; otherwise wait for a
        call.
        """
        self._graph, self._graph_layers, self.built = None, [], False
        if len(self._stack) > 1 and isinstance(self._stack[0], InputLayer):
            start = symbol = self._stack[0].output
            for layer in self._stack[1:]:
                symbol = layer(symbol)
            self._use_graph(Graph(start, symbol, self.name))
        elif (
            self._stack
            and isinstance(self._stack[0], Model)
            and self._stack[0].inputs
            and len(self._stack) > 0
        ):
            self.build(self._stack[0].input_shape)

    def build(self, input_shape: Any = None) -> None:
        """Make all weights for inputs of the given shape (with the batch dimension)."""
        if input_shape is None or self._graph is not None or not self._stack:
            self.built = self._graph is not None
            return
        start = symbol = Input(batch_shape=tuple(input_shape), dtype=self.compute_dtype)
        for layer in self._stack:
            symbol = layer(symbol)
        self._use_graph(Graph(start, symbol, self.name))

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """Run the layers one after the other."""
        if self._graph is not None and len(self._graph.flat_inputs) == 1:
            return super().call(inputs, training, mask)
        for layer in self._stack:
            if not isinstance(layer, InputLayer):
                inputs = layer(inputs)
        return inputs

    @property
    def layers(self) -> list[Layer]:
        """The layers in order, without the Input."""
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]

    def _is_assembled(self) -> bool:
        return True

    def get_config(self) -> dict[str, Any]:
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
            "layers": [serialize_keras_object(layer) for layer in [*inputs, *self._stack]],
            "build_input_shape": self._graph.flat_inputs[0].shape
            if self._graph is not None
            else None,
        }

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        """Make a model from `get_config`'s result; its weights start anew."""
        if not isinstance(config.get("layers"), (list, tuple)):
            raise ValueError(
                f"The config of a Sequential model has layers={config.get('layers')!r}; a list "
                "was expected."
            )
        with custom_object_scope(custom_objects or {}):
            layers = [_layer(described) for described in config["layers"]]
        model = cls(
            layers,
            name=config.get("name"),
            trainable=config.get("trainable", True),
            dtype=config.get("dtype"),
        )
        if config.get("build_input_shape") is not None:
            model.build(config["build_input_shape"])
        return model


def _layer(described: Any) -> Layer:
    if not isinstance(described, Mapping):
        return described
    find_class(described)  # the clearer error comes first
    layer = build_from_config(described)
    if not isinstance(layer, Layer):
        raise ValueError(
            f"The config of a Sequential model lists {described.get('class_name')!r}; a layer "
            "was expected."
        )
    return layer
