"""Initializers that draw nothing: zeros, ones, any constant, the identity matrix."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from podium.core import Tensor, convert_to_tensor, is_tensor, standardize_dtype
from podium.initializers._initializer import Initializer, checked_shape


class Zeros(Initializer):
    """All zeros: the usual start of biases.

    Example:
        >>> podium.initializers.Zeros()((2, 2)).numpy()
        array([[0., 0.],
               [0., 0.]], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Return zeros."""
        return convert_to_tensor(jnp.zeros(checked_shape(shape), standardize_dtype(dtype)))


class Ones(Initializer):
    """All ones: the usual start of scales.

    Example:
        >>> podium.initializers.Ones()((3,), dtype="int32").numpy()
        array([1, 1, 1], dtype=int32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Return ones."""
        return convert_to_tensor(jnp.ones(checked_shape(shape), standardize_dtype(dtype)))


class Constant(Initializer):
    """The same number everywhere, or a given array, such as a pretrained embedding matrix.

    Args:
        value: A number, or an array that broadcasts to the shape of the weight.

    Example:
        >>> podium.initializers.Constant(3.0)((2,)).numpy()
        array([3., 3.], dtype=float32)
        >>> podium.initializers.Constant([1.0, 2.0])((2, 2)).numpy()
        array([[1., 2.],
               [1., 2.]], dtype=float32)
    """

    def __init__(self, value: Any = 0.0):
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Return the value, broadcast to `shape`."""
        shape, value = checked_shape(shape), np.asarray(self.value)
        if not _broadcasts(value.shape, shape):
            raise ValueError(
                f"Constant holds a value of shape {value.shape}, which does not broadcast to the "
                f"weight's shape {shape}. Give a number, or an array of the weight's shape."
            )
        return convert_to_tensor(
            jnp.broadcast_to(jnp.asarray(value, standardize_dtype(dtype)), shape)
        )

    def get_config(self) -> dict[str, Any]:
        """Return the value; an array is written the way Keras writes arrays."""
        return {"value": _value_config(self.value)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Constant:
        """Make the initializer from `get_config`'s result."""
        value = config.get("value", 0.0)
        if isinstance(value, dict):
            value = np.array(value["config"]["value"], dtype=value["config"]["dtype"])
        return cls(value)


def _broadcasts(small: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(small) <= len(shape) and all(
        s in (1, n) for s, n in zip(small[::-1], shape[::-1], strict=False)
    )


def _value_config(value: Any) -> Any:
    if not (is_tensor(value) or isinstance(value, (np.ndarray, np.generic))):
        return value
    array = np.asarray(value)
    if array.ndim == 0:
        return array.item()
    return {
        "class_name": "__numpy__",
        "config": {"value": array.tolist(), "dtype": array.dtype.name},
    }


class Identity(Initializer):
    """The identity matrix, for two-dimensional weights: a layer starts by passing its input on.

    Args:
        gain: A factor for the matrix.

    Example:
        >>> podium.initializers.Identity(gain=2.0)((2, 3)).numpy()
        array([[2., 0., 0.],
               [0., 2., 0.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0):
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Return the scaled identity matrix.

        Raises:
            ValueError: If `shape` has not two dimensions.
        """
        shape, dtype = checked_shape(shape), standardize_dtype(dtype)
        if len(shape) != 2:
            raise ValueError(
                f"Identity was asked for shape={shape}; a matrix, so two dimensions, was expected. "
                "For other weights use Orthogonal or Zeros."
            )
        return convert_to_tensor(
            jnp.eye(shape[0], shape[1], dtype=dtype) * jnp.asarray(self.gain, dtype)
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this initializer again."""
        return {"gain": self.gain}
