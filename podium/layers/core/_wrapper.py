"""Wrapper: the base class of layers that wrap another layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from podium._typing import Config, SymbolicShape
from podium.layers._layer import Layer
from podium.layers._layer_serialization import deserialize, serialize


class Wrapper(Layer):
    """Abstract wrapper base class: a layer that changes the behavior of another layer.

    Args:
        layer: The layer to wrap.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> class Twice(podium.layers.Wrapper):
        ...     def call(self, inputs):
        ...         return self.layer(inputs) * 2
        >>> Twice(podium.layers.Identity())(np.ones((1, 2), "float32")).numpy()
        array([[2., 2.]], dtype=float32)
    """

    def __init__(self, layer: Layer, **kwargs: Any):
        super().__init__(**kwargs)
        if not isinstance(layer, Layer):
            raise ValueError(
                f"{type(self).__name__} was given layer={layer!r}; a layer was expected, such as "
                "podium.layers.Dense(8)."
            )
        self.layer = layer

    def build(self, input_shape: SymbolicShape | None = None) -> None:
        """Build the wrapped layer."""
        self.layer.build_from_config({"input_shape": input_shape})

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"layer": serialize(self.layer)}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a layer from the result of `get_config`."""
        arguments = dict(config)
        return cls(deserialize(arguments.pop("layer"), custom_objects), **arguments)
