"""Input and InputLayer: the symbolic inputs of functional models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from podium._typing import Config, DTypeLike, ShapeLike, SymbolicShape
from podium.core import KerasTensor, Node
from podium.core.internal import check_bool
from podium.layers._layer import Layer


class InputLayer(Layer):
    """The entry point of a graph: it holds the symbolic value that `Input` returns.

    Args:
        shape: The shape without the batch dimension, with None for dimensions of any size.
        batch_size: The static batch size, if there is one.
        dtype: The dtype of the values, float32 by default; "string" for text.
        batch_shape: The shape with the batch dimension, instead of `shape`.
        name: The name of the layer.
        sparse: Not supported; accepted as None or False.
        optional: Whether None is accepted as its value.
        input_tensor: A KerasTensor to use instead of a new one, with its shape and dtype. What
            computed it is not part of a model that starts here.
        ragged: Not supported; accepted as None or False.

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
        ragged: bool | None = None,
        **kwargs: Any,
    ):
        if input_tensor is not None:
            if not isinstance(input_tensor, KerasTensor):
                raise TypeError(
                    f"Input was given tensor={input_tensor!r}; a KerasTensor was expected. Data "
                    "are passed when the model is called; omit the argument."
                )
            if name is None and input_tensor.node is None:
                name = input_tensor.name
        super().__init__(name=name, **kwargs)
        if self.batch_input_shape is not None and batch_shape is None and shape is None:
            batch_shape = self.batch_input_shape
        if batch_shape is not None and (shape is not None or batch_size is not None):
            other = "shape" if shape is not None else "batch_size"
            raise ValueError(
                f"Input was given `batch_shape={batch_shape}` and `{other}`, which it includes; "
                "one of them was expected. Omit the other."
            )
        if sparse:
            raise ValueError(
                "InputLayer was given sparse=True; only dense values are supported. Omit it."
            )
        if ragged:
            raise ValueError(
                "Input was given ragged=True; only rectangular values are supported. Pad the rows "
                "to one length."
            )
        if batch_shape is None and shape is not None:
            batch_shape = (batch_size, *((shape,) if isinstance(shape, int) else tuple(shape)))
        if input_tensor is not None:
            _check_shape_and_dtype(input_tensor, batch_shape, batch_size, dtype)
            self._tensor = input_tensor
        elif batch_shape is not None:
            self._tensor = KerasTensor(batch_shape, dtype, name=self.name)
        else:
            raise ValueError(
                "Input needs a shape: `Input(shape=(28, 28, 1))`, without the batch dimension."
            )
        computed_by, index = self._tensor.node, self._tensor.index
        self.batch_shape = self._tensor.shape
        self.optional = check_bool("optional", optional, owner=self)
        self._value_dtype = self._tensor.dtype.name
        self.built = True
        self._inbound_nodes.append(Node(self, (), {}, self._tensor, layer=self))
        if computed_by is not None:  # other models may contain what computes the value
            self._tensor.node, self._tensor.index = computed_by, index
        elif input_tensor is not None and name is not None:
            self._tensor.name = name

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
        return cls(**config)


def _check_shape_and_dtype(
    tensor: KerasTensor,
    batch_shape: ShapeLike | None,
    batch_size: int | None,
    dtype: DTypeLike | None,
) -> None:
    """Raise unless a tensor has the shape and the dtype that were passed with it."""
    shape, dtype_name = None, None if dtype is None else KerasTensor((), dtype).dtype.name
    if batch_shape is not None:
        shape = (batch_shape,) if isinstance(batch_shape, int) else tuple(batch_shape)
        if shape[:1] == (None,) and batch_size is None:
            shape = (*tensor.shape[:1], *shape[1:])
    elif batch_size is not None:
        shape = (batch_size, *tensor.shape[1:])
    if shape not in (None, tensor.shape) or dtype_name not in (None, tensor.dtype.name):
        raise ValueError(
            f"Input was given tensor={tensor!r} with shape={shape or tensor.shape} and "
            f"dtype={dtype_name or tensor.dtype.name!r}; those of the tensor were expected. Omit "
            "them."
        )


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
        dtype: The dtype of the values, float32 by default; "string" for text, which the
            preprocessing layers of a model compute with on the host, ahead of its compiled part.
        sparse: Not supported; accepted as None or False.
        batch_shape: The shape with the batch dimension, instead of `shape`.
        name: The name of the input, used as key in dictionaries of inputs.
        tensor: A KerasTensor to use instead of a new one, with its shape and dtype. What computed
            it is not part of a model that starts here.
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
    layer = InputLayer(
        shape, batch_size, dtype, sparse, batch_shape, name, optional, tensor, ragged
    )
    result: KerasTensor = layer.output
    return result
