"""Values and Variables that `keras.backend` creates, with Keras 2's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from podium import layers, ops
from podium._typing import DTypeLike, SymbolicShape, TensorLike
from podium.core import KerasTensor, Tensor, Variable, convert_to_tensor, floatx
from podium.core.internal import is_tracing

if TYPE_CHECKING:
    from jax.experimental.sparse import BCOO


def _as_variable(value: Tensor, name: str | None) -> Variable | Tensor:
    """Return a Variable with a value; the value itself in a compiled function."""
    return value if is_tracing() else Variable(value, name=name)


def zeros(
    shape: Sequence[int], dtype: DTypeLike | None = None, name: str | None = None
) -> Variable | Tensor:
    """Create a Variable of zeros; in a compiled function, a Tensor.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.zeros((2,), name="total").numpy()
        array([0., 0.], dtype=float32)
    """
    return _as_variable(ops.zeros(tuple(shape), dtype or floatx()), name)


def ones(
    shape: Sequence[int], dtype: DTypeLike | None = None, name: str | None = None
) -> Variable | Tensor:
    """Create a Variable of ones; in a compiled function, a Tensor.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.ones((2,), name="scale").numpy()
        array([1., 1.], dtype=float32)
    """
    return _as_variable(ops.ones(tuple(shape), dtype or floatx()), name)


def eye(size: int, dtype: DTypeLike | None = None, name: str | None = None) -> Variable | Tensor:
    """Create a Variable that is an identity matrix; in a compiled function, a Tensor.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.eye(size=2).numpy()
        array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return _as_variable(ops.eye(size, dtype=dtype or floatx()), name)


def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Return zeros of the shape of a value.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.zeros_like([1.0, 2.0], name="zeros").numpy()
        array([0., 0.], dtype=float32)
    """
    return ops.zeros_like(x, dtype=dtype)


def ones_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Return ones of the shape of a value.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.ones_like([1.0, 2.0], name="ones").numpy()
        array([1., 1.], dtype=float32)
    """
    return ops.ones_like(x, dtype=dtype)


def arange(
    start: int, stop: int | None = None, step: int = 1, dtype: DTypeLike = "int32"
) -> Tensor:
    """Return numbers at equal distances. A negative `start` without a `stop` means 0.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.arange(1, 6, 2).numpy()
        array([1, 3, 5], dtype=int32)
    """
    if stop is None:
        start, stop = 0, max(start, 0)
    return ops.arange(start, stop, step, dtype=dtype)


def cast_to_floatx(x: TensorLike) -> Tensor | np.ndarray[Any, Any]:
    """Convert to the default float dtype: Tensors and Variables to Tensors, all else to NumPy.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.cast_to_floatx(np.array([1, 2]))
        array([1., 2.], dtype=float32)
    """
    if isinstance(x, (Tensor, Variable, KerasTensor)):
        return ops.cast(x, floatx())
    return np.asarray(x, dtype=floatx())


def count_params(x: TensorLike) -> int:
    """Return the number of elements.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.count_params(np.zeros((2, 3)))
        6
    """
    return int(np.prod(ops.shape(x)))


def placeholder(
    shape: SymbolicShape | None = None,
    ndim: int | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> KerasTensor:
    """Create a symbolic value, as an input of `keras.backend.function`.

    Args:
        shape: The shape with the batch dimension; None for sizes that are not known.
        ndim: The number of dimensions, of any size, if there is no shape.
        dtype: The dtype; by default the default float dtype.
        sparse: Not supported.
        name: The name of the input.
        ragged: Not supported.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.placeholder(shape=(2, None)).shape
        (2, None)
    """
    if not shape:
        if not ndim:
            raise ValueError(
                "placeholder was given neither `shape` nor `ndim`. Pass one of them: "
                "`K.placeholder(shape=(None, 3))`."
            )
        shape = (None,) * ndim
    return layers.Input(
        batch_shape=tuple(shape),
        dtype=dtype or floatx(),
        sparse=sparse,
        ragged=ragged,
        name=name,
    )


def is_sparse(tensor: object) -> TypeGuard[BCOO]:
    """Return whether a value is a sparse array of JAX.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.is_sparse(podium.ops.zeros((2,)))
        False
    """
    kind = type(tensor)  # importing the module takes longer than all of Podium
    return kind.__name__ == "BCOO" and kind.__module__.startswith("jax.experimental.sparse")


def to_dense(tensor: TensorLike | BCOO) -> Tensor:
    """Return a sparse array of JAX as a Tensor, and other values too.

    Example:
        >>> from jax.experimental import sparse
        >>> from podium.compat import keras
        >>> keras.backend.to_dense(sparse.BCOO.fromdense(np.array([0.0, 2.0], "float32"))).numpy()
        array([0., 2.], dtype=float32)
    """
    array: Any = tensor.todense() if is_sparse(tensor) else tensor
    dense: Tensor = convert_to_tensor(array)
    return dense
