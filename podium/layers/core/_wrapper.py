"""Wrapper: the base of layers that hold another layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.layers._layer import Layer
from podium.layers._serialization import deserialize, serialize


class Wrapper(Layer):
    """The base of layers that change what another layer does.

    Args:
        layer: The layer inside.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> class Twice(podium.layers.Wrapper):
        ...     def call(self, inputs):
        ...         return self.layer(inputs) * 2
        >>> Twice(podium.layers.Identity())(np.ones((1, 2), "float32")).numpy()
        array([[2., 2.]], dtype=float32)
    """

    def __init__(self, layer: Any, **kwargs: Any):
        super().__init__(**kwargs)
        if not isinstance(layer, Layer):
            raise ValueError(
                f"{type(self).__name__} was given layer={layer!r}; a layer was expected, such as "
                "podium.layers.Dense(8)."
            )
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        """Build the layer inside."""
        self.layer.build_from_config({"input_shape": input_shape})

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"layer": serialize(self.layer)}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Make a layer from `get_config`'s result."""
        arguments = dict(config)
        return cls(deserialize(arguments.pop("layer"), custom_objects), **arguments)
