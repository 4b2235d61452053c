"""Operation: a computation without state, with a name, that can be a node of a graph.

Layers count as operations (`isinstance(layer, Operation)`), although they do not inherit from it.
"""

from __future__ import annotations

import abc
from typing import Any

from podium._typing import Config, Tree
from podium.core import Node, auto_name, is_symbolic, map_structure, snake_case
from podium.core.internal import PublicRepr, symbolic_outputs, unwrap_result, wrap
from podium.layers._layer import Layer


class Operation(PublicRepr, abc.ABC):
    """A computation without weights. Subclass it, and compute in `call`.

    Called on values it computes; called on symbolic values it becomes a node of the graph. A model
    with such nodes trains and predicts; to save one, make a `Layer` of the operation.

    Args:
        name: Its name; by default derived from the class.

    Example:
        >>> class Double(podium.layers.Operation):
        ...     def call(self, x):
        ...         return 2 * x
        >>> float(Double()(podium.ops.ones(()))), Double()(podium.Input((3,))).shape
        (2.0, (None, 3))
    """

    def __init__(self, name: str | None = None):
        if name is not None and (not isinstance(name, str) or "/" in name):
            raise ValueError(f"name={name!r} was given; a string without '/' was expected.")
        self.name = name or auto_name(snake_case(type(self).__name__))
        self._inbound_nodes: list[Node] = []

    def call(self, *args: Any, **kwargs: Any) -> Tree:
        """Compute the outputs. Override it."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `call` method: define `call(self, x)`."
        )

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Tree:
        """Return the KerasTensors of the outputs; by default found by tracing `call`."""

        def run(*args: Any, **kwargs: Any) -> Tree:
            tensors = map_structure(
                lambda leaf: wrap(leaf) if hasattr(leaf, "aval") else leaf, (args, kwargs)
            )
            return unwrap_result(self.call(*tensors[0], **tensors[1]))

        return symbolic_outputs(run, args, kwargs)

    def symbolic_call(self, *args: Any, **kwargs: Any) -> Tree:
        """Return the symbolic outputs, and record the call in the graph."""
        outputs = self.compute_output_spec(*args, **kwargs)
        self._inbound_nodes.append(Node(self, args, kwargs, outputs))
        return outputs

    def __call__(self, *args: Any, **kwargs: Any) -> Tree:
        """Compute the outputs, or record the call on symbolic values."""
        if is_symbolic((args, kwargs)):
            return self.symbolic_call(*args, **kwargs)
        return self.call(*args, **kwargs)

    @property
    def input(self) -> Tree:
        """The symbolic input of the first call on symbolic values."""
        node = self._first_call()
        return node.args[0] if len(node.args) == 1 else node.inputs

    @property
    def output(self) -> Tree:
        """The symbolic output of the first call on symbolic values."""
        return self._first_call().outputs

    def _first_call(self) -> Node:
        if not self._inbound_nodes:
            raise AttributeError(
                f"The operation {self.name!r} has no symbolic input or output yet: it has not been "
                "called on an `Input`."
            )
        return self._inbound_nodes[0]

    def get_config(self) -> Config:
        """Return the arguments that recreate this operation."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config: Config) -> Operation:
        """Create an operation from the result of `get_config`."""
        return cls(**config)


Operation.register(Layer)
