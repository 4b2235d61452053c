"""Deterministic initializers: zeros, ones, any constant, the identity matrix."""

from __future__ import annotations

from typing import Self

import jax.numpy as jnp
import numpy as np

from podium._typing import Config, DTypeLike, Shape, ShapeLike, TensorLike
from podium.core import Tensor, convert_to_tensor, is_tensor, standardize_dtype
from podium.initializers._initializer import Initializer, check_shape


class Zeros(Initializer):
    """Zeros: the usual initial value of biases.

    Example:
        >>> podium.initializers.Zeros()((2, 2)).numpy()
        array([[0., 0.],
               [0., 0.]], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return zeros."""
        return convert_to_tensor(jnp.zeros(check_shape(shape), standardize_dtype(dtype)))


class Ones(Initializer):
    """Ones: the usual initial value of scales.

    Example:
        >>> podium.initializers.Ones()((3,), dtype="int32").numpy()
        array([1, 1, 1], dtype=int32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return ones."""
        return convert_to_tensor(jnp.ones(check_shape(shape), standardize_dtype(dtype)))


class Constant(Initializer):
    """A constant, or a given array such as a pretrained embedding matrix.

    Args:
        value: A number, or an array that broadcasts to the shape of the weight.
        broadcast: False if the shape of the weight must be that of the value.

    Example:
        >>> podium.initializers.Constant(3.0)((2,)).numpy()
        array([3., 3.], dtype=float32)
        >>> podium.initializers.Constant([1.0, 2.0])((2, 2)).numpy()
        array([[1., 2.],
               [1., 2.]], dtype=float32)
    """

    def __init__(self, value: TensorLike = 0.0, *, broadcast: bool = True):
        self.value = value
        self._broadcast = broadcast

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return the value, broadcast to `shape`."""
        shape, value = check_shape(shape), np.asarray(self.value)
        if not self._broadcast and value.shape != shape:
            raise ValueError(
                f"An array of shape {value.shape} was given as initializer of a weight of shape "
                f"{shape}; the shapes must be equal."
            )
        if not _fits_shape(value.shape, shape):
            raise ValueError(
                f"Constant holds a value of shape {value.shape}, which does not broadcast to the "
                f"weight's shape {shape}. Pass a number, or an array of the weight's shape."
            )
        return convert_to_tensor(
            jnp.broadcast_to(jnp.asarray(value, standardize_dtype(dtype)), shape)
        )

    def get_config(self) -> Config:
        """Return the value, with arrays in the form that Keras stores."""
        return {"value": _value_config(self.value)}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create the initializer from the result of `get_config`."""
        value = config.get("value", 0.0)
        if isinstance(value, dict):
            value = np.array(value["config"]["value"], dtype=value["config"]["dtype"])
        return cls(value)


def _fits_shape(value_shape: Shape, shape: Shape) -> bool:
    return len(value_shape) <= len(shape) and all(
        size in (1, n) for size, n in zip(value_shape[::-1], shape[::-1], strict=False)
    )


def _value_config(value: TensorLike) -> TensorLike | Config:
    if not (is_tensor(value) or isinstance(value, (np.ndarray, np.generic))):
        return value
    array = np.asarray(value)
    if array.ndim == 0:
        number: float = array.item()
        return number
    return {
        "class_name": "__numpy__",
        "config": {"value": array.tolist(), "dtype": array.dtype.name},
    }


class Identity(Initializer):
    """The identity matrix, for weights of two dimensions.

    Args:
        gain: Factor of the matrix.

    Example:
        >>> podium.initializers.Identity(gain=2.0)((2, 3)).numpy()
        array([[2., 0., 0.],
               [0., 2., 0.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0):
        self.gain = gain

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return the scaled identity matrix.

        Raises:
            ValueError: If `shape` does not have two dimensions.
        """
        shape, dtype = check_shape(shape), standardize_dtype(dtype)
        if len(shape) != 2:
            raise ValueError(
                f"Identity was called with shape={shape}; a matrix (two dimensions) was expected. "
                "For other weights use Orthogonal or Zeros."
            )
        return convert_to_tensor(
            jnp.eye(shape[0], shape[1], dtype=dtype) * jnp.asarray(self.gain, dtype)
        )

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {"gain": self.gain}
