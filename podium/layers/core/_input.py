"""Input and InputLayer: the symbolic inputs of functional models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from podium._typing import Config, DTypeLike, ShapeLike, SymbolicShape
from podium.core import KerasTensor, Node
from podium.layers._layer import Layer


class InputLayer(Layer):
    """The entry point of a graph: it holds the symbolic value that `Input` returns.

    Args:
        shape: The shape without the batch dimension, with None for dimensions of any size.
        batch_size: The static batch size, if there is one.
        dtype: The dtype of the values, float32 by default.
        batch_shape: The shape with the batch dimension, instead of `shape`.
        name: The name of the layer.
        sparse: Not supported; accepted as None or False.
        optional: Whether None is accepted as its value.

    Example:
        >>> podium.layers.InputLayer(shape=(3,)).output.shape
        (None, 3)
    """

    def __init__(
        self,
        shape: ShapeLike | None = None,
        batch_size: int | None = None,
        dtype: DTypeLike | None = None,
        sparse: bool | None = None,
        batch_shape: ShapeLike | None = None,
        name: str | None = None,
        optional: bool = False,
        input_tensor: KerasTensor | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        if self.batch_input_shape is not None and batch_shape is None and shape is None:
            batch_shape = self.batch_input_shape
        if sparse:
            raise ValueError(
                "InputLayer was given sparse=True; only dense values are supported. Omit it."
            )
        if input_tensor is not None:
            batch_shape, dtype = input_tensor.shape, dtype or input_tensor.dtype
        if batch_shape is None:
            if shape is None:
                raise ValueError(
                    "Input needs a shape: `Input(shape=(28, 28, 1))`, without the batch dimension."
                )
            batch_shape = (batch_size, *((shape,) if isinstance(shape, int) else tuple(shape)))
        self._tensor = input_tensor or KerasTensor(batch_shape, dtype or "float32", name=self.name)
        self.batch_shape = self._tensor.shape
        self.optional = optional
        self._value_dtype = self._tensor.dtype.name
        self.built = True
        self._inbound_nodes.append(Node(self, (), {}, self._tensor, layer=self))

    def call(self) -> KerasTensor:
        """Return the symbolic value."""
        return self._tensor

    @property
    def dtype(self) -> str:
        """The dtype of the inputs."""
        return self._value_dtype

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return {
            "batch_shape": self.batch_shape,
            "dtype": self._value_dtype,
            "sparse": False,
            "ragged": False,
            "name": self.name,
            "optional": self.optional,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Create the layer from the result of `get_config`."""
        return cls(**{key: value for key, value in config.items() if key != "ragged"})


def Input(
    shape: SymbolicShape | None = None,
    batch_size: int | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool | None = None,
    batch_shape: SymbolicShape | None = None,
    name: str | None = None,
    tensor: KerasTensor | None = None,
    optional: bool = False,
    ragged: bool | None = None,
) -> KerasTensor:
    """Create a symbolic value to build a functional model from.

    Args:
        shape: The shape without the batch dimension (an int for one dimension), with None for
            dimensions of any size.
        batch_size: The static batch size, if there is one.
        dtype: The dtype of the values, float32 by default.
        sparse: Not supported; accepted as None or False.
        batch_shape: The shape with the batch dimension, instead of `shape`.
        name: The name of the input, used as key in dictionaries of inputs.
        tensor: An existing symbolic value to use instead.
        optional: Whether None is accepted as its value.
        ragged: Not supported; accepted as None or False.

    Returns:
        A KerasTensor: call layers and `podium.ops` on it.

    Example:
        >>> x = podium.Input(shape=(3,))
        >>> model = podium.Model(x, podium.layers.Dense(2)(x))
        >>> model(np.ones((4, 3), "float32")).shape
        (4, 2)
    """
    if ragged:
        raise ValueError(
            "Input was given ragged=True; only rectangular values are supported. Pad the rows to "
            "one length."
        )
    layer = InputLayer(
        shape, batch_size, dtype, sparse, batch_shape, name, optional, input_tensor=tensor
    )
    result: KerasTensor = layer.output
    return result
