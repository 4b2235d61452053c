"""Input: where a graph starts."""

from __future__ import annotations

from typing import Any

from podium.core import KerasTensor, Node
from podium.layers._layer import Layer


class InputLayer(Layer):
    """The start of a graph: it holds the symbolic value that `Input` returns.

    Args:
        shape: The shape without the batch dimension; None for free lengths.
        batch_size: The batch size, if it is fixed.
        dtype: The type, float32 by default.
        batch_shape: The shape with the batch dimension, instead of `shape`.
        name: A name.
        sparse: Not supported; accepted as None or False.
        optional: Whether None may be passed for it.

    Example:
        >>> podium.layers.InputLayer(shape=(3,)).output.shape
        (None, 3)
    """

    def __init__(
        self,
        shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        sparse: bool | None = None,
        batch_shape: Any = None,
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
                "InputLayer was given sparse=True; there are dense values only. Leave it out."
            )
        if input_tensor is not None:
            batch_shape, dtype = input_tensor.shape, dtype or input_tensor.dtype
        if shape is None and batch_shape is None:
            raise ValueError(
                "Input needs a shape: `Input(shape=(28, 28, 1))`, without the batch dimension."
            )
        if batch_shape is None:
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
        """The type of the values that come in."""
        return self._value_dtype

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return {
            "batch_shape": self.batch_shape,
            "dtype": self._value_dtype,
            "sparse": False,
            "ragged": False,
            "name": self.name,
            "optional": self.optional,
        }

    @classmethod
    def from_config(cls, config: Any) -> InputLayer:
        """Make the layer from `get_config`'s result."""
        return cls(**{key: value for key, value in config.items() if key != "ragged"})


def Input(
    shape: Any = None,
    batch_size: int | None = None,
    dtype: Any = None,
    sparse: bool | None = None,
    batch_shape: Any = None,
    name: str | None = None,
    tensor: KerasTensor | None = None,
    optional: bool = False,
    ragged: bool | None = None,
) -> KerasTensor:
    """Make a symbolic value to build a model from.

    Args:
        shape: The shape without the batch dimension (an int for one dimension); None for free
            lengths.
        batch_size: The batch size, if it is fixed.
        dtype: The type, float32 by default.
        sparse: Not supported; accepted as None or False.
        batch_shape: The shape with the batch dimension, instead of `shape`.
        name: A name; dictionaries of inputs use it as key.
        tensor: A symbolic value to start from instead.
        optional: Whether None may be passed for it.
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
            "Input was given ragged=True; there are rectangular values only. Pad the rows to "
            "one length."
        )
    layer = InputLayer(
        shape, batch_size, dtype, sparse, batch_shape, name, optional, input_tensor=tensor
    )
    return layer.output
