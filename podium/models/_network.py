"""Network: layers put together, from a graph (`Model(inputs, outputs)`) or by subclassing.

This is what a Model is made of: layers, inputs, outputs, the summary. `_model.py` adds how it is
trained.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from podium.core import KerasTensor, custom_object_scope, tree_leaves, unknown_choice
from podium.layers import Layer
from podium.layers.internal import map_shapes
from podium.models._graph import Graph
from podium.models._graph_config import functional_config, functional_from_config
from podium.models._summary import print_summary
from podium.saving import serialize_keras_object
from podium.state import OwnState, keras_order


class Network(Layer):
    """A layer made of layers. One made from a graph runs the graph in `call`; a subclass writes its
    own.
    """

    def __init__(self, inputs: Any = None, outputs: Any = None, *args: Any, **kwargs: Any):
        if args:
            raise TypeError(
                f"Model takes `inputs` and `outputs`, then named arguments; {len(args)} more "
                "were given."
            )
        if (inputs is None) != (outputs is None):
            missing = "inputs" if inputs is None else "outputs"
            raise ValueError(
                f"Model was given no `{missing}`; give both `inputs` and `outputs`, or neither "
                "in a subclass."
            )
        super().__init__(**kwargs)
        self._graph: Graph | None = None
        self._graph_layers: list[Layer] = []
        self._symbolic_losses: list[KerasTensor] = []
        self._loss_graph: Graph | None = (
            None  # the graph with the symbolic losses as further outputs
        )
        if inputs is not None:
            self._use_graph(Graph(inputs, outputs, self.name))

    def _use_graph(self, graph: Graph) -> None:
        self._graph = graph
        self._graph_layers = graph.layers
        self.built = True
        # Each layer is an entry of its own on a tape, so that inner outputs can be sources of
        # gradients.
        self._records_layers_inside = self._records_layers_inside or type(self).call is Network.call

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """Run the graph. Subclasses write their own."""
        if self._graph is None:
            raise NotImplementedError(
                f"{type(self).__name__} has no `call` method and was not made from `inputs` and "
                "`outputs`. Define `call(self, inputs)`."
            )
        if self._loss_graph is None:
            return self._graph.run(inputs)
        outputs, losses = self._loss_graph.run(inputs)
        super().add_loss(losses)
        return outputs

    def add_loss(self, loss: Any, **options: Any) -> None:
        """Add to the losses; on a model made from a graph also a symbolic value of that graph,
        computed at every call.
        """
        values = loss if isinstance(loss, (list, tuple)) else [loss]
        symbols = [value for value in values if isinstance(value, KerasTensor)]
        if symbols and self._graph is None:
            raise TypeError(
                f"add_loss on {self.name!r} was given a symbolic value, and the model has no graph "
                "that could compute it. Call `add_loss` with the value inside `call`."
            )
        if symbols:
            assert self._graph is not None
            self._symbolic_losses += symbols
            self._loss_graph = Graph(
                self._graph.inputs, [self._graph.outputs, self._symbolic_losses], self.name
            )
        super().add_loss(
            [value for value in values if not isinstance(value, KerasTensor)], **options
        )

    def build(self, input_shape: Any = None) -> None:
        """Make all weights for inputs of the given shape, by a call on symbolic values."""
        if self._graph is None and input_shape is not None and type(self).call is not Network.call:
            symbols = map_shapes(lambda shape: KerasTensor(shape, self.compute_dtype), input_shape)
            self.built = True  # the call below is the building
            try:
                self.compute_output_spec(symbols)
            except BaseException:
                self.built = False
                raise
            self.built_shape = input_shape
        self.built = True

    # --- as plain data

    def get_config(self) -> dict[str, Any]:
        """Return what makes this model again, without its weights: the graph, or the constructor's
        arguments in a subclass.

        A subclass with arguments that are not plain data writes its own, and `from_config` if
        needed.
        """
        if self._graph is not None and is_made_of_graph(type(self)):
            return functional_config(self)
        return self._config_from_arguments(type(self).get_config is not Network.get_config)

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        """Make a model from `get_config`'s result; its weights start anew."""
        if "layers" in config and "input_layers" in config and is_made_of_graph(cls):
            with custom_object_scope(custom_objects or {}):
                return functional_from_config(cls, config)
        return super().from_config(config)

    def to_json(self, **kwargs: Any) -> str:
        """Return the model as JSON, without its weights; `models.model_from_json` makes it again.

        Args:
            **kwargs: Options of `json.dumps`, such as `indent=2`.

        Example:
            >>> text = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)]).to_json()
            >>> podium.models.model_from_json(text).output_shape
            (None, 2)
        """
        return json.dumps(serialize_keras_object(self), **kwargs)

    # --- state, for files and checkpoints

    def _own_state(self) -> OwnState:
        """Return what this model owns itself, and the list of its layers; see `podium.state`."""
        state = super()._own_state()
        if type(self).__name__ == "Model" and self._graph is not None:
            state = state._replace(type_name="functional")  # Keras's name for such a model
        layers: tuple[str, object] = ("layers", self.layers)
        if self._is_assembled():
            return state._replace(attributes=[layers, *state.attributes])
        return state._replace(attributes=keras_order(dict([*state.attributes, layers])))

    def _is_assembled(self) -> bool:
        """Return whether the model is made from layers, and not by subclassing."""
        return self._graph is not None

    # --- looking inside

    @property
    def layers(self) -> list[Layer]:
        """The layers directly inside, in order."""
        if self._graph is not None:
            extra = [
                layer
                for layer in self._own_layers()
                if not any(layer is known for known in self._graph_layers)
            ]
            return self._graph_layers + extra
        return self._flatten_layers(include_self=False, recursive=False)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """Return a layer by name or position.

        Raises:
            ValueError: There is no such layer; the message lists the names.
        """
        if (name is None) == (index is None):
            raise ValueError("get_layer needs a name or an index, one of them.")
        layers = self.layers
        if index is not None:
            if not -len(layers) <= index < len(layers):
                raise ValueError(
                    f"get_layer(index={index}) was asked of a model with {len(layers)} layers."
                )
            return layers[index]
        for layer in layers:
            if layer.name == name:
                return layer
        raise unknown_choice(
            f"layer of model {self.name!r},", name, [layer.name for layer in layers]
        )

    @property
    def inputs(self) -> list[KerasTensor] | None:
        """The symbolic inputs, or None for a subclassed model."""
        return None if self._graph is None else self._graph.flat_inputs

    @property
    def outputs(self) -> list[KerasTensor] | None:
        """The symbolic outputs, or None for a subclassed model."""
        return None if self._graph is None else self._graph.flat_outputs

    @property
    def input(self) -> Any:
        """The symbolic inputs in the structure they were given in."""
        return super().input if self._graph is None else self._graph.inputs

    @property
    def output(self) -> Any:
        """The symbolic outputs in the structure they were given in."""
        return super().output if self._graph is None else self._graph.outputs

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [symbol.name for symbol in self.inputs or []]

    @property
    def output_names(self) -> list[str]:
        """The names of the layers that the outputs come from."""
        return [
            symbol.node.name if symbol.node is not None else symbol.name
            for symbol in self.outputs or []
        ]

    @property
    def input_shape(self) -> Any:
        """The shape of the input, or the list of shapes."""
        return _shape_or_list(self.inputs)

    @property
    def output_shape(self) -> Any:
        """The shape of the output, or the list of shapes."""
        return _shape_or_list(self.outputs)

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Callable[[str], None] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Print a table of the layers, their output shapes and how many numbers they hold.

        Args:
            line_length: The width of the table in characters.
            positions: Accepted for Keras's signature; the table sizes its columns itself.
            print_fn: A function that gets the text instead of the terminal.
            expand_nested: Show the layers of models inside this one.
            show_trainable: Add a column that says which layers are trained.
            layer_range: Two layer names: show the layers from the first to the second.
        """
        print_summary(self, line_length, print_fn, expand_nested, show_trainable, layer_range)


def is_made_of_graph(cls: type) -> bool:
    """Tell whether a class of models takes `inputs` and `outputs`, as a model made of a graph
    does.
    """
    parameters = inspect.signature(cls.__dict__.get("__init__", cls.__init__)).parameters  # type: ignore[misc]
    passes_on = {parameter.kind for parameter in parameters.values()} >= {
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    }
    return {"inputs", "outputs"} <= set(parameters) or (passes_on and len(parameters) == 3)


def _shape_or_list(symbols: list[KerasTensor] | None) -> Any:
    if symbols is None:
        raise AttributeError(
            "A subclassed model has no fixed shape; it may be called on several. See `built_shape`."
        )
    shapes = [symbol.shape for symbol in tree_leaves(symbols)]
    return shapes[0] if len(shapes) == 1 else shapes
